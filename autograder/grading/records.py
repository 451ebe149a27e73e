"""The record of each graded submission, kept as JSON beside the gradebook.

A record is written in two steps: as `<assignment>.json.pending` while nbgrader still works,
and renamed to `<assignment>.json` once everything else is stored. Only the second counts, so
that a grader killed midway leaves nothing half done: the next run repeats it.
"""

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from autograder.grading.marking import Mark

FORMAT = 1
PENDING = ".pending"


@dataclass(frozen=True)
class Row:
    """The mark of one exercise, as it is kept.

    mend_first, stopped, reached: as in a `Verdict`; older records do not have them.
    """

    exercise: str
    points: float
    max_points: float
    outcome: str
    mistake: str
    score: float
    note: str
    message: str
    mend_first: str = ""
    stopped: str = ""
    reached: bool = True

    @staticmethod
    def of(mark: Mark) -> "Row":
        """The row for a mark."""
        verdict = mark.verdict
        return Row(
            exercise=verdict.exercise,
            points=mark.points,
            max_points=mark.max_points,
            outcome=verdict.outcome,
            mistake=verdict.mistake or "",
            score=verdict.score,
            note=mark.note,
            message=verdict.message,
            mend_first=verdict.mend_first,
            stopped=verdict.stopped,
            reached=verdict.reached,
        )


@dataclass(frozen=True)
class Record:
    """What was found in one submission.

    submission: the hash of what was handed in.
    solutions: the hash of what it was graded against.
    seed: what the inputs were made from; the same seed makes the same inputs, for appeals.
    graded: when, in ISO format.
    repairs: what was mended before it could be graded.
    problem: why nothing in it could be graded, in words for the student, or "".
    """

    student: str
    assignment: str
    notebook: str
    submission: str
    solutions: str
    seed: int
    graded: str
    rows: tuple[Row, ...]
    repairs: tuple[str, ...] = ()
    problem: str = ""


def path_of(verdicts: Path, student: str, assignment: str) -> Path:
    """Where the record of a submission is kept."""
    return verdicts / student / f"{assignment}.json"


def write_pending(verdicts: Path, record: Record) -> None:
    """Keep a record that does not count yet."""
    path = path_of(verdicts, record.student, record.assignment)
    text = json.dumps({"format": FORMAT, **asdict(record)}, indent=1, ensure_ascii=False)
    write_atomically(path.with_name(path.name + PENDING), text)


def complete(verdicts: Path, student: str, assignment: str) -> bool:
    """Let the pending record of a submission count; whether there was one."""
    path = path_of(verdicts, student, assignment)
    with contextlib.suppress(FileNotFoundError):
        path.with_name(path.name + PENDING).replace(path)
        return True
    return False


def discard_pending(verdicts: Path, student: str, assignment: str) -> None:
    """Forget a record that an interrupted run left behind."""
    path = path_of(verdicts, student, assignment)
    path.with_name(path.name + PENDING).unlink(missing_ok=True)


def read(path: Path) -> Record | None:
    """The record in a file, or None when there is none that can be read."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept.pop("format") != FORMAT:
            return None
        rows = tuple(Row(**row) for row in kept.pop("rows"))
        return Record(rows=rows, repairs=tuple(kept.pop("repairs")), **kept)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def read_all(verdicts: Path) -> Iterator[Record]:
    """Every record that counts, by student and assignment."""
    for path in sorted(verdicts.glob("*/*.json")):
        record = read(path)
        if record is not None:
            yield record


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file so that whoever reads it meanwhile finds the old one or the new one."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def as_json(record: Record) -> dict[str, Any]:
    """A record as plain data, without what is of no use outside."""
    return asdict(record)
