"""Right versions of lesson 04."""

import math
from typing import Any

import einops
import numpy as np
import torch
from torch import nn

from tests.autograder.variants.versions import Versions


def looped_projection(heads: Any, w_o: Any) -> Any:
    d_v = heads.shape[-1]
    output = torch.zeros(heads.shape[0], heads.shape[2], w_o.shape[1], dtype=heads.dtype)
    for i in range(heads.shape[1]):
        output += heads[:, i] @ w_o[i * d_v : (i + 1) * d_v]
    return output


def catenated_projection(heads: Any, w_o: Any, bias: Any = None) -> Any:
    joined = torch.cat(torch.unbind(heads, dim=1), dim=-1)
    return torch.nn.functional.linear(joined, w_o.T, bias)


def word_by_word(heads: Any, w_o: Any) -> Any:
    sentences = []
    for sentence in heads:
        words = [torch.cat(list(sentence[:, i])) @ w_o for i in range(sentence.shape[1])]
        sentences.append(torch.stack(words))
    return torch.stack(sentences)


def flattened_projection(heads: torch.Tensor, w_o: torch.Tensor) -> torch.Tensor:
    batch, num_heads, n, d_v = heads.size()
    rows = heads.permute(0, 2, 1, 3).contiguous().view(batch * n, num_heads * d_v)
    return torch.mm(rows, w_o).view(batch, n, -1)


def looped_contributions(heads: Any, w_o: Any) -> Any:
    blocks = w_o.split(heads.shape[-1])
    return torch.stack([heads[:, i] @ block for i, block in enumerate(blocks)], dim=1)


def filled_contributions(heads: Any, w_o: Any) -> Any:
    batch, num_heads, n, d_v = heads.shape
    result = heads.new_empty(batch, num_heads, n, w_o.shape[-1])
    for b in range(batch):
        for i in range(num_heads):
            result[b, i] = torch.mm(heads[b, i], w_o[d_v * i : d_v * i + d_v, :])
    return result


def silenced_contributions(heads: Any, w_o: Any) -> Any:
    """Each head alone: all others are set to 0, and everything is projected."""
    num_heads = heads.shape[1]
    alone = heads[:, None] * torch.eye(num_heads, dtype=heads.dtype)[None, :, :, None, None]
    return alone.transpose(2, 3).flatten(3) @ w_o


def batched_contributions(heads: Any, w_o: Any) -> Any:
    b, h, n, d = heads.shape
    blocks = torch.stack(w_o.chunk(h, dim=0)).repeat(b, 1, 1)
    nothing = torch.zeros(1, dtype=heads.dtype)
    return torch.baddbmm(nothing, heads.reshape(b * h, n, d), blocks, beta=0).view(b, h, n, -1)


def shape_by_shape(
    d_model: int,
    num_heads: int,
    d_k: int | None = None,
    d_v: int | None = None,
    bias: bool = False,
) -> int:
    if None in (d_k, d_v):
        assert d_model % num_heads == 0, f"{d_model=} is no multiple of {num_heads=}"
    d_k = d_model // num_heads if d_k is None else d_k
    d_v = d_model // num_heads if d_v is None else d_v
    shapes = [(d_model, d_k * num_heads)] * 2
    shapes += [(d_model, d_v * num_heads), (d_v * num_heads, d_model)]
    return sum((rows + bias) * columns for rows, columns in shapes)


def layer_by_layer(d_model: Any, num_heads: Any, d_k: Any = None, d_v: Any = None, bias=False):
    """Builds the layers and asks them."""

    def size(given: Any) -> Any:
        if given is not None:
            return given
        each, left = divmod(d_model, num_heads)
        if left:
            raise ValueError(f"num_heads={num_heads} leaves a rest of {left} in {d_model}")
        return each

    keys, values = num_heads * size(d_k), num_heads * size(d_v)
    layers = nn.ModuleList(
        nn.Linear(*sizes, bias=bias, device="meta")
        for sizes in ((d_model, keys), (d_model, keys), (d_model, values), (values, d_model))
    )
    return sum(parameter.numel() for parameter in layers.parameters())


def in_numpy(d_model: Any, num_heads: Any, d_k: Any = None, d_v: Any = None, bias: Any = 0) -> Any:
    if (d_k is None or d_v is None) and d_model % num_heads != 0:
        raise ValueError(f"num_heads ({num_heads}) must divide d_model ({d_model})")
    sizes = np.array([d_model // num_heads if d is None else d for d in (d_k, d_k, d_v, d_v)])
    count = (sizes * num_heads * d_model).sum()
    return count + (sizes[:3].sum() * num_heads + d_model if bias else 0)


def head_by_head(d_model, num_heads, d_k=None, d_v=None, bias=False, verbose=False):
    if d_k is None or d_v is None:
        if d_model % num_heads:
            raise ValueError(f"cannot share {d_model} among {num_heads}")
        if d_k is None:
            d_k = d_model // num_heads
        if d_v is None:
            d_v = d_model // num_heads
    total = 0
    for _ in range(num_heads):
        total += d_model * d_k + d_model * d_k + d_model * d_v + d_v * d_model
        if bias:
            total += d_k + d_k + d_v
    if bias:
        total += d_model
    if verbose:
        print(total)
    return total


def refuse(x: Any, num_heads: Any) -> Any:
    if x.shape[-1] % num_heads:
        raise ValueError(f"{x.shape[-1]} columns, {num_heads} heads: that leaves a rest.")
    return x.shape[-1] // num_heads


def looped_layer(x: Any, w_q: Any, w_k: Any, w_v: Any, w_o: Any, num_heads: Any) -> Any:
    """One head after the other; each writes into the output at once."""
    d_k, d_v = refuse(w_q, num_heads), refuse(w_v, num_heads)
    output = 0
    for i in range(num_heads):
        keys, values = slice(i * d_k, (i + 1) * d_k), slice(i * d_v, (i + 1) * d_v)
        q, k, v = x @ w_q[:, keys], x @ w_k[:, keys], x @ w_v[:, values]
        weights = torch.softmax(q @ k.transpose(1, 2) / math.sqrt(d_k), dim=-1)
        output = output + weights @ v @ w_o[values]
    return output


def einsum_layer(x: Any, w_q: Any, w_k: Any, w_v: Any, w_o: Any, num_heads: Any) -> Any:
    refuse(w_q, num_heads)
    refuse(w_v, num_heads)
    w_q, w_k, w_v = (einops.rearrange(w, "m (h d) -> h m d", h=num_heads) for w in (w_q, w_k, w_v))
    w_o = einops.rearrange(w_o, "(h d) m -> h d m", h=num_heads)
    q, k, v = (torch.einsum("bnm,hmd->bhnd", x, w) for w in (w_q, w_k, w_v))
    weights = torch.einsum("bhqd,bhkd->bhqk", q * q.shape[-1] ** -0.5, k).softmax(-1)
    return torch.einsum("bhqk,bhkd,hdm->bqm", weights, v, w_o)


def folded_layer(
    x: torch.Tensor,
    w_q: torch.Tensor,
    w_k: torch.Tensor,
    w_v: torch.Tensor,
    w_o: torch.Tensor,
    num_heads: int,
    scale: float | None = None,
) -> torch.Tensor:
    """Heads folded into the batch for bmm, softmax by logsumexp."""
    batch, n, _ = x.shape

    def fold(w: torch.Tensor) -> torch.Tensor:
        assert w.size(1) % num_heads == 0, (w.size(1), num_heads)
        parts = (x @ w).view(batch, n, num_heads, -1).permute(0, 2, 1, 3)
        return parts.reshape(batch * num_heads, n, -1)

    q, k, v = fold(w_q), fold(w_k), fold(w_v)
    scores = torch.bmm(q, k.transpose(1, 2)).mul_(scale or 1 / math.sqrt(q.shape[-1]))
    weights = torch.exp(scores - scores.logsumexp(dim=-1, keepdim=True))
    heads = torch.bmm(weights, v).view(batch, num_heads, n, -1)
    return heads.movedim(1, 2).reshape(batch, n, -1) @ w_o


def stacked_layer(x: Any, w_q: Any, w_k: Any, w_v: Any, w_o: Any, num_heads: Any) -> Any:
    """One product for queries, keys and values; scores scaled on both sides."""
    d_k, d_v = refuse(w_q, num_heads), refuse(w_v, num_heads)
    q, k, v = (x @ torch.cat([w_q, w_k, w_v], dim=1)).split(
        [num_heads * d_k, num_heads * d_k, num_heads * d_v], dim=-1
    )
    q, k = (t.unflatten(-1, (num_heads, d_k)).swapaxes(1, 2) / d_k**0.25 for t in (q, k))
    v = v.unflatten(-1, (num_heads, d_v)).swapaxes(1, 2)
    heads = torch.matmul(torch.nn.functional.softmax(torch.matmul(q, k.mT), dim=3), v)
    return looped_contributions(heads, w_o).sum(1)


def single_root_layer(x: Any, w_q: Any, w_k: Any, w_v: Any, w_o: Any, num_heads: Any) -> Any:
    """The root of d_k is held in float32, whatever the inputs are."""
    d_k, d_v = refuse(w_q, num_heads), refuse(w_v, num_heads)
    q, k = ((x @ w).unflatten(-1, (num_heads, d_k)).transpose(1, 2) for w in (w_q, w_k))
    v = (x @ w_v).unflatten(-1, (num_heads, d_v)).transpose(1, 2)
    weights = torch.softmax(q @ k.mT / torch.FloatTensor([d_k]).sqrt(), dim=-1)
    return (weights @ v).transpose(1, 2).flatten(2) @ w_o


VARIANTS: Versions = {
    "project_output": (
        looped_projection,
        catenated_projection,
        word_by_word,
        flattened_projection,
        lambda heads, w_o: torch.einsum(
            "bhnd,hdm->bnm", heads, w_o.reshape(heads.shape[1], heads.shape[3], -1)
        ),
        lambda heads, w_o: einops.rearrange(heads, "b h n d -> b n (h d)") @ w_o,
        lambda heads, w_o: torch.tensordot(heads.movedim(1, -2).flatten(-2), w_o, dims=1),
        lambda heads, w_o: (w_o.T @ heads.transpose(2, 3).flatten(1, 2)).mT,
    ),
    "head_contributions": (
        looped_contributions,
        filled_contributions,
        silenced_contributions,
        batched_contributions,
        lambda heads, w_o: (
            torch.einsum(
                "bhnd,hdm->bhnm", heads, w_o.view(heads.shape[1], heads.shape[3], w_o.shape[1])
            )
            if w_o.is_contiguous()
            else heads @ w_o.T.unflatten(1, heads.shape[1::2]).permute(1, 2, 0)
        ),
        lambda heads, w_o: (
            heads @ einops.rearrange(w_o, "(h d) m -> h d m", h=heads.shape[1]).unsqueeze(0)
        ),
        lambda heads, w_o: (
            heads.unsqueeze(-1) * w_o.reshape(1, heads.shape[1], 1, heads.shape[3], -1)
        ).sum(-2),
    ),
    "count_parameters": (shape_by_shape, layer_by_layer, in_numpy, head_by_head),
    "multi_head_attention_with_output": (
        looped_layer,
        einsum_layer,
        folded_layer,
        stacked_layer,
        single_root_layer,
    ),
}
