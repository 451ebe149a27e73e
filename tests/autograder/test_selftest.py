"""The grader's own test: every declared mistake fails and is named, right versions pass."""

import itertools
import pkgutil
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from autograder import exercises
from autograder.expecting import make_cases, mistakes_of
from autograder.judging import DEFAULT_SEED, judge, judge_observations
from autograder.observing import observe
from autograder.recognising import size
from autograder.verdicts import Verdict
from tests.autograder.variants import VARIANTS

SEEDS = (0, 7)  # `make bench` tries 20; each new seed has all mistakes observed anew
FOR_CLASSES = SEEDS[1:]  # which have hundreds of mistakes, each in a module of its own
NAMES = [exercise.name for exercise in exercises.iterate()]


def unwatched(name: str, implementation: Callable[..., Any], seed: int) -> Verdict:
    """The verdict as `judge` gives it; calls are not watched, which takes most of the time."""
    exercise = exercises.find(name)
    cases = make_cases(exercise, seed)
    seen = observe(replace(exercise, not_allowed=()), implementation, cases)
    return judge_observations(exercise, seen, seed, is_right=lambda helper: True)


@pytest.mark.parametrize("name", NAMES)
def test_every_mistake_fails_and_is_named(name: str) -> None:
    wrong = []
    exercise = exercises.find(name)
    seeds = FOR_CLASSES if exercise.is_class else SEEDS
    for seed, mistake in itertools.product(seeds, mistakes_of(exercise)):
        verdict = unwatched(name, mistake.implementation, seed)
        if verdict.correct or verdict.mistake != mistake.id:
            wrong.append((seed, mistake.id, verdict.outcome, verdict.mistake))
    assert not wrong


@pytest.mark.parametrize("name", NAMES)
def test_right_versions_pass(name: str) -> None:
    reference = pkgutil.resolve_name(exercises.find(name).reference)
    versions = VARIANTS.get(name, ())
    assert len(versions) >= 3, f"three right versions of {name} belong into variants/"
    for seed, variant in itertools.product(range(5), (reference, *versions)):
        # The reference may use what a learner may not.
        verdict = (unwatched if variant is reference else judge)(name, variant, seed=seed)
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
        assert exercise.recipe or tuple(case.arguments) == exercise.parameters
        assert case.purpose.endswith("."), "the purpose is the end of a sentence"
    arrays = [a for case in cases for a in case.arguments.values() if hasattr(a, "dtype")]
    dtypes = {str(a.dtype).removeprefix("torch.") for a in arrays}
    if not arrays:  # an exercise on plain numbers
        return
    assert min(size(case) for case in cases) <= 40, "one case is small enough to be shown"
    if not any("float" in name for name in dtypes):  # truth values or whole numbers alone
        return
    assert {"float32", "float64"} <= dtypes
    assert any(not _is_contiguous(a) for a in arrays)


def _plain(value: Any) -> Any:
    return value.numpy() if isinstance(value, torch.Tensor) else np.array(value)


def _is_contiguous(array: Any) -> bool:
    if isinstance(array, torch.Tensor):
        return array.is_contiguous()
    return bool(array.flags.c_contiguous)


@pytest.mark.parametrize("name", NAMES)
def test_cases_differ_between_seeds_and_repeat_with_a_seed(name: str) -> None:
    exercise = exercises.find(name)
    first, again, other = (
        [[_plain(value) for value in case.arguments.values()] for case in make_cases(exercise, s)]
        for s in (1, 1, 2)
    )
    for a, b in zip(first, again, strict=True):
        assert all(map(np.array_equal, a, b))
    same = sum(all(map(np.array_equal, a, c)) for a, c in zip(first, other, strict=True))
    assert same <= len(first) / 4, "a few cases may be the same for all: a single weight is 1"
