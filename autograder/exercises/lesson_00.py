"""Lesson 00, start here: a warm-up that shows how a check works."""

from collections.abc import Sequence

import numpy as np

from autograder.declaring import Case, Exercise
from autograder.exercises.inputs import normal, permuted, readable, shares
from autograder.observing import returns

TITLE = "Start here"


def weighted_average_cases(rng: np.random.Generator) -> Sequence[Case]:
    small_weights = rng.permutation([0.1, 0.2, 0.7])

    def case(name: str, purpose: str, values: np.ndarray, weights: np.ndarray) -> Case:
        return Case(name, purpose, {"values": values, "weights": weights})

    return (
        case(
            "three numbers",
            "averages three numbers with three weights.",
            readable(rng, 3),
            small_weights,
        ),
        case(
            "two rows",
            "has two rows, each with weights of its own; the last axis is averaged away.",
            normal(rng, 2, 5),
            shares(rng, 2, 5),
        ),
        case(
            "a square",
            "has as many rows as columns, so that only the right axis gives the right numbers.",
            normal(rng, 3, 3),
            shares(rng, 3, 3),
        ),
        case(
            "the same sizes again",
            "has sizes as before and other numbers: nothing may be kept between calls.",
            normal(rng, 2, 5),
            shares(rng, 2, 5),
        ),
        case(
            "several leading axes",
            "has three leading axes: the … in the shapes stands for any number of them.",
            normal(rng, 2, 3, 2, 5),
            shares(rng, 2, 3, 2, 5),
        ),
        case(
            "one row",
            "has one row, whose axis of length 1 has to stay.",
            normal(rng, 1, 7),
            shares(rng, 1, 7),
        ),
        case(
            "one number each",
            "averages a single number, with the weight 1.",
            normal(rng, 7, 1),
            shares(rng, 7, 1),
        ),
        case(
            "float32",
            "has float32 inputs.",
            normal(rng, 3, 7, dtype=np.float32),
            shares(rng, 3, 7, dtype=np.float32),
        ),
        case(
            "not contiguous",
            "has values that lie in memory in another order.",
            permuted(rng, 3, 2, 5),
            shares(rng, 3, 2, 5),
        ),
    )


EXERCISES = (
    Exercise(
        name="weighted_average",
        lesson=0,
        title="A weighted average",
        points=0,
        signature="weighted_average(values, weights)",
        returns=("average",),
        axes={},
        cases=weighted_average_cases,
        probe=returns("average"),
        reference="course.attention.one_head.weighted_average",
        mistakes="autograder.mistakes.lesson_00:weighted_average",
        hints=(
            "Multiply each number by its own weight first. What is left to do with the products?",
            "The weights already sum to 1, so nothing has to be divided any more.",
            "`(values * weights).sum(axis=-1)` adds up the products over the last axis.",
        ),
    ),
)
