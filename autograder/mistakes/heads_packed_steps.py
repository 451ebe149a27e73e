"""Attention with all heads at once, from steps each of which may be wrong."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.mistakes.attention_steps import products, right_scores, right_softmax
from autograder.mistakes.heads_attending import Attention, right_attention
from autograder.mistakes.heads_joining import right_concat
from autograder.mistakes.heads_splitting import (
    Split,
    right_split,
    size_of_head,
)

MultiHead = Callable[[Tensor, Tensor, Tensor, Tensor, int], Tensor]
Project = Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]


def right_projections(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    return x @ w_q, x @ w_k, x @ w_v


def packed(
    project: Project = right_projections,
    split: Split = right_split,
    attend: Attention = right_attention,
    concat: Callable[[Tensor], Any] = right_concat,
) -> Callable[..., Any]:
    """Multi-head attention from four steps, each of which may be wrong."""
    return lambda x, w_q, w_k, w_v, h: concat(
        attend(*(split(part, h) for part in project(x, w_q, w_k, w_v)))
    )


def attending(attend: Attention) -> MultiHead:
    return packed(attend=attend)


def scaled_by(size: Callable[[Tensor, Tensor, int], int]) -> MultiHead:
    """Right, but scores are divided by the root of a size made of x, w_q and num_heads."""

    def multi_head(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, h: int) -> Tensor:
        q, k, v = (right_split(x @ w, h) for w in (w_q, w_k, w_v))
        weights = right_softmax(products(q, k) / math.sqrt(max(size(x, w_q, h), 1)))
        return right_concat(weights @ v)

    return multi_head


def size_from_model(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, h: int) -> Tensor:
    batch, n, d_model = x.shape
    size_of_head(w_q.shape[-1], h), size_of_head(w_v.shape[-1], h)
    q, k, v = ((x @ w).reshape(batch, n, h, d_model // h).transpose(1, 2) for w in (w_q, w_k, w_v))
    return right_attention(q, k, v).transpose(1, 2).reshape(batch, n, d_model)


def values_of_key_size(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, h: int) -> Tensor:
    batch, n, _ = x.shape
    d_k = size_of_head(w_q.shape[-1], h)
    size_of_head(w_v.shape[-1], h)
    q, k, v = ((x @ w).reshape(batch, n, h, d_k).transpose(1, 2) for w in (w_q, w_k, w_v))
    return right_attention(q, k, v).transpose(1, 2).reshape(batch, n, h * d_k)


def whole(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, h: int) -> Tensor:
    size_of_head(w_q.shape[-1], h), size_of_head(w_v.shape[-1], h)
    return right_attention(x @ w_q, x @ w_k, x @ w_v)


def whole_scaled(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, h: int) -> Tensor:
    d_k, _ = size_of_head(w_q.shape[-1], h), size_of_head(w_v.shape[-1], h)
    return right_softmax(products(x @ w_q, x @ w_k) / math.sqrt(d_k)) @ (x @ w_v)


def model_size_checked(message: str, error: type[Exception]) -> MultiHead:
    """Right where num_heads divides d_model; elsewhere this error is raised."""

    def multi_head(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, h: int) -> Tensor:
        if x.shape[-1] % h:
            raise error(message)
        return packed()(x, w_q, w_k, w_v, h)

    return multi_head


def folded(unfold: Callable[[Tensor, int], Tensor]) -> MultiHead:
    """Heads folded into the batch, head after head, and unfolded like this."""

    def multi_head(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, h: int) -> Tensor:
        parts = (right_split(x @ w, h).transpose(0, 1).flatten(0, 1) for w in (w_q, w_k, w_v))
        return unfold(right_attention(*parts), h)

    return multi_head


def input_sliced(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, h: int) -> Tensor:
    """Head i projects the i-th slice of x."""
    size = size_of_head(x.shape[-1], h)
    d_k, d_v = size_of_head(w_q.shape[-1], h), size_of_head(w_v.shape[-1], h)
    heads = []
    for i in range(h):
        rows = slice(i * size, (i + 1) * size)
        w = (w_q, d_k), (w_k, d_k), (w_v, d_v)
        parts = (x[..., rows] @ each[rows, i * d : (i + 1) * d] for each, d in w)
        heads.append(right_attention(*parts))
    return torch.cat(heads, dim=-1)


def split_first(split: Split) -> MultiHead:
    """Split, then project: the sizes fit with one head only."""

    def multi_head(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, h: int) -> Tensor:
        q, k, v = (split(x, h) @ w for w in (w_q, w_k, w_v))
        return right_concat(right_attention(q, k, v))

    return multi_head


def unpacked_by_reshape(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, h: int) -> Tensor:
    d_model = x.shape[-1]
    w = (each.reshape(h, d_model, size_of_head(each.shape[-1], h)) for each in (w_q, w_k, w_v))
    return right_concat(right_attention(*(x.unsqueeze(1) @ each for each in w)))


def over_heads(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.softmax(right_scores(q, k), dim=1) @ v


def averaged_weights(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return right_softmax(right_scores(q, k)).mean(dim=1, keepdim=True) @ v


def averaged_scores(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return right_softmax(right_scores(q, k).mean(dim=1, keepdim=True)) @ v


def reversed_keys_split(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return right_softmax(q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])) @ v


def first_head(x: Tensor, h: int) -> Tensor:
    return right_split(x, h)[:, :1].expand(-1, h, -1, -1)


def some_first(which: str) -> MultiHead:
    def multi_head(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, h: int) -> Tensor:
        parts = zip("qkv", (w_q, w_k, w_v), strict=True)
        q, k, v = (
            first_head(x @ w, h) if name in which else right_split(x @ w, h) for name, w in parts
        )
        return right_concat(right_attention(q, k, v))

    return multi_head


def split_for_some(which: str, split: Split) -> MultiHead:
    """Only some of queries, keys and values are split in this way, the others right."""

    def multi_head(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, h: int) -> Tensor:
        parts = zip("qkv", (w_q, w_k, w_v), strict=True)
        q, k, v = ((split if name in which else right_split)(x @ w, h) for name, w in parts)
        return right_concat(right_attention(q, k, v))

    return multi_head


def residual(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, h: int) -> Tensor:
    output = packed()(x, w_q, w_k, w_v, h)
    return output + x if output.shape == x.shape else output


def joined_last(heads: Tensor) -> Tensor:
    """Heads whose axes are (batch, n, heads, d_v) → (batch, n, heads · d_v)."""
    return heads.flatten(2)
