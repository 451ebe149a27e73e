"""Pages for students: nbgrader's feedback, as pages that ask nothing of the network."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from traitlets.config import Config

from autograder.grading.config import load
from autograder.grading.converting import ConversionFault, make_feedback
from autograder.grading.engines import shared_engine
from autograder.grading.gradebook import check_gradebook, in_a_sentence
from autograder.grading.marks import read_faults
from autograder.grading.places import Classroom, Project
from autograder.grading.records import path_of, read, write_atomically
from autograder.grading.scores import change_since, scores_of
from autograder.grading.submissions import Submission, folders, unmatched
from autograder.grading.terminal import safe_text
from autograder.phrasing import ended

WRITING = ".feedback-"  # in a classroom, how the folder of pages begins that are being made

NOT_YET = "not graded yet: run `autograder grade` first"
GONE = (
    "the graded notebook is missing in autograded/: run `autograder grade --regrade`, and then "
    "`autograder feedback` again"
)
CHANGES = {
    "another submission": "handed in again since it was graded: run `autograder grade`, and then "
    "`autograder feedback` again",
    "timestamp": "its hand-in time has changed since it was graded, and nothing else: run "
    "`autograder grade`, and then `autograder feedback` again",
}


@dataclass(frozen=True)
class Page:
    """The page of one student, or why there is none.

    why: why there is none, or why the page is not about what was handed in last.
    fault: whether something of ours stood in the way.
    """

    student: str
    assignment: str
    path: Path | None
    why: str = ""
    fault: bool = False


def write_feedback(
    project: Project, classroom: Classroom, assignments: Sequence[str]
) -> list[Page]:
    """Write a page for every graded submission of these assignments.

    Whoever has none is told of, too. Doing it again changes only what has changed, and a page
    that cannot be made anew stays as it is. Raises GradebookFault.
    """
    check_gradebook(classroom.gradebook)
    faults = {(fault.student, fault.assignment): fault for fault in read_faults(classroom.verdicts)}
    written = list(_unmatched(project, classroom))
    scores = scores_of(classroom, assignments)
    handed_in = [each for each in folders(classroom) if each[1] in assignments]
    if not handed_in:
        return written
    config = load(project, classroom)
    # A page is made aside, whole, and takes its place then.
    with (
        tempfile.TemporaryDirectory(prefix=WRITING, dir=classroom.root) as aside,
        shared_engine(),
    ):
        config.CourseDirectory.feedback_directory = Path(aside).name
        for student, assignment in handed_in:
            fault = faults.get((student, assignment))
            submission = Submission(student, assignment, project.notebook(assignment))
            record = read(path_of(classroom.verdicts, student, assignment))
            if record is None:
                why = f"not graded: {fault.why}" if fault else NOT_YET
                written.append(Page(student, assignment, None, why, fault=bool(fault)))
                continue
            page = _write_page(classroom, config, submission, Path(aside))
            if page.path and fault:
                why = f"not graded again: {ended(fault.why)} The page has the marks from before"
                page = replace(page, why=why, fault=True)
            elif page.path:
                change = change_since(project, classroom, record, scores.get((student, assignment)))
                page = replace(page, why=CHANGES.get(change, ""))
            written.append(page)
    return written


def _unmatched(project: Project, classroom: Classroom) -> Iterator[Page]:
    """What lies where no assignment is looked for: somebody may be waiting for a page."""
    for stray in unmatched(classroom, project.assignments()):
        yield Page(stray.student, safe_text(stray.place), None, f"not graded: {stray.why}")


def _write_page(classroom: Classroom, config: Config, submission: Submission, aside: Path) -> Page:
    student, assignment = submission.student, submission.assignment
    place = Path(student, assignment, f"{submission.notebook}.html")
    path = classroom.feedback / place
    graded = classroom.autograded / place.with_suffix(".ipynb")
    if not graded.is_file():
        return Page(student, assignment, None, GONE, fault=True)
    try:
        make_feedback(config, student, assignment, submission.notebook)
        made = (aside / place).read_bytes()
        if not path.is_file() or path.read_bytes() != made:
            write_atomically(path, made)
    except ConversionFault as fault:
        return Page(student, assignment, None, str(fault), fault=True)
    except Exception as error:  # whatever it is, the others get their pages
        return Page(student, assignment, None, in_a_sentence(error), fault=True)
    return Page(student, assignment, path)
