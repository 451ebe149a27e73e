"""An appeal: the same submission, seed and steps give the same verdict, or it is said why not."""

import json
import re
import shutil
from types import SimpleNamespace
from typing import cast

import pytest
from click.testing import CliRunner
from nbgrader.api import Gradebook

from autograder.cli import main
from autograder.grading.appeals import points
from autograder.grading.pages import time_said
from autograder.grading.records import path_of, read
from autograder.grading.repeating import Repeated
from tests.grading.appealed import asked, page_of, state, words
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
    """Run `autograder explain` in the project's folder."""
    monkeypatch.chdir(class_of.project.root)
    return asked


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
        ("ada", "dot_product_scores", " cases hold."),
        ("adam", "softmax", "mistake overflow"),
        ("adam", "dot_product_scores", " cases hold."),
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


def test_what_was_never_graded_is_told_so(explain):
    done = explain("ada", "causal_mask")
    assert done.exit_code == 1
    assert "ada has no verdict on causal_mask" in done.stderr
    assert explain("ada", "softmax", "--assignment", "0").exit_code == 2


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
    done = asked("ada", "softmax")
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
