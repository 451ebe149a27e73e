"""Classes for tests of the report: what grading leaves, made quickly."""

import json
import pkgutil
from datetime import datetime, timedelta
from typing import Any

from bs4 import BeautifulSoup
from nbgrader.api import Gradebook

from autograder import judge
from autograder.exercises import find
from autograder.expecting import mistakes_of
from autograder.grading.gradebook import fill
from autograder.grading.looking import who_needs_a_look
from autograder.grading.marking import mark
from autograder.grading.records import Record, Row, complete, write_pending
from autograder.grading.reporting import write_reports
from autograder.grading.submissions import read_submission
from autograder.grading.surveying import Survey, survey
from autograder.verdicts import Verdict
from tests.grading.conftest import School
from tests.grading.notebooks import FULL, ONE, label, solved

STUB = "stub"


def verdict_on(exercise: str, what: str) -> Verdict:
    """The verdict on the reference (""), on the stub, or on a declared mistake by its id."""
    if what == STUB:

        def stub(*_: Any) -> None:
            raise NotImplementedError

        return judge(exercise, stub)
    if not what:
        return judge(exercise, pkgutil.resolve_name(find(exercise).reference))
    known = {mistake.id: mistake for mistake in mistakes_of(find(exercise))}
    return judge(exercise, known[what].implementation)


def grade_as(school: School, student: str, **verdicts: str | Verdict) -> None:
    """Hand in, and leave what grading leaves of lesson 01: right, but for what is given."""
    school.hand_in(student, solved())
    rows = []
    for exercise, points in FULL.items():
        given = verdicts.get(exercise, "")
        verdict = given if isinstance(given, Verdict) else verdict_on(exercise, given)
        rows.append(Row.of(mark(verdict, points)))
    submission = read_submission(school.project, school.classroom, student, ONE).hash
    record = Record(student, ONE, "01-exercises", submission, "", 1, "", tuple(rows))
    write_pending(school.classroom.verdicts, record)
    complete(school.classroom.verdicts, student, ONE)


def surveyed(school: School, assignment: str = ONE) -> Survey:
    (found,) = survey(school.project, school.classroom, [assignment])
    return found


def page_of(school: School, assignment: str = ONE) -> Any:
    """The page as it is written, parsed."""
    (report,) = write_reports(school.project, school.classroom, [assignment])
    return BeautifulSoup(report.page.read_text(encoding="utf-8"), "html.parser")


def sentences(school: School, assignment: str = ONE) -> str:
    (report,) = write_reports(school.project, school.classroom, [assignment])
    return " ".join(report.sentences)


def looks(school: School) -> dict[str, dict[str, str]]:
    """By reason, the students and the remark on each; strays are under ""."""
    return {
        look.why: {member.id if member else "": remark for member, remark in look.about}
        for look in who_needs_a_look(surveyed(school))
    }


def fill_gradebook(school: School, points: dict[str, dict[str, float]], **more: float) -> None:
    """What grading leaves in nbgrader's gradebook. more: late penalties by student."""
    classroom = school.classroom
    fill(school.project.solutions / ONE, ONE, classroom.db_url, classroom.stamps)
    with Gradebook(classroom.db_url) as gradebook:
        gradebook.update_or_create_assignment(ONE, duedate=datetime(2026, 1, 1))
        for student, scores in points.items():
            gradebook.update_or_create_student(student)
            handed_in = datetime(2026, 1, 1) + timedelta(days=1 if student in more else -1)
            submission = gradebook.update_or_create_submission(ONE, student, timestamp=handed_in)
            (notebook,) = submission.notebooks
            notebook.late_submission_penalty = more.get(student, 0)
            for row in notebook.grades:
                row.auto_score = scores.get(row.name.removeprefix("check-"), 0)
                row.needs_manual_grade = False
        gradebook.db.commit()


def remove_exercise(school: School, exercise: str) -> None:
    """Take the cells of an exercise of lesson 01 out of solutions/."""
    (path,) = (school.project.solutions / ONE).glob("*.ipynb")
    notebook = json.loads(path.read_text(encoding="utf-8"))
    gone = (exercise, f"check-{exercise}")
    notebook["cells"] = [cell for cell in notebook["cells"] if label(cell) not in gone]
    path.write_text(json.dumps(notebook), encoding="utf-8")
