"""Mistakes in the steps of attention that are made wherever attention is written.

The implementation of each is a wrong step: in SCORING, scores from queries and keys; in WEIGHING,
weights from scores. `lifted` builds them into a function of an exercise.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from autograder.declaring import Mistake
from autograder.mistakes import ways

Scores = Callable[[Tensor, Tensor], Tensor]
Weights = Callable[[Tensor], Tensor]


def lifted(
    mistakes: Iterable[Mistake], into: Callable[[Any], Callable[..., Any]], *without: str
) -> tuple[Mistake, ...]:
    """The same mistakes in functions that are right otherwise.

    into: makes such a function of a wrong step. without: ids that are not taken along.
    """
    return tuple(
        replace(m, implementation=into(m.implementation)) for m in mistakes if m.id not in without
    )


def root(q: Tensor) -> float:
    return math.sqrt(q.shape[-1])


def products(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.transpose(-2, -1)


def right_scores(q: Tensor, k: Tensor) -> Tensor:
    return products(q, k) / root(q)


def right_softmax(scores: Tensor) -> Tensor:
    return torch.softmax(scores, dim=-1)


def turned(x: Tensor) -> Tensor:
    return x.transpose(-2, -1)


def reshaped_keys(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2]) / root(q)


def reversed_keys(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.permute(*reversed(range(k.ndim))) / root(q)


def causal(q: Tensor, k: Tensor) -> Tensor:
    scores = right_scores(q, k)
    return scores.masked_fill(~torch.ones_like(scores, dtype=torch.bool).tril(), -math.inf)


def naive_softmax(scores: Tensor) -> Tensor:
    e = scores.exp()
    return e / e.sum(dim=-1, keepdim=True)


def shifted_by_all(scores: Tensor) -> Tensor:
    e = (scores - scores.max()).exp()
    return e / e.sum(dim=-1, keepdim=True)


def shifted_by_map(scores: Tensor) -> Tensor:
    e = (scores - scores.amax(dim=(-2, -1), keepdim=True)).exp()
    return e / e.sum(dim=-1, keepdim=True)


def without_keepdim(scores: Tensor) -> Tensor:
    e = (scores - scores.max(dim=-1, keepdim=True).values).exp()
    return e / e.sum(dim=-1)


def over_more(epsilon: float) -> Weights:
    """A softmax whose denominator is larger by epsilon."""

    def weights(scores: Tensor) -> Tensor:
        e = (scores - scores.amax(dim=-1, keepdim=True)).exp()
        return e / (e.sum(dim=-1, keepdim=True) + epsilon)

    return weights


def over(dim: int) -> Weights:
    return lambda scores: torch.softmax(scores, dim=dim)


def over_everything(scores: Tensor) -> Tensor:
    return torch.softmax(scores.flatten(), dim=0).reshape(scores.shape)


SCORING: tuple[Mistake, ...] = (
    *ways(
        "not-scaled",
        "the scores are not divided by √d_k.",
        "divide by math.sqrt(q.shape[-1]) before the softmax.",
        products,
    ),
    *ways(
        "divided-by-size",
        "the scores are divided by d_k, not by its root, or by the root twice.",
        "divide once, by math.sqrt(q.shape[-1]).",
        lambda q, k: products(q, k) / q.shape[-1],
    ),
    *ways(
        "half-size-for-root",
        "`d_k ** 1/2` is no root: ** comes before /, so that it is d_k, and then half of that.",
        "write math.sqrt(d_k), or d_k ** 0.5.",
        lambda q, k: products(q, k) / (q.shape[-1] ** 1 / 2),
        lambda q, k: products(q, k) / q.shape[-1] ** 1 / 2,
    ),
    *ways(
        "scaled-up",
        "the scores are multiplied by √d_k, not divided.",
        "divide.",
        lambda q, k: products(q, k) * root(q),
    ),
    *ways(
        "keys-reshaped",
        "the keys are reshaped, not transposed: the rows that come out are no keys.",
        "swap the last two axes with k.transpose(-2, -1).",
        reshaped_keys,
    ),
    *ways(
        "all-axes-reversed",
        "`.T` reverses every axis of the keys; it is right for two axes only.",
        "swap the last two axes with k.transpose(-2, -1).",
        reversed_keys,
    ),
    *ways(
        "keys-not-transposed",
        "the keys have to be turned before they are multiplied.",
        "swap their last two axes: k.transpose(-2, -1).",
        lambda q, k: q @ k / root(q),
    ),
)

WEIGHING: tuple[Mistake, ...] = (
    *ways(
        "over-queries",
        "the softmax runs over the queries: columns sum to 1 where rows should.",
        "use dim=-1.",
        over(-2),
    ),
    *ways(
        "over-first-axis",
        "the softmax runs over the first axis.",
        "use dim=-1, which is the last axis however many there are.",
        over(0),
    ),
    *ways(
        "over-everything",
        "all weights together sum to 1, instead of each row.",
        "use dim=-1.",
        over_everything,
    ),
    *ways(
        "overflow",
        "exp() of a large score is infinite, and infinity divided by infinity is NaN.",
        "use torch.softmax, which subtracts each row's largest score first.",
        naive_softmax,
    ),
    *ways(
        "overflow-hidden",
        "exp() of a large score is infinite, and infinity divided by infinity is NaN. The number "
        "that is put in its place is no weight.",
        "use torch.softmax, which subtracts each row's largest score first.",
        lambda s: naive_softmax(s).nan_to_num(),
    ),
    *ways(
        "float32-in-between",
        "a step is done in float32 whatever the inputs are, which loses half of their digits.",
        "stay in the dtype of the inputs: no .float(), no dtype=torch.float32.",
        lambda s: torch.softmax(s.float(), dim=-1).to(s.dtype),
    ),
    *ways(
        "global-maximum",
        "the largest score of all rows is subtracted; in a row far below it every exp() is 0, and "
        "0/0 is NaN.",
        "use torch.softmax, or subtract each row's own maximum.",
        shifted_by_all,
        shifted_by_map,
    ),
    *ways(
        "no-keepdims",
        "without keepdim=True the sums are matched with the columns, not with their rows.",
        "use torch.softmax, or sum(dim=-1, keepdim=True).",
        without_keepdim,
    ),
    *ways(
        "epsilon-added",
        "a small number is added to the denominator, so that the weights sum to a little less "
        "than 1.",
        "leave it out: a sum of exponentials is never 0 once each row's largest score is "
        "subtracted.",
        over_more(1e-6),
        lambda s: right_softmax(s) / (1 + 1e-6),
    ),
    *ways(
        "sigmoid",
        "each score goes through a sigmoid by itself, so that the rows do not sum to 1.",
        "use torch.softmax.",
        torch.sigmoid,
    ),
    *ways(
        "divided-by-count",
        "the weights are divided by the number of keys.",
        "leave the division out: a softmax sums to 1 already.",
        lambda s: right_softmax(s) / s.shape[-1],
    ),
    *ways(
        "exponential-twice",
        "the softmax is taken twice; the second time it flattens the weights.",
        "apply it once.",
        lambda s: right_softmax(right_softmax(s)),
    ),
    *ways(
        "no-softmax",
        "the scores mix the values as they are: the softmax is missing.",
        "turn the scores into weights with torch.softmax(scores, dim=-1) first.",
        lambda s: s,
    ),
)
