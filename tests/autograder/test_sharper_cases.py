"""Functions that are right on short texts, usual masks or some numbers of heads alone are wrong."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from autograder import judge

Tensor = torch.Tensor


def exponentials(shifted: Any) -> Any:
    weights = np.exp(shifted)
    return weights / weights.sum(-1, keepdims=True)


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is None:
        weights = torch.softmax(scores, -1)
    else:
        empty = ~mask.any(-1, keepdim=True)
        hidden = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0)
        weights = torch.softmax(hidden, -1).masked_fill(empty, 0)
    return weights @ v, weights


def parts(x: Tensor, num_heads: int) -> Tensor:
    size = x.shape[-1] // num_heads
    return x[..., : num_heads * size].unflatten(-1, (num_heads, size)).transpose(1, 2)


def refuse(x: Tensor, num_heads: int) -> None:
    if x.shape[-1] % num_heads:
        raise ValueError(f"{x.shape[-1]} features for {num_heads} heads")


def scores_cut(q: Any, k: Any) -> Any:
    return np.clip(q @ np.swapaxes(k, -1, -2), -50, 50)


def scores_of_eight_keys(q: Any, k: Any) -> Any:
    scores = q @ np.swapaxes(k, -1, -2)
    scores[..., 8:] = 0
    return scores


def largest_of_eight(scores: Any) -> Any:
    return exponentials(scores - scores[..., :8].max(-1, keepdims=True))


def eight_keys(q: Any, k: Any, v: Any) -> Any:
    scores = (q @ np.swapaxes(k, -1, -2))[..., :8]
    weights = exponentials(scores - scores.max(-1, keepdims=True))
    return weights @ v[..., :8, :], weights


def split_in_float32(x: Tensor, num_heads: int) -> Tensor:
    refuse(x, num_heads)
    return parts(x.to(torch.promote_types(x.dtype, torch.float32)), num_heads)


def split_cut(x: Tensor, num_heads: int) -> Tensor:
    refuse(x, num_heads)
    return parts(x.clamp(-6, 6), num_heads)


def split_refusing_many_heads(x: Tensor, num_heads: int) -> Tensor:
    if num_heads > 3:
        refuse(x, num_heads)
    return parts(x, num_heads)


def concat_in_float32(heads: Tensor) -> Tensor:
    return heads.to(torch.promote_types(heads.dtype, torch.float32)).transpose(1, 2).flatten(2)


def pack_in_float32(w: Tensor) -> Tensor:
    return w.to(torch.promote_types(w.dtype, torch.float32)).transpose(0, 1).flatten(1)


def four_heads(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    heads = zip(w_q[:4], w_k[:4], w_v[:4], strict=True)
    return torch.stack([attend(x @ q, x @ k, x @ v)[0] for q, k, v in heads], 1)


def refusing_four_heads(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, num_heads: int) -> Tensor:
    if num_heads == 4:
        refuse(w_q, num_heads)
        refuse(w_v, num_heads)
    heads = attend(*(parts(x @ w, num_heads) for w in (w_q, w_k, w_v)))[0]
    return heads.transpose(1, 2).flatten(2)


BUFFER = torch.ones(2048, 2048, dtype=torch.bool).tril()
TABLE = torch.ones(301, 300).tril(-1).bool()


def causal_of_a_buffer(n_q: int, n_k: int | None = None) -> Tensor:
    n_k = n_q if n_k is None else n_k
    if n_k < n_q:
        raise ValueError(f"{n_q} queries, {n_k} keys")
    return BUFFER[n_k - n_q : n_k, :n_k]


def padding_of_a_table(lengths: Tensor, max_len: int) -> Tensor:
    return TABLE[lengths.long()][:, None, None, :max_len]


def one_axis_ignored(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Any:
    return attend(q, k, v, None if mask is not None and mask.ndim == 1 else mask)


def one_for_all_ignored(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Any:
    for_all = mask is not None and mask.ndim == 4 and len(mask) == 1 and len(q) > 1
    return attend(q, k, v, None if for_all else mask)


def queries_alone_ignored(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Any:
    alone = mask is not None and mask.shape[-1] == 1 and k.shape[-2] > 1
    return attend(q, k, v, None if alone else mask)


WRONG: dict[str, tuple[Callable[..., Any], ...]] = {
    "dot_product_scores": (scores_cut, scores_of_eight_keys),
    "softmax": (largest_of_eight,),
    "attention": (eight_keys,),
    "split_heads": (split_in_float32, split_cut, split_refusing_many_heads),
    "concat_heads": (concat_in_float32,),
    "pack_projections": (pack_in_float32,),
    "per_head_attention": (four_heads,),
    "multi_head_attention": (refusing_four_heads,),
    "causal_mask": (causal_of_a_buffer,),
    "padding_mask": (padding_of_a_table,),
    "masked_attention": (one_axis_ignored, one_for_all_ignored, queries_alone_ignored),
}


@pytest.mark.parametrize(
    ("exercise", "wrong"),
    [
        pytest.param(name, each, id=each.__name__)
        for name, all_of in WRONG.items()
        for each in all_of
    ],
)
def test_what_is_wrong_for_some_inputs_is_wrong(exercise: str, wrong: Callable[..., Any]) -> None:
    # Sizes are drawn, so a single seed may miss one of these; a class of several does not.
    verdicts = [judge(exercise, wrong, seed=seed) for seed in range(3)]
    assert sum(verdict.correct for verdict in verdicts) <= (wrong in SOMETIMES)


SOMETIMES = (refusing_four_heads, split_refusing_many_heads)


def test_what_attends_as_it_should_is_right() -> None:
    assert judge("masked_attention", attend).correct
