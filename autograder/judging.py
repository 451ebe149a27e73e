"""Judging: from observations to a verdict.

`compare` is pure: it sets what was observed beside what the reference does on the same cases.
What a verdict says beyond that, the name of the mistake, is found in `recognising`.
"""

import contextlib
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from autograder import exercises
from autograder.advising import advise
from autograder.comparing import Difference, difference
from autograder.declaring import Case, Exercise, Observation, Observations
from autograder.expecting import concluded, expected_observations, make_cases
from autograder.observing import function_of, observe, unwarned
from autograder.recognising import Meanwhile, nothing, recognise, size
from autograder.recording import attribute, torch_if_loaded
from autograder.verdicts import Example, Outcome, Verdict

DEFAULT_SEED = 2017  # the year of "Attention Is All You Need"

# With these nothing is left that a wrong helper or a declared mistake could explain.
FINAL = ("correct", "not attempted", "not allowed")

Differences = Mapping[str, Difference | None]


def judge(
    name: str,
    implementation: object,
    *,
    seed: int = DEFAULT_SEED,
    meanwhile: Meanwhile = nothing,
) -> Verdict:
    """Judge an implementation of an exercise.

    name: the exercise's name, "split_heads".
    implementation: the function or class itself.
    seed: which random inputs to use. Fixed by default, so that a learner sees the same
        example until it passes; grading draws a fresh one.
    meanwhile: called again and again while the cause of a fault is looked for, which may take
        seconds; never while student code runs.

    Raises UnknownExercise when no exercise bears the name, and ValueError for a seed that is
    no whole number from 0 on. Whatever student code raises becomes part of the verdict.
    """
    exercise = exercises.find(name)
    seed = _checked_seed(seed)
    home = attribute(function_of(implementation), "__globals__")
    known = home if isinstance(home, dict) else {}
    with single_threaded():
        observations = observe(exercise, implementation, make_cases(exercise, seed))
        return judge_observations(
            exercise,
            observations,
            seed,
            lambda helper: (
                helper not in known
                or judge(helper, known[helper], seed=seed, meanwhile=meanwhile).correct
            ),
            meanwhile,
        )


@contextlib.contextmanager
def single_threaded() -> Iterator[None]:
    """One thread for torch inside the block: tensors as small as ours only wait for more."""
    torch = torch_if_loaded()
    threads = torch.get_num_threads() if torch is not None else 1
    if threads == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def judge_observations(
    exercise: Exercise,
    observations: Observations,
    seed: int,
    is_right: Callable[[str], bool],
    meanwhile: Meanwhile = nothing,
) -> Verdict:
    """The verdict on observations that were made on the cases of a seed.

    is_right: tells of an earlier exercise, by its name, whether the learner's function for it
        is right; asked only when this one is wrong and calls it.
    meanwhile: as for `judge`.
    """
    cases = make_cases(exercise, seed)
    observations = concluded(exercise, cases, observations)
    verdict = compare(exercise, cases, observations, expected_observations(exercise, seed))
    if verdict.outcome == "not allowed":
        return replace(verdict, advice=advise(exercise, verdict, observations))
    if verdict.outcome in FINAL:
        return verdict
    verdict = recognise(exercise, cases, observations, verdict, seed, meanwhile)
    return mend_first(verdict, observations.refers_to, is_right)


def _checked_seed(seed: object) -> int:
    with contextlib.suppress(TypeError):
        number = operator.index(seed)  # type: ignore[arg-type]
        if number >= 0:
            return number
    raise ValueError(f"A seed is a whole number from 0 on, such as 7; this one is {seed!r}.")


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
        return _verdict(
            exercise,
            "wrong type",
            0.0,
            observations.refusal,
            mistake="not-callable",
            advice=f"{_definition(exercise)}, run that cell, and check {exercise.name}.",
        )
    seen = observations.by_case
    if _not_attempted(exercise, cases, seen):
        return _verdict(
            exercise,
            "not attempted",
            0.0,
            f"{exercise.name} raises NotImplementedError, as the stub does.",
            advice="put your code in the place of that line; if it stands there already, delete "
            f'the line. hint("{exercise.name}") gives a first nudge.',
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
    case = _headline_case(failing, differences, expected)
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


def _definition(exercise: Exercise) -> str:
    if not exercise.is_class:
        return f"define it as `def {exercise.signature}:`"
    name, _, rest = exercise.signature.partition("(")
    methods = " and ".join(
        f"`def {method.replace('(', '(self, ', 1)}:`" for method in exercise.methods
    )
    return (
        f"start it with `class {name}(nn.Module):`, and inside it write "
        f"`def __init__(self, {rest}:` and {methods}"
    )


def _not_attempted(
    exercise: Exercise, cases: Sequence[Case], seen: Mapping[str, Observation]
) -> bool:
    """Whether every case stops at the stub.

    A class that is built and not called, in a case that it should refuse, does not get that far.
    """
    asked = [
        seen[c.name] for c in cases if c.name in seen and not (exercise.is_class and c.mentions)
    ]
    return bool(asked) and all(_unwritten(exercise, observation) for observation in asked)


def _unwritten(exercise: Exercise, observation: Observation) -> bool:
    """Whether the function itself is still the stub, and not one that it calls."""
    problem = observation.problem
    return (
        problem is not None
        and problem.type == "NotImplementedError"
        # torch raises it too, for what it does not do
        and (not problem.line or "NotImplementedError" in problem.line)
        and problem.raised_in not in (*exercise.uses, "_forward_unimplemented")  # torch's own
    )


def _headline_case(
    failing: Sequence[Case], differences: Differences, expected: Observations
) -> Case:
    """The case to show: what is not allowed first, then the smallest that says most.

    A wrong result says more than an exception: code that sums over axis -2 is wrong on every
    map, and only on a single row does it stop with an error. Inputs to be refused come last.
    """
    order = {"not allowed": 0, "error": 2}

    def rank(case: Case) -> tuple[int, bool, bool, int]:
        found = differences[case.name]
        # float32 comes last: what it adds is a fine point, and the lesson need not know of it.
        fine = "float32" in case.dtypes
        refused = expected.by_case[case.name].problem is not None
        return order.get(found.outcome if found else "", 1), refused, fine, size(case)

    return min(failing, key=rank)


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
