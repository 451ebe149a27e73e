"""Nbgrader's converters for one submission at a time, whatever characters its names contain."""

import shutil
from pathlib import Path
from typing import Any

from nbgrader.converters import Autograde, GenerateFeedback
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import parse_utc
from traitlets.config import Config

from autograder.grading.gradebook import collected_log
from autograder.grading.places import Classroom
from autograder.grading.submissions import TIMESTAMP, Submission


class ConversionFault(RuntimeError):
    """Nbgrader stopped: nothing that a student did."""


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
    """Grade one submission with nbgrader. Raises ConversionFault, OSError."""
    config = _with(config, "SubmissionExporter", problem=submission.problem)
    config = _with(config, "SubmissionExporter", submission=submission.hash)
    folder = classroom.staging / submission.student / submission.assignment
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{submission.notebook}.ipynb").write_bytes(submission.data)
        if _is_time(submission.timestamp):
            (folder / TIMESTAMP).write_text(submission.timestamp + "\n", encoding="utf-8")
        _convert(_AutogradeOne, config, submission)
    finally:
        shutil.rmtree(classroom.staging, ignore_errors=True)


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
        except NbGraderException as error:
            raise ConversionFault("\n".join(said.lines) or str(error)) from error


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
