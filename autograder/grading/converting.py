"""Nbgrader's converters for one submission at a time, whatever characters its names contain."""

import contextlib
import shutil
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nbgrader.converters import Autograde, GenerateFeedback
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import parse_utc
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError
from traitlets.config import Config

from autograder.grading.driving import RunnerFault
from autograder.grading.gradebook import (
    Before,
    collected_log,
    in_a_sentence,
    put_back,
    remember,
    unusable,
)
from autograder.grading.places import Classroom
from autograder.grading.submissions import TIMESTAMP, Submission

BEFORE = ".before"  # in a classroom: the graded notebook as it was, while it is graded again


class ConversionFault(RuntimeError):
    """Nbgrader stopped: nothing that a student did. Its text is one sentence.

    details: all that nbgrader said, with its tracebacks.
    """

    def __init__(self, text: str, details: str = "") -> None:
        super().__init__(text)
        self.details = details


class _One:
    """Converts the notebook of one folder; nbgrader would take the names for patterns."""

    coursedir: CourseDirectory
    assignments: dict[str, list[str]]
    notebooks: list[str]

    def init_notebooks(self) -> None:
        courses = self.coursedir
        folder = Path(
            courses.format_path(
                self._input_directory,  # type: ignore[attr-defined]
                courses.student_id,
                courses.assignment_id,
            )
        )
        self.notebooks = []
        self.assignments = {str(folder): [str(folder / f"{courses.notebook_id}.ipynb")]}
        # From here on nbgrader asks whether all notebooks of the folder are meant.
        courses.notebook_id = "*"


class _AutogradeOne(_One, Autograde):
    pass


class _FeedbackOne(_One, GenerateFeedback):
    pass


def autograde(classroom: Classroom, config: Config, submission: Submission) -> None:
    """Grade one submission with nbgrader; after a fault all is as it was before.

    Raises ConversionFault, GradebookFault, OSError.
    """
    config = _with(config, "SubmissionExporter", problem=submission.problem)
    config = _with(config, "SubmissionExporter", submission=submission.hash)
    folder = classroom.staging / submission.student / submission.assignment
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{submission.notebook}.ipynb").write_bytes(submission.data)
        if _is_time(submission.timestamp):
            (folder / TIMESTAMP).write_text(submission.timestamp + "\n", encoding="utf-8")
        with _nothing_lost(classroom, submission):
            _convert(_AutogradeOne, config, submission)
    finally:
        shutil.rmtree(classroom.staging, ignore_errors=True)


def was_interrupted(classroom: Classroom, student: str, assignment: str) -> bool:
    """Whether a grader was killed while it graded a submission again."""
    return (classroom.root / BEFORE / student / assignment).exists()


@contextlib.contextmanager
def _nothing_lost(classroom: Classroom, submission: Submission) -> Iterator[None]:
    """Put the gradebook and the graded notebook back when the block fails."""
    graded = classroom.autograded / submission.student / submission.assignment
    aside = classroom.root / BEFORE / submission.student / submission.assignment
    before = remember(classroom.db_url, submission.student, submission.assignment)
    if graded.exists():
        if aside.exists():  # a grader was killed midway: what it left is worth nothing
            shutil.rmtree(graded)
        else:
            aside.parent.mkdir(parents=True, exist_ok=True)
            graded.rename(aside)
    try:
        yield
    except BaseException as error:
        try:
            _restore(classroom, before, graded, aside)
        except OSError as other:
            if not isinstance(error, Exception):  # Ctrl-C
                raise error from other
            raise ConversionFault(
                f"{error} What was there before could not be put back ({in_a_sentence(other)}): "
                "grade again when this is mended."
            ) from error
        raise
    shutil.rmtree(aside, ignore_errors=True)
    _remove_empty(aside.parent, classroom.root)


def _restore(classroom: Classroom, before: Before, graded: Path, aside: Path) -> None:
    shutil.rmtree(graded, ignore_errors=True)
    if aside.exists():
        graded.parent.mkdir(parents=True, exist_ok=True)
        aside.rename(graded)
    else:
        _remove_empty(graded.parent, classroom.autograded)
    _remove_empty(aside.parent, classroom.root)
    put_back(classroom.db_url, before)


def _remove_empty(folder: Path, top: Path) -> None:
    """Remove a folder and those above it, up to `top`, as far as they are empty."""
    with contextlib.suppress(OSError):
        while folder != top:
            folder.rmdir()
            folder = folder.parent


def make_feedback(config: Config, student: str, assignment: str, notebook: str) -> None:
    """Write the page of one student with nbgrader. Raises ConversionFault."""
    _convert(_FeedbackOne, config, Submission(student, assignment, notebook))


def _convert(converter: Any, config: Config, submission: Submission) -> None:
    with collected_log() as (logger, said):
        courses = CourseDirectory(config=config, log=logger)
        courses.student_id = submission.student
        courses.assignment_id = submission.assignment
        courses.notebook_id = submission.notebook
        try:
            made = converter(coursedir=courses, config=config, log=logger)
            made.force = True
            made.start()
        except Exception as error:
            cause = error
            if isinstance(error, NbGraderException) and isinstance(said.error, Exception):
                cause = said.error
            details = "\n".join([*said.lines, traceback.format_exc()])
            raise ConversionFault(_why(cause, config), details) from error


def _why(error: Exception, config: Config) -> str:
    """Why nbgrader stopped, in one sentence."""
    if isinstance(error, SQLAlchemyError):
        return str(unusable(make_url(config.CourseDirectory.db_url).database or "", error))
    said = in_a_sentence(error)
    if isinstance(error, RunnerFault | NbGraderException):  # these explain themselves
        said = said.partition(": ")[2]
    return said


def _with(config: Config, section: str, **values: Any) -> Config:
    changed = Config()
    changed.merge(config)
    changed[section].update(values)
    return changed


def _is_time(text: str) -> bool:
    """Whether nbgrader can read a timestamp; it would stop at one that it cannot."""
    try:
        return bool(text) and parse_utc(text) is not None
    except (ValueError, OverflowError, TypeError):
        return False
