"""Whatever a process claims to have observed is judged: it earns nothing, and breaks nothing."""

import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from autograder import exercises
from autograder.declaring import Observation, Observations, Problem, Value
from autograder.expecting import expected_observations, make_cases
from autograder.grading.marking import mark
from autograder.judging import compare, judge_observations
from autograder.packing import pack_observations, unpack_observations
from autograder.rendering import to_html, to_text
from autograder.wire import DTYPES, WireError, decode, encode

SEED = 3
NAMES = [exercise.name for exercise in exercises.iterate()]
# One of each kind, and what is easily forgotten of it.
ODD = [
    Value("number", 2**999, "int"),
    Value("number", True, "bool"),
    Value("number", complex("nan+1j"), "complex"),
    Value("number", float("nan"), "float"),
    Value("number", float("inf"), "float"),
    Value("text", "x" * 9000),
    Value("text", "<script>\u202e\x1b[2J\0"),
    Value("text", "(((,\n, frozen\nW_q.weight (a, b)\nW_q.weight"),
    Value("text", "W_q.weight (99999999999999999999, 3)"),
    Value("none"),
    Value("other", description="something " * 500),
    Value("array", np.zeros(0), "float64"),
    Value("array", np.zeros(()), "longdouble"),
    Value("array", np.ones((1,) * 32), "float64"),
    Value("array", np.ones(3, bool), "float64"),
    Value("array", np.full(3, 2**63, "uint64"), "int8"),
    Value("array", np.full(2, np.nan + 1j * np.inf), "complex128"),
    Value("tensor", np.full((2, 3), np.inf, "float16"), "float16", device="cuda:0"),
    Value("tensor", np.ones(3), "bfloat16", device="nowhere " * 500),
    Value("tensor", np.ones(3), "no_such_type"),
]
WORDS = [
    "",
    "not enough values to unpack",
    "matmul",
    "NoneType",
    "((([",
    "name 'np' is not defined",
]
TYPES = ["ValueError", "AssertionError", "NotImplementedError", "NameError", "X" * 99]


def altered(value: Value, chance: random.Random) -> Value:
    """A value like this one, and not as it should be."""
    data = value.data
    if not isinstance(data, np.ndarray) or chance.random() < 0.4:
        return chance.choice(ODD)
    with np.errstate(all="ignore"):
        change: Callable[[], Value] = chance.choice(
            [
                lambda: replace(value, data=data.astype(chance.choice(sorted(DTYPES)))),
                lambda: replace(value, dtype=chance.choice(sorted(DTYPES))),
                lambda: replace(value, data=np.zeros((2,) * chance.randrange(9))),
                lambda: replace(value, data=data * np.nan),
                lambda: replace(value, data=data.astype(float) + 1e308),
                lambda: replace(value, data=data + 1e-3j),
                lambda: replace(value, kind="array" if value.kind == "tensor" else "tensor"),
            ]
        )
        return change()


def forged(right: Observation, chance: random.Random) -> Observation:
    """An observation in which anything may be a lie."""
    values = {
        part: altered(value, chance) if chance.random() < 0.5 else value
        for part, value in right.values.items()
        if chance.random() < 0.95
    }
    if chance.random() < 0.1:
        values[chance.choice(["", "returned", "gradient of q"])] = chance.choice(ODD)
    problem = None
    if chance.random() < 0.2:
        name, words = chance.choice(TYPES), chance.choice(WORDS)
        number = chance.choice([0, -5, 2**200])
        problem = Problem(name, words, ("ValueError", "x"), "f", "f", "raise x", number)
    changed = chance.choice([(), ("no such argument",)])
    called = chance.choice([(), (), (), ("torch.softmax", "a\nb")])
    return Observation(values, problem, changed, called, "<b>\x1b\u202e")


@pytest.mark.parametrize("name", NAMES)
def test_no_forged_observation_is_right_or_breaks_the_judge(name):
    exercise = exercises.find(name)
    expected = expected_observations(exercise, SEED)
    chance = random.Random(name)
    for _ in range(4):
        claimed = {
            case: forged(right, chance)
            for case, right in expected.by_case.items()
            if chance.random() < 0.9
        }
        first = next(iter(expected.by_case))
        claimed["no such case"] = claimed[first] = Observation({"no such part": ODD[0]})
        try:
            packed = pack_observations(Observations(claimed, "", ("nobody", "softmax")))
            arrived = unpack_observations(decode(encode(packed)))
        except WireError:
            continue
        verdict = judge_observations(exercise, arrived, SEED, lambda helper: False)
        assert mark(verdict, 2, partial_credit=True).points < 2
        assert to_text(verdict)
        assert "<script" not in to_html(verdict)


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_no_odd_value_is_taken_for_the_right_one(odd):
    for name in NAMES:
        exercise = exercises.find(name)
        expected = expected_observations(exercise, SEED)
        claimed = {
            case: replace(right, values=dict.fromkeys(right.values, odd), problem=None)
            for case, right in expected.by_case.items()
        }
        try:
            arrived = unpack_observations(decode(encode(pack_observations(Observations(claimed)))))
        except WireError:
            continue
        verdict = compare(exercise, make_cases(exercise, SEED), arrived, expected)
        assert not verdict.correct, name
        if name in ("softmax", "causal_mask", "count_parameters"):  # of each kind, one
            verdict = judge_observations(exercise, arrived, SEED, lambda helper: True)
            assert to_html(verdict)


def test_the_right_observations_are_right():
    for name in NAMES:
        exercise = exercises.find(name)
        expected = expected_observations(exercise, SEED)
        assert judge_observations(exercise, expected, SEED, lambda helper: True).correct
