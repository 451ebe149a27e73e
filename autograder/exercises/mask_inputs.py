"""Masks, and scores and inputs that go with them, for every exercise about masks."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from autograder.exercises.attention_inputs import queries_keys_values
from autograder.exercises.inputs import Array, normal

Mask = NDArray[np.bool_]

# What cases are for, beside those in `purposes`.
NO_MASK = "has no mask: mask is None, and every query may attend to every key."
FOR_ALL = "has one mask of shape (n_q, n_k) for every sentence and every head."
PADDING = "has a padding mask of shape (batch, 1, 1, n_k), with sentences of different lengths."
PER_HEAD = (
    "has a mask of its own for each head, of shape (heads, n_q, n_k), and as many sentences as "
    "heads."
)
PER_SENTENCE_AND_HEAD = (
    "has a mask of its own for each head of each sentence, of shape (batch, heads, n_q, n_k)."
)
FOR_ALL_QUERIES = (
    "has several leading axes, and one mask of shape (n_k,) for every query of all of them."
)
FOR_ALL_SENTENCES = (
    "has a mask of shape (1, 1, n_q, n_k): a causal one, for every sentence and every head."
)
QUERIES = "has a mask of shape (batch, 1, n_q, 1), which hides every key from some queries."
EQUAL_NO_MASK = "has no mask, and as many queries as keys: even so, every query may see every key."
EQUAL_PADDING = "has a padding mask, and as many queries as keys, so that shapes hide a mix-up."
BOTH = "has a causal and a padding mask, joined with &."
EMPTY = "has a query that may attend to no key at all: its weights are 0, and its gradients too."
EMPTY_SENTENCE = "has a sentence that is all padding, beside two others that are not."
TEMPTING = (
    "has scores in the thousands, and many of the largest belong to keys that are not allowed."
)
FAR_BELOW = "has allowed scores far below zero, lower than any constant that one might fill in."
HALF = "has float16 inputs, in which no number is larger than 65504."
ORDER = "has inputs, and a mask, that lie in memory in another order."


# What several cases are made of


def some(rng: np.random.Generator, *shape: int) -> Mask:
    """A mask in which every query may attend to some keys, and not to others."""
    mask = rng.random(shape) < 0.5
    mask[..., :2] = True, False
    return rng.permuted(mask, axis=-1)


def some_queries(rng: np.random.Generator, batch: int, n_q: int) -> Mask:
    """A mask (batch, 1, n_q, 1): in every sentence, some queries see all and some nothing."""
    return some(rng, batch, 1, n_q)[..., None]


def words(lengths: Sequence[int], max_len: int) -> Mask:
    """A padding mask (batch, 1, 1, max_len)."""
    return (np.arange(max_len) < np.asarray(lengths)[:, None])[:, None, None, :]


def looking_back(n_q: int, n_k: int) -> Mask:
    """A causal mask, aligned at the bottom right."""
    return np.tri(n_q, n_k, n_k - n_q, dtype=bool)


def tempting_scores(rng: np.random.Generator) -> tuple[Array, Mask]:
    """The first two queries' largest scores, by thousands, are hidden from them.

    All of the third's lie around 3000, and all of the fourth's are small.
    """
    mask = some(rng, 2, 4, 6)
    scores = normal(rng, 2, 4, 6) * np.array([1.0, 30.0, 30.0, 1.0])[:, None]
    scores[:, :2] += ~mask[:, :2] * rng.uniform(2000.0, 3000.0, (2, 2, 6))
    scores[:, 2] += 3000.0
    return scores, mask


def far_below(rng: np.random.Generator, *shape: int) -> tuple[Array, Mask]:
    """Allowed scores around −3e9 for the first query and −3e4 for the second; all others small."""
    mask = some(rng, *shape)
    scores = normal(rng, *shape)
    size = np.zeros(shape)
    size[..., 0, :], size[..., 1, :] = -3e9, -3e4
    return scores + mask * size * rng.uniform(0.9, 1.1, shape), mask


def with_an_empty_row(mask: Mask, row: int) -> Mask:
    mask[..., row, :] = False
    return mask


def tempting_inputs(rng: np.random.Generator) -> tuple[Array, Array, Array, Mask]:
    """Scores in the thousands, and of each query's six keys the best three are hidden.

    The third query's scores are small. For the last one, which looks for what the first key has,
    it is the other way round: the best three are allowed.
    """
    q, k, v = queries_keys_values(rng, 2, n_q=4, n_k=6, d_k=5, d_v=3)
    q, k = 40 * q, 50 * k
    q[:, 2], q[:, 3] = q[:, 2] / 1e4, k[:, 0]
    rank = (q @ np.swapaxes(k, -1, -2)).argsort(axis=-1).argsort(axis=-1)
    return q, k, v, (rank < 3) ^ (np.arange(4) == 3)[:, None]


def far_below_inputs(rng: np.random.Generator) -> tuple[Array, Array, Array, Mask]:
    """Scores around −7e9 for the first query and −7e4 for the second; the third's are small.

    The first three of the six keys give them, and may be attended to; the others are small.
    """
    q = np.array([6e4, 0.6, 1e-5])[:, None] * rng.uniform(0.5, 1.5, (3, 5))
    k = np.array([5e4, 5e4, 5e4, 1e-5, 1e-5, 1e-5])[:, None] * -rng.uniform(0.5, 1.5, (6, 5))
    order = rng.permutation(6)
    allowed = np.array([True, True, True, False, False, False])[order]
    return q, k[order], normal(rng, 6, 2), np.tile(allowed, (3, 1))
