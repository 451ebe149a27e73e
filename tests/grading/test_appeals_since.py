"""An appeal when something has changed since: what it is, is said, and nothing is made up."""

import json
import shutil

import pytest

from autograder.grading.records import path_of
from tests.grading.appealed import asked, holding, page_of, state, words
from tests.grading.notebooks import ONE, OVERFLOWING, WRONG_AXIS, solved
from tests.grading.reported import remove_exercise


@pytest.fixture(scope="module")
def class_of(school):
    """A class of two, of whom one has softmax wrong."""
    school.hand_in("ada", solved(softmax=WRONG_AXIS))
    school.hand_in("zed", solved(attention=None))
    assert not [each.fault for each in school.grade().values() if each.fault]
    return school


@pytest.fixture
def explain(class_of, monkeypatch):
    """Run `autograder explain` in the project's folder."""
    monkeypatch.chdir(class_of.project.root)
    return asked


def test_a_submission_that_was_replaced_is_found_among_the_earlier_ones(explain, class_of):
    room = class_of.classroom
    folder = room.submitted / "ada" / ONE
    earlier = room.earlier / "ada" / ONE / "3"
    shutil.copytree(folder, earlier)
    kept = (folder / "01-exercises.ipynb").read_bytes()
    try:
        class_of.hand_in("ada", solved(softmax=OVERFLOWING))
        done = explain("ada", "softmax")
        assert done.exit_code == 0, done.output
        assert "earlier/ada/01-one-head/3" in page_of(class_of, "ada", "softmax").text
        shutil.rmtree(earlier)
        gone = explain("ada", "softmax")
    finally:
        (folder / "01-exercises.ipynb").write_bytes(kept)
        shutil.rmtree(earlier, ignore_errors=True)
    assert gone.exit_code == 1
    assert "What lies in submitted/ has been changed or replaced since" in gone.stdout
    assert "came out again" not in gone.stdout
    text = words(page_of(class_of, "ada", "softmax").text)
    assert "what was graded is not here any more" in text
    assert "Likely cause: the softmax runs over axis 0" in text  # the words of the record
    assert "exponentials" not in text  # nothing of what was handed in since
    assert "overflow" not in text


def test_another_verdict_is_said_to_be_one(explain, class_of):
    path = path_of(class_of.classroom.verdicts, "zed", ONE)
    record = json.loads(path.read_bytes())
    row = next(row for row in record["rows"] if row["exercise"] == "softmax")
    row.update(outcome="wrong values", points=0.0, score=0.5, mistake="overflow")
    with holding(path, json.dumps(record).encode()):
        done = explain("zed", "softmax")
    assert done.exit_code == 1
    assert "Another verdict came out: outcome was wrong values, and is correct;" in done.stdout
    assert "points were 0, and are 2." in done.stdout
    assert "the grader or the settings in nbgrader_config.py have been changed" in done.stdout
    rows = page_of(class_of, "zed", "softmax").find("tbody").find_all("tr")
    assert [[words(cell.text) for cell in row.find_all(["th", "td"])] for row in rows] == [
        ["outcome", "wrong values", "correct"],
        ["mistake", "overflow", "none"],
        ["score", "0.5", "1"],
        ["points", "0", "2"],
    ]


def test_an_edited_assignment_is_mentioned(explain, class_of):
    path = class_of.project.solutions / ONE / "01-exercises.ipynb"
    before = state(class_of)
    edited = path.read_bytes().replace(b"import numpy as np", b"import numpy as np; a = 1")
    with holding(path, edited):
        done = explain("ada", "softmax")
    assert done.exit_code == 0, done.output
    assert "has been edited since it was graded." in done.stdout
    assert state(class_of) == before


def test_an_exercise_that_the_grader_has_no_more_is_a_sentence(explain, class_of):
    path = path_of(class_of.classroom.verdicts, "zed", ONE)
    edited = path.read_bytes().replace(b'"exercise": "softmax"', b'"exercise": "softmix"')
    with holding(path, edited):
        done = explain("zed", "softmix")
    assert done.exit_code == 1
    assert "softmix is no exercise of this version of the grader any more" in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_exercise_that_solutions_have_no_more_cannot_be_graded_again(new_school, monkeypatch):
    new_school.hand_in("ada", solved(softmax=WRONG_AXIS))
    new_school.grade(ONE)
    remove_exercise(new_school, "softmax")
    new_school.classroom.gradebook.unlink()  # which still knew it
    monkeypatch.chdir(new_school.project.root)
    done = asked("ada", "softmax")
    assert done.exit_code == 1
    assert "the assignment in solutions/ has no exercise softmax any more" in done.stdout


def test_a_timestamp_that_was_added_is_all_that_has_changed(explain, class_of):
    path = class_of.classroom.submitted / "ada" / ONE / "timestamp.txt"
    path.write_text("2026-01-01 12:00:00 UTC\n")
    try:
        done = explain("ada", "softmax")
    finally:
        path.unlink()
    assert done.exit_code == 0, done.output
    assert "The same verdict came out again." in done.stdout
    assert "Only timestamp.txt, the time of handing in, has changed since" in done.stdout
    text = words(page_of(class_of, "ada", "softmax").text)
    assert "Only timestamp.txt" in text
    assert "exponentials.sum(axis=0, keepdims=True)" in text


def test_partial_credit_that_was_switched_on_since_is_named(explain, class_of):
    config = class_of.project.config
    with holding(config, config.read_bytes() + b"\nc.Judge.partial_credit = True\n"):
        done = explain("ada", "softmax")
    assert done.exit_code == 1
    assert "The same verdict came out again, and is worth something else: 0 points" in done.stdout
    assert "c.Judge.partial_credit in nbgrader_config.py" in done.stdout
    assert "a wrong answer earns the share of the cases that hold" in done.stdout
    assert "chance" not in done.stdout
