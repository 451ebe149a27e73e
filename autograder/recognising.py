"""Recognising a mistake: which declared wrong implementation did the same."""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from autograder import exercises
from autograder.advising import advise
from autograder.comparing import agrees, difference
from autograder.declaring import Case, Exercise, Mistake, Observation, Observations
from autograder.expecting import expected_observations, make_cases, mistakes_of
from autograder.keeping import LATER
from autograder.observing import observe_case, unwarned
from autograder.verdicts import Verdict

# How many of the failing cases are tried before a mistake is given up: one that explains most of
# them agrees on one of the first few, and trying all of hundreds on all cases takes a second.
FIRST = 3

Meanwhile = Callable[[], object]


def nothing() -> None:
    """What is done meanwhile where nobody waits."""


@unwarned()
def recognise(
    exercise: Exercise,
    cases: Sequence[Case],
    observations: Observations,
    verdict: Verdict,
    seed: int,
    meanwhile: Meanwhile = nothing,
) -> Verdict:
    """Add the name of the declared mistake that did the same on the same cases, and advice.

    meanwhile: called again and again until it is found.
    """
    if observations.refusal or verdict.example is None:
        return verdict
    mistake = _closest(exercise, cases, observations, seed, meanwhile)
    if mistake is None:
        return replace(verdict, advice=advise(exercise, verdict, observations))
    return replace(verdict, mistake=mistake.id, why=mistake.happened, advice=mistake.advice)


@dataclass(eq=False)
class _Known:
    """A declared mistake, observed on the cases of a seed as far as somebody asked."""

    mistake: Mistake
    exercise: Exercise
    expected: Observations
    _seen: dict[str, tuple[Observation, bool]] = field(default_factory=dict)

    def on(self, case: Case) -> tuple[Observation, bool]:
        """What it does on a case, and whether that is wrong."""
        if case.name not in self._seen:
            implementation = self.mistake.implementation
            seen = self.exercise.conclude(case, observe_case(self.exercise, implementation, case))
            right = self.expected.by_case[case.name]
            wrong = difference(self.exercise, case, right, seen) is not None
            self._seen[case.name] = seen, wrong
        return self._seen[case.name]


@functools.lru_cache(maxsize=64)
def _known(name: str, seed: int) -> tuple[_Known, ...]:
    exercise = exercises.find(name)
    expected = expected_observations(exercise, seed)
    unwatched = replace(exercise, not_allowed=())
    return tuple(_Known(mistake, unwatched, expected) for mistake in mistakes_of(exercise))


def _closest(
    exercise: Exercise,
    cases: Sequence[Case],
    observations: Observations,
    seed: int,
    meanwhile: Meanwhile,
) -> Mistake | None:
    """The mistake that agrees with the observations on every case, or comes closest.

    Close enough is agreement on more than half of the cases on which either fails (code that
    makes a declared mistake and one more), or on all on which the learner's fails (code that
    makes it for some inputs only). Half is not enough: two cases have one in common by chance.
    """
    # The cases of the seed, and not those given: they are equal, and mistakes are kept by seed.
    cases = make_cases(exercise, seed)
    seen = observations.by_case
    expected = expected_observations(exercise, seed).by_case
    failing = [
        case
        for case in cases
        if difference(exercise, case, expected[case.name], seen.get(case.name)) is not None
    ]
    tried = [case for case in failing if case.name in seen]
    best: tuple[float, bool, float] = (0.5, False, math.inf)
    closest = None
    waiting = list(_known(exercise.name, seed))
    # Where nothing comes to an end, only errors could be compared.
    ends = any(seen[case.name].problem is None for case in tried)

    def likeness(case: Case, known: _Known) -> bool:
        meanwhile()
        other, wrong = known.on(case)
        return wrong and (
            _alike(case, seen[case.name], other)
            or (ends and _stumbles(seen[case.name], other, expected[case.name]))
        )

    for first in sorted(tried, key=size)[:FIRST]:
        candidates = [known for known in waiting if likeness(first, known)]
        waiting = [known for known in waiting if known not in candidates]
        for known in candidates:
            alike = [case for case in tried if likeness(case, known)]
            concerned = [case for case in cases if case in failing or known.on(case)[1]]
            telling = sum(
                _telling(case, seen[case.name], known.on(case)[0], expected[case.name])
                for case in alike
            )
            share, explains_all = len(alike) / len(concerned), len(alike) == len(failing)
            if explains_all:
                share = max(share, 0.5)  # the mistake is made, if only for some inputs
            if telling and (share, explains_all, telling) > best:
                best, closest = (share, explains_all, telling), known.mistake
        if best[0] == 1.0:
            break  # who differs on this case cannot come closer
    return closest


def size(case: Case) -> int:
    """How many numbers a case has: the smallest one is shown."""
    return sum(int(np.prod(np.shape(value))) for value in case.arguments.values())


def _alike(case: Case, seen: Observation, other: Observation) -> bool:
    same = {*seen.changed} - {LATER} == {*other.changed} - {LATER}  # as only all calls tell
    return same and agrees(case, seen, other)


def _stumbles(seen: Observation, other: Observation, right: Observation) -> bool:
    """Whether one stops with an error where the other returns a wrong shape.

    A mistake that ends in a wrong shape is an error in code that states the shape it wants, as in
    `.view(batch, n, d_model)`. torch raises RuntimeError then; errors of another type, such as a
    misspelt name, have nothing to do with shapes.
    """
    stopped, ended = (seen, other) if seen.problem is not None else (other, seen)
    if stopped.problem is None or ended.problem is not None:
        return False
    shapes = (
        (np.shape(value.data), np.shape(right.values[part].data))
        for part, value in ended.values.items()
        if part in right.values
    )
    return stopped.problem.type == "RuntimeError" and any(a != b for a, b in shapes)


def _telling(case: Case, seen: Observation, other: Observation, right: Observation) -> bool:
    """Whether agreement on a case says something: the same wrong values, or one exception.

    Exceptions of other words say nothing: any two products of unsuitable shapes fail. Nor do
    right values of a wrong dtype, which agree with everything that is nearly right.
    """
    if seen.problem is None or other.problem is None:
        return agrees(case, seen, other) and not agrees(case, seen, right)
    return (seen.problem.type, seen.problem.message) == (other.problem.type, other.problem.message)
