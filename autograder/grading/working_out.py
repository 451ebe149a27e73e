"""What a submission takes time for: running its cells in the sandbox, and judging what came.

`Task` and `Answer` are plain data, so that the work can be done in another process or on
another machine; what nbgrader has to store is stored by one process alone.
"""

import threading
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field

from autograder import exercises
from autograder.expecting import make_cases
from autograder.grading.bounding import Room
from autograder.grading.calling import called_in
from autograder.grading.driving import (
    CellRun,
    CheckCell,
    CodeCell,
    Limits,
    Start,
    drive,
)
from autograder.grading.launching import start_runner
from autograder.grading.marking import Look, Reason, judge_looks
from autograder.grading.outputs import clean_outputs
from autograder.grading.sandbox import Allowance, at_hand
from autograder.judging import single_threaded
from autograder.verdicts import Verdict

SEED_BITS = 62

Piece = CodeCell | str
"""A cell to run, or the name of the exercise whose check stands there."""


@dataclass(frozen=True)
class Task:
    """One notebook to run and judge.

    pieces: its code cells in order. labels: for each of them, the exercise that it is to
    define, or "". seed: what the inputs are made from. allowance: None to run student code
    without the sandbox. again: the exercises that are looked at once more after the last cell.
    """

    pieces: tuple[Piece, ...]
    labels: tuple[str, ...]
    seed: int
    limits: Limits
    allowance: Allowance | None
    again: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """What became of a task: what each cell showed, cleaned, and the verdicts by exercise."""

    runs: Sequence[CellRun]
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)


@dataclass(frozen=True)
class Done:
    """What was worked out for a submission.

    seed: what its inputs were made from. task: what was run, or None when nothing could be.
    """

    seed: int
    task: Task | None = None
    answer: Answer = field(default_factory=lambda: Answer(()))


beforehand: ContextVar[Done | None] = ContextVar("beforehand", default=None)
"""What was worked out elsewhere for the submission that is being stored."""

_judging = threading.Lock()  # who observes declared mistakes watches torch, for all threads


def work(task: Task) -> Answer:
    """Run and judge one notebook. Raises RunnerFault, NoSandbox."""
    asked = [exercises.find(piece) for piece in task.pieces if isinstance(piece, str)]
    by_name = {exercise.name: exercise for exercise in asked}
    seeds = [task.seed] * len(task.pieces) + [later_seed(task.seed)] * len(task.again)
    cells = [
        CheckCell(piece, make_cases(by_name[piece], seed)) if isinstance(piece, str) else piece
        for piece, seed in zip((*task.pieces, *task.again), seeds, strict=True)
    ]
    all_runs = drive(cells, task.limits, _start(task.allowance))
    runs = all_runs[: len(task.pieces)]
    room = Room()
    for run in runs:
        run.outputs = clean_outputs(run.outputs, room)
    looks: dict[str, list[Look]] = {exercise.name: [] for exercise in asked}
    for at, (cell, run, seed) in enumerate(zip(cells, all_runs, seeds, strict=True)):
        if isinstance(cell, CheckCell):
            code = [each.source for each in cells[:at] if isinstance(each, CodeCell)]
            called = called_in(code, by_name[cell.exercise]) if run.note else ()
            looks[cell.exercise].append(Look(run, seed, called))
    with _judging, single_threaded():
        verdicts = judge_looks(looks, asked, reasons(task, runs))
    for run in runs:
        run.observations = None  # judged, and large
    return Answer(runs, verdicts)


def later_seed(seed: int) -> int:
    """What inputs are made from after the last cell.

    Not the same ones: what a check has asked could be answered there in ways that are not watched.
    """
    return seed + 1


def _start(allowance: Allowance | None) -> Start:
    return start_runner if allowance is None else at_hand(allowance).start_runner


def reasons(task: Task, runs: Sequence[CellRun]) -> dict[str, Reason]:
    """By exercise, why the cell that should define it did not, as far as it can be told."""
    found = {}
    for piece, label, run in zip(task.pieces, task.labels, runs, strict=True):
        if not label or isinstance(piece, str):
            continue
        source = piece.source.strip()
        errors = [output for output in run.outputs if output.output_type == "error"]
        if run.note:
            found[label] = Reason(f"its cell did not finish, {run.note}.", run.note)
        elif errors:
            # IPython appends the cell's internal file name to a syntax error's words.
            said = errors[-1].evalue.partition(" (<ipython-")[0].partition(" (<string>")[0]
            found[label] = Reason(f"its cell stopped with {errors[-1].ename}: {said}")
        elif source.startswith("# This cell ("):
            found[label] = Reason("the cell for it was missing.")
        elif not source:
            found[label] = Reason("its cell is empty.")
        elif all(line.strip().startswith("#") or not line.strip() for line in source.splitlines()):
            found[label] = Reason("its cell contains only comments.")
        else:
            found[label] = Reason("its cell ran, and defined something else.")
    return found
