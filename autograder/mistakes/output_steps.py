"""The steps of multi-head attention with W^O, right and wrong.

`pipeline` builds it from replaceable steps, so that each mistake states only the step that it gets
wrong. The steps: project x, cut into heads, score, softmax, mix, put together and multiply.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.mistakes.attention_steps import (
    Scores,
    Weights,
    products,
    right_scores,
    right_softmax,
)
from autograder.mistakes.output_projection import side_by_side

Project = Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]
Split = Callable[[Tensor, int], Tensor]
Mix = Callable[[Tensor, Tensor], Tensor]
Finish = Callable[[Tensor, Tensor], Any]
Function = Callable[..., Any]


def projections(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return x @ w_q, x @ w_k, x @ w_v


def head_size(x: Tensor, num_heads: int) -> int:
    if x.shape[-1] % num_heads:
        raise ValueError(f"{num_heads} heads do not divide {x.shape[-1]}.")
    return x.shape[-1] // num_heads


def cut(x: Tensor, num_heads: int) -> Tensor:
    return x.unflatten(-1, (num_heads, head_size(x, num_heads))).transpose(1, 2)


def mixed(weights: Tensor, v: Tensor) -> Tensor:
    return weights @ v


def finished(heads: Tensor, w_o: Tensor) -> Tensor:
    return side_by_side(heads) @ w_o


def pipeline(
    project: Project = projections,
    split: Split = cut,
    scores: Scores = right_scores,
    weights: Weights = right_softmax,
    mix: Mix = mixed,
    finish: Finish = finished,
) -> Function:
    """Multi-head attention from its steps, each of which may be wrong."""

    def attend(
        x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, num_heads: int
    ) -> Any:
        q, k, v = (split(each, num_heads) for each in project(x, w_q, w_k, w_v))
        return finish(mix(weights(scores(q, k)), v), w_o)

    return attend


def projecting(*steps: Project) -> list[Function]:
    return [pipeline(project=step) for step in steps]


def splitting(*steps: Split) -> list[Function]:
    return [pipeline(split=step) for step in steps]


def scoring(*steps: Scores) -> list[Function]:
    return [pipeline(scores=step) for step in steps]


def weighing(*steps: Weights) -> list[Function]:
    return [pipeline(weights=step) for step in steps]


def mixing(*steps: Mix) -> list[Function]:
    return [pipeline(mix=step) for step in steps]


def finishing(*steps: Finish) -> list[Function]:
    return [pipeline(finish=step) for step in steps]


right = pipeline()


def split_unturned(x: Tensor, num_heads: int) -> Tensor:
    d_k = head_size(x, num_heads)
    return x.reshape(x.shape[0], num_heads, x.shape[1], d_k)


def split_interleaved(x: Tensor, num_heads: int) -> Tensor:
    return x.unflatten(-1, (head_size(x, num_heads), num_heads)).permute(0, 3, 1, 2)


def split_by_floor(x: Tensor, num_heads: int) -> Tensor:
    """Features that are left over when the heads are cut are dropped."""
    d_k = x.shape[-1] // num_heads
    return torch.stack([x[..., i * d_k : (i + 1) * d_k] for i in range(num_heads)], dim=1)


def finished_as_far_as_there_is(heads: Tensor, w_o: Tensor) -> Tensor:
    joined = side_by_side(heads)
    return joined @ w_o[: joined.shape[-1]]


def scaled_by(size: Callable[[Tensor, Tensor, int], int]) -> Function:
    """Attention whose scores are divided by the root of a size, found from x, w_q, num_heads."""

    def attend(
        x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, num_heads: int
    ) -> Any:
        root = math.sqrt(size(x, w_q, num_heads))
        return pipeline(scores=lambda q, k: products(q, k) / root)(x, w_q, w_k, w_v, w_o, num_heads)

    return attend


def scaled_by_values(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, h: int) -> Any:
    """Attention whose scores are divided by √d_v."""
    root = math.sqrt(w_v.shape[1] // h)
    return pipeline(scores=lambda q, k: products(q, k) / root)(x, w_q, w_k, w_v, w_o, h)


def split_first(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, h: int) -> Any:
    """Split, then project: the sizes fit with one head only."""
    q, k, v = (cut(x, h) @ w for w in (w_q, w_k, w_v))
    return finished(mixed(right_softmax(right_scores(q, k)), v), w_o)


def sized_by_model(x: Tensor, *ws_and_heads: Any) -> Any:
    """Attention that cuts every projection into heads of d_model // num_heads numbers."""
    *ws, num_heads = ws_and_heads
    d_k = x.shape[-1] // num_heads

    def split(y: Tensor, num_heads: int) -> Tensor:
        return y.view(x.shape[0], x.shape[1], num_heads, d_k).transpose(1, 2)

    return pipeline(split=split)(x, *ws, num_heads)


def sized_by_keys(size: Callable[[Tensor, int], int]) -> Function:
    """Attention that cuts the values, too, into heads of d_k numbers."""

    def attend(x: Tensor, w_q: Tensor, *ws_and_heads: Any) -> Any:
        *ws, num_heads = ws_and_heads
        d_k = size(w_q, num_heads)

        def split(y: Tensor, num_heads: int) -> Tensor:
            return y.view(x.shape[0], x.shape[1], num_heads, d_k).transpose(1, 2)

        return pipeline(split=split)(x, w_q, *ws, num_heads)

    return attend


def joined_by_keys(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, h: int) -> Any:
    """Attention that concatenates the heads as if they had d_k numbers each."""

    def finish(heads: Tensor, w_o: Tensor) -> Tensor:
        return heads.transpose(1, 2).reshape(x.shape[0], x.shape[1], w_q.shape[1]) @ w_o

    return pipeline(finish=finish)(x, w_q, w_k, w_v, w_o, h)


def joined_by_model(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, h: int) -> Any:
    """Attention that concatenates the heads to d_model numbers."""

    def finish(heads: Tensor, w_o: Tensor) -> Tensor:
        return heads.transpose(1, 2).reshape(x.shape) @ w_o

    return pipeline(finish=finish)(x, w_q, w_k, w_v, w_o, h)


def one_wide_head(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, h: int) -> Any:
    for w in (w_q, w_v):
        head_size(w, h)
    return right(x, w_q, w_k, w_v, w_o, 1)


def same_for_all(head: int) -> Function:
    """Attention in which all heads are one head."""

    def split(x: Tensor, num_heads: int) -> Tensor:
        return cut(x, num_heads)[:, [head]].expand(-1, num_heads, -1, -1)

    return pipeline(split=split)


def unrefusing(size: Callable[[Tensor, int], int]) -> Function:
    """A view that does not fit: an error, but not the ValueError that was asked for."""

    def attend(
        x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, num_heads: int
    ) -> Any:
        q, k, v = (
            (x @ w).view(*x.shape[:2], num_heads, size(w, num_heads)).transpose(1, 2)
            for w in (w_q, w_k, w_v)
        )
        return finished(mixed(right_softmax(right_scores(q, k)), v), w_o)

    return attend


def refusing_d_model(error: Exception) -> Function:
    def attend(
        x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, num_heads: int
    ) -> Any:
        if x.shape[-1] % num_heads:
            raise error
        return right(x, w_q, w_k, w_v, w_o, num_heads)

    return attend


def with_residual(x: Tensor, *ws_and_heads: Any) -> Any:
    return right(x, *ws_and_heads) + x


def with_weights(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, h: int) -> Any:
    q, k, v = (cut(each, h) for each in projections(x, w_q, w_k, w_v))
    weights = right_softmax(right_scores(q, k))
    return finished(mixed(weights, v), w_o), weights


def without_graph(*ws_and_heads: Any) -> Any:
    with torch.no_grad():
        return right(*ws_and_heads)
