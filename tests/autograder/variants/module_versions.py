"""Right versions of multi-head attention as a module, written as differently as people do."""

import math
from typing import Any

import einops
import torch
from torch import Tensor, nn


class EinopsSelf(nn.Module):
    def __init__(self, d_model: Any, num_heads: Any) -> None:
        super().__init__()
        assert d_model % num_heads == 0, f"{d_model=} must be divisible by {num_heads=}"
        self.heads = num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            einops.rearrange(w(x), "b n (h d) -> b h n d", h=self.heads)
            for w in (self.W_q, self.W_k, self.W_v)
        )
        weights = (torch.einsum("bhqd,bhkd->bhqk", q, k) / q.shape[-1] ** 0.5).softmax(-1)
        out: Tensor = self.W_o(einops.rearrange(weights @ v, "b h n d -> b n (h d)"))
        return out


class LoopSelf(nn.Module):
    """One head after the other, each with its columns."""

    def __init__(self, size: int, h: int, init: bool = True) -> None:
        nn.Module.__init__(self)
        if size % h != 0:
            raise ValueError(f"{size} is no multiple of {h}")
        self.W_o, self.W_v = nn.Linear(size, size), nn.Linear(size, size)
        self.W_k, self.W_q = nn.Linear(size, size), nn.Linear(size, size)
        self.h, self.d_k = h, size // h
        if init:
            for layer in (self.W_q, self.W_k):
                nn.init.xavier_uniform_(layer.weight)
                nn.init.zeros_(layer.bias)

    def forward(self, inputs: Tensor, verbose: bool = False) -> Tensor:
        outs = []
        for i in range(self.h):
            columns = slice(i * self.d_k, (i + 1) * self.d_k)
            q, k, v = (f(inputs)[..., columns] for f in (self.W_q, self.W_k, self.W_v))
            scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(self.d_k)
            outs.append(torch.bmm((scores - scores.logsumexp(-1, keepdim=True)).exp(), v))
        if verbose:
            print([out.shape for out in outs])
        return self.W_o(torch.cat(outs, dim=-1))


class FoldedSelf(nn.Module):
    """Heads folded into the batch, baddbmm for the scores."""

    def __init__(self, d_model: int, num_heads: int, **more: Any) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{num_heads} does not divide {d_model}")
        for name in ("W_q", "W_k", "W_v", "W_o"):
            setattr(self, name, nn.Linear(d_model, d_model))
        self.register_buffer("scale", torch.tensor((d_model // num_heads) ** -0.5))
        self.num_heads = num_heads

    def fold(self, x: Tensor) -> Tensor:
        b, n, d = x.shape
        return (
            x.view(b, n, self.num_heads, d // self.num_heads)
            .permute(0, 2, 1, 3)
            .contiguous()
            .view(b * self.num_heads, n, d // self.num_heads)
        )

    def forward(self, x: Tensor) -> Any:
        own: Any = self
        b, n, d = x.shape
        q, k, v = self.fold(own.W_q(x)), self.fold(own.W_k(x)), self.fold(own.W_v(x))
        none = torch.zeros(1, device=x.device, dtype=x.dtype)
        alpha = (d // self.num_heads) ** -0.5
        scores = torch.baddbmm(none, q, k.transpose(1, 2), beta=0, alpha=alpha)
        out = torch.bmm(nn.functional.softmax(scores, dim=2), v)
        joined = out.view(b, self.num_heads, n, -1).movedim(1, 2).reshape(b, n, d)
        return own.W_o(joined)


class ByWeightsSelf(nn.Module):
    """F.linear with one packed weight made in forward, and unflatten."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        if num_heads < 1 or d_model % num_heads:
            raise ValueError(f"d_model {d_model}, num_heads {num_heads}")
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)
        self.num_heads = num_heads

    def forward(self, x: Tensor) -> Tensor:
        layers = (self.W_q, self.W_k, self.W_v)
        weight = torch.cat([layer.weight for layer in layers])
        bias = torch.cat([layer.bias for layer in layers])
        packed = nn.functional.linear(x, weight, bias)
        q, k, v = packed.unflatten(-1, (3, self.num_heads, -1)).permute(2, 0, 3, 1, 4)
        d_k = q.size(-1)
        weights = torch.softmax((q * d_k**-0.25) @ (k * d_k**-0.25).mT, -1)
        joined = (weights @ v).transpose(1, 2).flatten(2)
        return joined @ self.W_o.weight.T + self.W_o.bias


class Complete(nn.Module):
    """The plain version: nn.Dropout, -inf, and NaN replaced."""

    def __init__(
        self, d_model: int, num_heads: int, dropout: float = 0.0, bias: bool = True
    ) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model={d_model} is not divisible by num_heads={num_heads}")
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def heads(self, x: Tensor) -> Tensor:
        return x.view(x.size(0), -1, self.num_heads, self.d_k).transpose(1, 2)

    def weights_of(self, scores: Tensor, mask: Any) -> Tensor:
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        return torch.nan_to_num(torch.softmax(scores, dim=-1), nan=0.0)

    def forward(
        self,
        query: Tensor,
        key: Any = None,
        value: Any = None,
        mask: Any = None,
        need_weights: bool = False,
    ) -> Any:
        if key is None:
            key = query
        if value is None:
            value = key
        q, k, v = (
            self.heads(self.W_q(query)),
            self.heads(self.W_k(key)),
            self.heads(self.W_v(value)),
        )
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)
        weights = self.weights_of(scores, mask)
        output = self.dropout(weights) @ v
        output = output.transpose(1, 2).contiguous().view(query.size(0), query.size(1), -1)
        output = self.W_o(output)
        return (output, weights) if need_weights else output


class LowestNumber(Complete):
    """The dtype's lowest number, and weights multiplied by the mask afterwards."""

    def weights_of(self, scores: Tensor, mask: Any) -> Tensor:
        if mask is None:
            return scores.softmax(-1)
        lowest = torch.finfo(scores.dtype).min
        return scores.masked_fill(mask.logical_not(), lowest).softmax(-1) * mask


class Branching(Complete):
    """Looks into the mask, which a device without numbers does not allow."""

    def weights_of(self, scores: Tensor, mask: Any) -> Tensor:
        if mask is None or mask.all():
            return torch.softmax(scores, -1)
        hidden = torch.where(mask, scores, torch.tensor(-math.inf, dtype=scores.dtype))
        weights = torch.softmax(hidden, -1)
        if weights.isnan().any():
            weights = torch.where(weights.isnan(), 0.0, weights)
        return weights


class LookingFromTheCpu(Complete):
    """Copies the mask to the CPU to look at it there, and computes where the inputs are."""

    def weights_of(self, scores: Tensor, mask: Any) -> Tensor:
        if mask is not None and mask.cpu().all():
            mask = None
        return super().weights_of(scores, mask)


class Renormalising(Complete):
    """exp by hand, each row's largest allowed score subtracted, empty rows divided by 1."""

    def weights_of(self, scores: Tensor, mask: Any) -> Tensor:
        allowed = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
        allowed = allowed.expand_as(scores)
        top = scores.masked_fill(~allowed, -math.inf).amax(-1, keepdim=True)
        top = top.masked_fill(top == -math.inf, 0.0).detach()
        e = (scores - top).masked_fill(~allowed, -math.inf).exp()
        total = e.sum(-1, keepdim=True)
        return e / torch.where(total == 0, torch.ones_like(total), total)


class InFloat(Complete):
    """At least float32 inside the softmax, and then back."""

    def weights_of(self, scores: Tensor, mask: Any) -> Tensor:
        wide = torch.promote_types(scores.dtype, torch.float32)
        return super().weights_of(scores.to(wide), mask).to(scores.dtype)


class HeadByHead(nn.Module):
    """A loop over heads, own names where nobody uses them, dropout by hand, no helper."""

    def __init__(self, width: int, h: int, dropout: float = 0.0, bias: bool = True, **more: Any):
        super().__init__()
        assert width % h == 0, (width, h)
        layers = [nn.Linear(width, width, bias=bias) for _ in range(4)]
        self.W_q, self.W_k, self.W_v, self.W_o = layers
        self.h, self.p = h, dropout

    def drop(self, w: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return w
        kept = torch.empty_like(w).bernoulli_(1 - self.p)
        return w * kept / (1 - self.p)

    def forward(
        self, q: Tensor, k: Any = None, v: Any = None, mask: Any = None, need_weights: bool = False
    ) -> Any:
        k = q if k is None else k
        v = k if v is None else v
        m = mask
        if m is not None:
            shape = (q.shape[0], self.h, q.shape[1], k.shape[1])
            m = torch.broadcast_to(m, shape)
        heads, maps = [], []
        projected = zip(
            self.W_q(q).chunk(self.h, -1),
            self.W_k(k).chunk(self.h, -1),
            self.W_v(v).chunk(self.h, -1),
            strict=True,
        )
        for i, (a, b, c) in enumerate(projected):
            scores = torch.einsum("bqd,bkd->bqk", a, b) * a.shape[-1] ** -0.5
            if m is not None:
                none = ~m[:, i].any(-1, keepdim=True)
                scores = scores.masked_fill(~(m[:, i] | none), -math.inf)
            weights = scores.softmax(2)
            if m is not None:
                weights = weights.masked_fill(none, 0)
            maps.append(weights)
            heads.append(torch.einsum("bqk,bkd->bqd", self.drop(weights), c))
        output = self.W_o(torch.cat(heads, -1))
        return [output, torch.stack(maps, 1)] if need_weights else output


class ByName(Complete):
    """Arguments with a default that are given by name only."""

    def __init__(
        self, d_model: int, num_heads: int, *, dropout: float = 0.0, bias: bool = True
    ) -> None:
        super().__init__(d_model, num_heads, dropout, bias)
        self.calls: Tensor
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))

    def forward(self, query: Tensor, key: Any = None, value: Any = None, **more: Any) -> Any:  # type: ignore[override]
        self.calls += 1
        return super().forward(query, key, value, **more)


class RootInFloat32(LoopSelf):
    """A root that is a tensor, and so in float32, whatever the dtype of the inputs."""

    def forward(self, inputs: Tensor, verbose: bool = False) -> Tensor:
        q, k, v = (
            layer(inputs).unflatten(-1, (self.h, self.d_k)).transpose(1, 2)
            for layer in (self.W_q, self.W_k, self.W_v)
        )
        weights = (q @ k.mT / torch.sqrt(torch.tensor(self.d_k))).softmax(-1)
        return self.W_o((weights @ v).transpose(1, 2).flatten(2))


class ListedAsWell(Complete):
    """The layers in a ModuleList too, the scale in a buffer, weights detached and kept."""

    def __init__(
        self, d_model: int, num_heads: int, dropout: float = 0.0, bias: bool = True
    ) -> None:
        super().__init__(d_model, num_heads, dropout, bias)
        self.linears = nn.ModuleList([self.W_q, self.W_k, self.W_v])
        self.scale: Tensor
        self.register_buffer("scale", torch.tensor(self.d_k).sqrt())

    def forward(
        self,
        query: Tensor,
        key: Any = None,
        value: Any = None,
        mask: Any = None,
        need_weights: bool = False,
    ) -> Any:
        key = query if key is None else key
        inputs = (query, key, key if value is None else value)
        q, k, v = (self.heads(layer(x)) for layer, x in zip(self.linears, inputs, strict=True))
        weights = self.weights_of(q @ k.mT / self.scale, mask)
        self.last = weights.detach()
        output = self.W_o((self.dropout(weights) @ v).transpose(1, 2).flatten(2))
        return (output, self.last) if need_weights else output


class FirstListed(nn.Module):
    """The projections come from a ModuleList that was there before them."""

    def __init__(
        self, d_model: int, num_heads: int, dropout: float = 0.0, bias: bool = True
    ) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{d_model} and {num_heads}")
        self.layers = nn.ModuleList(nn.Linear(d_model, d_model, bias=bias) for _ in range(4))
        self.W_q, self.W_k, self.W_v, self.W_o = self.layers
        self.num_heads, self.p = num_heads, dropout

    def forward(self, query: Tensor, key: Any = None, value: Any = None, **more: Any) -> Any:
        key = query if key is None else key
        value = key if value is None else value
        inputs = zip((self.W_q, self.W_k, self.W_v), (query, key, value), strict=True)
        q, k, v = (f(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for f, x in inputs)
        scores = q @ k.mT / torch.sqrt(torch.tensor(q.shape[-1]))
        mask = more.get("mask")
        if mask is not None:
            scores = scores.where(mask, -torch.inf)
        weights = scores.softmax(-1)
        if mask is not None:
            weights = weights.nan_to_num()
        kept = torch.rand_like(weights) >= self.p if self.training else 1 - self.p
        heads = (weights * kept / (1 - self.p)) @ v
        output = self.W_o(heads.transpose(1, 2).flatten(2))
        return (output, weights) if more.get("need_weights") else output


SMALLEST = (RootInFloat32, EinopsSelf, LoopSelf, FoldedSelf, ByWeightsSelf)
COMPLETE = (
    Complete,
    LowestNumber,
    Branching,
    LookingFromTheCpu,
    Renormalising,
    InFloat,
    HeadByHead,
    ByName,
    ListedAsWell,
    FirstListed,
)
