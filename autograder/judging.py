"""Judging: from observations to a verdict, with the name of the mistake.

`compare` is pure. It sets what was observed beside what the reference does on the same
cases, and, where they differ, looks for the declared mistake that did the same.
"""

import contextlib
import functools
import operator
import pkgutil
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autograder import exercises
from autograder.comparing import Difference, agrees, difference
from autograder.declaring import Case, Exercise, Mistake, Observation, Observations
from autograder.observing import observe, unwarned
from autograder.recording import attribute
from autograder.verdicts import Example, Outcome, Verdict

DEFAULT_SEED = 2017  # the year of "Attention Is All You Need"

Differences = Mapping[str, Difference | None]


def judge(name: str, implementation: object, *, seed: int = DEFAULT_SEED) -> Verdict:
    """Judge an implementation of an exercise.

    name: the exercise's name, "split_heads".
    implementation: the function or class itself.
    seed: which random inputs to use. Fixed by default, so that a learner sees the same
        example until it passes; grading draws a fresh one.

    Raises UnknownExercise when no exercise bears the name, and ValueError for a seed that is
    no whole number from 0 on. Whatever student code raises becomes part of the verdict.
    """
    exercise = exercises.find(name)
    seed = _checked_seed(seed)
    cases = make_cases(exercise, seed)
    observations = observe(exercise, implementation, cases)
    verdict = compare(exercise, cases, observations, expected_observations(exercise, seed))
    if verdict.correct or verdict.outcome in ("not attempted", "not allowed"):
        return verdict
    verdict = recognise(exercise, cases, observations, verdict, seed)
    home = attribute(implementation, "__globals__")
    known = home if isinstance(home, dict) else {}
    return mend_first(
        verdict,
        observations.refers_to,
        lambda helper: helper not in known or judge(helper, known[helper], seed=seed).correct,
    )


def _checked_seed(seed: object) -> int:
    with contextlib.suppress(TypeError):
        number = operator.index(seed)  # type: ignore[arg-type]
        if number >= 0:
            return number
    raise ValueError(f"A seed is a whole number from 0 on, such as 7; this one is {seed!r}.")


def make_cases(exercise: Exercise, seed: int) -> Sequence[Case]:
    """The exercise's cases for a seed. The name enters, so that exercises draw differently."""
    return exercise.cases(np.random.default_rng([seed, zlib.crc32(exercise.name.encode())]))


@functools.lru_cache(maxsize=64)
def _expected(name: str, seed: int) -> Observations:
    exercise = exercises.find(name)
    reference = pkgutil.resolve_name(exercise.reference)
    return observe(replace(exercise, not_allowed=()), reference, make_cases(exercise, seed))


def expected_observations(exercise: Exercise, seed: int) -> Observations:
    """What the reference does on the cases of a seed (kept for the latest few)."""
    return _expected(exercise.name, seed)


# What to try where no declared mistake explains the verdict: by kind of fault, or else by outcome.
ADVICE = {
    "returned-none": "end the function with a return line.",
    "wrong-number-of-results": "return all of them, separated by commas, in this order.",
    "changed-input": "write `x = x * w` where you have `x *= w`, or work on a copy: x.copy().",
    "wrong type": "print type(...) and .dtype of what you return: no list, no string, no cast.",
    "wrong shape": "print the shape after each line, and compare with the shapes in the exercise.",
    "NameError": "run the cells above from the top, so that everything the function uses exists.",
    "UnboundLocalError": "give every variable a value on every way through the function.",
    "NotImplementedError": "it is still raised for some inputs; put code in its place.",
}


def _advice(verdict: Verdict, observations: Observations) -> str:
    """What to try when no declared mistake explains the verdict."""
    name = verdict.exercise
    case = verdict.example.case if verdict.example else ""
    seen = observations.by_case.get(case)
    problem = seen.problem.type if seen and seen.problem else ""
    for kind in (verdict.mistake or "", problem, verdict.outcome):
        if kind in ADVICE:
            return ADVICE[kind]
    if verdict.outcome == "error":
        return f"the inputs of one failing call are shown below: follow {name} on them by hand."
    return f'compare yours with the expected numbers below. hint("{name}") gives a nudge.'


@dataclass(frozen=True)
class _Mistaken:
    """A declared mistake, what it does on the cases of a seed, and on which it fails."""

    mistake: Mistake
    observations: Mapping[str, Observation]
    failing: frozenset[str]


@functools.lru_cache(maxsize=64)
def _mistaken(name: str, seed: int) -> tuple[_Mistaken, ...]:
    exercise = exercises.find(name)
    cases = make_cases(exercise, seed)
    expected = expected_observations(exercise, seed)
    unwatched = replace(exercise, not_allowed=())
    made = []
    for mistake in mistakes_of(exercise):
        seen = observe(unwatched, mistake.implementation, cases).by_case
        failing = _failing(exercise, cases, seen, expected.by_case)
        made.append(_Mistaken(mistake, seen, failing))
    return tuple(made)


def _failing(
    exercise: Exercise,
    cases: Sequence[Case],
    seen: Mapping[str, Observation],
    expected: Mapping[str, Observation],
) -> frozenset[str]:
    return frozenset(
        case.name
        for case in cases
        if difference(exercise, case, expected[case.name], seen.get(case.name)) is not None
    )


def mistakes_of(exercise: Exercise) -> tuple[Mistake, ...]:
    """The declared wrong implementations of an exercise."""
    module, _, key = exercise.mistakes.partition(":")
    return tuple(pkgutil.resolve_name(module).MISTAKES[key])


@unwarned()
def compare(
    exercise: Exercise,
    cases: Sequence[Case],
    observations: Observations,
    expected: Observations,
) -> Verdict:
    """Set observations beside the expected ones. Pure: calls nobody's code.

    The verdict does not name a declared mistake yet (`recognise` does); kinds of fault
    that need no example, such as a changed input, are named here.
    """
    if observations.refusal:
        return _verdict(exercise, "wrong type", 0.0, observations.refusal, mistake="not-callable")
    seen = observations.by_case
    if seen and all(_unwritten(observation) for observation in seen.values()):
        return _verdict(
            exercise,
            "not attempted",
            0.0,
            f"{exercise.name} is still the stub: it raises NotImplementedError.",
            advice=f'put your code in its place. hint("{exercise.name}") gives a first nudge.',
        )
    differences = {
        case.name: difference(exercise, case, expected.by_case[case.name], seen.get(case.name))
        for case in cases
    }
    held = tuple((case.name, differences[case.name] is None) for case in cases)
    score = sum(holds for _, holds in held) / len(held)
    failing = [case for case in cases if differences[case.name] is not None]
    if not failing:
        return replace(
            _verdict(exercise, "correct", 1.0, f"All {len(held)} cases hold."), cases=held
        )
    case = _headline_case(failing, differences)
    found = differences[case.name]
    assert found is not None
    example = _example(exercise, case, found, seen.get(case.name), expected.by_case[case.name])
    verdict = _verdict(
        exercise, found.outcome, score, found.what, mistake=found.mistake or None, example=example
    )
    return replace(verdict, cases=held)


def _verdict(exercise: Exercise, outcome: str, score: float, what: str, **more: Any) -> Verdict:
    checked: Outcome = outcome  # type: ignore[assignment]
    mistake = more.pop("mistake", None)
    return Verdict(exercise.name, exercise.title, checked, mistake, score, what, **more)


def _unwritten(observation: Observation) -> bool:
    return observation.problem is not None and observation.problem.type == "NotImplementedError"


def _headline_case(failing: Sequence[Case], differences: Differences) -> Case:
    """The case to show: what is not allowed first, then the smallest that says most.

    A wrong result says more than an exception: code that sums over axis -2 is wrong on every
    map, and only on a single row does it stop with an error.
    """
    order = {"not allowed": 0, "error": 2}

    def rank(case: Case) -> tuple[int, int]:
        found = differences[case.name]
        return order.get(found.outcome if found else "", 1), _size(case)

    return min(failing, key=rank)


def _size(case: Case) -> int:
    return sum(int(np.prod(np.shape(value))) for value in case.arguments.values())


def _example(
    exercise: Exercise,
    case: Case,
    found: Difference,
    seen: Observation | None,
    expected: Observation,
) -> Example:
    return Example(
        case=case.name,
        purpose=case.purpose,
        arguments=dict(case.arguments),
        part=found.part,
        axes=exercise.axes.get(found.part, ()),
        yours=seen.values.get(found.part) if seen else None,
        expected=expected.values.get(found.part),
        at=found.at,
        printed=seen.printed if seen else "",
    )


@unwarned()
def recognise(
    exercise: Exercise,
    cases: Sequence[Case],
    observations: Observations,
    verdict: Verdict,
    seed: int,
) -> Verdict:
    """Add the name of the declared mistake that did the same on the same cases."""
    if observations.refusal or verdict.example is None:
        return verdict
    mistake = _closest(exercise, cases, observations, seed)
    if mistake is None:
        return replace(verdict, advice=_advice(verdict, observations))
    return replace(verdict, mistake=mistake.id, why=mistake.happened, advice=mistake.advice)


def _closest(
    exercise: Exercise, cases: Sequence[Case], observations: Observations, seed: int
) -> Mistake | None:
    """The mistake that agrees with the observations on every case, or comes closest.

    Close enough is agreement on more than half of the cases on which either fails (code that
    makes a declared mistake and one more), or on all on which the learner's fails (code that
    makes it for some inputs only).
    """
    seen = observations.by_case
    expected = expected_observations(exercise, seed).by_case
    failing = _failing(exercise, cases, seen, expected)
    best = (0.5, False, 0)
    closest = None
    for known in _mistaken(exercise.name, seed):
        concerned = failing | known.failing
        alike = [
            case
            for case in cases
            if case.name in failing & known.failing
            and _alike(case, seen[case.name], known.observations[case.name])
        ]
        telling = sum(
            _telling(case, seen[case.name], known.observations[case.name], expected[case.name])
            for case in alike
        )
        share, explains_all = len(alike) / len(concerned), len(alike) == len(failing)
        if explains_all:
            share = max(share, 0.5)  # the mistake is made, if only for some inputs
        if telling and (share, explains_all, telling) > best:
            best, closest = (share, explains_all, telling), known.mistake
    return closest


def _alike(case: Case, seen: Observation, other: Observation) -> bool:
    return seen.changed == other.changed and agrees(case, seen, other)


def _telling(case: Case, seen: Observation, other: Observation, right: Observation) -> bool:
    """Whether agreement on a case says something: the same wrong values, or one exception.

    Exceptions of other words say nothing: any two products of unsuitable shapes fail. Nor do
    right values of a wrong dtype, which agree with everything that is nearly right.
    """
    if seen.problem is None or other.problem is None:
        return not agrees(case, seen, right)
    return (seen.problem.type, seen.problem.message) == (other.problem.type, other.problem.message)


def mend_first(
    verdict: Verdict, refers_to: Sequence[str], is_right: Callable[[str], bool]
) -> Verdict:
    """Say which earlier exercise to mend first, if the function calls one that is wrong."""
    for helper in refers_to:
        if not is_right(helper):
            return replace(
                verdict,
                mend_first=helper,
                why="",
                advice=f'mend {helper} until check("{helper}", {helper}) passes, then check '
                f"{verdict.exercise} again.",
            )
    return verdict
