"""Lesson 01, one head: scores, softmax, attention and self-attention in NumPy, unscaled."""

from typing import Any

from autograder.declaring import Exercise
from autograder.exercises.one_head_cases import (
    attention_cases,
    dot_product_scores_cases,
    self_attention_cases,
    softmax_cases,
)
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
