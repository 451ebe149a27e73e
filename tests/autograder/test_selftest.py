"""The grader's own test: every declared mistake fails and is named, right versions pass."""

import itertools
import pkgutil

import pytest

from autograder import exercises
from autograder.comparing import difference
from autograder.expecting import expected_observations, make_cases, mistakes_of
from autograder.judging import DEFAULT_SEED, judge
from autograder.observing import observe
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
    assert len(versions) >= 3, f"three right versions of {name} belong into variants.py"
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
    dtypes = {str(a.dtype) for case in cases for a in case.arguments.values()}
    assert dtypes == {"float32", "float64"}
    assert any(not a.flags.c_contiguous for case in cases for a in case.arguments.values())
    smallest = min(sum(a.size for a in case.arguments.values()) for case in cases)
    assert smallest <= 40, "one case is small enough to be shown on a screen"


@pytest.mark.parametrize("name", NAMES)
def test_cases_differ_between_seeds_and_repeat_with_a_seed(name: str) -> None:
    exercise = exercises.find(name)
    first, again, other = (make_cases(exercise, seed) for seed in (1, 1, 2))
    for a, b, c in zip(first, again, other, strict=True):
        pairs = zip(a.arguments.values(), b.arguments.values(), strict=True)
        assert all((x == y).all() for x, y in pairs)
        assert any((x != c.arguments[key]).any() for key, x in a.arguments.items())


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
