"""Mistakes in the scores, weights and mixing of a module of multi-head attention."""

import math
from typing import Any

import torch
from torch import Tensor

from autograder.mistakes.module_steps import (
    Told,
)


def scaled(by: Any) -> dict[str, Any]:
    return {"scale": lambda self, scores: scores * by(self, scores)}


def normal(dim: int) -> dict[str, Any]:
    return {"normalise": lambda self, scores: torch.softmax(scores, dim=dim)}


def naive(self: Any, scores: Tensor) -> Tensor:
    e = scores.exp()
    return e / e.sum(dim=-1, keepdim=True)


def mixing(mix: Any) -> dict[str, Any]:
    return {"mix": lambda self, w, q, k, v: mix(self.drop(w), q, k, v)}


ATTENDING: tuple[Told, ...] = (
    (
        "not-scaled",
        "the scores are not divided by √d_k.",
        "divide them by math.sqrt(d_k) before the softmax.",
        (scaled(lambda self, s: 1.0),),
    ),
    (
        "scaled-by-d-model",
        "the scores are divided by the root of d_model, not of d_k.",
        "d_k is the size of one head: q.shape[-1] after splitting.",
        (scaled(lambda self, s: self.d_model**-0.5),),
    ),
    (
        "divided-by-size",
        "the scores are divided by d_k or d_model itself, not by the root of d_k.",
        "divide by math.sqrt(d_k).",
        (scaled(lambda self, s: 1 / self.d_k), scaled(lambda self, s: 1 / self.d_model)),
    ),
    (
        "half-size-for-root",
        "`d_k ** 1/2` is no root: ** comes before /, so that it is d_k, and then half of that.",
        "write math.sqrt(d_k), or d_k ** 0.5.",
        (scaled(lambda self, s: 2 / self.d_k), scaled(lambda self, s: 1 / self.d_k / 2)),
    ),
    (
        "scaled-up",
        "the scores are multiplied by √d_k, not divided.",
        "divide.",
        (scaled(lambda self, s: self.d_k**0.5),),
    ),
    (
        "scaled-by-other-size",
        "the scores are divided by the root of a size that is not d_k.",
        "d_k is q.shape[-1] after splitting.",
        (
            scaled(lambda self, s: s.shape[-1] ** -0.5),
            scaled(lambda self, s: self.num_heads**-0.5),
        ),
    ),
    (
        "scaled-after-softmax",
        "the weights are divided by √d_k after the softmax, so that they do not sum to 1.",
        "divide the scores, before the softmax.",
        (
            {
                "scale": lambda self, scores: scores,
                "normalise": lambda self, scores: torch.softmax(scores, -1) / math.sqrt(self.d_k),
            },
        ),
    ),
    (
        "over-queries",
        "the softmax runs over the queries: columns sum to 1 where rows should.",
        "use dim=-1.",
        (normal(-2),),
    ),
    (
        "over-heads",
        "the softmax runs over the heads.",
        "use dim=-1, the keys.",
        (normal(1),),
    ),
    (
        "over-batch",
        "the softmax runs over the batch.",
        "use dim=-1, the keys.",
        (normal(0),),
    ),
    (
        "no-softmax",
        "the scores mix the values as they are: the softmax is missing.",
        "turn the scores into weights with torch.softmax(scores, dim=-1) first.",
        ({"normalise": lambda self, scores: scores},),
    ),
    (
        "sigmoid",
        "each score goes through a sigmoid by itself, so that the rows do not sum to 1.",
        "use torch.softmax(scores, dim=-1).",
        ({"normalise": lambda self, scores: torch.sigmoid(scores)},),
    ),
    (
        "overflow",
        "exp() of a large score is infinite, and infinity divided by infinity is NaN.",
        "use torch.softmax, which subtracts each row's largest score first.",
        ({"normalise": naive},),
    ),
    (
        "overflow-hidden",
        "exp() of a large score is infinite, and infinity divided by infinity is NaN. The number "
        "that is put in its place is no weight.",
        "use torch.softmax, which subtracts each row's largest score first.",
        ({"normalise": lambda self, scores: naive(self, scores).nan_to_num(nan=0.0)},),
    ),
    (
        "keys-reshaped",
        "the keys are reshaped, not transposed: the rows that come out are no keys.",
        "swap the last two axes with k.transpose(-2, -1).",
        ({"product": lambda self, q, k: q @ k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2])},),
    ),
    (
        "keys-not-transposed",
        "the keys have to be turned before they are multiplied, along their last two axes.",
        "write q @ k.transpose(-2, -1).",
        (
            {"product": lambda self, q, k: q @ k},
            {"product": lambda self, q, k: q @ k.transpose(1, 2)},
            {"product": lambda self, q, k: q @ k.permute(3, 2, 1, 0)},
        ),
    ),
    (
        "weights-transposed",
        "the transposed weights multiply the values: each value collects from all queries.",
        "write weights @ v: row i of the weights belongs to query i.",
        (mixing(lambda w, q, k, v: w.transpose(-2, -1) @ v),),
    ),
)


# With one input these are the same as another layer used.
ROLES: tuple[Told, ...] = (
    (
        "queries-and-keys-swapped",
        "queries and keys have changed roles in the scores.",
        "score q against k: rows are queries, columns keys.",
        ({"product": lambda self, q, k: k @ q.transpose(-2, -1)},),
    ),
    (
        "queries-with-themselves",
        "queries are scored against queries, or keys against keys.",
        "score q against k.",
        (
            {"product": lambda self, q, k: q @ q.transpose(-2, -1)},
            {"product": lambda self, q, k: k @ k.transpose(-2, -1)},
        ),
    ),
    (
        "keys-or-queries-mixed",
        "keys or queries are mixed where the values should be.",
        "multiply the weights with v.",
        (mixing(lambda w, q, k, v: w @ k), mixing(lambda w, q, k, v: w @ q)),
    ),
)
