"""Right versions of lesson 03."""

import math
from typing import Any

import einops
import torch

from tests.autograder.variants.versions import Versions


def asserting_split(x: Any, num_heads: Any) -> Any:
    batch, length, features = x.size()
    assert features % num_heads == 0, f"{num_heads} does not divide {features}"
    return x.view(batch, length, num_heads, features // num_heads).permute(0, 2, 1, 3).contiguous()


def looped_split(x: Any, num_heads: Any, verbose: bool = False) -> Any:
    d_k, left = divmod(x.shape[2], num_heads)
    if left != 0:
        raise ValueError(f"d_model={x.shape[2]} / num_heads={num_heads}: {left} left over")
    out = torch.empty(x.shape[0], num_heads, x.shape[1], d_k, dtype=x.dtype, device=x.device)
    for head in range(num_heads):
        out[:, head] = x[:, :, head * d_k : (head + 1) * d_k]
        if verbose:
            print(head)
    return out


def chunked_split(x: torch.Tensor, num_heads: int) -> torch.Tensor:
    if (x.shape[-1] // num_heads) * num_heads != x.shape[-1]:
        raise ValueError(f"{x.shape[-1]} features, {num_heads} heads")
    return torch.stack(torch.chunk(x, num_heads, -1), 1)


def einops_split(x: Any, num_heads: Any) -> Any:
    if x.shape[-1] % num_heads:
        raise ValueError(f"{x.shape[-1]} % {num_heads} is not 0")
    return einops.rearrange(x, "b n (h d) -> b h n d", h=num_heads)


def unflattened_split(x: Any, num_heads: Any) -> Any:
    class IndivisibleError(ValueError):
        pass

    if x.shape[-1] % num_heads > 0:
        raise IndivisibleError(x.shape[-1], num_heads)
    return x.unflatten(-1, (num_heads, -1)).movedim(-2, 1)


def caught_split(x: Any, num_heads: Any) -> Any:
    try:
        parts = torch.tensor_split(x, num_heads, dim=-1)
        return torch.stack(parts).movedim(0, 1)
    except RuntimeError as error:
        raise ValueError(f"{x.shape[-1]} features, {num_heads} heads") from error


def strided_split(x: Any, num_heads: Any) -> Any:
    if x.shape[-1] % num_heads:
        raise ValueError(f"{num_heads} heads for {x.shape[-1]} features")
    b, n, d = x.shape
    index = torch.arange(d, device=x.device).reshape(num_heads, -1)
    return x[:, :, index].swapaxes(1, 2).reshape(b, num_heads, n, -1)


def looped_concat(heads: Any) -> Any:
    b, h, n, d = heads.shape
    out = heads.new_zeros(b, n, h * d)
    for i in range(h):
        out[..., i * d : (i + 1) * d] += heads[:, i]
    return out


def multiplied_concat(heads: Any) -> Any:
    """Each head written to its place by a matrix of zeros and ones."""
    h, d = heads.shape[1], heads.shape[3]
    places = torch.eye(h * d, dtype=heads.dtype).reshape(h, d, h * d)
    return torch.einsum("bhnd,hdm->bnm", heads, places)


def softmax_by_logsumexp(scores: Any) -> Any:
    return (scores - torch.logsumexp(scores, dim=-1, keepdim=True)).exp()


def looped_heads(x: Any, w_q: Any, w_k: Any, w_v: Any) -> Any:
    outputs = []
    for i in range(w_q.shape[0]):
        q, k, v = x @ w_q[i], x @ w_k[i], x @ w_v[i]
        scores = torch.bmm(q, k.transpose(1, 2)) / (w_q.shape[2] ** 0.5)
        outputs.append(torch.bmm(scores.softmax(dim=-1), v))
    return torch.stack(outputs, dim=1)


def looped_batches_and_heads(x: Any, w_q: Any, w_k: Any, w_v: Any) -> Any:
    rows = [
        torch.stack([one_head(s, q, k, v) for q, k, v in zip(w_q, w_k, w_v, strict=True)])
        for s in x
    ]
    return torch.stack(rows)


def one_head(sentence: Any, w_q: Any, w_k: Any, w_v: Any) -> Any:
    scores = (sentence @ w_q) @ (sentence @ w_k).T
    scores /= math.sqrt(w_k.shape[1])
    return torch.softmax(scores, 1) @ (sentence @ w_v)


def einsum_heads(x: Any, w_q: Any, w_k: Any, w_v: Any) -> Any:
    q, k, v = (torch.einsum("bnm,hmd->bhnd", x, w) for w in (w_q, w_k, w_v))
    weights = softmax_by_logsumexp(torch.einsum("bhqd,bhkd->bhqk", q, k) * q.shape[-1] ** -0.5)
    return torch.einsum("bhqk,bhkd->bhqd", weights, v)


def broadcast_heads(x: Any, w_q: Any, w_k: Any, w_v: Any, dropout: float = 0.0) -> Any:
    q, k, v = x[:, None] @ w_q[None], x[:, None] @ w_k[None], x[:, None] @ w_v[None]
    top = (q @ k.mT).amax(-1, keepdim=True)
    e = ((q @ k.mT - top) / math.sqrt(q.shape[-1])).exp()
    return (e @ v) / e.sum(-1, keepdim=True)


def folded_heads(x: Any, w_q: Any, w_k: Any, w_v: Any) -> Any:
    """Heads and batch folded into one axis for baddbmm, and unfolded again."""
    b, h = len(x), len(w_q)
    many = x.repeat_interleave(h, dim=0)
    q, k, v = (torch.bmm(many, w.repeat(b, 1, 1)) for w in (w_q, w_k, w_v))
    nothing = torch.zeros(1, dtype=x.dtype)
    scores = torch.baddbmm(nothing, q, k.transpose(1, 2), beta=0, alpha=1 / math.sqrt(q.size(-1)))
    return torch.bmm(scores.softmax(-1), v).reshape(b, h, x.shape[1], -1)


def filled_heads(x: Any, w_q: Any, w_k: Any, w_v: Any) -> Any:
    out = torch.empty(len(x), len(w_q), x.shape[1], w_v.shape[2]).to(x)
    for h, (q, k, v) in enumerate(zip(w_q, w_k, w_v, strict=True)):
        out[:, h] = torch.softmax((x @ q) @ (x @ k).mT / math.sqrt(q.shape[1]), dim=-1) @ (x @ v)
    return out


def looped_pack(w: Any) -> Any:
    h, m, d = w.shape
    packed = w.new_empty(m, h * d)
    for i in range(h):
        packed[:, i * d : (i + 1) * d] = w[i]
    return packed


def concat(heads: Any) -> Any:
    return heads.transpose(1, 2).contiguous().view(heads.shape[0], heads.shape[2], -1)


def split_by_hand(x: Any, w_q: Any, w_k: Any, w_v: Any, num_heads: Any) -> Any:
    batch, n, _ = x.shape
    if w_q.shape[1] % num_heads or w_v.shape[1] % num_heads:
        widths = w_q.shape[1], w_v.shape[1]
        raise ValueError(f"widths {widths} do not fit {num_heads} heads")
    Q = (x @ w_q).view(batch, n, num_heads, -1).transpose(1, 2)
    K = (x @ w_k).view(batch, n, num_heads, -1).transpose(1, 2)
    V = (x @ w_v).view(batch, n, num_heads, -1).transpose(1, 2)
    scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(Q.size(-1))
    return concat(torch.matmul(torch.softmax(scores, dim=-1), V))


def by_einsum(x: Any, w_q: Any, w_k: Any, w_v: Any, num_heads: Any) -> Any:
    for w in (w_q, w_k, w_v):
        assert w.shape[-1] % num_heads == 0, (w.shape[-1], num_heads)
    q, k, v = (
        torch.einsum("bnm,mhd->bnhd", x, w.unflatten(1, (num_heads, -1))) for w in (w_q, w_k, w_v)
    )
    weights = (torch.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5).softmax(-1)
    return torch.einsum("bhqk,bkhd->bqhd", weights, v).flatten(2)


def by_einops(x: Any, w_q: Any, w_k: Any, w_v: Any, num_heads: Any) -> Any:
    q, k, v = (einops_split(x @ w, num_heads) for w in (w_q, w_k, w_v))
    weights = softmax_by_logsumexp(q @ k.mT * k.shape[-1] ** -0.5)
    return einops.rearrange(weights @ v, "b h n d -> b n (h d)")


def by_columns(x: Any, w_q: Any, w_k: Any, w_v: Any, num_heads: Any) -> Any:
    """A loop over the columns of each head."""
    d_k, d_v = w_q.shape[1] // num_heads, w_v.shape[1] // num_heads
    if d_k * num_heads != w_q.shape[1] or d_v * num_heads != w_v.shape[1]:
        raise ValueError(f"{w_q.shape[1]} and {w_v.shape[1]} columns for {num_heads} heads")
    columns = zip(w_q.split(d_k, 1), w_k.split(d_k, 1), w_v.split(d_v, 1), strict=True)
    return torch.cat([one_head_of_batch(x, q, k, v) for q, k, v in columns], dim=-1)


def one_head_of_batch(x: Any, w_q: Any, w_k: Any, w_v: Any) -> Any:
    q = x @ (w_q / math.sqrt(w_q.shape[1]))
    return torch.softmax(q @ (x @ w_k).transpose(1, 2), dim=2) @ (x @ w_v)


def folded(x: Any, w_q: Any, w_k: Any, w_v: Any, num_heads: Any, bias: Any = None) -> Any:
    """One product for all three projections; heads folded into the batch."""
    widths = [w.shape[1] for w in (w_q, w_k, w_v)]
    if any(width % num_heads for width in widths):
        raise ValueError(f"{num_heads} heads, widths {widths}")
    parts = (x @ torch.cat([w_q, w_k, w_v], dim=1)).split(widths, dim=-1)
    q, k, v = (torch.cat(part.chunk(num_heads, dim=-1), dim=0) for part in parts)
    weights = torch.softmax(torch.bmm(q, k.transpose(1, 2)) / math.sqrt(q.shape[-1]), dim=-1)
    return torch.cat(torch.bmm(weights, v).chunk(num_heads, dim=0), dim=-1)


def single_root(d_k: int) -> Any:
    return torch.sqrt(torch.tensor(d_k))  # in float32, whatever the inputs are


def with_single_root(x: Any, w_q: Any, w_k: Any, w_v: Any, num_heads: Any) -> Any:
    q, k, v = (einops_split(x @ w, num_heads) for w in (w_q, w_k, w_v))
    return concat(torch.softmax(q @ k.mT / single_root(q.shape[-1]), dim=-1) @ v)


def heads_with_single_root(x: Any, w_q: Any, w_k: Any, w_v: Any) -> Any:
    q, k, v = (x.unsqueeze(1) @ w for w in (w_q, w_k, w_v))
    return torch.softmax(q @ k.mT / single_root(q.shape[-1]), dim=-1) @ v


VARIANTS: Versions = {
    "split_heads": (
        asserting_split,
        looped_split,
        chunked_split,
        einops_split,
        unflattened_split,
        caught_split,
        strided_split,
    ),
    "concat_heads": (
        concat,
        looped_concat,
        multiplied_concat,
        lambda heads: einops.rearrange(heads, "b h n d -> b n (h d)"),
        lambda heads: torch.cat(heads.unbind(1), dim=-1),
        lambda heads: torch.cat([*heads.transpose(0, 1)], dim=2),
        lambda heads: torch.hstack([heads[:, i].mT for i in range(heads.shape[1])]).mT,
        lambda heads: heads.movedim(1, 2).reshape(*heads.shape[::2], -1),
    ),
    "per_head_attention": (
        looped_heads,
        looped_batches_and_heads,
        einsum_heads,
        broadcast_heads,
        folded_heads,
        filled_heads,
        heads_with_single_root,
    ),
    "pack_projections": (
        looped_pack,
        lambda w: torch.cat([*w], dim=-1),
        lambda w: torch.hstack(list(w)),
        lambda w: torch.cat(w.unbind(), 1).clone(),
        lambda w: einops.rearrange(w, "h m d -> m (h d)"),
        lambda w: w.permute(1, 0, 2).reshape(w.shape[1], -1),
        lambda w: w.mT.reshape(-1, w.shape[1]).T,
        lambda w: torch.einsum("hmd,hg->mgd", w, torch.eye(len(w), dtype=w.dtype)).flatten(1),
    ),
    "multi_head_attention": (
        split_by_hand,
        by_einsum,
        by_einops,
        by_columns,
        folded,
        with_single_root,
    ),
}
