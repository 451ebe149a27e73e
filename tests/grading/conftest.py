"""A class of one's own for each module of tests: a project and what students hand in."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from autograder.grading.batch import Graded, grade
from autograder.grading.collecting import Collection, collect
from autograder.grading.places import Classroom, Project
from autograder.grading.records import Row
from autograder.grading.sandbox import Worker
from tests.grading.confined import ALLOWANCE
from tests.grading.handing_in import Files, zipped
from tests.grading.notebooks import NOTEBOOKS, ONE
from tests.repository import committed_files, read_committed

Notebook = Mapping[str, Any] | bytes


@dataclass
class School:
    """A project in a folder with an awkward name, and its classroom."""

    project: Project
    classroom: Classroom

    def hand_in(
        self, student: str, notebook: Notebook, assignment: str = ONE, name: str = ""
    ) -> Path:
        """Put a notebook where a student's submission belongs; its folder."""
        folder = self.classroom.submitted / student / assignment
        folder.mkdir(parents=True, exist_ok=True)
        data = notebook if isinstance(notebook, bytes) else json.dumps(notebook).encode()
        (folder / f"{name or NOTEBOOKS.get(assignment)}.ipynb").write_bytes(data)
        return folder

    def grade(self, *assignments: str, **options: Any) -> dict[str, Graded]:
        """Grade everything in this process; the results by student."""
        chosen = assignments or tuple(self.project.assignments())
        return {g.student: g for g in grade(self.project, self.classroom, chosen, **options)}

    def run(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run `nbgrader …` or `autograder …` in the project's folder, environment not activated."""
        program = str(Path(sys.executable).with_name(command[0]))
        inherited = {k: v for k, v in os.environ.items() if k != "PATH"}
        return subprocess.run(
            [program, *command[1:]],
            cwd=self.project.root,
            env={**inherited, "PATH": "/usr/bin:/bin", **environment},
            capture_output=True,
            text=True,
            timeout=600,
        )


def make_school(root: Path) -> School:
    """A copy of the parts of the project that grading needs."""
    notebooks = [
        path for path in committed_files() if path.startswith(("solutions/", "exercises/"))
    ]
    for path in [*notebooks, "nbgrader_config.py"]:
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(read_committed(path))
    return School(Project(root), Classroom(root / "classroom"))


@pytest.fixture(scope="module")
def school(tmp_path_factory: pytest.TempPathFactory) -> School:
    """One school for all tests of a module."""
    return make_school(tmp_path_factory.mktemp("school") / "a course [2025] +50%")


@pytest.fixture
def new_school(tmp_path: Path) -> School:
    """A school for one test alone."""
    return make_school(tmp_path / "a course [2025] +50%")


@pytest.fixture(scope="session")
def rows_of() -> Callable[[Graded], dict[str, Row]]:
    """The rows of a result by exercise; fails when there is none."""

    def rows(graded: Graded) -> dict[str, Row]:
        assert graded.record is not None, graded.fault
        return {row.exercise: row for row in graded.record.rows}

    return rows


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    """One worker for all: each test meets what the ones before it have left."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SECRET_OF_THE_GRADER", "do not tell")
        worker = Worker(ALLOWANCE)
    yield worker
    worker.close()


@pytest.fixture
def take(new_school, tmp_path):
    """Collect from a zip of files, from a zip's bytes, or from a folder."""

    def take(source: Files | bytes | Path, assignment: str = ONE, roster: str = "") -> Collection:
        if isinstance(source, Path):
            place = source
        else:
            place = tmp_path / "handed in.zip"
            place.write_bytes(source if isinstance(source, bytes) else zipped(source))
        path = None
        if roster:
            path = tmp_path / "class.csv"
            path.write_text(roster, encoding="utf-8")
        return collect(new_school.project, new_school.classroom, place, assignment, path)

    return take


@pytest.fixture
def kept(new_school):
    """What the classroom has of an assignment: by student and file, the notebook's text."""

    def kept(assignment: str = ONE) -> dict[str, dict[str, str]]:
        return {
            folder.parent.name: {
                path.name: json.loads(path.read_bytes())["cells"][0]["source"]
                if path.suffix == ".ipynb"
                else path.read_text().strip()
                for path in folder.iterdir()
            }
            for folder in new_school.classroom.submitted.glob(f"*/{assignment}")
        }

    return kept
