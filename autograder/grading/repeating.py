"""Grading a submission once more as it was graded, to see whether its verdict stands.

Everything happens in a folder of its own, with a copy of the gradebook: nothing that the class
has is changed. What the record is about, and nothing else, is run, with the seed that it names.
"""

import contextlib
import sqlite3
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat.notebooknode import NotebookNode
from traitlets.config import Config

from autograder import exercises
from autograder.declaring import Exercise
from autograder.grading.config import load
from autograder.grading.converting import autograde
from autograder.grading.gradebook import check_gradebook, fingerprint, set_by_hand
from autograder.grading.marking import failed, mark
from autograder.grading.places import Classroom, Project
from autograder.grading.preparing import code_cells, is_check, label_of, task_of
from autograder.grading.preprocessors import KEY, Judge
from autograder.grading.records import Record, Row
from autograder.grading.repairing import CHECK, defines
from autograder.grading.submissions import Submission, read_folder
from autograder.grading.working_out import work
from autograder.verdicts import Verdict

DECIDING = ("outcome", "mistake", "score", "points")  # of a row: what a verdict is


@dataclass(frozen=True)
class Source:
    """A cell in which an exercise is written. number: its place among the code cells, from 1."""

    number: int
    code: str


@dataclass(frozen=True)
class Repeated:
    """What came of grading an exercise once more.

    place: where what was graded was found, or "". row, verdict: the new ones, or None when
    nothing could be run. sources: the cells that define the exercise. by_hand: the points that
    somebody gave, or None. notes: what has changed since, in sentences.
    """

    record: Record
    exercise: Exercise
    before: Row
    place: str = ""
    row: Row | None = None
    verdict: Verdict | None = None
    sources: tuple[Source, ...] = ()
    by_hand: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def differences(self) -> tuple[tuple[str, str, str], ...]:
        """What differs between the record and the new verdict: its name, and both values."""
        if self.row is None:
            return ()
        pairs = ((name, getattr(self.before, name), getattr(self.row, name)) for name in DECIDING)
        return tuple((name, _said(a), _said(b)) for name, a, b in pairs if a != b)

    @property
    def reproduced(self) -> bool:
        """Whether the same verdict came out again."""
        return self.row is not None and not self.differences

    @property
    def words_differ(self) -> bool:
        """Whether the same verdict came out in other words."""
        return self.reproduced and self.row is not None and self.row.message != self.before.message


def _said(value: object) -> str:
    return f"{value:g}" if isinstance(value, float | int) else str(value) or "none"


def repeat(
    project: Project, classroom: Classroom, record: Record, row: Row, *, trust: bool = False
) -> Repeated:
    """Grade what a record is about once more, and set the verdict on one exercise beside it.

    trust: run student code without the sandbox. Raises UnknownExercise, ConversionFault,
    GradebookFault, RunnerFault, NoSandbox, OSError.
    """
    exercise = exercises.find(row.exercise)
    check_gradebook(classroom.gradebook)
    with _copied(project, classroom, record) as copy:
        by_hand = set_by_hand(copy.db_url) if copy.gradebook.is_file() else {}
        hand = by_hand.get((record.student, record.assignment, CHECK + row.exercise))
        found = find_graded(project, classroom, record)
        if found is None:
            return Repeated(record, exercise, row, by_hand=hand)
        place, submission = found
        notes = _changes(project, record)
        config = load(project, copy)
        if trust:
            config.Judge.trust_submissions = True
        notebook = _sanitized(copy, config, submission)
    fresh, verdict = _judge(config, notebook, record, row, exercise)
    sources = tuple(_sources(notebook, exercise.name))
    return Repeated(record, exercise, row, place, fresh, verdict, sources, hand, notes)


def find_graded(
    project: Project, classroom: Classroom, record: Record
) -> tuple[str, Submission] | None:
    """What a record is about, and where it is: by its hash, among all that is kept."""
    student, assignment = record.student, record.assignment
    kept = classroom.earlier / student / assignment
    places = [classroom.submitted / student / assignment]
    if kept.is_dir():
        places += sorted(kept.iterdir(), reverse=True)
    for folder in places:
        with contextlib.suppress(OSError):  # nothing there, or not for us to read
            submission = read_folder(project, classroom, folder, student, assignment)
            if submission.hash == record.submission:
                return folder.relative_to(classroom.root).as_posix(), submission
    return None


@contextlib.contextmanager
def _copied(project: Project, classroom: Classroom, record: Record) -> Iterator[Classroom]:
    """A classroom that knows what this one knows, as long as the block lasts."""
    with tempfile.TemporaryDirectory(prefix="many-heads-") as folder:
        copy = Classroom(Path(folder).resolve())
        if classroom.gradebook.is_file():
            # Read-only, and whole also while somebody grades.
            source = sqlite3.connect(f"{classroom.gradebook.as_uri()}?mode=ro", uri=True)
            target = sqlite3.connect(copy.gradebook)
            with contextlib.closing(source), contextlib.closing(target):
                source.backup(target)
        stamp = classroom.stamps / f"{record.assignment}.sha256"
        if stamp.is_file():
            copy.stamps.mkdir(parents=True)
            known = stamp.read_text().strip()
            if known == record.solutions:
                # The gradebook has the assignment as it was graded: it is not to be filled anew.
                known = fingerprint(project.solutions / record.assignment)
            (copy.stamps / stamp.name).write_text(f"{known}\n")
        yield copy


def _changes(project: Project, record: Record) -> tuple[str, ...]:
    if fingerprint(project.solutions / record.assignment) == record.solutions:
        return ()
    return (
        f"The assignment in solutions/{record.assignment} has been edited since it was graded.",
    )


def _sanitized(copy: Classroom, config: Config, submission: Submission) -> NotebookNode:
    """The notebook as it is run, made by the same steps as when it is graded."""
    config.Autograde.autograde_preprocessors = []
    config.Autograde.pop("post_convert_hook", None)
    autograde(copy, config, submission)
    path = copy.autograded / submission.student / submission.assignment
    return nbformat.read(path / f"{submission.notebook}.ipynb", as_version=4)


def _judge(
    config: Config, notebook: NotebookNode, record: Record, row: Row, exercise: Exercise
) -> tuple[Row, Verdict]:
    judge = Judge(config=config)
    problem = notebook.metadata[KEY]["problem"]
    if problem:
        verdict = failed(exercise, problem)
    else:
        task = task_of(notebook, record.seed, judge.limits, judge.allowance)
        verdict = work(task).verdicts[exercise.name]
    found = mark(verdict, row.max_points, partial_credit=judge.partial_credit)
    return Row.of(found), verdict


def _sources(notebook: NotebookNode, name: str) -> Iterator[Source]:
    """The cell of an exercise, and others that define it."""
    for number, cell in enumerate(code_cells(notebook), 1):
        if is_check(cell):
            if label_of(cell) == CHECK + name:
                return  # what comes later was not judged
        elif label_of(cell) == name or defines(cell.source, name):
            yield Source(number, cell.source)
