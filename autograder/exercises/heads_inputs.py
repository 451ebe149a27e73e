"""Words and projections: one list of inputs for every exercise that attends with several heads."""

import math
from typing import Any, NamedTuple

import numpy as np

from autograder.exercises import purposes
from autograder.exercises.inputs import Array, alike, normal, permuted, readable, root_is_exact
from autograder.exercises.torch_inputs import tensor

EQUAL = "has as many sentences as heads, as words, and as numbers in a head."
AS_MANY_WORDS = "has as many words as heads, so that swapped axes keep the shape."
AS_MANY_NUMBERS = "has as many heads as each head has numbers, so that swapped axes keep the shape."
SQUARE = "has as many words as each head has numbers, so that swapped axes keep the shape."
AS_MANY_SENTENCES = "has as many sentences as heads, so that swapped axes keep the shape."
SHARED_OUT = "has heads that together are as large as a word: num_heads · d_k = d_model."
ONE_WORD = "has one word only, so that its axis has length 1, and has to stay."
ONE_HEAD = "has a single head."
ONE_NUMBER = "has heads of one number each."
ONE_SENTENCE = "has a batch of one sentence, whose axis has to stay."


class Heads(NamedTuple):
    """What one case of attention is made of: x, and a projection for each head.

    Shapes: x (batch, n, d_model), w_q and w_k (num_heads, d_model, d_k),
    w_v (num_heads, d_model, d_v).
    """

    name: str
    purpose: str
    x: Array
    w_q: Array
    w_k: Array
    w_v: Array

    @property
    def magnitude(self) -> float:
        """The largest number that arises: of the scaled scores, times that of the values."""
        x = self.x[:, None]
        scores = np.abs((x @ self.w_q) @ np.swapaxes(x @ self.w_k, -1, -2)).max()
        scaled = float(scores) / math.sqrt(self.w_q.shape[-1])
        return scaled * max(1.0, float(np.abs(x @ self.w_v).max()))

    @property
    def scaled(self) -> bool:
        """Whether a root that is held in float32 is off (see `Case.scaled`)."""
        return not root_is_exact(self.w_q.shape[-1])

    def packed(self) -> dict[str, Any]:
        """The arguments of an exercise whose projections are packed."""
        packed = (
            np.concatenate(list(w), axis=-1) if w.flags.c_contiguous else flipped_pack(w)
            for w in (self.w_q, self.w_k, self.w_v)
        )
        names = ("w_q", "w_k", "w_v")
        arguments = {name: tensor(w) for name, w in zip(names, packed, strict=True)}
        return {"x": tensor(self.x), **arguments, "num_heads": len(self.w_q)}

    def stacked(self) -> dict[str, Any]:
        """The arguments of an exercise with one projection per head."""
        names = ("x", "w_q", "w_k", "w_v")
        return {name: tensor(getattr(self, name)) for name in names}


def flipped_pack(w: Array) -> Array:
    """The packed projections, lying in memory column by column."""
    return np.ascontiguousarray(np.concatenate(list(w), axis=-1).T).T


def drawn(
    rng: np.random.Generator, batch: int, heads: int, *, n: int, d_model: int, d_k: int, d_v: int
) -> tuple[Array, Array, Array, Array]:
    # Divided by √d_model, a projection keeps the size of its input: moderate scores.
    size = 1 / math.sqrt(d_model)
    return (
        normal(rng, batch, n, d_model),
        normal(rng, heads, d_model, d_k, scale=size),
        normal(rng, heads, d_model, d_k, scale=size),
        normal(rng, heads, d_model, d_v, scale=size),
    )


def wide(
    inputs: tuple[Array, Array, Array, Array],
) -> tuple[Array, Array, Array, Array]:
    """The same with scores five times as large: they lose more when their digits are cut."""
    x, w_q, w_k, w_v = inputs
    return x, 5 * w_q, w_k, w_v


def large(rng: np.random.Generator) -> tuple[Array, Array, Array, Array]:
    """Scores in the thousands, in rows of very different size."""
    x, w_q, w_k, w_v = drawn(rng, 2, 3, n=6, d_model=7, d_k=5, d_v=4)
    x *= 40
    x[:, 1] /= 100  # one short word among long ones
    # The query of word 2 is opposed to all keys, so that its scores are far below zero.
    x[..., 0], x[:, 2, 1] = np.abs(x[..., 0]) + 40, -100
    w_k[..., 0], w_q[..., 0] = np.eye(7)[0], np.eye(7)[1] * 5
    return x, w_q, w_k, w_v


def heads_inputs(rng: np.random.Generator) -> tuple[Heads, ...]:
    """The inputs on which attention with several heads is tried, the smallest first."""

    def inputs(batch: int, heads: int, **sizes: int) -> tuple[Array, Array, Array, Array]:
        return drawn(rng, batch, heads, **sizes)

    x, *projections = inputs(4, 3, n=5, d_model=7, d_k=6, d_v=2)
    many = int(rng.integers(7, 12, endpoint=True))
    return (
        Heads(
            "three words, two heads",
            "is small enough to do by hand: three words of two numbers, and two heads.",
            readable(rng, 1, 3, 2),
            readable(rng, 2, 2, 3),
            readable(rng, 2, 2, 3),
            readable(rng, 2, 2, 2),
        ),
        Heads(
            "all sizes different",
            "has sizes that are all different.",
            x,
            *projections,
        ),
        Heads(
            "the same words again",
            purposes.OTHER_WEIGHTS,
            x,
            *(alike(rng, w) for w in projections),
        ),
        Heads("equal sizes", EQUAL, *inputs(3, 3, n=3, d_model=3, d_k=3, d_v=3)),
        Heads(
            "numbers shared out among the heads",
            SHARED_OUT,
            *inputs(3, 2, n=5, d_model=6, d_k=3, d_v=3),
        ),
        Heads(
            "square projections",
            "has heads as large as a word, so that each of their projections is square.",
            *inputs(5, 3, n=4, d_model=5, d_k=5, d_v=5),
        ),
        Heads(
            "as many words as heads",
            AS_MANY_WORDS,
            *inputs(4, 3, n=3, d_model=6, d_k=2, d_v=5),
        ),
        Heads(
            "as many sentences as heads",
            AS_MANY_SENTENCES,
            *inputs(3, 3, n=2, d_model=6, d_k=5, d_v=4),
        ),
        Heads("a batch of one", ONE_SENTENCE, *inputs(1, 3, n=5, d_model=6, d_k=7, d_v=2)),
        Heads("a single word", ONE_WORD, *inputs(4, 3, n=1, d_model=6, d_k=5, d_v=7)),
        Heads("a single head", ONE_HEAD, *inputs(2, 1, n=5, d_model=3, d_k=6, d_v=4)),
        Heads(
            "values of one number",
            f"has values of one number, and words of 4 numbers for {many} heads: num_heads need "
            "not divide d_model, since the projections decide how large a head is.",
            *inputs(2, many, n=5, d_model=4, d_k=3, d_v=1),
        ),
        Heads(
            "a root that is exact",
            purposes.EXACT_ROOT,
            *wide(inputs(2, 4, n=5, d_model=6, d_k=16, d_v=3)),
        ),
        Heads("scores in the thousands", purposes.LARGE, *large(rng)),
        Heads(
            "float32",
            purposes.FLOAT32,
            *(a.astype(np.float32) for a in inputs(3, 2, n=4, d_model=3, d_k=5, d_v=6)),
        ),
        Heads(
            "not contiguous",
            purposes.PERMUTED,
            permuted(rng, 2, 4, 5),
            *(permuted(rng, 3, 5, size) / math.sqrt(5) for size in (6, 6, 2)),
        ),
    )
