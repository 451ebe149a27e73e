"""Grading a class: every submission gets its rows, whatever is in it."""

import contextlib
import secrets
import shutil
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from traitlets.config import Config

from autograder.grading import records
from autograder.grading.config import load
from autograder.grading.converting import ConversionFault, autograde, was_interrupted
from autograder.grading.engines import shared_engine
from autograder.grading.gradebook import (
    check_gradebook,
    fill,
    in_a_sentence,
    opened,
    set_by_hand,
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
from autograder.grading.preprocessors import Judge
from autograder.grading.records import Record
from autograder.grading.repairing import CHECK, Known, known_cells
from autograder.grading.sandbox import NoSandbox, why_not
from autograder.grading.scores import penalty_of
from autograder.grading.submissions import Submission, read_submission, submissions_of
from autograder.grading.terminal import is_plain
from autograder.grading.workers import Crew, Lost, Request, cluster, processes
from autograder.grading.working_out import SEED_BITS, Done, beforehand

Found = TypeVar("Found")

REASON = 300  # characters of the sentence that says why something was not graded


@dataclass(frozen=True)
class Graded:
    """What became of one submission.

    record: its marks, or None when it could not be graded.
    fault: why not, a fault of the machine or of ours, or "".
    fresh: whether it was graded in this run, and not before.
    by_hand: by exercise, the points that somebody gave in the formgrader.
    penalty: the points that are taken off for being late.
    """

    student: str
    assignment: str
    record: Record | None
    fault: str = ""
    fresh: bool = True
    by_hand: Mapping[str, float] = field(default_factory=dict)
    penalty: float = 0.0

    @property
    def points(self) -> float:
        """The sum of the exercises' points, before a penalty."""
        rows = self.record.rows if self.record else ()
        return sum(self.by_hand.get(row.exercise, row.points) for row in rows)

    @property
    def final(self) -> float:
        """The points that count: never below 0."""
        return max(0.0, self.points - self.penalty)


def grade(
    project: Project,
    classroom: Classroom,
    assignments: Sequence[str],
    *,
    jobs: int = 1,
    scheduler: str = "",
    trust_submissions: bool = False,
    regrade: bool = False,
    report: Callable[[Graded], None] = lambda graded: None,
) -> list[Graded]:
    """Grade what was handed in for these assignments, and write the table of marks.

    jobs: how many submissions are run and judged at a time, each in a process of its own; 1 is
    this process. scheduler: the address of a Dask cluster that does it instead.

    Submissions that have not changed since they were graded are not graded again, unless
    `regrade`. Each result is reported as soon as it stands. Raises NoSandbox, NoCluster,
    AlreadyGrading, UnusableGradebook, and OSError when the marks cannot be written.
    """
    with alone_in(classroom), shared_engine():
        shutil.rmtree(classroom.staging, ignore_errors=True)
        check_gradebook(classroom.gradebook)
        run = _Run(project, classroom, trust_submissions, regrade, elsewhere=bool(scheduler))
        results = []
        try:
            with run.crew(jobs, scheduler) as crew:
                for graded in run.grade_all(assignments, crew):
                    results.append(graded)
                    report(graded)
        finally:  # also after Ctrl-C: what is graded is graded
            write_marks(classroom, project.all_exercises(), run.unkept)
        return sorted(results, key=lambda graded: (graded.student, graded.assignment))


class _Run:
    def __init__(
        self,
        project: Project,
        classroom: Classroom,
        trust_submissions: bool,
        regrade: bool,
        elsewhere: bool,
    ) -> None:
        self._project, self._classroom, self._regrade = project, classroom, regrade
        self.unkept: list[Fault] = []
        self._config: Config = load(project, classroom)
        if trust_submissions:
            self._config.Judge.trust_submissions = True
        self._judge = Judge(config=self._config)
        if self._judge.allowance and not elsewhere and (reason := why_not()):
            raise NoSandbox(reason)
        # The table of marks is written once, at the end.
        self._config.Autograde.pop("post_convert_hook", None)
        self._filled: dict[str, str] = {}
        self._cells: dict[str, tuple[Known, ...]] = {}
        self._stored: set[tuple[str, str]] = set()
        self._by_hand = set_by_hand(classroom.db_url) if classroom.gradebook.is_file() else {}

    def crew(
        self, jobs: int, scheduler: str
    ) -> contextlib.AbstractContextManager[Crew[Submission] | None]:
        """Who runs and judges, when it is not this process."""
        if scheduler:
            return cluster(scheduler)
        if jobs > 1:
            return processes(jobs, self._judge.allowance)
        return contextlib.nullcontext()

    def grade_all(
        self, assignments: Sequence[str], crew: Crew[Submission] | None
    ) -> Iterator[Graded]:
        """Grade one submission after the other; each result as soon as it stands."""
        for student, assignment in submissions_of(self._classroom, assignments):
            found = self._unless_it_fails(student, assignment, self._look_at)
            if isinstance(found, Graded):
                yield self._remember(found)
            elif crew is None:
                yield self._store(found, None)
            else:
                crew.submit(found, self._request(found))
                while crew.full:
                    yield self._store(*crew.next())
        while crew is not None and crew.busy:
            yield self._store(*crew.next())

    def _unless_it_fails(
        self, student: str, assignment: str, step: Callable[[str, str], Found]
    ) -> Found | Graded:
        try:
            return step(student, assignment)
        except Exception as error:  # whatever it is, it is no student's zero
            return Graded(student, assignment, None, self._why(student, assignment, error))

    def _request(self, submission: Submission) -> Request:
        return Request(
            b"" if submission.problem else submission.data,
            self._cells[submission.assignment],
            secrets.randbits(SEED_BITS),
            self._judge.limits,
            self._judge.allowance,
        )

    def _store(self, submission: Submission, done: Done | Exception | None) -> Graded:
        """Let nbgrader store what came of a submission; without an answer, work it out here."""

        def convert(student: str, assignment: str) -> Graded:
            if isinstance(done, Exception):
                raise done
            records.discard_pending(self._classroom.verdicts, student, assignment)
            token = beforehand.set(done)
            try:
                autograde(self._classroom, self._config, submission)
            finally:
                beforehand.reset(token)
            if not records.complete(self._classroom.verdicts, student, assignment):
                raise ConversionFault("nbgrader finished, and left no record of what it did.")
            path = records.path_of(self._classroom.verdicts, student, assignment)
            return Graded(student, assignment, records.read(path))

        return self._remember(
            self._unless_it_fails(submission.student, submission.assignment, convert)
        )

    def _why(self, student: str, assignment: str, error: Exception) -> str:
        """Why something was not graded, in one sentence; what else is known goes into a file."""
        if isinstance(error, ConversionFault):
            words, details = str(error), error.details
        elif isinstance(error, Lost):
            words, details = str(error), ""
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
        """Let the gradebook know an assignment, once; the hash of what it is graded against."""
        classroom = self._classroom
        if assignment not in self._filled:
            source = self._project.solutions / assignment
            self._filled[assignment] = fill(source, assignment, classroom.db_url, classroom.stamps)
            self._stored = submissions_known(classroom.db_url)
            with opened(classroom.db_url) as gradebook:
                notebook = self._project.notebook(assignment)
                self._cells[assignment] = tuple(known_cells(gradebook, notebook, assignment))
        return self._filled[assignment]

    def _look_at(self, student: str, assignment: str) -> Submission | Graded:
        """What was handed in; the marks from before when they still hold."""
        solutions = self._fill(assignment)
        if not is_plain(student):
            raise OSError("The folder's name contains characters that no name should. Rename it.")
        submission = read_submission(self._project, self._classroom, student, assignment)
        record = records.read(records.path_of(self._classroom.verdicts, student, assignment))
        if (
            record
            and (student, assignment) in self._stored
            and not self._regrade
            and not has_fault(self._classroom.verdicts, student, assignment)
            and not was_interrupted(self._classroom, student, assignment)
            and self._still_holds(record, submission, solutions)
        ):
            return Graded(student, assignment, record, fresh=False)
        return submission

    def _still_holds(self, record: Record, submission: Submission, solutions: str) -> bool:
        graded: Path = self._classroom.autograded / record.student / record.assignment
        return (
            record.submission == submission.hash
            and record.solutions == solutions
            and (graded / f"{record.notebook}.ipynb").is_file()
        )

    def _points_by_hand(self, *whose: str) -> dict[str, float]:
        return {
            cell.removeprefix(CHECK): points
            for (*who, cell), points in self._by_hand.items()
            if tuple(who) == whose
        }

    def _remember(self, graded: Graded) -> Graded:
        """Keep or forget the fault of a submission; the result, with what went wrong there."""
        verdicts, student, assignment = self._classroom.verdicts, graded.student, graded.assignment
        try:
            if not graded.fault:
                forget_fault(verdicts, student, assignment)
                by_hand = self._points_by_hand(student, assignment)
                penalty = penalty_of(self._classroom, student, assignment)
                return replace(graded, by_hand=by_hand, penalty=penalty)
        except OSError as error:
            graded = Graded(student, assignment, None, in_a_sentence(error))
        exercises = tuple(self._project.exercises_of(assignment))
        fault = Fault(student, assignment, graded.fault, exercises)
        try:
            keep_fault(verdicts, fault)
        except OSError:
            self.unkept.append(fault)
        return graded
