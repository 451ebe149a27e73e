"""The cases of lesson 01: scores, softmax, attention and self-attention in NumPy."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from autograder.declaring import Case
from autograder.exercises import purposes
from autograder.exercises.attention_inputs import attention_inputs
from autograder.exercises.inputs import Array, alike, normal, permuted, readable


def dozens(rng: np.random.Generator) -> int:
    """How many keys a long case has: more than any number that one might think of as enough."""
    return int(rng.integers(41, 50))


def dot_product_scores_cases(rng: np.random.Generator) -> Sequence[Case]:
    def case(name: str, purpose: str, q: Array, k: Array) -> Case:
        return Case(name, purpose, {"q": q, "k": k})

    q, k = normal(rng, 3, 2, 5), normal(rng, 3, 6, 5)
    return (
        case(
            "two queries, four keys",
            "is small enough to do by hand: two queries and four keys of three numbers each.",
            readable(rng, 2, 3),
            readable(rng, 4, 3),
        ),
        case("equal sizes", purposes.EQUAL, normal(rng, 3, 3), normal(rng, 3, 3)),
        case(
            "equal sizes, in a batch",
            purposes.EQUAL_BATCH,
            normal(rng, 2, 5, 5),
            normal(rng, 2, 5, 5),
        ),
        case("one leading axis", purposes.ONE_LEADING, q, k),
        case("the same sizes again", purposes.AGAIN, alike(rng, q), alike(rng, k)),
        case(
            "two leading axes", purposes.LEADING, normal(rng, 2, 3, 5, 7), normal(rng, 2, 3, 6, 7)
        ),
        case(
            "three leading axes",
            purposes.LEADING,
            normal(rng, 2, 3, 2, 5, 7),
            normal(rng, 2, 3, 2, 6, 7),
        ),
        case("a batch of one", purposes.BATCH_OF_ONE, normal(rng, 1, 5, 3), normal(rng, 1, 6, 3)),
        case("a single query", purposes.ONE_QUERY, normal(rng, 2, 1, 5), normal(rng, 2, 3, 5)),
        case("a single key", purposes.ONE_KEY, normal(rng, 3, 6, 5), normal(rng, 3, 1, 5)),
        case(
            "dozens of keys",
            "has dozens of keys, and numbers in the hundreds.",
            normal(rng, 3, 5, scale=300),
            normal(rng, dozens(rng), 5, scale=300),
        ),
        case(
            "float32",
            purposes.FLOAT32,
            normal(rng, 3, 5, dtype=np.float32),
            normal(rng, 2, 5, dtype=np.float32),
        ),
        case("not contiguous", purposes.PERMUTED, permuted(rng, 2, 3, 5), permuted(rng, 2, 6, 5)),
    )


def softmax_cases(rng: np.random.Generator) -> Sequence[Case]:
    def case(name: str, purpose: str, scores: Array) -> Case:
        return Case(name, purpose, {"scores": scores}, magnitude=float(np.abs(scores).max()))

    far_apart = normal(rng, 2, 3, 5)
    far_apart += np.array([1e4, 0.0, -1e4])[:, None]
    tied = readable(rng, 2, 4)
    tied[0] = tied[0, 0]
    batched = normal(rng, 3, 2, 5)
    # Two rows of moderate scores; the largest score of the third is among the last ones.
    long = normal(rng, 3, dozens(rng))
    long[2] *= 1e3
    long[2, rng.integers(33, long.shape[-1])] = 9e3
    return (
        case("one row", "is a single row of three scores.", readable(rng, 3)),
        case(
            "two queries, three keys",
            "has a row of scores for each of two queries.",
            readable(rng, 2, 3),
        ),
        case("a square map", purposes.EQUAL, normal(rng, 4, 4)),
        case("square maps, in a batch", purposes.EQUAL_BATCH, normal(rng, 2, 5, 5)),
        case("one leading axis", purposes.ONE_LEADING, batched),
        case("the same sizes again", purposes.AGAIN, alike(rng, batched)),
        case("two leading axes", purposes.LEADING, normal(rng, 2, 3, 5, 7)),
        case("three leading axes", purposes.LEADING, normal(rng, 2, 3, 2, 4, 5)),
        case("a batch of one", purposes.BATCH_OF_ONE, normal(rng, 1, 6, 4)),
        case("a single key", "has one key only, which gets all the weight.", normal(rng, 2, 4, 1)),
        case(
            "dozens of keys",
            "has dozens of keys, and one query whose scores are in the thousands.",
            long,
        ),
        case("equal scores", "has a row in which all scores are equal.", tied),
        case(
            "some weights tiny",
            "has scores far enough apart for some weights to be tiny, but not 0.",
            normal(rng, 3, 8, scale=5),
        ),
        case(
            "scores in the thousands",
            "has scores as large as ±10,000, where a careless exp() overflows.",
            normal(rng, 3, 7, scale=4e3).clip(-1e4, 1e4),
        ),
        case(
            "rows far apart",
            "has some rows of scores near 10,000 and some near −10,000.",
            far_apart,
        ),
        case(
            "all far below zero",
            "has all its scores near −10,000, where exp() alone gives 0.",
            normal(rng, 3, 6) - 1e4,
        ),
        case("float32", purposes.FLOAT32, normal(rng, 3, 6, dtype=np.float32)),
        case(
            "float32, large",
            "has float32 scores of some hundreds, beyond what exp() can hold in float32.",
            normal(rng, 3, 5, dtype=np.float32, scale=200),
        ),
        case("not contiguous", purposes.PERMUTED, permuted(rng, 2, 3, 5)),
    )


def attention_cases(rng: np.random.Generator) -> Sequence[Case]:
    return tuple(
        Case(
            inputs.name,
            inputs.purpose,
            {"q": inputs.q, "k": inputs.k, "v": inputs.v},
            magnitude=inputs.magnitude(),
        )
        for inputs in attention_inputs(rng)
    )


def self_attention_cases(rng: np.random.Generator) -> Sequence[Case]:
    def case(name: str, purpose: str, x: Array, w_q: Array, w_k: Array, w_v: Array) -> Case:
        largest = float(np.abs((x @ w_q) @ np.swapaxes(x @ w_k, -1, -2)).max())
        size = float(np.abs(x @ w_v).max())
        arguments: dict[str, Any] = {"x": x, "w_q": w_q, "w_k": w_k, "w_v": w_v}
        return Case(name, purpose, arguments, magnitude=largest * max(1.0, size))

    def drawn(
        *batch: int, n: int, d_model: int, d_k: int, d_v: int
    ) -> tuple[Array, Array, Array, Array]:
        # Divided by √d_model, a projection keeps the size of its input: moderate scores.
        size = 1 / np.sqrt(d_model)
        return (
            normal(rng, *batch, n, d_model),
            normal(rng, d_model, d_k, scale=size),
            normal(rng, d_model, d_k, scale=size),
            normal(rng, d_model, d_v, scale=size),
        )

    def large(*batch: int) -> tuple[Array, Array, Array, Array]:
        x, w_q, w_k, w_v = drawn(*batch, n=6, d_model=7, d_k=5, d_v=3)
        x *= 40
        x[..., 1, :] /= 100  # one short word among long ones: rows of very different size
        # The query of word 2 is opposed to all keys, so that its scores are far below zero.
        x[..., 0], x[..., 2, 1] = np.abs(x[..., 0]) + 40, -100
        w_k[:, 0], w_q[:, 0] = np.eye(7)[0], np.eye(7)[1] * 5
        return x, w_q, w_k, w_v

    x, *projections = drawn(2, n=6, d_model=7, d_k=5, d_v=3)
    return (
        case(
            "three words",
            "is small enough to do by hand: three words of two numbers each.",
            readable(rng, 3, 2),
            readable(rng, 2, 5),
            readable(rng, 2, 5),
            readable(rng, 2, 4),
        ),
        case(
            "square projections",
            "has square projections, so that only the right order of factors is right.",
            *drawn(n=6, d_model=5, d_k=5, d_v=5),
        ),
        case(
            "as many words as numbers in a word",
            "has as many words as each word has numbers.",
            *drawn(n=5, d_model=5, d_k=5, d_v=5),
        ),
        case(
            "equal sizes, in a batch", purposes.EQUAL_BATCH, *drawn(2, n=4, d_model=4, d_k=4, d_v=4)
        ),
        case("one leading axis", purposes.ONE_LEADING, x, *projections),
        case(
            "the same words again",
            purposes.OTHER_WEIGHTS,
            x,
            *(alike(rng, w) for w in projections),
        ),
        case("two leading axes", purposes.LEADING, *drawn(2, 3, n=7, d_model=6, d_k=5, d_v=8)),
        case("three leading axes", purposes.LEADING, *drawn(2, 3, 2, n=5, d_model=4, d_k=3, d_v=6)),
        case("a batch of one", purposes.BATCH_OF_ONE, *drawn(1, n=6, d_model=3, d_k=5, d_v=4)),
        case(
            "a single word",
            "has one word, which can only attend to itself.",
            *drawn(2, n=1, d_model=3, d_k=5, d_v=6),
        ),
        case(
            "values of one number",
            "has values of one number each.",
            *drawn(2, n=6, d_model=7, d_k=5, d_v=1),
        ),
        case(
            "dozens of words",
            "has a sentence of dozens of words.",
            *drawn(n=dozens(rng), d_model=3, d_k=4, d_v=2),
        ),
        case("scores in the thousands", purposes.LARGE, *large()),
        case("scores in the thousands, in a batch", purposes.LARGE, *large(2)),
        case(
            "float32",
            purposes.FLOAT32,
            *(a.astype(np.float32) for a in drawn(n=6, d_model=3, d_k=5, d_v=2)),
        ),
        case(
            "not contiguous",
            purposes.PERMUTED,
            permuted(rng, 2, 3, 6),
            permuted(rng, 6, 5),
            permuted(rng, 6, 5),
            permuted(rng, 6, 7),
        ),
    )
