"""Where things are: the project's folders, and the folders of a class."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import autograder

CLASSROOM_VARIABLE = "MANY_HEADS_CLASSROOM"
# In a student edition: the fresh copies of its exercises, and the list of its files.
KEPT = ".student-edition"
LIST = f"{KEPT}/files.json"


class NoProject(RuntimeError):
    """There is no project here: no folder with solutions/ and nbgrader_config.py."""


class InstructorsOnly(NoProject):
    """What was asked for needs `solutions/`, which a student edition does not have."""


@dataclass(frozen=True)
class Project:
    """The folder that holds `solutions/`, `exercises/` and `nbgrader_config.py`."""

    root: Path

    @property
    def solutions(self) -> Path:
        """What an instructor edits."""
        return self.root / "solutions"

    @property
    def exercises(self) -> Path:
        """What a student receives."""
        return self.root / "exercises"

    @property
    def config(self) -> Path:
        """The configuration of nbgrader, shared by every way of grading."""
        return self.root / "nbgrader_config.py"

    def assignments(self) -> list[str]:
        """The names of all assignments, in order."""
        if not self.solutions.is_dir():
            return []
        return sorted(
            folder.name
            for folder in self.solutions.iterdir()
            if folder.is_dir() and any(folder.glob("*.ipynb"))
        )

    def notebook(self, assignment: str) -> str:
        """The name of an assignment's notebook, without its ending."""
        return sorted((self.solutions / assignment).glob("*.ipynb"))[0].stem

    def exercises_of(self, assignment: str) -> list[tuple[str, float]]:
        """The names of an assignment's exercises, and the points that each is worth."""
        path = self.solutions / assignment / f"{self.notebook(assignment)}.ipynb"
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        labels = [cell["metadata"].get("nbgrader", {}) for cell in cells]
        return [
            (label["grade_id"].removeprefix("check-"), float(label.get("points", 0)))
            for label in labels
            if label.get("grade") and not label.get("solution")
        ]

    def all_exercises(self) -> dict[str, list[tuple[str, float]]]:
        """The exercises of every assignment, in order, and the points that each is worth."""
        return {assignment: self.exercises_of(assignment) for assignment in self.assignments()}


class Edition(Project):
    """A student edition as a project: enough of one for what students do."""

    @property
    def solutions(self) -> Path:
        """There are none. Raises InstructorsOnly."""
        raise InstructorsOnly(
            "This is a student edition, without solutions/. Building, collecting and grading are "
            "done in the project that it was made from."
        )

    @property
    def config(self) -> Path:
        """There is none. Raises InstructorsOnly."""
        return self.solutions

    @property
    def fresh(self) -> Path:
        """The exercises as they were received, which `autograder reset` restores."""
        return self.root / KEPT / "exercises"

    def assignments(self) -> list[str]:
        """The names of all assignments, in order."""
        return sorted({path.parent.name for path in self.fresh.glob("*/*.ipynb")})

    def notebook(self, assignment: str) -> str:
        """The name of an assignment's notebook, without its ending."""
        return sorted((self.fresh / assignment).glob("*.ipynb"))[0].stem


def fresh_exercise(project: Project, path: Path) -> bytes | None:
    """The fresh copy of an exercise that a student edition keeps, or None in other projects."""
    try:
        return (project.root / KEPT / path.relative_to(project.root)).read_bytes()
    except FileNotFoundError:
        return None


@dataclass(frozen=True)
class Classroom:
    """The folder with all state of a class."""

    root: Path

    @property
    def submitted(self) -> Path:
        """What students handed in: <student>/<assignment>/<notebook>.ipynb."""
        return self.root / "submitted"

    @property
    def autograded(self) -> Path:
        """The notebooks after grading, in the same order of folders."""
        return self.root / "autograded"

    @property
    def feedback(self) -> Path:
        """Pages for students, in the same order of folders."""
        return self.root / "feedback"

    @property
    def staging(self) -> Path:
        """What is being graded just now, one clean notebook at a time."""
        return self.root / ".staging"

    @property
    def verdicts(self) -> Path:
        """The record of every submission: <student>/<assignment>.json."""
        return self.root / "verdicts"

    @property
    def stamps(self) -> Path:
        """What the gradebook was last filled from, one file per assignment."""
        return self.root / "verdicts" / ".solutions"

    @property
    def gradebook(self) -> Path:
        """The database of nbgrader."""
        return self.root / "gradebook.db"

    @property
    def db_url(self) -> str:
        """The database as SQLAlchemy names it."""
        return f"sqlite:///{self.gradebook}"

    @property
    def roster(self) -> Path:
        """Who is in the class, when somebody said so."""
        return self.root / "roster.csv"

    @property
    def earlier(self) -> Path:
        """Submissions that a later one has replaced: <student>/<assignment>/<number>/."""
        return self.root / "earlier"

    @property
    def reports(self) -> Path:
        """Pages and tables about the class, for the instructor."""
        return self.root / "reports"

    @property
    def explanations(self) -> Path:
        """Pages for appeals: <student>/<assignment>/<exercise>.html."""
        return self.root / "explanations"

    @property
    def exports(self) -> Path:
        """Marks in the shapes that learning platforms import."""
        return self.root / "exports"

    @property
    def marks(self) -> Path:
        """The table of all marks."""
        return self.root / "marks.csv"


def find_project(start: Path | None = None) -> Project:
    """The project around a folder (the current one), else the one this package is part of.

    Raises NoProject.
    """
    start = (start or Path.cwd()).resolve()
    installed = Path(autograder.__file__).resolve().parents[1]
    for folder in (start, *start.parents, installed):
        if (folder / "nbgrader_config.py").is_file() and (folder / "solutions").is_dir():
            return Project(folder)
        if (folder / LIST).is_file():
            return Edition(folder)
    raise NoProject(
        f"There is no Many Heads project in {start} or above it (a folder with "
        "nbgrader_config.py and solutions/). Go to the project's folder and try again."
    )


def find_classroom(project: Project, chosen: Path | str | None = None) -> Classroom:
    """The classroom named, else the one that the environment names, else the project's own."""
    named = chosen or os.environ.get(CLASSROOM_VARIABLE) or project.root / "classroom"
    return Classroom(Path(named).expanduser().resolve())


def classroom_of(courses: Any) -> Classroom:
    """The classroom that nbgrader works in, from its CourseDirectory."""
    return Classroom(
        Path(os.path.normpath(Path(courses.root, courses.autograded_directory))).parent
    )
