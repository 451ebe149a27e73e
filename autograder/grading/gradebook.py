"""Nbgrader's gradebook: filled from `solutions/`, and asked for what people set by hand."""

import contextlib
import hashlib
import logging
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from sqlalchemy.exc import SAWarning
from traitlets.config import Config

from autograder.grading.records import write_atomically


class GradebookFault(RuntimeError):
    """The gradebook could not be filled or read: nothing that a student did."""


class Collected(logging.Handler):
    """Collects what nbgrader says at warning level and above."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@contextlib.contextmanager
def collected_log() -> Iterator[tuple[logging.Logger, Collected]]:
    """A logger for one of nbgrader's converters, and what it has said."""
    logger = logging.Logger("autograder.nbgrader", logging.INFO)
    handler = Collected()
    logger.addHandler(handler)
    with warnings.catch_warnings():
        # nbgrader adds to its gradebook in an order that newer SQLAlchemy remarks on.
        warnings.simplefilter("ignore", SAWarning)
        yield logger, handler


def make_alembic_reachable() -> None:
    """Let nbgrader find `alembic`, which it starts by name when it makes a new gradebook."""
    # It lies beside this Python, also where the environment was never activated.
    here = str(Path(sys.executable).parent)
    path = os.environ.get("PATH", "")
    if here not in path.split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join(filter(None, [here, path]))


def release(source: Path, assignment: str, db_url: str = "") -> dict[str, bytes]:
    """Make the released version of an assignment, and tell a gradebook of it, if there is one.

    source: the assignment's folder in `solutions/`.
    db_url: the gradebook, or "".
    Returns the files by name. Raises GradebookFault.
    """
    make_alembic_reachable()
    with tempfile.TemporaryDirectory(prefix="many-heads-") as folder:
        root = Path(folder)  # a plain path: nbgrader takes its folders for patterns
        shutil.copytree(
            source,
            root / "source" / assignment,
            ignore=shutil.ignore_patterns(".ipynb_checkpoints", "__pycache__", "*.pyc"),
        )
        config = Config()
        config.CourseDirectory.root = str(root)
        config.CourseDirectory.source_directory = "source"
        config.CourseDirectory.release_directory = "release"
        config.CourseDirectory.assignment_id = assignment
        config.GenerateAssignment.force = True
        if db_url:
            config.CourseDirectory.db_url = db_url
        else:
            config.GenerateAssignment.no_database = True
            config.SaveCells.enabled = False
        with collected_log() as (logger, said):
            try:
                courses = CourseDirectory(config=config, log=logger)
                GenerateAssignment(coursedir=courses, config=config, log=logger).start()
            except NbGraderException as error:
                why = "\n".join(said.lines) or str(error)
                raise GradebookFault(f"{assignment} could not be released:\n{why}") from error
        made = root / "release" / assignment
        return {
            path.relative_to(made).as_posix(): path.read_bytes()
            for path in sorted(made.rglob("*"))
            if path.is_file()
        }


def fingerprint(source: Path) -> str:
    """A hash of an assignment's notebooks in `solutions/`."""
    digest = hashlib.sha256()
    for path in sorted(source.glob("*.ipynb")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def fill(source: Path, assignment: str, db_url: str, stamps: Path) -> str:
    """Let the gradebook know an assignment as `solutions/` has it; the hash of what it knows.

    stamps: a folder that remembers what was filled in last, so that doing it again is free.
    Raises GradebookFault.
    """
    if not source.is_dir():
        raise GradebookFault(f"There is no assignment {assignment} in {source.parent}.")
    wanted = fingerprint(source)
    stamp = stamps / f"{assignment}.sha256"
    known = stamp.read_text().strip() if stamp.is_file() else ""
    if known != wanted or not _has(db_url, assignment):
        release(source, assignment, db_url)
        write_atomically(stamp, wanted + "\n")
    return wanted


def _has(db_url: str, assignment: str) -> bool:
    make_alembic_reachable()
    with Gradebook(db_url) as gradebook:
        try:
            return bool(gradebook.find_assignment(assignment).notebooks)
        except MissingEntry:
            return False


def submissions_known(db_url: str) -> set[tuple[str, str]]:
    """Student and assignment of every submission that the gradebook has."""
    with Gradebook(db_url) as gradebook:
        return {
            (submission.student_id, assignment.name)
            for assignment in gradebook.assignments
            for submission in gradebook.assignment_submissions(assignment.name)
        }


def set_by_hand(db_url: str) -> dict[tuple[str, str, str], float]:
    """Scores that people set in the formgrader, by student, assignment and cell."""
    scores = {}
    with Gradebook(db_url) as gradebook:
        for assignment in gradebook.assignments:
            for submission in gradebook.assignment_submissions(assignment.name):
                for notebook in submission.notebooks:
                    for grade in notebook.grades:
                        if grade.manual_score is not None or grade.extra_credit:
                            key = (submission.student_id, assignment.name, grade.name)
                            scores[key] = float(grade.score)
    return scores
