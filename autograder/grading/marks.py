"""The table of all marks, made from the records of all students."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.grading.gradebook import set_by_hand
from autograder.grading.places import Classroom
from autograder.grading.records import read_all, write_atomically
from autograder.grading.repairing import CHECK
from autograder.grading.submissions import unmatched

COLUMNS = (
    "student",
    "assignment",
    "exercise",
    "points",
    "max_points",
    "outcome",
    "mistake",
    "note",
)
FAULT = ".fault"

Sorted = tuple[tuple[str, str, int], *tuple[str, ...]]  # a row, after what it is sorted by


@dataclass(frozen=True)
class Fault:
    """A submission that could not be graded for a reason that is not its student's.

    exercises: the names of its exercises and the points that each is worth.
    """

    student: str
    assignment: str
    why: str
    exercises: tuple[tuple[str, float], ...]


def keep_fault(verdicts: Path, fault: Fault) -> None:
    """Remember a fault, so that the table of marks says so until the submission is graded."""
    kept = {"why": fault.why, "exercises": fault.exercises}
    path = verdicts / fault.student / f"{fault.assignment}{FAULT}"
    write_atomically(path, json.dumps(kept, ensure_ascii=False))


def forget_fault(verdicts: Path, student: str, assignment: str) -> None:
    """The submission has been graded after all."""
    (verdicts / student / f"{assignment}{FAULT}").unlink(missing_ok=True)


def read_faults(verdicts: Path) -> Iterator[Fault]:
    """Every fault that is remembered."""
    for path in sorted(verdicts.glob(f"*/*{FAULT}")):
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            exercises = tuple((str(name), float(points)) for name, points in kept["exercises"])
            yield Fault(path.parent.name, path.stem, str(kept["why"]), exercises)
        except (OSError, ValueError, TypeError, KeyError):
            continue


def write_marks(classroom: Classroom, assignments: Sequence[str]) -> None:
    """Write the table anew: one row per student, assignment and exercise.

    What lies where no assignment is looked for gets a row without points. Raises OSError.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in sorted([*_rows(classroom), *_unmatched_rows(classroom, assignments)]):
        writer.writerow([safe_cell(field) for field in row[1:]])
    write_atomically(classroom.marks, text.getvalue())


def _unmatched_rows(classroom: Classroom, assignments: Sequence[str]) -> Iterator[Sorted]:
    for number, stray in enumerate(unmatched(classroom, assignments)):
        key = (stray.student, stray.place, number)
        yield key, stray.student, stray.place, "", "", "", "error", "", f"not graded: {stray.why}"


def _rows(classroom: Classroom) -> Iterator[Sorted]:
    """The rows, each with what it is sorted by."""
    by_hand = set_by_hand(classroom.db_url) if classroom.gradebook.is_file() else {}
    faults = {(fault.student, fault.assignment): fault for fault in read_faults(classroom.verdicts)}
    for (student, assignment), fault in faults.items():
        why = f"not graded: {fault.why}"
        for number, (exercise, max_points) in enumerate(fault.exercises):
            key = (student, assignment, number)
            yield key, student, assignment, exercise, "", f"{max_points:g}", "", "", why
    for record in read_all(classroom.verdicts):
        student, assignment = record.student, record.assignment
        if (student, assignment) in faults:
            continue
        for number, row in enumerate(record.rows):
            points, note = row.points, row.note
            score = by_hand.get((student, assignment, CHECK + row.exercise))
            if score is not None and score != points:
                note = f"Set by hand; automatically {points:g}. {note}".strip()
                points = score
            key = (student, assignment, number)
            texts = f"{points:g}", f"{row.max_points:g}", row.outcome, row.mistake, note
            yield key, student, assignment, row.exercise, *texts


def safe_cell(text: str) -> str:
    """A field that no spreadsheet takes for a formula, on one line."""
    text = " ".join(text.split()) if any(mark in text for mark in "\r\n\t") else text
    text = text.encode("utf-8", "replace").decode("utf-8")
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text
