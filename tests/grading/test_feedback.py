"""Pages for students: they say what the notebook said, and everybody can read them."""

import inspect
import itertools
import pkgutil
import re
import shutil
from datetime import datetime
from typing import Any

import pytest
from bs4 import BeautifulSoup
from nbgrader.api import Gradebook

from autograder.exercises import find
from autograder.grading.converting import ConversionFault
from autograder.grading.feedback import write_feedback
from autograder.grading.keeping import SaveRecord
from autograder.grading.marks import Fault, keep_fault
from autograder.grading.pages import time_said
from autograder.grading.records import path_of, read
from tests.grading.notebooks import (
    HARMLESS,
    ONE,
    RIGHT,
    WRONG_AXIS,
    cell_of,
    from_solutions,
    released,
    solved,
)

NOTES = r"""#### My notes on $x^2$

From \$5 to \$6, `$code$`, $\nosuchmacro$.

$$\frac{a}{b}$$
"""
SHOWS = r"""
import sys
from IPython.display import HTML, Image, Math, display
print("\x1b[31mred\x1b[0m turned\u202e round")
print("careful", file=sys.stderr)
display(HTML("<h1 id='summary'>Mine</h1><p onclick='x()'>$x_1$</p>"))
display(Math(r"\sqrt{y}"))
import matplotlib.pyplot as plt
plt.plot([1, 2])
plt.show()
1 / 0
"""
HEADINGS = re.compile("h[1-6]")


def added(kind: str, source: str) -> dict[str, Any]:
    extra = {"execution_count": None} if kind == "code" else {"outputs": None}
    cell = {**HARMLESS, "id": f"added-{kind}", "cell_type": kind, "source": source, **extra}
    return {key: value for key, value in cell.items() if value is not None or key != "outputs"}


def pages_of(school) -> dict[str, Any]:
    found = write_feedback(school.project, school.classroom, school.project.assignments())
    return {page.student: page for page in found}


def tree_of(page) -> Any:
    assert page.path, page.why
    return BeautifulSoup(page.path.read_text(encoding="utf-8"), "html.parser")


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def written(school):
    """Three students, one of whom has written and shown all kinds of things."""
    notebook = solved(softmax=WRONG_AXIS, self_attention=None)
    notebook["cells"].insert(3, added("markdown", NOTES))
    notebook["cells"].append(added("code", SHOWS))
    school.hand_in("ada", notebook)
    school.hand_in("bo", solved())
    school.hand_in("dee", b"")
    assert not [result.fault for result in school.grade().values() if result.fault]
    with Gradebook(school.classroom.db_url) as gradebook:
        gradebook.find_grade("check-softmax", "01-exercises", ONE, "ada").manual_score = 1.5
        comment = gradebook.find_comment("softmax", "01-exercises", ONE, "ada")
        comment.manual_comment = "Nearly: $\\sum_j w_j = 1$ in *each row*. <script>x()</script>"
        gradebook.db.commit()
    school.hand_in("zoe", solved())  # after everybody was graded
    school.hand_in("zoe", solved(), "01-one-haed", name="a")
    return pages_of(school), school


def test_what_is_said_is_what_the_record_says(written):
    pages, school = written
    text = words(tree_of(pages["ada"]).text)
    record = read(path_of(school.classroom.verdicts, "ada", ONE))
    assert record is not None
    wrong = [row for row in record.rows if row.outcome != "correct"]
    assert {row.mistake for row in wrong} >= {"over-first-axis"}
    for row in wrong:
        for sentence in row.message.splitlines():
            assert words(sentence.replace("`", "")) in text
        assert f"mistake: {row.mistake}" in text or not row.mistake
    assert "Smallest example. This case has" in text
    assert "weights, expected" in text


def test_the_summary_has_a_line_and_a_link_for_every_exercise(written):
    page = tree_of(written[0]["ada"])
    summary = page.find("section", attrs={"aria-labelledby": "summary"})
    rows = [words(row.text) for row in summary.find("tbody").find_all("tr")]
    assert [row.split()[0] for row in rows] == [
        "dot_product_scores",
        "softmax",
        "attention",
        "self_attention",
    ]
    assert "1 of 1 correct" in rows[0]
    assert "1.5 of 2 wrong values Mistake: over-first-axis These points were given by" in rows[1]
    assert "0 of 2 not attempted" in rows[3]
    assert "2.5 of 7 points" in words(summary.text)
    for link in page.find_all("a", href=re.compile("^#")):
        assert len(page.find_all(id=link["href"][1:])) == 1, link
    place = page.find(id="exercise-softmax")
    assert place.find("section", attrs={"aria-label": "Verdict on softmax"})
    comment = page.find(id="comment-softmax")
    assert comment.find("math")
    assert "x()" not in comment.text


def test_a_page_has_a_title_a_language_and_headings_in_order(written):
    for student in ("ada", "bo", "dee"):
        page = tree_of(written[0][student])
        assert page.html["lang"] == "en"
        assert page.h1.text == f"Feedback on {ONE}"
        assert page.title.text == f"Feedback on {ONE}: {student}"
        levels = [int(tag.name[1]) for tag in page.find_all(HEADINGS)]
        assert levels[:2] == [1, 2]
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
        assert not [image for image in page.find_all("img") if not image.get("alt")]


def test_a_page_runs_and_loads_nothing(written):
    for student in ("ada", "bo", "dee"):
        page = tree_of(written[0][student])
        (policy,) = page.find_all("meta", attrs={"http-equiv": "Content-Security-Policy"})
        assert policy["content"].startswith("default-src 'none'; img-src data:;")
        assert "script" not in policy["content"]
        assert not page.find_all(["script", "link", "iframe", "object", "base", "form"])
        assert not page.find_all(onclick=True)
        assert not re.search(r"@import|url\(|@font-face", page.style.text)


def test_formulas_are_rendered_and_the_rest_is_as_typed(written):
    page = tree_of(written[0]["ada"])
    formulas = [words(formula.text) for formula in page.find_all("math")]
    assert "x2" in formulas  # in the student's heading
    assert "ab" in formulas  # a fraction
    assert "x1" in formulas  # in HTML that the student's code showed
    assert "y" in formulas  # LaTeX that it showed
    assert any("weights" in formula for formula in formulas)  # in the exercise itself
    text = words(page.text)
    assert "From $5 to $6, $code$, $\\nosuchmacro$." in text
    for page in map(tree_of, (written[0]["bo"], written[0]["dee"])):
        for tag in page.find_all(["code", "pre"]):
            tag.decompose()
        assert "$" not in page.text


def test_what_the_code_printed_is_legible(written):
    page = tree_of(written[0]["ada"])
    shown = [words(tag.text) for tag in page.find_all(class_="shown")]
    assert "red turned\\u202e round" in shown
    assert "careful" in shown
    assert any("ZeroDivisionError" in each for each in shown)
    assert "\u202e" not in page.text
    assert "\x1b" not in page.text
    assert page.find("span", class_="ansi-red-fg").text == "red"


def test_no_solution_is_on_a_page(written):
    names = ("dot_product_scores", "softmax", "attention", "self_attention")
    hidden = [line for name in names for line in cell_of(from_solutions(ONE), name)["source"]]
    for name in names:
        hidden += inspect.getsource(pkgutil.resolve_name(find(name).reference)).splitlines()
    own = [line for cell in released()["cells"] for line in "".join(cell["source"]).split("\n")]
    own += "".join([*RIGHT.values(), WRONG_AXIS]).split("\n")
    secret = {line.strip() for line in hidden if "=" in line or "return" in line}
    secret -= {line.strip() for line in own}
    assert len(secret) >= 6
    for student in ("ada", "dee"):
        page = tree_of(written[0][student]).text
        assert not [line for line in secret if line in page]


def test_whoever_has_no_page_is_told_of(written):
    pages = write_feedback(written[1].project, written[1].classroom, [ONE])
    said = [page.why for page in pages if page.student == "zoe"]
    assert len(said) == 2
    assert "The folder bears no assignment's name; is it 01-one-head?" in said[0]
    assert said[1] == "not graded yet: run `autograder grade` first"
    text = words(tree_of(written[0]["dee"]).text)
    assert "This could not be graded. The file is empty." in text
    assert "0 of 7 points" in text


def test_what_could_not_be_read_is_told_in_one_sentence(written):
    page = tree_of(written[0]["dee"])
    assert not page("table")
    assert [heading.text for heading in page(HEADINGS)] == [f"Feedback on {ONE}", "Summary"]
    assert words(page.main.text) == (
        "Summary 0 of 7 points. This could not be graded. The file is empty. Hand in the notebook "
        "itself."
    )


def test_exercises_are_reached_by_heading(written):
    headings = [words(tag.text) for tag in tree_of(written[0]["ada"])("h3")]
    for name in ("dot_product_scores", "softmax", "attention", "self_attention"):
        at = headings.index(f"Your answer {name}")
        assert headings.index(f"Verdict on {name}") > at


def test_heads_of_tables_say_what_they_are_heads_of(written):
    heads = tree_of(written[0]["bo"])("th")
    assert {head["scope"] for head in heads} == {"row", "col"}


def test_times_are_the_same_on_every_page(written):
    record = read(path_of(written[1].classroom.verdicts, "ada", ONE))
    assert record is not None
    assert f"graded on {time_said(record.graded)}." in words(tree_of(written[0]["ada"]).text)


def test_doing_it_again_changes_nothing_but_what_has_changed(written):
    pages, school = written
    before = {
        s: (p.path.stat().st_mtime_ns, p.path.read_bytes()) for s, p in pages.items() if p.path
    }
    pages_of(school)
    after = {
        s: (p.path.stat().st_mtime_ns, p.path.read_bytes()) for s, p in pages.items() if p.path
    }
    assert after == before
    with Gradebook(school.classroom.db_url) as gradebook:
        gradebook.find_grade("check-softmax", "01-exercises", ONE, "bo").manual_score = 1
        gradebook.db.commit()
    pages_of(school)
    assert pages["ada"].path.stat().st_mtime_ns == before["ada"][0]
    assert "6 of 7 points" in words(tree_of(pages["bo"]).text)


def test_a_page_that_cannot_be_made_anew_stays_as_it_is(written, monkeypatch):
    pages, school = written
    before = pages["ada"].path.read_bytes()

    def fails(config, student, assignment, notebook):
        raise ConversionFault("No luck.")

    monkeypatch.setattr("autograder.grading.feedback.make_feedback", fails)
    again = pages_of(school)
    assert (again["ada"].path, again["ada"].why, again["ada"].fault) == (None, "No luck.", True)
    assert pages["ada"].path.read_bytes() == before
    left = [path.name for path in school.classroom.root.iterdir()]
    assert not [name for name in left if name.startswith(".feedback")]


def test_nbgraders_own_command_writes_the_same_page(tmp_path):
    from tests.grading.conftest import make_school

    school = make_school(tmp_path / "a course +50%")
    school.hand_in("ada", solved(softmax=WRONG_AXIS))
    school.grade()
    ours = pages_of(school)["ada"].path
    before = ours.read_bytes()
    shutil.rmtree(school.classroom.feedback)
    done = school.run("nbgrader", "generate_feedback", ONE)
    assert done.returncode == 0, done.stderr
    assert ours.read_bytes() == before


def test_the_command_says_where_the_pages_are(tmp_path):
    from tests.grading.conftest import make_school

    school = make_school(tmp_path / "a course")
    assert "nobody to write to" in school.run("autograder", "feedback").stdout
    school.hand_in("ada", solved())
    school.grade()
    done = school.run("autograder", "feedback", "1")
    assert done.returncode == 0, done.stderr
    page = school.classroom.feedback / "ada" / ONE / "01-exercises.html"
    assert done.stdout == f"ada  {ONE}  {page}\n"
    assert len(page.read_bytes()) < 100_000
    school.hand_in("ada", solved(softmax=WRONG_AXIS))
    again = school.run("autograder", "feedback", "1")
    assert again.returncode == 0, again.stderr
    assert again.stdout == (
        f"ada  {ONE}  {page}  (handed in again since it was graded: run `autograder grade`, and "
        "then `autograder feedback` again)\n"
    )


def test_feedback_says_why_something_was_not_graded(new_school, monkeypatch):
    def fails_late(self, nb, resources):
        raise OSError(28, "No space left on device")

    new_school.hand_in("ada", solved())
    with monkeypatch.context() as patch:
        patch.setattr(SaveRecord, "preprocess", fails_late)
        new_school.grade()
    (page,) = write_feedback(new_school.project, new_school.classroom, [ONE])
    assert page.path is None
    assert "No space left on device" in page.why
    new_school.grade()
    shutil.rmtree(new_school.classroom.feedback, ignore_errors=True)
    new_school.classroom.feedback.touch()  # a file in the place of the folder
    (page,) = write_feedback(new_school.project, new_school.classroom, [ONE])
    assert page.fault
    assert "Traceback" not in page.why
    assert "\n" not in page.why
    assert len(page.why) <= 300


def test_names_of_cells_lead_nowhere_else(written):
    """A student's HTML bears no names by which a link of ours could be caught."""
    page = tree_of(written[0]["ada"])
    assert len(page.find_all(id="summary")) == 1
    assert page.find(id="summary").text == "Summary"


def test_a_fault_beside_marks_from_before_is_told(new_school):
    new_school.hand_in("ada", solved())
    new_school.grade()
    fault = Fault("ada", ONE, "No space left on device", (("softmax", 2.0),))
    keep_fault(new_school.classroom.verdicts, fault)
    (page,) = write_feedback(new_school.project, new_school.classroom, [ONE])
    assert "7 of 7 points" in words(tree_of(page).text)
    assert page.fault
    assert page.why == (
        "not graded again: No space left on device. The page has the marks from before"
    )


def test_a_graded_notebook_that_is_missing_is_said_so(new_school):
    new_school.hand_in("ada", solved())
    new_school.grade()
    shutil.rmtree(new_school.classroom.autograded)
    (page,) = write_feedback(new_school.project, new_school.classroom, [ONE])
    assert (page.path, page.fault) == (None, True)
    assert page.why.startswith(
        "the graded notebook is missing in autograded/: run `autograder grad"
    )
    assert "--regrade" in page.why


def test_a_timestamp_that_was_added_is_not_another_submission(new_school):
    folder = new_school.hand_in("ada", solved())
    new_school.grade()
    (folder / "timestamp.txt").write_text("2026-01-01 12:00:00 UTC")
    (page,) = write_feedback(new_school.project, new_school.classroom, [ONE])
    assert page.path
    assert "hand-in time has changed" in page.why
    assert "handed in again" not in page.why


def test_a_late_penalty_is_on_the_page(new_school):
    with new_school.project.config.open("a") as config:
        config.write("\nc.LateSubmissionPlugin.penalty_method = 'zero'\n")
    folder = new_school.hand_in("ada", solved(softmax=WRONG_AXIS))
    (folder / "timestamp.txt").write_text("2026-01-03 12:00:00 UTC")
    new_school.grade()
    with Gradebook(new_school.classroom.db_url) as gradebook:
        gradebook.update_or_create_assignment(ONE, duedate=datetime(2026, 1, 1))
    new_school.grade(regrade=True)
    (page,) = write_feedback(new_school.project, new_school.classroom, [ONE])
    assert "0 of 7 points. A late penalty of 1 has been taken off." in words(tree_of(page).text)
