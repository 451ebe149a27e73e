"""From what was observed to verdicts and marks, outside of the process of student code."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from autograder.declaring import Exercise
from autograder.grading.driving import CellRun
from autograder.judging import judge_observations, mend_first
from autograder.phrasing import ended
from autograder.verdicts import Verdict

NOTE_LIMIT = 4000  # characters of a note; those of our own making have some hundred


@dataclass(frozen=True)
class Reason:
    """Why a cell did not define its function: a sentence, and what stopped the cell, or ""."""

    said: str
    stopped: str = ""


@dataclass(frozen=True)
class Look:
    """What was seen of an exercise's function at one place of the notebook.

    run: what that place gave. seed: what its inputs were made from. calls: the earlier exercises
    that the code before it calls, read off the code: for what could not be observed.
    """

    run: CellRun
    seed: int
    calls: Sequence[str] = ()


@dataclass(frozen=True)
class Mark:
    """A verdict, and what it is worth.

    note: for people who read marks, one line on what was found; "" when it is correct.
    """

    verdict: Verdict
    points: float
    max_points: float
    note: str


def mark(verdict: Verdict, max_points: float, *, partial_credit: bool = False) -> Mark:
    """Points if correct, else 0; with partial credit, the share of cases that hold.

    Partial credit is for wrong answers: what was not allowed, failed or was not attempted
    earns nothing.
    """
    share = 1.0 if verdict.correct else 0.0
    if partial_credit and verdict.outcome.startswith("wrong "):
        share = verdict.score
    points = min(max(share, 0.0), 1.0) * max_points
    note = "" if verdict.correct else _on_one_line(verdict)
    return Mark(verdict, round(points, 4), max_points, note)


def _on_one_line(verdict: Verdict) -> str:
    """What was found, as sentences one after the other, and which helper comes first."""
    said = [" ".join(line.split()) for line in verdict.what.splitlines() if line.strip()]
    if verdict.mend_first:
        said.append(f"It calls {verdict.mend_first}, which is not right yet.")
    note = " ".join([*map(ended, said[:-1]), *said[-1:]])
    return note if len(note) <= NOTE_LIMIT else f"{note[:NOTE_LIMIT]} …"


def judge_looks(
    looks: Mapping[str, Sequence[Look]],
    exercises: Sequence[Exercise],
    because: Mapping[str, Reason],
) -> dict[str, Verdict]:
    """The verdicts on one notebook, in the order of its checks.

    looks: by exercise name, what was seen of it, in order; the best counts.
    exercises: those of the notebook, in order.
    because: by exercise name, what is known of why no function of that name was there.
    """
    verdicts: dict[str, Verdict] = {}
    over = False  # whether the notebook stopped at an earlier exercise, in its check or its cell

    def is_right(helper: str) -> bool:
        return helper not in verdicts or verdicts[helper].correct

    for exercise in exercises:
        reason = because.get(exercise.name, Reason(""))
        verdict = _best(exercise, looks[exercise.name], reason, is_right)
        verdicts[exercise.name] = replace(verdict, reached=not (verdict.stopped and over))
        at_its_check = looks[exercise.name][0].run
        over = over or at_its_check.last or not at_its_check.reached
    return verdicts


def _best(
    exercise: Exercise,
    looks: Sequence[Look],
    because: Reason,
    is_right: Callable[[str], bool],
) -> Verdict:
    """The verdict that says most for the function; of equal ones the first."""
    judged = []
    # What is looked at again is mostly right by then, and naming what is wrong takes time.
    for look in reversed(looks):
        verdict = _verdict_on(exercise, look, because, is_right)
        if verdict.correct:
            return verdict
        judged.append((_says(look.run, verdict), verdict))
    return max(reversed(judged), key=lambda each: each[0])[1]


def _says(run: CellRun, verdict: Verdict) -> tuple[bool, float, bool, bool]:
    """How much a verdict that is not "correct" says for a function; more is better."""
    wrong = verdict.outcome.startswith("wrong ")
    written = not run.missing and verdict.outcome != "not attempted"
    return wrong, verdict.score if wrong else 0.0, run.reached, written


def _verdict_on(
    exercise: Exercise, look: Look, because: Reason, is_right: Callable[[str], bool]
) -> Verdict:
    run = look.run
    if run.observations is not None and not run.note:
        return judge_observations(exercise, run.observations, look.seed, is_right)
    if run.missing:
        return _missing(exercise, because)
    return _stopped(exercise, run, look.calls, is_right)


def failed(exercise: Exercise, what: str) -> Verdict:
    """The verdict "error" for an exercise that could not be judged, with the reason."""
    return Verdict(exercise.name, exercise.title, "error", None, 0.0, what)


def _stopped(
    exercise: Exercise, run: CellRun, called: Sequence[str], is_right: Callable[[str], bool]
) -> Verdict:
    """The verdict on what was never judged: where it calls what is wrong itself, that is first.

    Not where the notebook did not come so far: then nobody knows what is wrong.
    """
    verdict = replace(
        failed(exercise, f"{exercise.name} was not judged: {run.note}."), stopped=run.note
    )
    return mend_first(verdict, called, is_right) if run.reached else verdict


def _missing(exercise: Exercise, because: Reason) -> Verdict:
    what = f"When its check was reached, the notebook had nothing named {exercise.name}"
    verdict = failed(exercise, f"{what}: {because.said}" if because.said else f"{what}.")
    return replace(verdict, stopped=because.stopped)
