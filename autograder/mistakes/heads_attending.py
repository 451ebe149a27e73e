"""Mistakes in attention that several heads can share: scores, softmax, mix.

Each is an attention (q, k, v) → output for any leading axes; `lifted` builds it into a function of
an exercise.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from autograder.declaring import Mistake
from autograder.mistakes import ways
from autograder.mistakes.torch_steps import (
    causal,
    naive_softmax,
    over,
    over_everything,
    products,
    reshaped_keys,
    right_scores,
    right_softmax,
    root,
    shifted_by_all,
    turned,
    without_keepdim,
)

Attention = Callable[[Tensor, Tensor, Tensor], Tensor]


def right_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return right_softmax(right_scores(q, k)) @ v


def scoring(scores: Callable[[Tensor, Tensor], Tensor]) -> Attention:
    return lambda q, k, v: right_softmax(scores(q, k)) @ v


def weighing(weights: Callable[[Tensor], Tensor]) -> Attention:
    return lambda q, k, v: weights(right_scores(q, k)) @ v


def mixing(mix: Callable[[Tensor, Tensor], Tensor]) -> Attention:
    return lambda q, k, v: mix(right_softmax(right_scores(q, k)), v)


def scaling(divisor: Callable[[Tensor, Tensor], float]) -> Attention:
    """Attention whose scores are divided by a number made of q and v."""
    return lambda q, k, v: right_softmax(products(q, k) / divisor(q, v)) @ v


def over_sentence(scores: Tensor) -> Tensor:
    return torch.softmax(scores.flatten(1), dim=1).reshape(scores.shape)


def over_more(epsilon: float) -> Callable[[Tensor], Tensor]:
    """A softmax whose denominator is larger by epsilon."""

    def weights(scores: Tensor) -> Tensor:
        e = (scores - scores.amax(dim=-1, keepdim=True)).exp()
        return e / (e.sum(dim=-1, keepdim=True) + epsilon)

    return weights


ATTENDING: tuple[Mistake, ...] = (
    *ways(
        "not-scaled",
        "the scores are not divided by √d_k.",
        "divide by the root of the size of one head before the softmax, or let "
        "scaled_dot_product_attention do it.",
        scaling(lambda q, v: 1.0),
    ),
    *ways(
        "divided-by-size",
        "the scores are divided by d_k, not by its root, or by the root twice.",
        "divide once, by math.sqrt(d_k); scaled_dot_product_attention does it already.",
        scaling(lambda q, v: q.shape[-1]),
    ),
    *ways(
        "half-size-for-root",
        "`d_k ** 1/2` is no root: ** comes before /, so that it is d_k, and then half of that.",
        "write math.sqrt(d_k), or d_k ** 0.5.",
        scaling(lambda q, v: q.shape[-1] / 2),
        scaling(lambda q, v: q.shape[-1] * 2),
    ),
    *ways(
        "scaled-up",
        "the scores are multiplied by √d_k, not divided.",
        "divide.",
        scaling(lambda q, v: 1 / root(q)),
    ),
    *ways(
        "scaled-by-other-size",
        "the scores are divided by the root of another size than d_k.",
        "d_k is the size of one head's queries and keys.",
        scaling(lambda q, v: math.sqrt(v.shape[-1])),
        scaling(lambda q, v: math.sqrt(q.shape[-2])),
    ),
    *ways(
        "scaled-after-softmax",
        "the weights are divided by √d_k after the softmax, so that they do not sum to 1.",
        "divide the scores, before the softmax.",
        lambda q, k, v: right_softmax(products(q, k)) / root(q) @ v,
        lambda q, k, v: right_attention(q, k, v) / root(q),
    ),
    *ways(
        "keys-reshaped",
        "the keys are reshaped, not transposed: the rows that come out are no keys.",
        "swap the last two axes with k.transpose(-2, -1).",
        scoring(reshaped_keys),
    ),
    *ways(
        "keys-not-transposed",
        "the keys have to be turned before they are multiplied.",
        "swap their last two axes: k.transpose(-2, -1).",
        scoring(lambda q, k: q @ k / root(q)),
    ),
    *ways(
        "all-axes-reversed",
        "`.T` reverses every axis of the keys; it is right for two axes only.",
        "swap the last two axes with k.transpose(-2, -1).",
        scoring(lambda q, k: q @ k.permute(*reversed(range(k.ndim))) / root(q)),
    ),
    *ways(
        "masked-too-early",
        "later words are hidden from earlier ones. Masks come in lesson 05.",
        "leave the mask out.",
        scoring(causal),
    ),
    *ways(
        "over-queries",
        "the softmax runs over the queries: columns sum to 1 where rows should.",
        "use dim=-1.",
        weighing(over(-2)),
    ),
    *ways(
        "over-first-axis",
        "the softmax runs over the first axis, the batch.",
        "use dim=-1, the keys.",
        weighing(over(0)),
    ),
    *ways(
        "over-everything",
        "all weights together, or all of a sentence, sum to 1, instead of each row.",
        "use dim=-1.",
        weighing(over_everything),
        weighing(over_sentence),
    ),
    *ways(
        "overflow",
        "exp() of a large score is infinite, and infinity divided by infinity is NaN.",
        "use torch.softmax, which subtracts each row's largest score first.",
        weighing(naive_softmax),
    ),
    *ways(
        "global-maximum",
        "the largest score of all rows is subtracted; in a row far below it every exp() is 0, and "
        "0/0 is NaN.",
        "use torch.softmax, or subtract each row's own maximum.",
        weighing(shifted_by_all),
    ),
    *ways(
        "no-keepdims",
        "without keepdim=True the sums are matched with the columns, not with their rows.",
        "use torch.softmax, or sum(dim=-1, keepdim=True).",
        weighing(without_keepdim),
    ),
    *ways(
        "sigmoid",
        "each score goes through a sigmoid by itself, so that the rows do not sum to 1.",
        "use torch.softmax.",
        weighing(torch.sigmoid),
    ),
    *ways(
        "divided-by-count",
        "the weights are divided by the number of words.",
        "leave the division out: a softmax sums to 1 already.",
        weighing(lambda s: right_softmax(s) / s.shape[-1]),
    ),
    *ways(
        "epsilon-added",
        "a small number is added to the denominator, so that the weights sum to a little less "
        "than 1.",
        "leave it out: a sum of exponentials is never 0 once each row's largest score is "
        "subtracted.",
        weighing(over_more(1e-6)),
        weighing(lambda s: right_softmax(s) / (1 + 1e-6)),
    ),
    *ways(
        "exponential-twice",
        "the softmax is taken twice; the second time it flattens the weights.",
        "apply it once.",
        weighing(lambda s: right_softmax(right_softmax(s))),
    ),
    *ways(
        "no-softmax",
        "the scores mix the values as they are: the softmax is missing.",
        "turn the scores into weights with torch.softmax(scores, dim=-1) first.",
        weighing(lambda s: s),
    ),
    *ways(
        "weights-transposed",
        "the transposed weights multiply the values: each word collects by what others think of "
        "it.",
        "write weights @ v: row i of the weights belongs to query i.",
        mixing(lambda w, v: turned(w) @ v),
    ),
    *ways(
        "weights-returned",
        "the weights are returned; what is asked for is what they mix.",
        "scaled_dot_product_attention returns two things; keep the first, the output.",
        mixing(lambda w, v: w),
    ),
    *ways(
        "gradient-cut",
        "the result, or a part of it, is cut from the graph of gradients, so that projections "
        "learn nothing.",
        "leave .detach(), .data and no_grad out.",
        mixing(lambda w, v: w.detach() @ v),
        mixing(lambda w, v: w @ v.detach()),
        mixing(lambda w, v: (w @ v).detach()),
    ),
)


def lifted(into: Callable[[Attention], Callable[..., Any]]) -> tuple[Mistake, ...]:
    """The same mistakes in a function that attends with this attention."""
    return tuple(replace(m, implementation=into(m.implementation)) for m in ATTENDING)
