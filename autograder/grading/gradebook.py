"""Nbgrader's gradebook: filled from `solutions/`, and asked for what people set by hand."""

import contextlib
import hashlib
import logging
import os
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbgrader.api import Base, Gradebook, MissingEntry, SubmittedAssignment
from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from sqlalchemy import create_engine, inspect
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, SAWarning, SQLAlchemyError
from traitlets.config import Config

from autograder.grading.records import write_atomically


class GradebookFault(RuntimeError):
    """The gradebook could not be filled or read: nothing that a student did."""


class UnusableGradebook(GradebookFault, OSError):
    """The file of the gradebook is none, or is that of another nbgrader, or is locked."""


class Collected(logging.Handler):
    """Collects what nbgrader says at warning level and above.

    error: the last exception that nbgrader caught and spoke of, or None.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []
        self.error: BaseException | None = None

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())
        # nbgrader logs a traceback as plain text, while it handles the exception.
        self.error = sys.exc_info()[1] or self.error


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


def in_a_sentence(error: BaseException) -> str:
    """An exception in one sentence, without a traceback: its type and its words."""
    words = _telling(str(error))
    if isinstance(error, OSError | GradebookFault) and words:
        return words  # these explain themselves
    kind = type(error).__name__
    return f"{kind}: {words}" if words else kind


# The line of a traceback that says what it was.
EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(Error|Exception|Exit|Interrupt|Warning)\b(: .*)?")


def _telling(text: str) -> str:
    """The line of an exception's words that says most: of a traceback in them, the last."""
    first, *more = [line.strip() for line in text.splitlines() if line.strip()] or [""]
    raised = [line for line in more if EXCEPTION.fullmatch(line)]
    if raised:
        before, colon, _ = first.partition(": ")
        return f"{before}: {raised[-1]}" if colon else raised[-1]
    return first


def unusable(path: Path | str, error: SQLAlchemyError) -> UnusableGradebook:
    """What is wrong with a gradebook, why, and what to try."""
    said = str(error.orig) if isinstance(error, DBAPIError) else _telling(str(error))
    if any(word in said for word in ("not a database", "malformed", "no such", "no column")):
        return UnusableGradebook(
            f"The gradebook {path} cannot be read ({said}): it is damaged, or was made by another "
            "version of nbgrader. Move the file away: `autograder grade` makes a new one from the "
            "submissions; marks given by hand are in the old one."
        )
    return UnusableGradebook(
        f"The gradebook {path} cannot be used now ({said}). See that it may be written, that "
        "there is room on the disk, and that no other program uses it; then try again."
    )


@contextlib.contextmanager
def opened(db_url: str) -> Iterator[Gradebook]:
    """The gradebook, as long as the block lasts. Raises UnusableGradebook."""
    make_alembic_reachable()
    try:
        with Gradebook(db_url) as gradebook:
            yield gradebook
    except SQLAlchemyError as error:
        raise unusable(make_url(db_url).database or db_url, error) from error


def check_gradebook(path: Path) -> None:
    """See whether a gradebook, if there is one, can be read. Raises UnusableGradebook."""
    if not path.exists():
        return
    engine = create_engine(f"sqlite:///{path}")
    try:
        found = inspect(engine)
        for table in set(found.get_table_names()) & set(Base.metadata.tables):
            has = {column["name"] for column in found.get_columns(table)}
            for column in Base.metadata.tables[table].columns:
                if column.name not in has:
                    raise DBAPIError("", None, Exception(f"no such column: {table}.{column.name}"))
    except SQLAlchemyError as error:
        raise unusable(path, error) from error
    finally:
        engine.dispose()


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
                if isinstance(said.error, SQLAlchemyError):
                    raise unusable(make_url(db_url).database or "", said.error) from error
                why = in_a_sentence(said.error or error)
                raise GradebookFault(f"{assignment} could not be released: {why}") from error
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
    with opened(db_url) as gradebook:
        try:
            return bool(gradebook.find_assignment(assignment).notebooks)
        except MissingEntry:
            return False


@dataclass(frozen=True)
class Before:
    """What nbgrader may change of a submission, as it was; `values` is None when it had none.

    values: by kind and name of a row, its fields. What people set by hand is not among them:
    nbgrader leaves it alone, and somebody may be setting it just now.
    """

    student: str
    assignment: str
    values: dict[tuple[str, str, str], dict[str, Any]] | None


AUTOMATIC = (
    "timestamp",
    "late_submission_penalty",
    "auto_score",
    "needs_manual_grade",
    "auto_comment",
)


def remember(db_url: str, student: str, assignment: str) -> Before:
    """What the gradebook has of a submission. Raises UnusableGradebook."""
    with opened(db_url) as gradebook:
        try:
            submission = gradebook.find_submission(assignment, student)
        except MissingEntry:
            return Before(student, assignment, None)
        values = {
            key: {field: getattr(row, field) for field in AUTOMATIC if field in _columns(row)}
            for key, row in _rows(submission)
        }
        return Before(student, assignment, values)


def put_back(db_url: str, before: Before) -> None:
    """Let the gradebook have of a submission what it had. Raises UnusableGradebook."""
    with opened(db_url) as gradebook:
        try:
            submission = gradebook.find_submission(before.assignment, before.student)
        except MissingEntry:
            return
        if before.values is None:
            gradebook.remove_submission(before.assignment, before.student)
            return
        for key, row in _rows(submission):
            for field, value in before.values.get(key, {}).items():
                setattr(row, field, value)
        gradebook.db.commit()


def remove_unmarked(db_url: str, student: str, assignment: str) -> None:
    """Remove a submission that was never graded, unless somebody has marked it by hand."""
    with opened(db_url) as gradebook, contextlib.suppress(MissingEntry):
        submission = gradebook.find_submission(assignment, student)
        grades = [grade for notebook in submission.notebooks for grade in notebook.grades]
        if all(grade.manual_score is None for grade in grades):
            gradebook.remove_submission(assignment, student)


def _rows(submission: SubmittedAssignment) -> Iterator[tuple[tuple[str, str, str], Any]]:
    """Everything that the gradebook has of a submission, each by its kind and names."""
    yield ("submission", "", ""), submission
    for notebook in submission.notebooks:
        yield ("notebook", notebook.name, ""), notebook
        for grade in notebook.grades:
            yield ("grade", notebook.name, grade.name), grade
        for comment in notebook.comments:
            yield ("comment", notebook.name, comment.name), comment


def _columns(row: Any) -> set[str]:
    return {column.key for column in inspect(type(row)).column_attrs}


def submissions_known(db_url: str) -> set[tuple[str, str]]:
    """Student and assignment of every submission that the gradebook has.

    Raises UnusableGradebook.
    """
    with opened(db_url) as gradebook:
        return {
            (submission.student_id, assignment.name)
            for assignment in gradebook.assignments
            for submission in gradebook.assignment_submissions(assignment.name)
        }


def set_by_hand(db_url: str) -> dict[tuple[str, str, str], float]:
    """Scores that people set in the formgrader, by student, assignment and cell.

    Raises UnusableGradebook.
    """
    scores = {}
    with opened(db_url) as gradebook:
        for assignment in gradebook.assignments:
            for submission in gradebook.assignment_submissions(assignment.name):
                for notebook in submission.notebooks:
                    for grade in notebook.grades:
                        if grade.manual_score is not None or grade.extra_credit:
                            key = (submission.student_id, assignment.name, grade.name)
                            scores[key] = float(grade.score)
    return scores
