"""Lesson 04: what `count_parameters` is tried on, and how its answer is looked at."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autograder.declaring import Case, Observation, Value
from autograder.recording import describe, record
from autograder.watching import watched


def count_parameters_cases(rng: np.random.Generator) -> Sequence[Case]:
    """Cases of drawn sizes. Where num_heads does not divide d_model, the two share no digit, so
    that a message which names one of them does not name the other by accident.
    """

    def between(low: int, high: int) -> int:
        return int(rng.integers(low, high + 1))

    def case(
        name: str,
        purpose: str,
        d_model: int,
        num_heads: int,
        d_k: int | None = None,
        d_v: int | None = None,
        bias: bool = False,
    ) -> Case:
        indivisible = d_model % num_heads != 0 and None in (d_k, d_v)
        mentions = (str(d_model), str(num_heads)) if indivisible else ()
        sizes = {"d_model": d_model, "num_heads": num_heads, "d_k": d_k, "d_v": d_v, "bias": bias}
        return Case(name, purpose, sizes, mentions=mentions)

    return (
        case("a small model", "is small enough to count by hand.", 2 * between(5, 16), 2),
        case("a small model with biases", "counts biases too.", 3 * between(5, 16), 3, bias=True),
        case("a model of a usual size", "has eight heads.", 64 * between(5, 16), 8),
        case("one head", "has one head only, and biases.", between(11, 29), 1, bias=True),
        case(
            "d_k and d_v given",
            "gives d_k and d_v, and they are not d_model // num_heads.",
            6 * between(5, 8),
            6,
            between(9, 13),
            between(14, 19),
        ),
        case(
            "d_k and d_v given, with biases",
            "gives d_k and d_v, and counts biases.",
            4 * between(5, 8),
            4,
            between(15, 19),
            between(9, 14),
            bias=True,
        ),
        case(
            "only d_k given",
            "gives d_k alone; d_v, by itself, means d_model // num_heads.",
            5 * between(6, 11),
            5,
            between(12, 19),
        ),
        case(
            "only d_k given, with biases",
            "gives d_k alone, and counts biases.",
            3 * between(6, 11),
            3,
            between(12, 19),
            bias=True,
        ),
        case(
            "only d_v given",
            "gives d_v alone; d_k, by itself, means d_model // num_heads.",
            3 * between(6, 11),
            3,
            d_v=between(12, 19),
        ),
        case(
            "only d_v given, with biases",
            "gives d_v alone, and counts biases.",
            5 * between(6, 11),
            5,
            d_v=between(12, 19),
            bias=True,
        ),
        case(
            "sizes that need not divide",
            "gives d_k and d_v, so that num_heads need not divide d_model.",
            7 * between(3, 6) + between(1, 6),
            7,
            between(8, 12),
            between(13, 19),
            bias=True,
        ),
        case(
            "indivisible",
            "cannot divide d_model among the heads: a ValueError that names both numbers.",
            int(rng.choice((20, 22, 26, 40, 44, 46, 62, 64, 80, 82, 86))),
            int(rng.choice((3, 7, 9))),
        ),
        case(
            "indivisible, with d_k",
            "gives d_k, but d_v = d_model // num_heads would leave a rest: a ValueError that names "
            "both numbers.",
            int(rng.choice((41, 44, 46, 61, 62, 64, 82, 86, 88))),
            int(rng.choice((3, 5))),
            between(7, 19),
            bias=True,
        ),
        case(
            "indivisible, with d_v",
            "gives d_v, but d_k = d_model // num_heads would leave a rest: a ValueError that names "
            "both numbers.",
            int(rng.choice((41, 44, 46, 61, 62, 64, 82, 86, 88))),
            int(rng.choice((3, 5))),
            d_v=between(7, 19),
        ),
    )


def count_parameters_probe(implementation: Callable[..., Any], case: Case) -> Observation:
    """Records a whole number as its digits, so that a verdict can quote all of them.

    NumPy's integers count as whole numbers. A float does not, even without a fraction.
    """
    with watched():
        returned = implementation(*case.arguments.values())
    return Observation(values={"count": whole_number(returned)})


def whole_number(returned: object) -> Value:
    """What was returned in the place of a count."""
    if returned is None:
        return record(returned)
    if issubclass(type(returned), int | np.integer) and type(returned) is not bool:
        return Value("text", f"{int(returned)}"[:400], "int", description="an int")  # type: ignore[call-overload]
    if type(returned) is float or issubclass(type(returned), np.floating):
        return Value("other", description=f"the float {float(returned)}")  # type: ignore[arg-type]
    return Value("other", description=describe(returned))
