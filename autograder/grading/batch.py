"""Grading a class: every submission gets its rows, whatever is in it."""

import shutil
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from traitlets.config import Config

from autograder.grading import records
from autograder.grading.config import load
from autograder.grading.converting import ConversionFault, autograde, was_interrupted
from autograder.grading.gradebook import (
    check_gradebook,
    fill,
    in_a_sentence,
    submissions_known,
)
from autograder.grading.locking import alone_in
from autograder.grading.marks import (
    Fault,
    forget_fault,
    has_fault,
    keep_details,
    keep_fault,
    write_marks,
)
from autograder.grading.places import Classroom, Project
from autograder.grading.records import Record
from autograder.grading.sandbox import NoSandbox, why_not
from autograder.grading.submissions import Submission, folders, read_submission
from autograder.grading.terminal import is_plain

REASON = 300  # characters of the sentence that says why something was not graded


@dataclass(frozen=True)
class Graded:
    """What became of one submission.

    record: its marks, or None when it could not be graded.
    fault: why not, a fault of the machine or of ours, or "".
    fresh: whether it was graded in this run, and not before.
    """

    student: str
    assignment: str
    record: Record | None
    fault: str = ""
    fresh: bool = True


def submissions_of(classroom: Classroom, assignments: Sequence[str]) -> list[tuple[str, str]]:
    """Student and assignment of everything that was handed in for these assignments."""
    return [
        (student, assignment)
        for student, assignment in folders(classroom)
        if assignment in assignments
    ]


def grade(
    project: Project,
    classroom: Classroom,
    assignments: Sequence[str],
    *,
    trust_submissions: bool = False,
    regrade: bool = False,
    report: Callable[[Graded], None] = lambda graded: None,
) -> list[Graded]:
    """Grade what was handed in for these assignments, and write the table of marks.

    Submissions that have not changed since they were graded are not graded again, unless
    `regrade`. Each result is reported as soon as it stands. Raises NoSandbox, AlreadyGrading,
    UnusableGradebook, and OSError when the marks cannot be written.
    """
    with alone_in(classroom):
        shutil.rmtree(classroom.staging, ignore_errors=True)
        run = _Run(project, classroom, trust_submissions, regrade)
        check_gradebook(classroom.gradebook)
        results = []
        try:
            for graded in run.grade_all(assignments):
                results.append(graded)
                report(graded)
        finally:  # also after Ctrl-C: what is graded is graded
            write_marks(classroom, project.all_exercises(), run.unkept)
        return results


class _Run:
    def __init__(
        self, project: Project, classroom: Classroom, trust_submissions: bool, regrade: bool
    ) -> None:
        self._project, self._classroom, self._regrade = project, classroom, regrade
        self.unkept: list[Fault] = []
        self._config: Config = load(project, classroom)
        if trust_submissions:
            self._config.Judge.trust_submissions = True
        elif not self._config.Judge.get("trust_submissions") and (reason := why_not()):
            raise NoSandbox(reason)
        # The table of marks is written once, at the end.
        self._config.Autograde.pop("post_convert_hook", None)

    def grade_all(self, assignments: Sequence[str]) -> Iterator[Graded]:
        filled: dict[str, str] = {}
        for student, assignment in submissions_of(self._classroom, assignments):
            try:
                if assignment not in filled:
                    filled[assignment] = self._fill(assignment)
                    known = submissions_known(self._classroom.db_url)
                graded = self._grade(
                    student, assignment, filled[assignment], (student, assignment) in known
                )
            except Exception as error:  # whatever it is, it is no student's zero
                graded = Graded(student, assignment, None, self._why(student, assignment, error))
            yield self._remember(graded)

    def _why(self, student: str, assignment: str, error: Exception) -> str:
        """Why something was not graded, in one sentence; what else is known goes into a file."""
        if isinstance(error, ConversionFault):
            words, details = str(error), error.details
        elif isinstance(error, OSError):
            words, details = in_a_sentence(error), ""
        else:
            words = in_a_sentence(error)
            details = "".join(traceback.format_exception(error))
        more = ""
        if details:
            try:
                path = keep_details(self._classroom.verdicts, student, assignment, details)
                more = f" (more in {path.relative_to(self._classroom.root)})"
            except OSError:
                pass  # the reason itself is what matters
        room = max(REASON - len(more), REASON // 2)
        return (words if len(words) <= room else f"{words[: room - 1]}…") + more

    def _fill(self, assignment: str) -> str:
        classroom = self._classroom
        source = self._project.solutions / assignment
        return fill(source, assignment, classroom.db_url, classroom.stamps)

    def _grade(self, student: str, assignment: str, solutions: str, known: bool) -> Graded:
        if not is_plain(student):
            raise OSError("The folder's name contains characters that no name should. Rename it.")
        submission = read_submission(self._project, self._classroom, student, assignment)
        path = records.path_of(self._classroom.verdicts, student, assignment)
        record = records.read(path)
        if (
            record
            and known
            and not self._regrade
            and not has_fault(self._classroom.verdicts, student, assignment)
            and not was_interrupted(self._classroom, student, assignment)
            and self._still_holds(record, submission, solutions)
        ):
            return Graded(student, assignment, record, fresh=False)
        records.discard_pending(self._classroom.verdicts, student, assignment)
        autograde(self._classroom, self._config, submission)
        if not records.complete(self._classroom.verdicts, student, assignment):
            raise ConversionFault("nbgrader finished, and left no record of what it did.")
        return Graded(student, assignment, records.read(path))

    def _still_holds(self, record: Record, submission: Submission, solutions: str) -> bool:
        graded: Path = self._classroom.autograded / record.student / record.assignment
        return (
            record.submission == submission.hash
            and record.solutions == solutions
            and (graded / f"{record.notebook}.ipynb").is_file()
        )

    def _remember(self, graded: Graded) -> Graded:
        """Keep or forget the fault of a submission; the result, with what went wrong there."""
        verdicts, student, assignment = self._classroom.verdicts, graded.student, graded.assignment
        try:
            if not graded.fault:
                forget_fault(verdicts, student, assignment)
                return graded
        except OSError as error:
            graded = Graded(student, assignment, None, in_a_sentence(error))
        exercises = tuple(self._project.exercises_of(assignment))
        fault = Fault(student, assignment, graded.fault, exercises)
        try:
            keep_fault(verdicts, fault)
        except OSError:
            self.unkept.append(fault)
        return graded
