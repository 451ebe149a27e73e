"""Grading a submission once more as it was graded, to see whether its verdict stands.

Everything happens in a folder of its own, with a copy of the gradebook: nothing that the class
has is changed. What the record is about, and nothing else, is run, with the seed that it names.
"""

import contextlib
import sqlite3
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import nbformat
from nbformat.notebooknode import NotebookNode
from traitlets.config import Config

from autograder import exercises
from autograder.declaring import Exercise
from autograder.grading.config import load
from autograder.grading.converting import autograde
from autograder.grading.defining import defines, is_short
from autograder.grading.gradebook import check_gradebook, fingerprint, set_by_hand
from autograder.grading.marking import failed, mark
from autograder.grading.places import Classroom, Project
from autograder.grading.preparing import code_cells, is_check, label_of, task_of
from autograder.grading.preprocessors import KEY, Judge
from autograder.grading.records import Record, Row
from autograder.grading.repairing import CHECK
from autograder.grading.scores import change_since, scores_of
from autograder.grading.submissions import Submission, read_folder, read_submission
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
    nothing could be run, or the assignment has no such exercise any more. sources: the cells that
    define the exercise. by_hand: the points that somebody gave, or None. notes: what has changed
    since, in sentences. partial_credit: whether wrong answers earn something now.
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
    partial_credit: bool = False

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
        notes = _changes(project, record, submission)
        config = load(project, copy)
        if trust:
            config.Judge.trust_submissions = True
        notebook = _sanitized(copy, config, submission)
    again = Repeated(record, exercise, row, place, by_hand=hand, notes=notes)
    if not any(label_of(cell) == CHECK + exercise.name for cell in code_cells(notebook)):
        return again
    judge = Judge(config=config)
    verdict = _judge(judge, notebook, record, exercise)
    partial = judge.partial_credit
    return replace(
        again,
        row=Row.of(mark(verdict, row.max_points, partial_credit=partial)),
        verdict=verdict,
        sources=tuple(_sources(notebook, exercise.name)),
        partial_credit=partial,
    )


def find_graded(
    project: Project, classroom: Classroom, record: Record
) -> tuple[str, Submission] | None:
    """What a record is about, and where it is: by its hash, among all that is kept.

    A submission of which only the hand-in time is another one is the same. Raises OSError, and
    UnusableGradebook.
    """
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
    score = scores_of(classroom, [assignment]).get((student, assignment))
    if change_since(project, classroom, record, score) == "timestamp":
        submission = read_submission(project, classroom, student, assignment)
        return places[0].relative_to(classroom.root).as_posix(), submission
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


def _changes(project: Project, record: Record, submission: Submission) -> tuple[str, ...]:
    said = []
    if submission.hash != record.submission:
        said.append(
            "Only timestamp.txt, the time of handing in, has changed since it was graded; the "
            "notebook is the same. A late penalty may be another one: grade again to have it right."
        )
    if fingerprint(project.solutions / record.assignment) != record.solutions:
        said.append(
            f"The assignment in solutions/{record.assignment} has been edited since it was graded."
        )
    return tuple(said)


def _sanitized(copy: Classroom, config: Config, submission: Submission) -> NotebookNode:
    """The notebook as it is run, made by the same steps as when it is graded."""
    config.Autograde.autograde_preprocessors = []
    config.Autograde.pop("post_convert_hook", None)
    autograde(copy, config, submission)
    path = copy.autograded / submission.student / submission.assignment
    return nbformat.read(path / f"{submission.notebook}.ipynb", as_version=4)


def _judge(judge: Judge, notebook: NotebookNode, record: Record, exercise: Exercise) -> Verdict:
    problem = notebook.metadata[KEY]["problem"]
    if problem:
        return failed(exercise, problem)
    task = task_of(notebook, record.seed, judge.limits, judge.allowance)
    return work(task).verdicts[exercise.name]


def _sources(notebook: NotebookNode, name: str) -> Iterator[Source]:
    """The cell of an exercise, and others that define it, also behind its check."""
    cells = code_cells(notebook)
    parsing = is_short(cell.source for cell in cells)
    for number, cell in enumerate(cells, 1):
        meant = label_of(cell) == name or defines(cell.source, name, parsing=parsing)
        if meant and not is_check(cell):
            yield Source(number, cell.source)
