"""Mistakes in scaled attention, lesson 02: those of its steps, and those of how they are joined."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.declaring import Mistake
from autograder.mistakes import ways
from autograder.mistakes.attention_steps import (
    SCORING,
    WEIGHING,
    Scores,
    Weights,
    causal,
    lifted,
    over,
    products,
    right_scores,
    right_softmax,
    root,
    turned,
)

Mix = Callable[[Tensor, Tensor, Tensor, Tensor], Any]


def right_mix(weights: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Any:
    return weights @ v, weights


def pipeline(
    scores: Scores = right_scores, weights: Weights = right_softmax, mix: Mix = right_mix
) -> Callable[[Tensor, Tensor, Tensor], Any]:
    """Attention from three steps, each of which may be wrong."""
    return lambda q, k, v: mix(weights(scores(q, k)), q, k, v)


def scoring(*scores: Scores) -> list[Callable[..., Any]]:
    return [pipeline(scores=each) for each in scores]


def weighing(*weights: Weights) -> list[Callable[..., Any]]:
    return [pipeline(weights=each) for each in weights]


def mixing(*mixes: Mix) -> list[Callable[..., Any]]:
    return [pipeline(mix=each) for each in mixes]


def detached_mix(weights: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Any:
    return weights.detach() @ v, weights


def scaled_scores_returned(q: Tensor, k: Tensor, v: Tensor) -> Any:
    scores = right_scores(q, k)
    return right_softmax(scores) @ v, scores


ATTENTION: tuple[Mistake, ...] = (
    *lifted(SCORING, lambda step: pipeline(scores=step)),
    *ways(
        "scaled-by-other-size",
        "the scores are divided by the root of another size than d_k.",
        "d_k is q.shape[-1], the last size of queries and keys.",
        lambda q, k, v: right_mix(right_softmax(products(q, k) / math.sqrt(k.shape[-2])), q, k, v),
        lambda q, k, v: right_mix(right_softmax(products(q, k) / math.sqrt(v.shape[-1])), q, k, v),
        lambda q, k, v: right_mix(right_softmax(products(q, k) / math.sqrt(q.shape[-2])), q, k, v),
    ),
    *ways(
        "scaled-after-softmax",
        "the weights are divided by √d_k after the softmax, so that they do not sum to 1.",
        "divide the scores, before the softmax.",
        *mixing(
            lambda w, q, k, v: right_mix(right_softmax(products(q, k)) / root(q), q, k, v),
            lambda w, q, k, v: right_mix(w / root(q), q, k, v),
            lambda w, q, k, v: (w @ v / root(q), w),
        ),
    ),
    *ways(
        "other-axes-swapped",
        "axes of k change places, but not the last two.",
        "count from the end: k.transpose(-2, -1).",
        *scoring(
            lambda q, k: q @ k.transpose(0, 1) / root(q),
            lambda q, k: q @ k.transpose(0, -1) / root(q),
        ),
    ),
    *ways(
        "fixed-number-of-axes",
        "the code is written for a fixed number of axes, and … stands for any number.",
        "count axes from the end: -1 and -2.",
        *scoring(
            lambda q, k: q @ k.transpose(1, 2) / root(q),
            lambda q, k: q @ k.transpose(2, 3) / root(q),
            lambda q, k: torch.bmm(q, k.transpose(1, 2)) / root(q),
            lambda q, k: torch.mm(q, k.t()) / root(q),
        ),
    ),
    *ways(
        "queries-and-keys-swapped",
        "queries and keys have changed roles.",
        "score q against k: rows are queries, columns keys.",
        lambda q, k, v: pipeline()(k, q, v),
    ),
    *ways(
        "keys-and-values-swapped",
        "keys and values have changed roles: queries are scored against v, and k is mixed.",
        "score q against k, mix v.",
        lambda q, k, v: pipeline()(q, v, k),
    ),
    *ways(
        "queries-with-themselves",
        "queries are scored against queries; k is not used.",
        "use k as the second factor.",
        *scoring(lambda q, k: right_scores(q, q)),
    ),
    *ways(
        "keys-with-themselves",
        "keys are scored against keys; q is not used.",
        "use q as the first factor.",
        *scoring(lambda q, k: right_scores(k, k)),
    ),
    *ways(
        "masked-too-early",
        "later keys are hidden from earlier queries. Masks come in lesson 05.",
        "leave the mask out.",
        *scoring(causal),
    ),
    *lifted(WEIGHING, lambda step: pipeline(weights=step)),
    *ways(
        "over-axis-1",
        "the softmax runs over axis 1, which is the last one only when there are two.",
        "use dim=-1, which is the last axis however many there are.",
        *weighing(over(1)),
    ),
    *ways(
        "logarithm-returned",
        "the logarithms of the weights are used.",
        "use torch.softmax, not log_softmax.",
        *weighing(lambda s: torch.log_softmax(s, dim=-1)),
    ),
    *ways(
        "scores-returned",
        "the scores are returned in the place of the weights.",
        "return what the softmax made of them.",
        scaled_scores_returned,
    ),
    *ways(
        "weights-transposed",
        "the transposed weights multiply v: each value collects from all queries.",
        "write weights @ v: row i of the weights belongs to query i.",
        *mixing(
            lambda w, q, k, v: (turned(w) @ v, w),
            lambda w, q, k, v: (w @ v, turned(w)),
        ),
    ),
    *ways(
        "keys-mixed",
        "the keys are mixed where the values should be.",
        "multiply the weights with v.",
        *mixing(lambda w, q, k, v: (w @ k, w)),
    ),
    *ways(
        "queries-mixed",
        "the queries are mixed where the values should be.",
        "multiply the weights with v.",
        *mixing(lambda w, q, k, v: (w @ q, w)),
    ),
    *ways(
        "results-swapped",
        "weights and output are returned in the wrong order.",
        "return output, weights.",
        *mixing(lambda w, q, k, v: (w, w @ v)),
    ),
    *ways(
        "output-only",
        "only the output is returned.",
        "return both: output, weights.",
        *mixing(lambda w, q, k, v: w @ v),
    ),
    *ways(
        "output-transposed",
        "rows and columns of the output have changed places.",
        "return weights @ v as it is: one row for each query.",
        *mixing(lambda w, q, k, v: (turned(w @ v), w)),
    ),
    *ways(
        "gradient-cut",
        "the weights are cut from the graph of gradients, so that nothing can be learned through "
        "them.",
        "leave .detach(), .data and no_grad out.",
        *mixing(
            detached_mix,
            lambda w, q, k, v: (w.detach() @ v, w.detach()),
            lambda w, q, k, v: (w @ v.detach(), w),
            lambda w, q, k, v: ((w @ v).detach(), w.detach()),
        ),
    ),
    *ways(
        "size-one-squeezed",
        "an axis of length 1 was removed, and it was one of the result's.",
        "leave squeeze() out.",
        *mixing(
            lambda w, q, k, v: ((w @ v).squeeze(), w.squeeze()),
            lambda w, q, k, v: ((w @ v).squeeze(), w),
        ),
    ),
)
