"""Every assignment from end to end: the solutions earn all marks, the released notebooks none."""

import pytest

from tests.grading.notebooks import NOTEBOOKS, from_solutions, released


@pytest.fixture(scope="module")
def graded(school):
    """The records of both notebooks of every assignment, by student and assignment."""
    records = {}
    for assignment in NOTEBOOKS:
        school.hand_in("ada", from_solutions(assignment), assignment)
        school.hand_in("bob", released(assignment), assignment)
        for student, result in school.grade(assignment).items():
            assert not result.fault
            records[student, assignment] = result.record
    return records


@pytest.mark.parametrize("assignment", NOTEBOOKS)
def test_the_solutions_earn_full_marks(graded, assignment):
    rows = graded["ada", assignment].rows
    assert [(row.exercise, row.points, row.outcome) for row in rows] == [
        (row.exercise, row.max_points, "correct") for row in rows
    ]


@pytest.mark.parametrize("assignment", NOTEBOOKS)
def test_the_released_notebook_is_not_attempted(graded, assignment):
    rows = graded["bob", assignment].rows
    assert {(row.points, row.outcome) for row in rows} == {(0, "not attempted")}
