"""Pages for students: nbgrader's feedback, which asks nothing of the network."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from traitlets.config import Config

from autograder.grading.config import load
from autograder.grading.converting import ConversionFault, in_a_sentence, make_feedback
from autograder.grading.gradebook import check_gradebook
from autograder.grading.marks import read_faults
from autograder.grading.outputs import clean_body
from autograder.grading.places import Classroom, Project
from autograder.grading.records import path_of, read, write_atomically
from autograder.grading.submissions import folders

# A page for reading needs none, whatever templates may contain.
SCRIPT = re.compile(r"<script\b[^>]*>.*?</script\s*>", re.DOTALL | re.IGNORECASE)
FONT = re.compile(r"@font-face\s*\{[^}]*\}", re.IGNORECASE)
ELSEWHERE = re.compile(r"url\((?!\s*[\"']?data:)[^)]*\)", re.IGNORECASE)
# A browser keeps to this, whatever else may be in the page.
POLICY = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; '
    "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">"
)


@dataclass(frozen=True)
class Page:
    """The page of one student, or why there is none."""

    student: str
    assignment: str
    path: Path | None
    why: str = ""
    fault: bool = False


def write_feedback(
    project: Project, classroom: Classroom, assignments: Sequence[str]
) -> list[Page]:
    """Write a page for every graded submission of these assignments. Raises GradebookFault."""
    check_gradebook(classroom.gradebook)
    config = load(project, classroom)
    faults = {(fault.student, fault.assignment): fault for fault in read_faults(classroom.verdicts)}
    pages = []
    for student, assignment in folders(classroom):
        if assignment in assignments:
            fault = faults.get((student, assignment))
            why = f"not graded: {fault.why}" if fault else ""
            pages.append(_write_page(project, classroom, config, student, assignment, why))
    return pages


def without_requests(page: str) -> str:
    """A whole page of which nothing runs, and for which a browser asks nobody for anything.

    Raises ValueError when it is no page with a head and a body.
    """
    head, found, rest = page.partition("<body>")
    start, opened, more = head.partition("<head>")
    if not found or not opened:
        raise ValueError("nbgrader wrote a page without a head or a body")
    style = ELSEWHERE.sub("none", FONT.sub("", SCRIPT.sub("", more)))
    body = clean_body(rest.rpartition("</body>")[0] or rest)
    return f"{start}<head>\n{POLICY}{style}<body>{body}</body>\n</html>\n"


def _write_page(
    project: Project,
    classroom: Classroom,
    config: Config,
    student: str,
    assignment: str,
    not_graded: str,
) -> Page:
    if read(path_of(classroom.verdicts, student, assignment)) is None:
        why = not_graded or "not graded yet: run `autograder grade` first"
        return Page(student, assignment, None, why, fault=bool(not_graded))
    notebook = project.notebook(assignment)
    path = classroom.feedback / student / assignment / f"{notebook}.html"
    try:
        make_feedback(config, student, assignment, notebook)
        try:
            page = without_requests(path.read_text(encoding="utf-8"))
        except BaseException:  # as nbgrader wrote it, it is not for a browser
            path.unlink(missing_ok=True)
            raise
        write_atomically(path, page)
    except ConversionFault as fault:
        return Page(student, assignment, None, str(fault), fault=True)
    except Exception as error:  # whatever it is, the others get their pages
        return Page(student, assignment, None, in_a_sentence(error), fault=True)
    return Page(student, assignment, path, not_graded)
