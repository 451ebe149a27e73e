"""The table of all marks, made from the records of all students."""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.grading.gradebook import set_by_hand
from autograder.grading.places import Classroom
from autograder.grading.records import read_all, write_atomically
from autograder.grading.repairing import CHECK
from autograder.grading.roster import UnusableRoster, read_roster, same_name
from autograder.grading.submissions import folders, unmatched
from autograder.grading.terminal import safe_text

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
DETAILS = ".log"
MISSING = "not handed in"
# Also within a field: where commas are decimal, a spreadsheet parts fields at semicolons.
FORMULA = re.compile(r"(?:^|;)[\s\"]*(?=[=+\-@])")

Sorted = tuple[tuple[str, str, int], str, str, *tuple[str, ...]]  # a row, after what sorts it


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


def keep_details(verdicts: Path, student: str, assignment: str, details: str) -> Path:
    """Keep all that was said about a fault in a file of its own; which one. Raises OSError."""
    path = verdicts / student / f"{assignment}{DETAILS}"
    write_atomically(path, details.encode("utf-8", "replace"))
    return path


def forget_fault(verdicts: Path, student: str, assignment: str) -> None:
    """The submission has been graded after all. Raises OSError."""
    for ending in (FAULT, DETAILS):
        path = verdicts / student / f"{assignment}{ending}"
        if path.exists():  # the folder may be none, or not be ours to change
            path.unlink(missing_ok=True)


def has_fault(verdicts: Path, student: str, assignment: str) -> bool:
    """Whether a fault of this submission is remembered."""
    return (verdicts / student / f"{assignment}{FAULT}").exists()


def read_faults(verdicts: Path) -> Iterator[Fault]:
    """Every fault that is remembered."""
    for path in sorted(verdicts.glob(f"*/*{FAULT}")):
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            exercises = tuple((str(name), float(points)) for name, points in kept["exercises"])
            yield Fault(path.parent.name, path.stem, str(kept["why"]), exercises)
        except (OSError, ValueError, TypeError, KeyError):
            continue


def write_marks(
    classroom: Classroom,
    exercises: Mapping[str, Sequence[tuple[str, float]]],
    unkept: Sequence[Fault] = (),
) -> None:
    """Write the table anew: one row per student, assignment and exercise.

    What lies where no assignment is looked for gets a row without points. Who is in the roster
    gets rows for everything that somebody of the class handed in.
    exercises: of every assignment, with the points that each is worth.
    unkept: faults that could not be remembered.
    Raises OSError, UnusableGradebook.
    """
    rows = [*_rows(classroom, unkept), *_unmatched_rows(classroom, [*exercises])]
    rows += _missing_rows(classroom, exercises, {(row[1], row[2]) for row in rows})
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in sorted(rows):
        writer.writerow([safe_cell(field) for field in row[1:]])
    write_atomically(classroom.marks, text.getvalue())


def _unmatched_rows(classroom: Classroom, assignments: Sequence[str]) -> Iterator[Sorted]:
    for number, stray in enumerate(unmatched(classroom, assignments)):
        key = (stray.student, stray.place, number)
        yield key, stray.student, stray.place, "", "", "", "error", "", f"not graded: {stray.why}"


def _missing_rows(
    classroom: Classroom,
    exercises: Mapping[str, Sequence[tuple[str, float]]],
    known: set[tuple[str, str]],
) -> Iterator[Sorted]:
    """A zero for each exercise of an assignment that others handed in, for those who did not.

    known: student and assignment of every other row.
    """
    try:
        people = read_roster(classroom.roster).people if classroom.roster.is_file() else ()
    except UnusableRoster as unusable:
        why = f"not graded: who handed in nothing has no rows. {unusable}"
        yield (
            ("", classroom.roster.name, 0),
            "",
            classroom.roster.name,
            *("",) * 3,
            "error",
            "",
            why,
        )
        return
    here = {(same_name(who), what) for who, what in [*known, *folders(classroom)]}
    for assignment in sorted({what for _, what in here} & exercises.keys()):
        for person in people:
            if (same_name(person.id), assignment) in here:
                continue
            for number, (exercise, points) in enumerate(exercises[assignment]):
                key = (person.id, assignment, number)
                texts = exercise, "0", f"{points:g}", MISSING, "", ""
                yield key, person.id, assignment, *texts


def _rows(classroom: Classroom, unkept: Sequence[Fault]) -> Iterator[Sorted]:
    """The rows, each with what it is sorted by."""
    by_hand = set_by_hand(classroom.db_url) if classroom.gradebook.is_file() else {}
    known = [*read_faults(classroom.verdicts), *unkept]
    faults = {(fault.student, fault.assignment): fault for fault in known}
    for record in read_all(classroom.verdicts):
        student, assignment = record.student, record.assignment
        fault = faults.pop((student, assignment), None)
        for number, row in enumerate(record.rows):
            points, note = row.points, row.note
            score = by_hand.get((student, assignment, CHECK + row.exercise))
            if score is not None and score != points:
                note = f"Set by hand; automatically {points:g}. {note}".strip()
                points = score
            if fault:
                why = fault.why.rstrip(".")
                note = f"not graded again: {why}; these are the marks from before. {note}".strip()
            key = (student, assignment, number)
            texts = f"{points:g}", f"{row.max_points:g}", row.outcome, row.mistake, note
            yield key, student, assignment, row.exercise, *texts
    for (student, assignment), fault in faults.items():  # no marks from before
        why = f"not graded: {fault.why}"
        for number, (exercise, max_points) in enumerate(fault.exercises):
            key = (student, assignment, number)
            yield key, student, assignment, exercise, "", f"{max_points:g}", "", "", why


def safe_cell(text: str) -> str:
    """A field that no spreadsheet takes for a formula: one line, and nothing invisible in it."""
    text = safe_text(" ".join(text.split()) if any(mark in text for mark in "\r\n\t") else text)
    return FORMULA.sub(r"\g<0>'", text)
