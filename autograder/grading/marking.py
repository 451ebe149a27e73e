"""From what was observed to verdicts and marks, outside of the process of student code."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autograder.declaring import Exercise
from autograder.grading.driving import CellRun
from autograder.judging import judge_observations
from autograder.phrasing import ended
from autograder.verdicts import Verdict


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
    return " ".join([*map(ended, said[:-1]), *said[-1:]])


def judge_runs(
    runs: Mapping[str, CellRun],
    exercises: Sequence[Exercise],
    seed: int,
    because: Mapping[str, str],
) -> dict[str, Verdict]:
    """The verdicts on one notebook, in the order of its checks.

    runs: by exercise name, what its check's place gave.
    exercises: those of the notebook, in order.
    seed: the seed that the cases were made from.
    because: by exercise name, what is known of why no function of that name was there.
    """
    verdicts: dict[str, Verdict] = {}

    def is_right(helper: str) -> bool:
        return helper not in verdicts or verdicts[helper].correct

    for exercise in exercises:
        run = runs[exercise.name]
        if run.observations is not None and not run.note:
            verdicts[exercise.name] = judge_observations(exercise, run.observations, seed, is_right)
        elif run.missing:
            verdicts[exercise.name] = failed(exercise, _missing(exercise, because))
        else:
            verdicts[exercise.name] = failed(
                exercise, f"{exercise.name} was not judged: {run.note}."
            )
    return verdicts


def failed(exercise: Exercise, what: str) -> Verdict:
    """The verdict "error" for an exercise that could not be judged, with the reason."""
    return Verdict(exercise.name, exercise.title, "error", None, 0.0, what)


def _missing(exercise: Exercise, because: Mapping[str, str]) -> str:
    what = f"When its check was reached, the notebook had nothing named {exercise.name}"
    return f"{what}: {because[exercise.name]}" if because.get(exercise.name) else f"{what}."
