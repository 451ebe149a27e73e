"""Pages for students: nbgrader's feedback, which asks nothing of the network."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.grading.config import load
from autograder.grading.converting import ConversionFault, make_feedback
from autograder.grading.places import Classroom, Project
from autograder.grading.records import path_of, read, write_atomically
from autograder.grading.submissions import folders

# A page for reading needs none, whatever templates and notebooks may contain.
SCRIPT = re.compile(r"<script\b[^>]*>.*?</script\s*>", re.DOTALL | re.IGNORECASE)


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
    """Write a page for every graded submission of these assignments."""
    config = load(project, classroom)
    return [
        _write_page(project, classroom, config, student, assignment)
        for student, assignment in folders(classroom)
        if assignment in assignments
    ]


def _write_page(
    project: Project, classroom: Classroom, config: object, student: str, assignment: str
) -> Page:
    if read(path_of(classroom.verdicts, student, assignment)) is None:
        return Page(student, assignment, None, "not graded yet: run `autograder grade` first")
    notebook = project.notebook(assignment)
    path = classroom.feedback / student / assignment / f"{notebook}.html"
    try:
        make_feedback(config, student, assignment, notebook)  # type: ignore[arg-type]
        page = path.read_text(encoding="utf-8")
        write_atomically(path, SCRIPT.sub("", page))
    except (ConversionFault, OSError) as error:
        return Page(student, assignment, None, str(error), fault=True)
    return Page(student, assignment, path)
