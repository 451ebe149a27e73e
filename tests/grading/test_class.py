"""A class is graded: every submission gets its rows, and doing it again changes nothing."""

import csv
import json
import os
import shutil
import threading

import filelock
import pytest
from nbgrader.api import Gradebook

from autograder.grading.locking import AlreadyGrading
from autograder.grading.marks import COLUMNS
from autograder.grading.records import path_of, read
from autograder.grading.sandbox import NoSandbox
from tests.grading.notebooks import (
    FOUR,
    FULL,
    ONE,
    OVERFLOWING,
    START,
    WRONG_AXIS,
    cell_of,
    label,
    solved,
    with_code,
)

TRANSPOSED = "def dot_product_scores(q, k):\n    return k @ np.swapaxes(q, -1, -2)"
HALF = solved(attention=None, self_attention=None)
RENAMED = "01-exercises (1)"


def marks(school) -> dict[tuple[str, str], dict[str, str]]:
    """The rows of marks.csv by student and exercise."""
    with school.classroom.marks.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        rows = list(reader)
    assert tuple(reader.fieldnames or ()) == COLUMNS
    return {(row["student"], row["exercise"]): row for row in rows}


def scores(school, assignment: str = ONE) -> dict[str, float]:
    """The score of each student, as nbgrader has it."""
    with Gradebook(school.classroom.db_url) as gradebook:
        found = gradebook.assignment_submissions(assignment)
        return {submission.student_id: submission.score for submission in found}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Where whoever grades keeps progress; empty, whatever other tests have kept in theirs."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MANY_HEADS_HOME", str(home))
        yield home


@pytest.fixture(scope="module")
def graded(school, home):
    """Three students as they are, and others who handed in something else."""
    with school.project.config.open("a") as config:
        config.write("\nc.Judge.cell_timeout = 10\n")
    school.hand_in("ada", solved())
    school.hand_in("bo", solved(softmax=OVERFLOWING, dot_product_scores=TRANSPOSED))
    school.hand_in("cy", with_code(HALF, "attention(1, 2, 3)"))
    school.hand_in("ada", solved(START), START)
    school.hand_in("empty file", b"")
    school.hand_in("conflict", b'{"cells": [\n<<<<<<< HEAD\n=======\n>>>>>>> theirs\n')
    school.hand_in("other lesson", solved(START), ONE)
    school.hand_in("renamed", solved(), name=RENAMED)
    school.hand_in("several", solved(), name="a")
    school.hand_in("several", solved(), name="b")
    (school.classroom.submitted / "nothing" / ONE).mkdir(parents=True)
    (school.classroom.submitted / "stray file").touch()
    odd = school.hand_in("odd files", solved())
    (odd / "torch.py").write_text("raise SystemExit")
    (odd / "numpy.py").write_text("raise SystemExit")
    (odd / "autograder.py").write_text("raise SystemExit")
    (odd / "timestamp.txt").write_text("no time at all")
    os.mkfifo(odd / "pipe")
    (odd / "link").symlink_to("/etc/passwd")
    linked = school.hand_in("linked", solved())
    (linked / "01-exercises.ipynb").rename(linked / "elsewhere")
    (linked / "01-exercises.ipynb").symlink_to(linked / "elsewhere")
    school.hand_in("=cmd|'calc'!A1, \"Bob\"", solved())
    school.hand_in("[a-z]* 中文 é", solved())
    stripped = solved(softmax=WRONG_AXIS)
    for cell in stripped["cells"]:
        cell["metadata"] = {}
    school.hand_in("stripped", stripped)
    school.hand_in("syntax error", solved(softmax="def softmax(scores)\n    return 1"))
    gone = solved()
    gone["cells"] = [c for c in gone["cells"] if label(c) not in ("softmax", "check-softmax")]
    school.hand_in("cell gone", gone)
    school.hand_in("endless", solved(attention="while True: pass"))
    school.hand_in("dies", solved(attention="import os; os._exit(0)"))
    school.hand_in("copied", _copied(solved()))
    return school.grade(), school


def _copied(notebook):
    cells = notebook["cells"]
    notebook["cells"] = [copy for cell in cells for copy in (cell, cell)]
    return notebook


def test_everybody_has_a_row_for_every_exercise(graded):
    results, school = graded
    assert not [result.fault for result in results.values() if result.fault]
    table = marks(school)
    students = {result.student for result in results.values()}
    for student in students - {"=cmd|'calc'!A1, \"Bob\""}:
        assert [key[1] for key in table if key[0] == student and key[1] in FOUR] == FOUR
    assert ("ada", "weighted_average") in table


def test_three_students(graded, rows_of):
    results, school = graded
    assert scores(school)["ada"] == 7
    assert {name: row.points for name, row in rows_of(results["bo"]).items()} == {
        **dict.fromkeys(FOUR, 0)
    }
    table = marks(school)
    assert table["bo", "softmax"]["mistake"] == "overflow"
    assert table["bo", "dot_product_scores"]["mistake"]
    assert "not right yet" in table["bo", "attention"]["note"]
    assert scores(school)["cy"] == FULL["dot_product_scores"] + FULL["softmax"]
    assert table["cy", "attention"]["outcome"] == "not attempted"
    assert table["ada", "softmax"] == {
        "student": "ada",
        "assignment": ONE,
        "exercise": "softmax",
        "points": "2",
        "max_points": "2",
        "outcome": "correct",
        "mistake": "",
        "note": "",
    }


@pytest.mark.parametrize(
    ("student", "words"),
    [
        ("empty file", "empty"),
        ("conflict", "merge-conflict"),
        ("other lesson", "lesson 00"),
        ("several", "several notebooks (a.ipynb, b.ipynb)"),
        ("nothing", "no notebook"),
        ("linked", "no ordinary file"),
    ],
)
def test_what_cannot_be_graded_gets_rows_with_the_reason(graded, rows_of, student, words):
    results, school = graded
    rows = rows_of(results[student])
    assert list(rows) == FOUR
    for row in rows.values():
        assert (row.points, row.outcome) == (0, "error")
        assert words in row.note
    assert scores(school)[student] == 0


@pytest.mark.parametrize(
    "student", ["renamed", "odd files", "[a-z]* 中文 é", "=cmd|'calc'!A1, \"Bob\"", "copied"]
)
def test_honest_work_is_graded_whatever_it_is_called(graded, student):
    assert scores(graded[1])[student] == 7


def test_stripped_metadata_costs_nothing(graded, rows_of):
    rows = rows_of(graded[0]["stripped"])
    assert {name: row.points for name, row in rows.items()} == {**FULL, "softmax": 0} | {
        "attention": 0,
        "self_attention": 0,
    }
    assert rows["softmax"].mistake
    assert "softmax, which is not right yet" in rows["attention"].note


def test_a_function_that_is_not_there_is_explained(graded, rows_of):
    softmax = rows_of(graded[0]["syntax error"])["softmax"]
    assert softmax.outcome == "error"
    assert "SyntaxError: expected ':'" in softmax.note
    assert "ipython-input" not in softmax.note
    gone = rows_of(graded[0]["cell gone"])["softmax"]
    assert "nothing named softmax" in gone.note
    assert graded[0]["cell gone"].record.repairs


def test_what_never_ends_or_dies_costs_what_it_must(graded, rows_of):
    endless = rows_of(graded[0]["endless"])
    assert endless["softmax"].points == FULL["softmax"]
    assert "10 seconds" in endless["attention"].note
    dies = rows_of(graded[0]["dies"])
    assert dies["softmax"].points == FULL["softmax"]
    assert "ended itself" in dies["attention"].note


def test_no_cell_of_the_table_is_a_formula(graded):
    text = graded[1].classroom.marks.read_text(encoding="utf-8")
    for line in csv.reader(text.splitlines()):
        assert not [cell for cell in line if cell.startswith(("=", "+", "-", "@"))]


def test_nothing_of_what_was_handed_in_besides_is_copied(graded):
    school = graded[1]
    kept = {path.name for path in (school.classroom.autograded / "odd files" / ONE).iterdir()}
    assert kept == {"01-exercises.ipynb"}
    assert not school.classroom.staging.exists()


def test_each_check_cell_has_one_output_with_the_number_and_the_words(graded):
    school = graded[1]
    for student in ("ada", "bo", "empty file", "dies"):
        path = school.classroom.autograded / student / ONE / "01-exercises.ipynb"
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for name, points in FULL.items():
            (output,) = cell_of(notebook, f"check-{name}")["outputs"]
            assert output["output_type"] == "execute_result"
            assert 0 <= float("".join(output["data"]["text/plain"])) <= points
            assert name in "".join(output["data"]["text/html"])


def test_the_same_seed_gives_the_same_verdict_again(graded):
    record = read(path_of(graded[1].classroom.verdicts, "bo", ONE))
    assert record is not None
    other = read(path_of(graded[1].classroom.verdicts, "ada", ONE))
    assert other is not None
    assert record.seed != other.seed


def test_nothing_is_graded_again_unless_it_changed(graded, rows_of):
    school = graded[1]
    before = school.classroom.marks.read_bytes()
    again = school.grade()
    assert not [result.student for result in again.values() if result.fresh]
    assert school.classroom.marks.read_bytes() == before
    school.hand_in("bo", solved())
    changed = school.grade()
    assert [result.student for result in changed.values() if result.fresh] == ["bo"]
    assert rows_of(changed["bo"])["softmax"].points == 2
    assert scores(school)["bo"] == 7


def test_marks_given_by_hand_are_kept(new_school):
    new_school.hand_in("ada", solved(softmax=WRONG_AXIS))
    new_school.grade()
    with Gradebook(new_school.classroom.db_url) as gradebook:
        grade = gradebook.find_grade("check-softmax", "01-exercises", ONE, "ada")
        grade.manual_score = 1.5
        gradebook.db.commit()
    new_school.grade(regrade=True)
    with Gradebook(new_school.classroom.db_url) as gradebook:
        grade = gradebook.find_grade("check-softmax", "01-exercises", ONE, "ada")
        assert (grade.manual_score, grade.auto_score) == (1.5, 0)
    row = marks(new_school)["ada", "softmax"]
    assert row["points"] == "1.5"
    assert row["note"].startswith("Set by hand; automatically 0.")


def test_partial_credit_is_an_option(new_school):
    with new_school.project.config.open("a") as config:
        config.write("\nc.Judge.partial_credit = True\n")
    new_school.hand_in("ada", solved(softmax=OVERFLOWING, attention=None))
    new_school.grade()
    table = marks(new_school)
    assert 0 < float(table["ada", "softmax"]["points"]) < 2
    assert table["ada", "attention"]["points"] == "0"


def test_a_fault_of_ours_is_nobodys_zero(new_school, monkeypatch):
    new_school.hand_in("ada", solved())
    with monkeypatch.context() as patch:
        patch.setattr("autograder.grading.sandbox._here", threading.local())
        patch.setattr("autograder.grading.sandbox.environment", lambda *_: {"PYTHONHOME": "/no"})
        (result,) = new_school.grade().values()
    assert "does not start" in result.fault
    row = marks(new_school)["ada", "softmax"]
    assert (row["points"], row["max_points"], row["outcome"]) == ("", "2", "")
    assert row["note"].startswith("not graded:")
    (result,) = new_school.grade().values()
    assert not result.fault
    assert marks(new_school)["ada", "softmax"]["points"] == "2"


def test_a_grading_that_was_cut_short_is_repeated(new_school):
    new_school.hand_in("ada", solved())
    new_school.grade()
    record = path_of(new_school.classroom.verdicts, "ada", ONE)
    record.rename(record.with_name(record.name + ".pending"))  # killed before it counted
    assert new_school.grade()["ada"].fresh
    shutil.rmtree(new_school.classroom.autograded)
    assert new_school.grade()["ada"].fresh
    new_school.classroom.gradebook.unlink()
    assert new_school.grade()["ada"].fresh
    assert scores(new_school)["ada"] == 7


def test_without_a_sandbox_nothing_runs_unless_it_is_trusted(new_school, rows_of, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda program: None)
    new_school.hand_in("ada", solved())
    with pytest.raises(NoSandbox, match="bubblewrap"):
        new_school.grade()
    assert not new_school.classroom.gradebook.exists()
    monkeypatch.undo()
    trusted = new_school.grade(trust_submissions=True)["ada"]
    assert {row.outcome for row in rows_of(trusted).values()} == {"correct"}


def test_two_graders_do_not_meet(new_school):
    new_school.classroom.root.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(new_school.classroom.root / ".grading.lock")
    with lock, pytest.raises(AlreadyGrading):
        new_school.grade()


def test_progress_of_the_one_who_grades_is_untouched(graded, home):
    assert not list(home.glob("*"))
