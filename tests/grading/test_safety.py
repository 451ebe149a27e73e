"""Faults lose nothing, and nothing of what students write runs or loads anything."""

import csv
import re
import sqlite3
from typing import Any

import pytest
from bs4 import BeautifulSoup
from nbgrader.api import Gradebook, MissingEntry

from autograder.grading.feedback import write_feedback
from autograder.grading.gradebook import UnusableGradebook, in_a_sentence
from autograder.grading.keeping import SaveRecord
from autograder.grading.marks import Fault, keep_fault
from autograder.grading.outputs import as_markdown, clean_html, clean_markdown, clean_outputs
from autograder.grading.records import path_of
from autograder.grading.submission_exporting import SubmissionExporter
from tests.grading.conftest import make_school
from tests.grading.harmless import HOSTILE, assert_harmless
from tests.grading.notebooks import HARMLESS, ONE, WRONG_AXIS, cell_of, solved, with_code

PIXEL = "data:image/png;base64,iVBORw0KGgo="


def marks(school) -> dict[tuple[str, str], dict[str, str]]:
    """The rows of marks.csv by student and exercise."""
    with school.classroom.marks.open(encoding="utf-8", newline="") as file:
        return {(row["student"], row["exercise"]): row for row in csv.DictReader(file)}


def in_gradebook(school, student: str) -> dict[str, tuple] | None:
    """What the gradebook has of a student's submission, or None."""
    with Gradebook(school.classroom.db_url) as gradebook:
        try:
            submission = gradebook.find_submission(ONE, student)
        except MissingEntry:
            return None
        return {
            grade.name: (grade.auto_score, grade.manual_score, grade.needs_manual_grade)
            for notebook in submission.notebooks
            for grade in notebook.grades
        } | {"at": (submission.timestamp,)}


def fails_late(self, nb, resources):
    """In the place of the last step: after nbgrader has stored the marks."""
    raise OSError(28, "No space left on device")


def fails_early(self, filename, resources=None, **more):
    """In the place of reading: right after nbgrader has made an empty submission."""
    raise RuntimeError("out of\nluck")


FAILING = [
    (SaveRecord, "preprocess", fails_late, "No space left on device"),
    (SubmissionExporter, "from_filename", fails_early, "RuntimeError: out of"),
]


@pytest.mark.parametrize(("where", "name", "fails", "words"), FAILING)
def test_a_first_submission_that_faults_leaves_no_marks(
    new_school, monkeypatch, where, name, fails, words
):
    new_school.hand_in("ada", solved())
    with monkeypatch.context() as patch:
        patch.setattr(where, name, fails)
        (result,) = new_school.grade().values()
    assert words in result.fault
    assert in_gradebook(new_school, "ada") is None
    row = marks(new_school)["ada", "softmax"]
    assert (row["points"], row["outcome"]) == ("", "")
    assert not (new_school.classroom.autograded / "ada").exists()
    assert not new_school.grade()["ada"].fault
    assert (in_gradebook(new_school, "ada") or {})["check-softmax"] == (2, None, False)


def test_a_submission_that_was_graded_before_keeps_all_it_had(new_school, monkeypatch):
    folder = new_school.hand_in("ada", solved(softmax=WRONG_AXIS))
    (folder / "timestamp.txt").write_text("2025-01-01 10:00:00 UTC")
    new_school.grade()
    with Gradebook(new_school.classroom.db_url) as gradebook:
        gradebook.find_grade("check-softmax", "01-exercises", ONE, "ada").manual_score = 1.5
        gradebook.db.commit()
    graded = new_school.classroom.autograded / "ada" / ONE / "01-exercises.ipynb"
    record = path_of(new_school.classroom.verdicts, "ada", ONE)
    before = in_gradebook(new_school, "ada"), graded.read_bytes(), record.read_bytes()
    new_school.hand_in("ada", solved(softmax=None))
    (folder / "timestamp.txt").write_text("2025-01-02 10:00:00 UTC")
    for where, name, fails, words in FAILING:
        with monkeypatch.context() as patch:
            patch.setattr(where, name, fails)
            (result,) = new_school.grade().values()
        assert words in result.fault
        after = in_gradebook(new_school, "ada"), graded.read_bytes(), record.read_bytes()
        assert after == before
        row = marks(new_school)["ada", "softmax"]
        assert row["points"] == "1.5"
        assert row["note"].startswith(f"not graded again: {result.fault.rstrip('.')}; these are")
        assert marks(new_school)["ada", "dot_product_scores"]["points"] == "1"
        assert not (new_school.classroom.root / ".before").exists()
    assert new_school.grade()["ada"].fresh
    assert (in_gradebook(new_school, "ada") or {})["check-softmax"][:2] == (0, 1.5)
    assert "not graded again" not in new_school.classroom.marks.read_text()


def test_nbgraders_own_command_leaves_no_zero_after_a_fault(tmp_path):
    school = make_school(tmp_path / "a course")
    school.hand_in("ada", solved())
    school.classroom.verdicts.mkdir(parents=True)
    (school.classroom.verdicts / "ada").touch()  # in the place of the folder for her record
    assert school.run("nbgrader", "autograde", ONE).returncode == 1
    assert in_gradebook(school, "ada") is None
    (school.classroom.verdicts / "ada").unlink()
    keep_fault(school.classroom.verdicts, Fault("ada", ONE, "no luck", (("softmax", 2),)))
    done = school.run("nbgrader", "autograde", ONE)
    assert done.returncode == 0, done.stderr
    assert marks(school)["ada", "softmax"]["note"] == ""


def test_what_faulted_is_graded_again_also_when_it_has_not_changed(new_school, monkeypatch):
    new_school.hand_in("ada", solved())
    new_school.grade()
    with monkeypatch.context() as patch:
        patch.setattr(SaveRecord, "preprocess", fails_late)
        assert new_school.grade(regrade=True)["ada"].fault
    assert new_school.grade()["ada"].fresh
    assert not new_school.grade()["ada"].fresh


def test_a_reason_is_one_sentence_and_the_rest_is_in_a_file(new_school, monkeypatch):
    def talks(self, nb, resources):
        raise KeyError("much " * 200)

    new_school.hand_in("ada", solved())
    new_school.grade()
    monkeypatch.setattr(SaveRecord, "preprocess", talks)
    (result,) = new_school.grade(regrade=True).values()
    assert len(result.fault) <= 300
    assert result.fault.startswith("KeyError: 'much")
    for bad in ("Traceback", "\n", "Removing", "There was an error"):
        assert bad not in result.fault
    named = re.search(r"\(more in (.+)\)", result.fault)
    assert named is not None
    log = named[1]
    assert "Traceback" in (new_school.classroom.root / log).read_text()
    (page,) = write_feedback(new_school.project, new_school.classroom, [ONE])
    assert result.fault in page.why


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("a\nb"), "ValueError: a"),
        (ValueError(), "ValueError"),
        (OSError(13, "Permission denied", "x"), "[Errno 13] Permission denied: 'x'"),
        (
            RuntimeError("It did not start: Traceback (most recent\n  File x\nKeyError: 'y'\n\nz"),
            "RuntimeError: It did not start: KeyError: 'y'",
        ),
    ],
)
def test_exceptions_in_a_sentence(error, words):
    assert in_a_sentence(error) == words


def no_database(path):
    path.write_bytes(b"this is no database" * 100)


def of_an_older_nbgrader(path):
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE assignment (id VARCHAR(32), name VARCHAR(128))")
    database.close()


@pytest.mark.parametrize("spoil", [no_database, of_an_older_nbgrader])
def test_a_gradebook_that_cannot_be_read_is_one_sentence(new_school, spoil):
    new_school.hand_in("ada", solved())
    spoil(new_school.classroom.gradebook)
    kept = new_school.classroom.gradebook.read_bytes()
    with pytest.raises(UnusableGradebook, match="Move the file away"):
        new_school.grade()
    with pytest.raises(UnusableGradebook, match="Move the file away"):
        write_feedback(new_school.project, new_school.classroom, [ONE])
    assert new_school.classroom.gradebook.read_bytes() == kept
    done = new_school.run("autograder", "grade")
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert "marks given by hand are in the old one" in done.stderr


def test_one_whose_record_cannot_be_written_keeps_nobody_from_their_marks(new_school):
    for student in ("ada", "bo", "cy"):
        new_school.hand_in(student, solved())
    new_school.classroom.verdicts.mkdir(parents=True)
    (new_school.classroom.verdicts / "bo").touch()  # in the place of the folder
    results = new_school.grade()
    assert [student for student, result in results.items() if result.fault] == ["bo"]
    table = marks(new_school)
    assert table["ada", "softmax"]["points"] == table["cy", "softmax"]["points"] == "2"
    assert table["bo", "softmax"]["points"] == ""
    assert table["bo", "softmax"]["note"].startswith("not graded:")
    assert in_gradebook(new_school, "bo") is None


def test_metadata_of_any_form_are_no_fault(new_school, rows_of):
    odd: Any
    for student, odd in (("ada", ["a"]), ("bo", {"a": 1}), ("cy", 5), ("dee", None)):
        notebook = solved()
        for cell in notebook["cells"]:
            cell["metadata"] = {"nbgrader": {"grade_id": odd}}
        new_school.hand_in(student, notebook)
    notebook = solved()
    for cell, odd in zip(notebook["cells"], [[], {}, 5, None, "x"] * 20, strict=False):
        cell["metadata"] = {"nbgrader": odd}
        cell["id"] = odd
    notebook["metadata"] = []
    new_school.hand_in("ed", notebook)
    for result in new_school.grade().values():
        assert rows_of(result)["softmax"].points == 2


def test_why_there_is_no_function_reads_well(new_school, rows_of):
    crash = "import ctypes\nctypes.string_at(0)"
    new_school.hand_in("ada", with_code(solved(), crash, before="softmax"))
    empty = solved()
    cell_of(empty, "softmax")["source"] = " \n"
    cell_of(empty, "attention")["source"] = "# to do\n"
    new_school.hand_in("bo", empty)
    results = new_school.grade()
    assert rows_of(results["ada"])["softmax"].note == (
        "softmax was not judged: the notebook stopped in an earlier cell, because the Python "
        "process crashed (segmentation fault)."
    )
    rows = rows_of(results["bo"])
    assert "its cell is empty" in rows["softmax"].note
    assert "only comments" in rows["attention"].note


@pytest.mark.parametrize("source", HOSTILE)
def test_nothing_that_a_student_writes_runs_or_loads(source):
    from nbconvert.filters import markdown2html

    twice = clean_markdown(clean_markdown(source))
    (output,) = clean_outputs(
        [{"output_type": "display_data", "data": {"text/markdown": source}, "metadata": {}}]
    )
    assert "text/markdown" not in output.data
    for page in (markdown2html(clean_markdown(source)), markdown2html(twice)):
        assert_harmless(page)
        assert "word" in BeautifulSoup(page, "html.parser").text
    for page in (clean_html(source), output.data["text/html"]):
        assert_harmless(page)
    assert_harmless(markdown2html(as_markdown(source)))


def test_what_is_harmless_stays():
    assert clean_markdown("# A $a<b$\n\n- *x*\n\n```python\nx < 1\n```") == (
        "# A $a<b$\n\n- *x*\n\n```python\nx < 1\n```"
    )
    shown = clean_markdown(f"![word]({PIXEL}) [l](https://e.example) $a<b$\n\n$$x\n\\\\y$$")
    assert f'src="{PIXEL}"' in shown
    assert '<a href="https://e.example" rel="noopener noreferrer">' in shown
    assert "$a&lt;b$" in shown
    assert "$$x&#10;\\\\y$$" in shown
    assert "[picture not shown: word]" in clean_markdown("![word](http://x.example)")


def test_code_in_cleaned_markdown_is_not_read_as_markdown_again():
    from nbconvert.filters import markdown2html

    source = "[l](https://e.example)\n\n```\n![p](http://x.example)\n\n<img src=q>\n```\n"
    page = markdown2html(clean_markdown(source))
    assert_harmless(page)
    code = BeautifulSoup(page, "html.parser").find("code")
    assert code is not None
    assert code.text.strip() == "![p](http://x.example)\n\n<img src=q>"


@pytest.fixture(scope="module")
def hostile(school):
    """The graded notebook and the feedback page of a student who tries it all."""
    notebook = solved()
    for number, source in enumerate(HOSTILE):
        for kind in ("markdown", "raw"):
            cell: Any = {
                "id": f"{kind}-{number}",
                "cell_type": kind,
                "metadata": {},
                "source": source,
            }
            notebook["cells"].insert(3, cell)
    lines = ["from IPython.display import HTML, Image, Markdown, display"]
    for source in HOSTILE:
        lines += [f"display(HTML({source!r}))", f"display(Markdown({source!r}))"]
    lines += ["display(Image(url='http://x.example/p.png', alt='far'))"]
    notebook["cells"].append({**HARMLESS, "execution_count": None, "source": "\n".join(lines)})
    school.hand_in("mallory", notebook)
    assert not school.grade()["mallory"].fault
    (page,) = write_feedback(school.project, school.classroom, [ONE])
    assert page.path, page.why
    graded = school.classroom.autograded / "mallory" / ONE / "01-exercises.ipynb"
    return graded, page.path.read_text(encoding="utf-8")


def test_a_feedback_page_loads_and_runs_nothing(hostile):
    head, _, body = hostile[1].partition("<body>")
    assert "default-src 'none'" in head
    assert not re.search(r"<script|<link|@import|url\((?!\s*[\"']?data:)", head)
    tree = BeautifulSoup(body, "html.parser")
    for tag in tree.find_all(style=True):  # those of our own cards
        assert not re.search(r"url|image|\\", str(tag["style"]))
        del tag["style"]
    assert_harmless(str(tree))
    assert "7 of 7 points" in body
    assert "Verdict on softmax" in body
    assert tree.find(id="exercise-softmax")


def test_the_formgrader_shows_nothing_that_loads_or_runs(hostile):
    import nbformat
    from nbconvert.filters import markdown2html

    notebook = nbformat.read(hostile[0], as_version=4)
    assert not [cell for cell in notebook.cells if cell.cell_type == "raw"]
    for cell in notebook.cells:
        locked = cell.metadata.get("nbgrader", {}).get("locked")
        if cell.cell_type == "markdown" and not locked:
            # Links that nobody changed are as the released notebook has them.
            page = markdown2html(cell.source).replace('class="anchor-link"', 'rel="noopener"')
            assert_harmless(page)
        for output in cell.get("outputs", []):
            if not locked:
                assert_harmless(output.get("data", {}).get("text/html", ""))
                assert "text/markdown" not in output.get("data", {})
