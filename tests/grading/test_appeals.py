"""An appeal: the same submission, seed and steps give the same verdict, or it is said why not."""

import json
import re
import shutil
import sqlite3
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
from bs4 import BeautifulSoup
from click.testing import CliRunner, Result
from nbgrader.api import Gradebook

from autograder.cli import main
from autograder.grading.appeals import points
from autograder.grading.pages import time_said
from autograder.grading.records import path_of, read
from autograder.grading.repeating import Repeated
from tests.grading.harmless import assert_harmless
from tests.grading.notebooks import (
    ONE,
    OVERFLOWING,
    START,
    WRONG_AXIS,
    label,
    solved,
    with_code,
)
from tests.grading.reported import remove_exercise

EVIL = """
def softmax(scores):
    print("\\x1b[2Jcleared \\u202edaer <script>x()</script>")
    return scores * 0  # \u202e turned
"""


@pytest.fixture(scope="module")
def class_of(school):
    """A class in which somebody may appeal."""
    school.hand_in("ada", solved(softmax=WRONG_AXIS))
    school.hand_in("ada", solved(START), START)
    altered = solved(softmax=OVERFLOWING)
    for cell in altered["cells"]:
        if label(cell) == "setup":  # locked: graded as it was released, and as it is
            cell["source"] = "np_ = None"
        else:
            cell["metadata"] = {}  # as other editors leave it
    school.hand_in("adam", altered)
    school.hand_in("bo", b"")
    school.hand_in("eve <b>", solved(softmax=EVIL))
    school.hand_in("zed", solved(attention=None))
    assert not [each.fault for each in school.grade().values() if each.fault]
    with Gradebook(school.classroom.db_url) as gradebook:
        gradebook.find_grade("check-softmax", "01-exercises", ONE, "ada").manual_score = 1.5
        gradebook.db.commit()
    (school.classroom.roster).write_text("id,name\nzed,Zoe Dragon\nada,Ada Lovelace\n")
    return school


@pytest.fixture
def explain(class_of, monkeypatch):
    """Run `autograder explain` in the project's folder, in this process."""
    monkeypatch.chdir(class_of.project.root)

    def run(*arguments: str) -> Result:
        # With colour, or click itself takes escape sequences away before a test could see them.
        words = ["explain", *arguments]
        return CliRunner().invoke(main, words, catch_exceptions=False, color=True)

    return run


def page_of(school, student: str, exercise: str, assignment: str = ONE) -> Any:
    folder = school.classroom.root / "explanations" / student / assignment
    return BeautifulSoup((folder / f"{exercise}.html").read_text(encoding="utf-8"), "html.parser")


def words(text: str) -> str:
    return " ".join(text.split())


def state(school) -> dict[str, bytes]:
    """Everything of a class that an appeal must leave alone."""
    room = school.classroom
    kept = [room.marks, *room.verdicts.rglob("*"), *room.autograded.rglob("*")]
    files = {str(path): path.read_bytes() for path in kept if path.is_file()}
    with sqlite3.connect(room.gradebook) as database:
        files["gradebook"] = "\n".join(database.iterdump()).encode()
    database.close()
    return files


def test_the_same_verdict_comes_out_again(explain, class_of):
    before = state(class_of)
    done = explain("ada", "softmax")
    assert done.exit_code == 0, done.output
    record = read(path_of(class_of.classroom.verdicts, "ada", ONE))
    assert record is not None
    row = next(row for row in record.rows if row.exercise == "softmax")
    assert done.stdout.startswith(f"ada  {ONE}  softmax\nThe same verdict came out again.\n")
    assert row.message in done.stdout
    for said in (
        "Asked: softmax(scores) (A safe softmax). Every case has to hold",
        "Recorded: wrong values, mistake over-first-axis. Points: 0 of 2; 1.5 were given by hand.",
        f"Graded on {time_said(record.graded)} with seed {record.seed}.",
        "They differ most at weights[",
        "expected =",
    ):
        assert said in done.stdout
    assert state(class_of) == before
    page = page_of(class_of, "ada", "softmax")
    text = words(page.text)
    for sentence in row.message.splitlines():
        assert words(sentence.replace("`", "")) in text
    for said in (
        str(record.seed),
        time_said(record.graded),
        record.submission,
        "0 of 2; 1.5 were given",
    ):
        assert said in text
    assert "exponentials.sum(axis=0, keepdims=True)" in text
    assert "def attention" not in text
    assert "submitted/ada/01-one-head" in text
    assert page.find("table", attrs={"aria-label": re.compile("expected")})
    assert page.html["lang"] == "en"
    assert page.h1.text == "How softmax was graded"
    assert page.title.text == "How softmax was graded: ada"
    assert not page.find_all(["script", "link"])
    (policy,) = page.find_all("meta", attrs={"http-equiv": "Content-Security-Policy"})
    assert "default-src 'none'" in policy["content"]


@pytest.mark.parametrize(
    ("student", "exercise", "words_of_it"),
    [
        ("ada", "attention", "Mend softmax first"),
        ("ada", "dot_product_scores", "All 12 cases hold"),
        ("adam", "softmax", "mistake overflow"),
        ("adam", "dot_product_scores", "All 12 cases hold"),
        ("zed", "attention", "counts as not attempted"),
        ("bo", "softmax", "The file is empty."),
        ("ada", "weighted_average", START),
    ],
)
def test_every_kind_of_verdict_is_reproduced(explain, student, exercise, words_of_it):
    done = explain(student, exercise)
    assert done.exit_code == 0, done.output
    assert "The same verdict came out again.\n" in done.stdout
    assert words_of_it in done.stdout


def test_what_a_student_wrote_is_harmless(explain, class_of):
    done = explain("eve <b>", "softmax")
    assert done.exit_code == 0, done.output
    assert "\\x1b[2Jcleared \\u202edaer" in done.stdout
    page = page_of(class_of, "eve <b>", "softmax")
    text = str(page)
    assert not {"\x1b", "\u202e"} & {*done.stdout, *text}
    assert "\\u202e turned" in page.text
    assert "cleared \\u202edaer <script>x()</script>" in page.text
    assert "Handed in by eve <b> for" in words(page.text)
    for tag in page.body.find_all(style=True):
        del tag["style"]
    assert_harmless(str(page.body))


@pytest.mark.parametrize(
    ("student", "exercise", "found"),
    [
        ("zed", "soft", "zed  01-one-head  softmax"),
        ("ZE", "softmax", "zed  01-one-head  softmax"),
        ("zoe dragon", "softmax", "zed  01-one-head  softmax"),
        ("Zoe", "DOT", "zed  01-one-head  dot_product_scores"),
    ],
)
def test_names_may_be_shorter(explain, student, exercise, found):
    assert explain(student, exercise).stdout.splitlines()[0] == found


@pytest.mark.parametrize(
    ("student", "exercise", "said"),
    [
        ("adda", "softmax", "There is no student 'adda'. Did you mean ada or adam?"),
        ("a", "softmax", "'a' may be ada or adam. Type more of the student's name."),
        ("xxxxx", "softmax", "There is no student 'xxxxx'. There are ada, adam, bo, eve <b>, zed."),
        ("\x1b[2J", "softmax", "There is no student '\\x1b[2J'."),
        ("ada", "sofmax", "There is no exercise 'sofmax'. Did you mean softmax or masked_softmax"),
        ("ada", "s", "'s' may be self_attention or softmax. Type more of the exercise's name."),
        ("", "softmax", "There is no student ''."),
    ],
)
def test_names_that_are_not_clear_are_answered_with_close_ones(explain, student, exercise, said):
    done = explain(student, exercise)
    assert done.exit_code == 2
    assert said in done.stderr
    assert "\x1b" not in done.stderr


@pytest.fixture
def named(new_school, monkeypatch):
    """Run `explain` in a class of folders without anything in them, and of a roster."""
    monkeypatch.chdir(new_school.project.root)

    def run(student: str, folders: Sequence[str], roster: str = "") -> Result:
        for name in folders:
            new_school.hand_in(name, b"")
        new_school.classroom.roster.write_text(f"id,name,email\n{roster}")
        words = ["explain", student, "softmax"]
        return CliRunner().invoke(main, words, catch_exceptions=False, color=True)

    return run


JONES = "em1,Emma Jones,emma@x.org\nem2,Emma Jones,e.jones@x.org\n"
NEVER = " has no verdict on softmax"


@pytest.mark.parametrize(
    ("student", "folders", "roster", "said"),
    [
        ("Emma Jones", ["em1", "em2"], JONES, "'Emma Jones' may be em1 or em2. Type the one that"),
        ("emma j", ["em1", "em2"], JONES, "'emma j' may be em1 or em2. Type more of the student"),
        ("Emma Jones", ["em2"], JONES, f"em2{NEVER}"),
        ("e.jones@x.org", ["em1", "em2"], JONES, f"em2{NEVER}"),
        ("bo", ["bo", "cy"], "bo,Bo B,\ncy,bo,\n", f"bo{NEVER}"),
        ("BO", ["bo", "cy"], "bo,Bo B,\ncy,bo,\n", f"bo{NEVER}"),
        ("Ada Lovelace", ["Ada"], "ada,Ada Lovelace,\n", f"Ada{NEVER}"),
        ("ada lovelace", ["ADA", "bo"], "ada,Ada Lovelace,\n", f"ADA{NEVER}"),
        ("ADa", ["Ada", "ada"], "", "'ADa' may be Ada or ada. Type the one that is meant"),
    ],
)
def test_nobody_is_taken_for_somebody_else(named, student, folders, roster, said):
    done = named(student, folders, roster)
    assert said in done.stderr, done.output


def test_no_name_of_a_folder_steers_the_terminal(named):
    done = named("evil", ["evil \x1b[2J 1", "evil \x1b[2J 2"])
    assert done.exit_code == 2
    assert "'evil' may be evil \\x1b[2J 1 or evil \\x1b[2J 2." in done.stderr
    assert "\x1b" not in done.output


def test_what_was_never_graded_is_told_so(explain):
    done = explain("ada", "causal_mask")
    assert done.exit_code == 1
    assert "ada has no verdict on causal_mask" in done.stderr
    assert explain("ada", "softmax", "--assignment", "0").exit_code == 2


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
    kept = path.read_bytes()
    record = json.loads(kept)
    row = next(row for row in record["rows"] if row["exercise"] == "softmax")
    row.update(outcome="wrong values", points=0.0, score=0.5, mistake="overflow")
    try:
        path.write_text(json.dumps(record))
        done = explain("zed", "softmax")
    finally:
        path.write_bytes(kept)
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


def test_the_recorded_seed_is_used(explain, class_of):
    """A wrong answer for one seed alone: other inputs would not show it."""
    path = path_of(class_of.classroom.verdicts, "zed", ONE)
    seed = json.loads(path.read_bytes())["seed"]
    from autograder.exercises import find
    from autograder.expecting import make_cases

    case = next(
        case
        for case in make_cases(find("dot_product_scores"), seed)
        if case.arguments["q"].size > 8
    )
    mark = float(case.arguments["q"].flat[0])
    source = (
        "def dot_product_scores(q, k):\n"
        f"    return q @ np.swapaxes(k, -1, -2) + (abs(q.flat[0] - {mark!r}) < 1e-12)"
    )
    kept = path.read_bytes()
    class_of.hand_in("zed", solved(dot_product_scores=source, attention=None))
    try:
        record = json.loads(kept)
        from autograder.grading.submissions import read_submission

        submission = read_submission(class_of.project, class_of.classroom, "zed", ONE)
        record["submission"] = submission.hash
        path.write_text(json.dumps(record))
        with_seed = explain("zed", "dot")
        path.write_text(json.dumps({**record, "seed": seed + 1}))
        without = explain("zed", "dot")
    finally:
        path.write_bytes(kept)
        class_of.hand_in("zed", solved(attention=None))
    assert "Another verdict came out: outcome was correct, and is wrong" in with_seed.stdout
    assert "The same verdict came out again." in without.stdout


def test_an_edited_assignment_is_mentioned(explain, class_of):
    path = class_of.project.solutions / ONE / "01-exercises.ipynb"
    kept = path.read_bytes()
    before = state(class_of)
    try:
        path.write_bytes(kept.replace(b"import numpy as np", b"import numpy as np; a = 1"))
        done = explain("ada", "softmax")
    finally:
        path.write_bytes(kept)
    assert done.exit_code == 0, done.output
    assert "has been edited since it was graded." in done.stdout
    assert state(class_of) == before


def test_an_exercise_that_the_grader_has_no_more_is_a_sentence(explain, class_of):
    path = path_of(class_of.classroom.verdicts, "zed", ONE)
    kept = path.read_bytes()
    try:
        path.write_bytes(kept.replace(b'"exercise": "softmax"', b'"exercise": "softmix"'))
        done = explain("zed", "softmix")
    finally:
        path.write_bytes(kept)
    assert done.exit_code == 1
    assert "softmix is no exercise of this version of the grader any more" in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_exercise_that_solutions_have_no_more_cannot_be_graded_again(new_school, monkeypatch):
    new_school.hand_in("ada", solved(softmax=WRONG_AXIS))
    new_school.grade(ONE)
    remove_exercise(new_school, "softmax")
    new_school.classroom.gradebook.unlink()  # which still knew it
    monkeypatch.chdir(new_school.project.root)
    done = CliRunner().invoke(main, ["explain", "ada", "softmax"], catch_exceptions=False)
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
    kept = config.read_bytes()
    try:
        config.write_bytes(kept + b"\nc.Judge.partial_credit = True\n")
        done = explain("ada", "softmax")
    finally:
        config.write_bytes(kept)
    assert done.exit_code == 1
    assert "The same verdict came out again, and is worth something else: 0 points" in done.stdout
    assert "c.Judge.partial_credit in nbgrader_config.py" in done.stdout
    assert "a wrong answer earns the share of the cases that hold" in done.stdout
    assert "chance" not in done.stdout


def test_code_that_depends_on_chance_is_no_fault(new_school, monkeypatch):
    chance = "import os\ndef softmax(scores):\n    return scores * 0 + 2 + os.urandom(1)[0]"
    new_school.hand_in("ada", with_code(solved(softmax=chance), "pass"))
    new_school.grade()
    path = path_of(new_school.classroom.verdicts, "ada", ONE)
    record = json.loads(path.read_text())
    row = next(row for row in record["rows"] if row["exercise"] == "softmax")
    row["message"] = "softmax: other words"
    path.write_text(json.dumps(record))
    monkeypatch.chdir(new_school.project.root)
    done = CliRunner().invoke(main, ["explain", "ada", "softmax"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "The same verdict came out again, in other words" in done.stdout
    assert "softmax: other words" in page_of(new_school, "ada", "softmax").text


def test_without_a_sandbox_nothing_runs_unless_it_is_trusted(explain, class_of, monkeypatch):
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "bwrap" else which(name))
    done = explain("ada", "softmax")
    assert (done.exit_code, "bubblewrap" in done.stderr) == (1, True)
    assert explain("ada", "softmax", "--trust-submissions").exit_code == 0


def test_help_names_what_is_written():
    done = CliRunner().invoke(main, ["explain", "--help"])
    assert "DIR/explanations/STUDENT/ASSIGNMENT/EXERCISE.html" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("by_hand", "said"),
    [(None, "0 of 2"), (1.0, "0 of 2; 1 was given by hand"), (2.0, "0 of 2; 2 were given by hand")],
)
def test_points_given_by_hand_are_one_or_many(by_hand, said):
    row = SimpleNamespace(points=0.0, max_points=2.0)
    assert points(cast(Repeated, SimpleNamespace(before=row, by_hand=by_hand))) == said
