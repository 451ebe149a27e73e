"""Nbgrader's own commands take the same path, and so does our command line."""

import csv
import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.grading.conftest import School, make_school
from tests.grading.notebooks import ONE, OVERFLOWING, WRONG_AXIS, cell_of, solved, with_code

SCRIPTED = "<b>bold</b><script>steal()</script>"


@pytest.fixture(scope="module")
def school(tmp_path_factory) -> School:
    """A school in a folder that nbgrader's own commands can work in: without [brackets]."""
    return make_school(tmp_path_factory.mktemp("school") / "a course +50%")


@pytest.fixture(scope="module")
def autograded(school) -> subprocess.CompletedProcess[str]:
    """Three students, autograded by nbgrader's own command."""
    warned = with_code(solved(), "import sys; print('careful', file=sys.stderr)")
    shown = f"from IPython.display import HTML\nHTML({SCRIPTED!r})"
    school.hand_in("ada", with_code(warned, shown))
    school.hand_in("bo", solved(softmax=OVERFLOWING))
    school.hand_in("cy", solved(softmax=WRONG_AXIS, self_attention=None))
    school.hand_in("dee", b"")
    copied = solved()
    copied["cells"].append(cell_of(copied, "check-softmax"))
    school.hand_in("ed", copied)
    linked = school.hand_in("fay", solved())
    (linked / "extra.txt").symlink_to(school.project.config)
    (school.hand_in("gil", solved()) / "01-exercises.ipynb").unlink()
    (school.classroom.submitted / "gil" / ONE / "01-exercises.ipynb").symlink_to(
        school.classroom.submitted / "ada" / ONE / "01-exercises.ipynb"
    )
    return school.run("nbgrader", "autograde", ONE)


def test_nbgrader_autograde_stores_our_marks(autograded, school):
    assert autograded.returncode == 0, autograded.stderr
    school.run("nbgrader", "export", "--to", "grades.csv")
    with (school.project.root / "grades.csv").open() as file:
        scores = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    assert scores == {"ada": 7, "bo": 1, "cy": 1, "dee": 0, "ed": 7, "fay": 7, "gil": 0}


def test_nbgrader_autograde_follows_no_link(autograded, school):
    graded = school.classroom.autograded
    assert {path.name for path in (graded / "fay" / ONE).iterdir()} == {"01-exercises.ipynb"}
    with school.classroom.marks.open(encoding="utf-8", newline="") as file:
        notes = {row["note"] for row in csv.DictReader(file) if row["student"] == "gil"}
    assert all("is no ordinary file" in note for note in notes)


def test_nbgrader_autograde_writes_the_table_of_marks(autograded, school):
    with school.classroom.marks.open(encoding="utf-8", newline="") as file:
        rows = {(row["student"], row["exercise"]): row for row in csv.DictReader(file)}
    assert rows["bo", "softmax"]["mistake"] == "overflow"
    assert rows["cy", "self_attention"]["outcome"] == "not attempted"
    assert rows["ada", "softmax"]["points"] == "2"


def test_our_command_finds_it_all_graded_already(autograded, school):
    done = school.run("autograder", "grade", "1", "--json")
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert [(r["student"], r["graded"], r["fresh"]) for r in results] == [
        (student, True, False) for student in ("ada", "bo", "cy", "dee", "ed", "fay", "gil")
    ]


@pytest.fixture(scope="module")
def pages(autograded, school) -> dict[str, str]:
    done = school.run("autograder", "feedback", ONE)
    assert done.returncode == 0, done.stdout + done.stderr
    return {
        student: (school.classroom.feedback / student / ONE / "01-exercises.html").read_text()
        for student in ("ada", "bo", "cy", "dee")
    }


def test_feedback_says_what_the_student_would_have_seen(pages):
    assert "Likely cause:" in pages["bo"]
    assert "7 of 7 points" in pages["ada"]
    assert "The file is empty" in pages["dee"]


def test_feedback_loads_and_runs_nothing(pages):
    for page in pages.values():
        assert not re.search(r"<script|<link|<iframe|@import", page)
        assert not re.search(r"(src|href)=[\"']?(https?:)?//", page.partition("<body>")[2])
    assert "<b>bold</b>" in pages["ada"]


def test_another_classroom_is_named_by_option_or_environment(school, tmp_path):
    other = tmp_path / "class b"
    folder = other / "submitted" / "zoe" / ONE
    folder.mkdir(parents=True)
    (folder / "01-exercises.ipynb").write_text(json.dumps(solved()))
    done = school.run("autograder", "grade", "--classroom", str(other))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].split() == ["zoe", ONE, "7/7", "all", "correct"]
    assert (other / "marks.csv").is_file()
    exported = tmp_path / "grades.csv"
    school.run("nbgrader", "export", "--to", str(exported), MANY_HEADS_CLASSROOM=str(other))
    assert "zoe" in exported.read_text()


def test_the_config_may_be_loaded_again_and_again(school):
    from traitlets.config import PyFileConfigLoader

    folder = str(school.project.root)
    loader = PyFileConfigLoader("nbgrader_config.py", path=folder)
    first = json.dumps(loader.load_config(), default=str)
    assert json.dumps(loader.load_config(), default=str) == first
    assert Path(json.loads(first)["CourseDirectory"]["root"]) == school.project.root
