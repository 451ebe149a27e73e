"""The class report counts and says what is the case."""

import csv
import io
import re
import shutil

import pytest
from bs4 import BeautifulSoup
from nbgrader.api import Gradebook

from autograder import judge
from autograder.exercises import find
from autograder.expecting import mistakes_of
from autograder.grading.marks import Fault, keep_fault
from autograder.grading.reporting import BOM, COLUMNS, write_reports
from autograder.grading.surveying import survey
from autograder.grading.talking import talking_points
from autograder.grading.tallying import tally_exercises, tally_mistakes
from tests.grading.notebooks import FOUR, FULL, ONE, OVERFLOWING, WRONG_AXIS, solved
from tests.grading.reported import (
    STUB,
    fill_gradebook,
    grade_as,
    looks,
    page_of,
    remove_exercise,
    sentences,
    surveyed,
)

LIBRARY = """
import torch
def softmax(scores):
    return torch.softmax(torch.tensor(scores), -1).numpy()
"""


def test_what_really_happens_in_grading_is_recognised(school):
    """The survey reads reasons off the words of grading: here are those words."""
    with school.project.config.open("a") as config:
        config.write("\nc.Judge.cell_timeout = 5\n")
    school.hand_in("ada", solved())
    school.hand_in("conflict", b'{"cells": [\n<<<<<<< HEAD\n=======\n>>>>>>> theirs\n')
    school.hand_in("empty", b"")
    school.hand_in("cell", solved(attention="while True: pass"))
    school.hand_in("loop", solved(attention="def attention(q, k, v):\n    while True: pass"))
    school.hand_in("follows", solved(softmax="def softmax(scores):\n    while True: pass"))
    school.hand_in("dies", solved(attention="import os; os._exit(0)"))
    school.hand_in("stubs", solved(**dict.fromkeys(FOUR)))
    school.hand_in("library", solved(softmax=LIBRARY))
    school.hand_in("axis", solved(softmax=WRONG_AXIS))
    school.hand_in("syntax", solved(softmax="def softmax(scores)\n    return 1"))
    school.grade(ONE)
    found = looks(school)
    assert set(found["Could not be read"]) == {"conflict", "empty"}
    assert "merge-conflict" in found["Could not be read"]["conflict"]
    assert found["Nothing attempted"] == {"stubs": ""}
    slow = found["Stopped because it took too long"]
    assert slow["cell"].startswith("attention: it ran for more than 5 seconds")
    assert slow["loop"].startswith("attention: it ran for more than 5 seconds")
    assert slow["follows"].startswith("softmax: it ran for more than 5 seconds")
    assert set(slow) == {"cell", "loop", "follows"}
    assert set(found["Ended before its time (crash, memory, exit)"]) == {"dies"}
    assert found["Called what is not allowed"] == {"library": "softmax"}
    axis = next(m for m in surveyed(school).members if m.id == "axis")
    assert {row.exercise: row.follows for row in axis.rows} == {
        "dot_product_scores": "",
        "softmax": "",
        "attention": "softmax",
        "self_attention": "attention",
    }
    follows = next(m for m in surveyed(school).members if m.id == "follows")
    assert [row.follows for row in follows.rows] == ["", "", "softmax", "attention"]
    told = follows.rows[2].told
    assert "attention was not judged: it ran for more than 5 seconds and was stopped." in told
    assert "Mend softmax first: attention calls it, and it is not right yet." in told
    assert follows.rows[2].note.endswith("It calls softmax, which is not right yet.")
    dies = next(m for m in surveyed(school).members if m.id == "dies")
    assert [row.reached for row in dies.rows] == [True, True, True, False]
    assert [row.follows for row in dies.rows] == [""] * 4
    mistakes = {(m.exercise, m.id): m for m in tally_mistakes(surveyed(school))}
    assert [m.id for m in mistakes["softmax", "over-first-axis"].members] == ["axis"]
    assert not [m for (name, _), m in mistakes.items() if name == "self_attention"]
    with school.classroom.marks.open(encoding="utf-8", newline="") as file:
        marks = list(csv.DictReader(file))
    for member in surveyed(school).members:
        ours = {row.exercise: f"{row.points:g}" for row in member.rows}
        assert ours == {r["exercise"]: r["points"] for r in marks if r["student"] == member.id}


def test_sentences_say_what_matters(new_school):
    for student in ("ada", "bo"):
        grade_as(new_school, student)
    for student in ("cy", "di", "eve"):
        grade_as(new_school, student, softmax="overflow")
    grade_as(new_school, "finn", attention="keys-mixed")
    new_school.hand_in("gus", solved())
    keep_fault(new_school.classroom.verdicts, Fault("hana", ONE, "No room.", (("softmax", 2.0),)))
    new_school.hand_in("hana", solved())
    new_school.classroom.roster.write_text("id\nada\nbo\ncy\ndi\neve\nfinn\ngus\nhana\nivo\n")
    assert sentences(new_school) == (
        "8 of the 9 in the class handed in; 6 are graded, 1 could not be graded, 1 is not graded "
        "yet. 2 of 6 (33 %) have everything right. The hardest exercise was softmax: 3 of 6 do not "
        "have it right yet. The most common mistake (3 students) is in softmax: exp() of a large "
        "score is infinite, and infinity divided by infinity is NaN. 3 students need a look: not "
        "graded for a fault of the machine or of ours (1); handed in and not graded yet (1); not "
        "handed in (1)."
    )
    assert looks(new_school)["Not graded for a fault of the machine or of ours"] == {
        "hana": "No room."
    }


def test_counts_are_right_in_the_page_and_in_the_table(new_school):
    grade_as(new_school, "ada")
    grade_as(new_school, "bo", softmax="overflow", attention=STUB)
    grade_as(new_school, "cy", softmax="overflow")
    grade_as(new_school, "di", softmax="over-queries")
    page = page_of(new_school)
    rows = {
        row.th.get_text(strip=True): [cell.get_text(" ", strip=True) for cell in row("td")]
        for row in page.find("table").tbody("tr")
    }
    heads = [head.get_text(strip=True) for head in page.find("table").thead("th")]
    assert heads == ["Exercise", "Bar", "Correct", "Not attempted", "Wrong values", "Mean points"]
    assert rows["softmax"][1:] == ["1 25 %", "0", "3 75 %", "0.5 of 2"]
    assert rows["attention"][1:] == ["3 75 %", "1 25 %", "0", "1.5 of 2"]
    bar = page.find("svg", {"aria-label": re.compile("^softmax: ")})
    assert bar["aria-label"] == "softmax: 1 of 4 right, 3 not right, 0 not attempted"
    assert [(part["class"], part["width"]) for part in bar("rect")][:2] == [
        (["right"], "25.0"),
        (["wrong"], "75.0"),
    ]
    path = new_school.classroom.root / "reports" / f"{ONE}.csv"
    text = path.read_text(encoding="utf-8")
    assert text.startswith(BOM)
    table = list(csv.DictReader(io.StringIO(text.removeprefix(BOM))))
    assert tuple(table[0]) == COLUMNS
    assert [
        (row["outcome"], row["mistake"], row["students"], row["graded"], row["share_percent"])
        for row in table
        if row["exercise"] == "softmax"
    ] == [
        ("correct", "", "1", "4", "25.0"),
        ("wrong values", "overflow", "2", "4", "50.0"),
        ("wrong values", "over-queries", "1", "4", "25.0"),
    ]


def test_a_mistake_comes_with_its_words_its_makers_and_what_to_say(new_school):
    for student in ("ada", "bo"):
        grade_as(new_school, student, softmax="overflow")
    grade_as(new_school, "cy", softmax="over-queries")
    for student in ("di", "eve", "finn"):
        grade_as(new_school, student, attention="keys-mixed")
    first, item = page_of(new_school).find("ol", "mistakes").find_all("li", recursive=False)
    assert first.get_text(" ", strip=True).startswith("3 students in attention :")
    text = " ".join(item.get_text(" ", strip=True).split())
    assert text.startswith("2 students in softmax : exp() of a large score is infinite")
    assert "Try: subtract each row's largest score before exp()" in text
    lesson = "lesson 01 One head: attention is a weighted average, course/01-one-head.ipynb"
    assert f"({lesson} )" in text
    assert find("softmax").hints[1] in text  # the hint that speaks of it
    assert "contains NaN" in text
    who = item.find("details", "who")
    assert who.get_text(" ", strip=True) == "Who (2) ada ; bo"
    example = item.find("section")
    assert "Smallest example." in example.get_text()
    assert example.find("table")


@pytest.mark.parametrize("exercise", ["weighted_average", "attention", "causal_mask"])
def test_there_is_something_to_say_about_every_mistake(exercise):
    for id in {mistake.id for mistake in mistakes_of(find(exercise))}:
        said = talking_points(exercise, id)
        assert said.question in find(exercise).hints
        assert said.finding, id
        assert "In line" not in said.example


def test_what_has_no_declaration_is_named_all_the_same(new_school):
    grade_as(new_school, "ada", softmax=judge("softmax", lambda scores: None))
    grade_as(new_school, "bo", softmax=judge("softmax", lambda scores: scores * 0 + 0.123))
    page = page_of(new_school)
    item = page.find("ol", "mistakes").get_text(" ", strip=True)
    assert "softmax returned None" in item
    assert "end the function with a return line" in item
    last = tally_mistakes(surveyed(new_school))[-1]
    assert (last.id, [member.id for member in last.members]) == ("", ["bo"])
    assert "no known mistake explains it" in page.get_text()


def test_a_message_cannot_claim_that_something_else_comes_first(new_school):
    def attention(q, k, v):
        raise RuntimeError("x\nMend softmax first: attention calls it")

    grade_as(new_school, "ada", attention=judge("attention", attention))
    (row,) = [row for row in surveyed(new_school).members[0].rows if not row.correct]
    assert row.follows == ""
    assert sum(tally.follows for tally in tally_exercises(surveyed(new_school))) == 0


def test_marks_by_hand_and_late_penalties_are_respected(new_school):
    grade_as(new_school, "ada")
    grade_as(new_school, "bo", softmax="overflow")
    fill_gradebook(new_school, {"ada": dict(FULL), "bo": {**FULL, "softmax": 0}}, ada=1.5)
    with Gradebook(new_school.classroom.db_url) as gradebook:
        grade = gradebook.find_grade("check-softmax", "01-exercises", ONE, "bo")
        grade.manual_score = 1.25
        other = gradebook.find_grade("check-attention", "01-exercises", ONE, "bo")
        other.needs_manual_grade = True
        gradebook.db.commit()
    ada, bo = surveyed(new_school).members
    assert (ada.points, ada.final, ada.late) == (7, 5.5, True)
    assert (bo.points, bo.final, bo.late) == (6.25, 6.25, False)
    assert "1 came late" in sentences(new_school)
    assert looks(new_school)["Waits for marks by hand"] == {"bo": ""}
    table = page_of(new_school)("table")[-1]
    cells = [[cell.get_text(" ", strip=True) for cell in row("td")] for row in table.tbody("tr")]
    assert cells[0][:2] == ["7", "5.5"]
    assert cells[1] == ["6.25", "6.25", "softmax : wrong values (overflow), 1.25 by hand"]


def test_who_needs_a_look(new_school):
    grade_as(new_school, "ada")
    grade_as(new_school, "bo", softmax="overflow", dot_product_scores="keys-reshaped")
    grade_as(
        new_school,
        "cy",
        softmax="overflow",
        dot_product_scores="keys-reshaped",
        attention="keys-mixed",
        self_attention=STUB,
    )
    grade_as(new_school, "again")
    new_school.hand_in("again", solved(softmax=OVERFLOWING))
    new_school.hand_in("stranger", solved())
    new_school.hand_in("ada", solved(), "Assignment 1", name="any")
    new_school.classroom.roster.write_text("id,name\nAda,\nbo,\ncy,\nagain,\nnobody,No Body\n")
    assert looks(new_school) == {
        "Lies where nobody grades it": {
            "": "ada/Assignment 1: The folder bears no assignment's name. Rename it."
        },
        "Handed in and not graded yet": {"stranger": ""},
        "Handed in again since it was graded": {"again": ""},
        "Not handed in": {"nobody": ""},
        "Struck by several mistakes": {"cy": "3 mistakes"},
        "Not in the roster": {"stranger": ""},
    }


def test_strangers_are_no_part_of_the_class(new_school):
    for student in ("ada", "stranger"):
        grade_as(new_school, student)
    new_school.classroom.roster.write_text("id\nada\nbo\n")
    said = "1 of the 2 in the class, and 1 who is not in the roster, handed in; all of them are"
    assert sentences(new_school).startswith(said)
    write_reports(new_school.project, new_school.classroom, [ONE], overview=True)
    overview = (new_school.classroom.reports / "index.html").read_text("utf-8")
    text = BeautifulSoup(overview, "html.parser").get_text(" ", strip=True)
    assert "1 of 2 and 1 not in the roster" in text


def test_the_hardest_exercise_is_none_that_nobody_could_read_or_reach(new_school):
    grade_as(new_school, "ada")
    for student in ("bo", "cy"):
        new_school.hand_in(student, b"")
    new_school.hand_in("di", solved(softmax="import os; os._exit(0)"))
    new_school.grade(ONE)
    assert {tally.name: tally.own for tally in tally_exercises(surveyed(new_school))} == {
        "dot_product_scores": 0,
        "softmax": 1,
        "attention": 0,
        "self_attention": 0,
    }
    said = "softmax: 1 of 4 does not have it right yet (not counting hand-ins that could not be"
    assert said in sentences(new_school)


def test_an_exercise_that_solutions_have_no_more_comes_last(new_school):
    grade_as(new_school, "ada", softmax="overflow", attention="keys-mixed")
    remove_exercise(new_school, "softmax")
    assert [mistake.exercise for mistake in tally_mistakes(surveyed(new_school))] == [
        "attention",
        "softmax",
    ]
    assert "The hardest exercise was attention" in sentences(new_school)
    assert "softmax" in page_of(new_school).find("ol", "mistakes").get_text()


def test_what_has_become_of_a_hand_in_since_it_was_graded_is_told_apart(new_school):
    for student in ("again", "late", "gone", "same"):
        grade_as(new_school, student)
    new_school.hand_in("again", solved(softmax=OVERFLOWING))
    folder = new_school.classroom.submitted
    (folder / "late" / ONE / "timestamp.txt").write_text("2026-01-01 12:00:00 UTC\n")
    shutil.rmtree(folder / "gone")
    assert looks(new_school) == {
        "Handed in again since it was graded": {"again": ""},
        "Another hand-in time than when it was graded (only timestamp.txt has changed)": {
            "late": ""
        },
        "Graded, and not in submitted/ any more": {"gone": ""},
    }


def test_records_are_read_once_for_all_assignments(new_school, monkeypatch):
    grade_as(new_school, "ada")
    times = []

    def counted(verdicts):
        times.append(verdicts)
        return iter(())

    monkeypatch.setattr("autograder.grading.surveying.read_all", counted)
    survey(new_school.project, new_school.classroom, new_school.project.assignments())
    assert len(times) == 1


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (1, "1 file or folder needs a look: it lies where nobody grades it."),
        (2, "2 files or folders need a look: they lie where nobody grades them."),
    ],
)
def test_what_lies_in_the_wrong_place_is_a_sentence(new_school, number, said):
    grade_as(new_school, "ada")
    for at in range(number):
        (new_school.classroom.submitted / f"{at}.ipynb").write_text("{}")
    assert sentences(new_school).endswith(said)
