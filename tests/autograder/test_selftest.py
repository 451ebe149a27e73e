"""The grader's own test: every declared mistake fails and is named, right versions pass."""

import itertools
import pkgutil
from typing import Any

import numpy as np
import pytest
import torch

from autograder import exercises
from autograder.comparing import difference
from autograder.expecting import expected_observations, make_cases, mistakes_of
from autograder.judging import DEFAULT_SEED, judge
from autograder.observing import observe
from autograder.recognising import size
from tests.autograder.variants import VARIANTS

SEEDS = range(20)
NAMES = [exercise.name for exercise in exercises.iterate()]


@pytest.mark.parametrize("name", NAMES)
def test_every_mistake_fails_and_is_named(name: str) -> None:
    wrong = []
    for seed, mistake in itertools.product(SEEDS, mistakes_of(exercises.find(name))):
        verdict = judge(name, mistake.implementation, seed=seed)
        if verdict.correct or verdict.mistake != mistake.id:
            wrong.append((seed, mistake.id, verdict.outcome, verdict.mistake))
    assert not wrong


@pytest.mark.parametrize("name", NAMES)
def test_right_versions_pass(name: str) -> None:
    reference = pkgutil.resolve_name(exercises.find(name).reference)
    versions = VARIANTS.get(name, ())
    assert len(versions) >= 3, f"three right versions of {name} belong into variants/"
    for seed, variant in itertools.product(SEEDS, (reference, *versions)):
        verdict = judge(name, variant, seed=seed)
        assert verdict.correct, f"{variant} with seed {seed}: {verdict.message}"


@pytest.mark.parametrize("name", NAMES)
def test_mistakes_of_one_id_say_the_same_kind_of_thing(name: str) -> None:
    for mistake in mistakes_of(exercises.find(name)):
        assert mistake.happened.endswith(".") and mistake.advice.endswith(".")
        assert mistake.id == mistake.id.lower() and " " not in mistake.id


@pytest.mark.parametrize("name", NAMES)
def test_every_case_fits_the_rules(name: str) -> None:
    exercise = exercises.find(name)
    cases = make_cases(exercise, DEFAULT_SEED)
    assert len({case.name for case in cases}) == len(cases)
    for case in cases:
        assert tuple(case.arguments) == exercise.parameters
        assert case.purpose.endswith("."), "the purpose is the end of a sentence"
    arrays = [a for case in cases for a in case.arguments.values() if hasattr(a, "dtype")]
    if not arrays:  # an exercise on plain numbers
        return
    assert {str(a.dtype).removeprefix("torch.") for a in arrays} == {"float32", "float64"}
    assert any(not _is_contiguous(a) for a in arrays)
    assert min(size(case) for case in cases) <= 40, "one case is small enough to be shown"


def _is_contiguous(array: Any) -> bool:
    if isinstance(array, torch.Tensor):
        return array.is_contiguous()
    return bool(array.flags.c_contiguous)


@pytest.mark.parametrize("name", NAMES)
def test_cases_differ_between_seeds_and_repeat_with_a_seed(name: str) -> None:
    exercise = exercises.find(name)
    first, again, other = (
        [[np.array(value) for value in case.arguments.values()] for case in make_cases(exercise, s)]
        for s in (1, 1, 2)
    )
    for a, b in zip(first, again, strict=True):
        assert all(map(np.array_equal, a, b))
    same = sum(all(map(np.array_equal, a, c)) for a, c in zip(first, other, strict=True))
    assert same <= len(first) / 4, "a few cases may be the same for all: a single weight is 1"


@pytest.mark.parametrize("name", NAMES)
def test_tolerance_is_far_below_the_smallest_declared_mistake(name: str) -> None:
    """A mistake must not pass because rounding is judged too generously on every case."""
    exercise = exercises.find(name)
    for seed in SEEDS:
        cases, expected = make_cases(exercise, seed), expected_observations(exercise, seed)
        for mistake in mistakes_of(exercise):
            seen = observe(exercise, mistake.implementation, cases).by_case
            assert any(
                difference(exercise, case, expected.by_case[case.name], seen[case.name])
                for case in cases
            )
