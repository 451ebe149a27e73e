"""What nbgrader's gradebook has after grading: the same as by nbgrader's own steps."""

import csv
import sys

import nbgrader
import nbgrader.api
from nbgrader.api import Gradebook

from autograder.grading.engines import shared_engine
from tests.grading.conftest import School
from tests.grading.notebooks import ONE, OVERFLOWING, solved

PENALTIES = """
c.LateSubmissionPlugin.penalty_method = "zero"
"""


def stored(school: School) -> dict[tuple[str, str], tuple[object, ...]]:
    """By student and cell, what the gradebook has of it."""
    rows: dict[tuple[str, str], tuple[object, ...]] = {}
    with Gradebook(school.classroom.db_url) as gradebook:
        for submission in gradebook.assignment_submissions(ONE):
            for notebook in submission.notebooks:
                for grade in notebook.grades:
                    found = grade.auto_score, grade.manual_score, grade.needs_manual_grade
                    rows[submission.student_id, grade.name] = found
                for comment in notebook.comments:
                    rows[submission.student_id, f"{comment.name}: comment"] = (comment.comment,)
    return rows


def test_one_commit_stores_what_nbgraders_own_step_stores(new_school):
    new_school.hand_in("ada", solved())
    new_school.hand_in("bo", solved(softmax=OVERFLOWING, self_attention=None))
    new_school.grade(ONE)
    ours = stored(new_school)
    assert ours["bo", "self_attention: comment"] == ("No response.",)
    with new_school.project.config.open("a") as config:
        config.write(
            "\nc.Autograde.autograde_preprocessors = [\n"
            '    "nbgrader.preprocessors.SaveAutoGrades" if "SaveGrades" in step else step\n'
            "    for step in c.Autograde.autograde_preprocessors\n]\n"
        )
    with Gradebook(new_school.classroom.db_url) as gradebook:
        gradebook.remove_submission(ONE, "ada")
        gradebook.remove_submission(ONE, "bo")
    new_school.grade(ONE, regrade=True)
    assert stored(new_school) == ours


def test_late_penalties_are_nbgraders(new_school):
    with new_school.project.config.open("a") as config:
        config.write(PENALTIES)
    for student, day in (("ada", "30"), ("bo", "31")):
        folder = new_school.hand_in(student, solved())
        (folder / "timestamp.txt").write_text(f"2026-01-{day} 13:00:00 UTC")
    new_school.grade(ONE)
    with Gradebook(new_school.classroom.db_url) as gradebook:
        gradebook.update_or_create_assignment(ONE, duedate="2026-01-31 12:00:00 UTC")
    new_school.grade(ONE, regrade=True)
    with Gradebook(new_school.classroom.db_url) as gradebook:
        final = {
            each.student_id: each.score
            - sum(n.late_submission_penalty or 0 for n in each.notebooks)
            for each in gradebook.assignment_submissions(ONE)
        }
    assert final == {"ada": 7, "bo": 0}
    with new_school.classroom.marks.open(encoding="utf-8") as file:
        judged = {(row["student"], row["points"]) for row in csv.DictReader(file)}
    assert judged == {("ada", "1"), ("ada", "2"), ("bo", "1"), ("bo", "2")}


def test_one_engine_serves_every_opening_and_goes_with_the_block(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path}/gradebook.db"
    original = nbgrader.api.create_engine
    with shared_engine():
        engines = set()
        for _ in range(3):
            with Gradebook(url) as gradebook:
                engines.add(gradebook.engine)
                assert gradebook.assignments == []
        assert len(engines) == 1
    assert nbgrader.api.create_engine is original
    with Gradebook(url) as gradebook:
        assert gradebook.engine not in engines
    monkeypatch.setattr(nbgrader, "__version__", "1.0.0")
    with shared_engine():
        assert nbgrader.api.create_engine is original


def test_a_penalty_of_ones_own_lies_beside_the_settings(new_school, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    root = new_school.project.root
    (root / "hourly_penalty.py").write_text(
        "from nbgrader.plugins import BasePlugin\n\n\nclass Hourly(BasePlugin):\n"
        "    def late_submission_penalty(self, student_id, score, total_seconds_late):\n"
        "        return total_seconds_late / 3600\n"
    )
    with new_school.project.config.open("a") as config:
        config.write("\nc.AssignLatePenalties.plugin_class = 'hourly_penalty.Hourly'\n")
    folder = new_school.hand_in("ada", solved())
    (folder / "timestamp.txt").write_text("2026-01-31 14:00:00 UTC")
    new_school.grade(ONE)
    with Gradebook(new_school.classroom.db_url) as gradebook:
        gradebook.update_or_create_assignment(ONE, duedate="2026-01-31 12:00:00 UTC")
    new_school.grade(ONE, regrade=True)
    with Gradebook(new_school.classroom.db_url) as gradebook:
        assert gradebook.find_submission(ONE, "ada").late_submission_penalty == 2
