"""Queries, keys and values: one list of inputs for every exercise that attends with them."""

from typing import NamedTuple

import numpy as np

from autograder.exercises import purposes
from autograder.exercises.inputs import Array, alike, normal, permuted, readable


class Inputs(NamedTuple):
    """What one case is made of: q (…, n_q, d_k), k (…, n_k, d_k), v (…, n_k, d_v)."""

    name: str
    purpose: str
    q: Array
    k: Array
    v: Array

    def magnitude(self, divisor: float = 1.0) -> float:
        """The largest number that arises: of the scores q·k / divisor, times that of v."""
        scores = np.abs(self.q @ np.swapaxes(self.k, -1, -2)).max() / divisor
        return float(scores) * max(1.0, float(np.abs(self.v).max()))


def queries_keys_values(
    rng: np.random.Generator, *batch: int, n_q: int, n_k: int, d_k: int, d_v: int
) -> tuple[Array, Array, Array]:
    """Normal numbers of these sizes."""
    shapes = (n_q, d_k), (n_k, d_k), (n_k, d_v)
    q, k, v = (normal(rng, *batch, *shape) for shape in shapes)
    return q, k, v


def large(rng: np.random.Generator, *batch: int) -> tuple[Array, Array, Array]:
    """Queries and keys with scores in the thousands, beside small ones.

    Rows of very different size: one query matches a key strongly, one hardly matches any, and
    one is opposed to all.
    """
    q, k, v = queries_keys_values(rng, *batch, n_q=3, n_k=6, d_k=5, d_v=2)
    q, k = 30 * q, 30 * k
    k[..., 0] = np.abs(k[..., 0]) + 30
    q[..., 0, :], q[..., 1, :] = 2 * k[..., 2, :], q[..., 1, :] / 100
    q[..., 2, :] = np.array([-100.0, 0, 0, 0, 0])
    return q, k, v


def attention_inputs(rng: np.random.Generator) -> tuple[Inputs, ...]:
    """The inputs on which attention is tried, the smallest first."""

    def drawn(*batch: int, **sizes: int) -> tuple[Array, Array, Array]:
        return queries_keys_values(rng, *batch, **sizes)

    batched = drawn(2, n_q=6, n_k=3, d_k=5, d_v=7)
    many = int(rng.integers(41, 50))
    return (
        Inputs(
            "two queries, three keys",
            "is small enough to do by hand: two queries, three keys, and values of two numbers.",
            readable(rng, 2, 5),
            readable(rng, 3, 5),
            readable(rng, 3, 2),
        ),
        Inputs("equal sizes", purposes.EQUAL, *drawn(n_q=5, n_k=5, d_k=5, d_v=5)),
        Inputs(
            "equal sizes, in a batch", purposes.EQUAL_BATCH, *drawn(2, n_q=3, n_k=3, d_k=3, d_v=3)
        ),
        Inputs("one leading axis", purposes.ONE_LEADING, *batched),
        Inputs("the same sizes again", purposes.AGAIN, *(alike(rng, a) for a in batched)),
        Inputs("a batch with heads", purposes.LEADING, *drawn(2, 3, n_q=5, n_k=6, d_k=7, d_v=8)),
        Inputs("three leading axes", purposes.LEADING, *drawn(2, 3, 2, n_q=3, n_k=5, d_k=6, d_v=4)),
        Inputs("a batch of one", purposes.BATCH_OF_ONE, *drawn(1, n_q=3, n_k=6, d_k=5, d_v=2)),
        Inputs("a single query", purposes.ONE_QUERY, *drawn(2, n_q=1, n_k=3, d_k=5, d_v=6)),
        Inputs("a single key", purposes.ONE_KEY, *drawn(3, n_q=6, n_k=1, d_k=5, d_v=2)),
        Inputs(
            "values of one number",
            "has values of one number each.",
            *drawn(3, n_q=2, n_k=6, d_k=5, d_v=1),
        ),
        Inputs(
            "long vectors",
            "has long queries and keys, d_k = 64, and dozens of keys.",
            *drawn(n_q=3, n_k=many, d_k=64, d_v=2),
        ),
        Inputs("scores in the thousands", purposes.LARGE, *large(rng)),
        Inputs("scores in the thousands, in a batch", purposes.LARGE, *large(rng, 2)),
        Inputs(
            "float32",
            purposes.FLOAT32,
            *(a.astype(np.float32) for a in drawn(n_q=3, n_k=2, d_k=5, d_v=6)),
        ),
        Inputs(
            "not contiguous",
            purposes.PERMUTED,
            permuted(rng, 2, 3, 5),
            permuted(rng, 2, 6, 5),
            permuted(rng, 2, 6, 7),
        ),
    )
