"""Lesson 01, one head: scores, softmax, attention and self-attention in NumPy, unscaled."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from autograder.declaring import Case, Exercise
from autograder.exercises import purposes
from autograder.exercises.attention_inputs import attention_inputs
from autograder.exercises.inputs import Array, normal, permuted, readable
from autograder.observing import returns

TITLE = "One head: attention is a weighted average"

LIBRARY_SOFTMAX = (
    "scipy.special.softmax",
    "scipy.special.log_softmax",
    "torch.softmax",
    "torch.log_softmax",
    "torch.nn.functional.softmax",
    "torch.nn.functional.log_softmax",
    "torch.nn.functional.scaled_dot_product_attention",
    "jax.nn.softmax",
    "tensorflow.nn.softmax",
)

MAP = ("query", "key")
OUTPUT = ("query", "d_v")


def dot_product_scores_cases(rng: np.random.Generator) -> Sequence[Case]:
    def case(name: str, purpose: str, q: Array, k: Array) -> Case:
        return Case(name, purpose, {"q": q, "k": k})

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
        case("one leading axis", purposes.ONE_LEADING, normal(rng, 3, 2, 5), normal(rng, 3, 6, 5)),
        case("the same sizes again", purposes.AGAIN, normal(rng, 3, 2, 5), normal(rng, 3, 6, 5)),
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
    return (
        case("one row", "is a single row of three scores.", readable(rng, 3)),
        case(
            "two queries, three keys",
            "has a row of scores for each of two queries.",
            readable(rng, 2, 3),
        ),
        case("a square map", purposes.EQUAL, normal(rng, 4, 4)),
        case("square maps, in a batch", purposes.EQUAL_BATCH, normal(rng, 2, 5, 5)),
        case("one leading axis", purposes.ONE_LEADING, normal(rng, 3, 2, 5)),
        case("the same sizes again", purposes.AGAIN, normal(rng, 3, 2, 5)),
        case("two leading axes", purposes.LEADING, normal(rng, 2, 3, 5, 7)),
        case("three leading axes", purposes.LEADING, normal(rng, 2, 3, 2, 4, 5)),
        case("a batch of one", purposes.BATCH_OF_ONE, normal(rng, 1, 6, 4)),
        case("a single key", "has one key only, which gets all the weight.", normal(rng, 2, 4, 1)),
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
        case("one leading axis", purposes.ONE_LEADING, *drawn(2, n=6, d_model=7, d_k=5, d_v=3)),
        case("the same sizes again", purposes.AGAIN, *drawn(2, n=6, d_model=7, d_k=5, d_v=3)),
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


def declare(name: str, **more: Any) -> Exercise:
    """An exercise of this lesson: what all four have in common is said here once."""
    return Exercise(
        name=name,
        lesson=1,
        reference=f"course.attention.one_head.{name}",
        mistakes=f"autograder.mistakes.lesson_01:{name}",
        probe=returns(*more["returns"]),
        **more,
    )


EXERCISES = (
    declare(
        "dot_product_scores",
        title="Score every query against every key",
        points=1,
        signature="dot_product_scores(q, k)",
        returns=("scores",),
        axes={"scores": MAP},
        cases=dot_product_scores_cases,
        hints=(
            "One score is the dot product of one query with one key. Which matrix product "
            "makes all of them at once?",
            "In `a @ b` the last axis of a meets the last but one of b. Both q and k have d_k "
            "last: the last two axes of k have to change places first.",
            "`k.T` reverses all axes, which is right for two axes only. "
            "`np.swapaxes(k, -1, -2)` changes the last two, whatever comes before them.",
        ),
    ),
    declare(
        "softmax",
        title="A safe softmax",
        points=2,
        signature="softmax(scores)",
        returns=("weights",),
        axes={"weights": MAP},
        cases=softmax_cases,
        not_allowed=LIBRARY_SOFTMAX,
        hints=(
            "Exponentiate, then divide each row by its own sum. What does np.exp(10_000) give?",
            "Adding the same number to every score of a row leaves its weights as they are, so "
            "you may subtract each row's largest score before exp().",
            "`keepdims=True` in max and sum keeps the last axis with length 1, so that each row "
            "is compared with its own maximum and divided by its own sum.",
        ),
    ),
    declare(
        "attention",
        title="Attention: mix the values",
        points=2,
        signature="attention(q, k, v)",
        returns=("output", "weights"),
        axes={"output": OUTPUT, "weights": MAP},
        cases=attention_cases,
        not_allowed=LIBRARY_SOFTMAX,
        uses=("dot_product_scores", "softmax"),
        hints=(
            "You have both parts already: scores first, then weights. What is left is a "
            "weighted average of the values, one for each query.",
            "Row i of the weights says how much of each value goes into output i: that is the "
            "matrix product of weights and v.",
            "`weights = softmax(dot_product_scores(q, k))`, then return "
            "`weights @ v` and the weights, in this order.",
        ),
    ),
    declare(
        "self_attention",
        title="Self-attention: one sentence with itself",
        points=2,
        signature="self_attention(x, w_q, w_k, w_v)",
        returns=("output", "weights"),
        axes={"output": OUTPUT, "weights": MAP},
        cases=self_attention_cases,
        not_allowed=LIBRARY_SOFTMAX,
        uses=("attention", "dot_product_scores", "softmax"),
        hints=(
            "Queries, keys and values all come from the same x, each through a projection of "
            "its own.",
            "The projections multiply from the right: x has shape (…, n, d_model) and w_q has "
            "shape (d_model, d_k).",
            "`attention(x @ w_q, x @ w_k, x @ w_v)` does the rest.",
        ),
    ),
)
