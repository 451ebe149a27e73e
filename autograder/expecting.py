"""What an exercise is judged by: its cases for a seed, its reference, its declared mistakes.

Here dotted names are resolved, so this is loaded only where judging happens.
"""

import contextlib
import functools
import pkgutil
import zlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from autograder import exercises
from autograder.declaring import Case, Exercise, Mistake, Observations
from autograder.observing import observe


def make_cases(exercise: Exercise, seed: int) -> Sequence[Case]:
    """The exercise's cases for a seed. The name enters, so that exercises draw differently."""
    return exercise.cases(np.random.default_rng([seed, zlib.crc32(exercise.name.encode())]))


def expected_observations(exercise: Exercise, seed: int) -> Observations:
    """What the reference does on the cases of a seed (kept for the latest few)."""
    return _expected(exercise.name, seed)


@functools.lru_cache(maxsize=64)
def _expected(name: str, seed: int) -> Observations:
    exercise = exercises.find(name)
    reference = pkgutil.resolve_name(exercise.reference)
    cases = make_cases(exercise, seed)
    # The reference may use what a learner may not.
    return concluded(exercise, cases, observe(replace(exercise, not_allowed=()), reference, cases))


def concluded(
    exercise: Exercise, cases: Sequence[Case], observations: Observations
) -> Observations:
    """What follows from the observations on these cases: see `Exercise.conclude`.

    Where nothing follows, because student code has recorded something else, they stay as they are.
    """
    seen = dict(observations.by_case)
    for case in cases:
        if case.name in seen:
            with contextlib.suppress(Exception):
                seen[case.name] = exercise.conclude(case, seen[case.name])
    return replace(observations, by_case=seen)


def mistakes_of(exercise: Exercise) -> tuple[Mistake, ...]:
    """The declared wrong implementations of an exercise."""
    module, _, key = exercise.mistakes.partition(":")
    return tuple(pkgutil.resolve_name(module).MISTAKES[key])
