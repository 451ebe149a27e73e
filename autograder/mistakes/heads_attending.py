"""Mistakes in attention that several heads can share: scores, softmax, mix.

Each is an attention (q, k, v) → output for any leading axes, to be lifted into an exercise.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from autograder.declaring import Mistake
from autograder.mistakes import ways
from autograder.mistakes.attention_steps import (
    SCORING,
    WEIGHING,
    causal,
    lifted,
    products,
    right_scores,
    right_softmax,
    root,
    turned,
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


ATTENDING: tuple[Mistake, ...] = (
    *lifted(SCORING, scoring),
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
        "masked-too-early",
        "later words are hidden from earlier ones. Masks come in lesson 05.",
        "leave the mask out.",
        scoring(causal),
    ),
    *lifted(WEIGHING, weighing),
    *ways(
        "over-everything",
        "all weights of a sentence together sum to 1, instead of each row.",
        "use dim=-1.",
        weighing(over_sentence),
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
