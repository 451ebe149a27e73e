"""Nbgrader's scores, and whether what was handed in is still what they were given for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from nbgrader.api import MissingEntry

from autograder.grading.gradebook import opened
from autograder.grading.places import Classroom, Project
from autograder.grading.records import Record
from autograder.grading.submissions import hash_of, read_submission

# What has become of a submission since it was graded.
Change = Literal["", "another submission", "timestamp", "gone"]

# As nbgrader and `collect` write a time of handing in, and as people do.
WRITTEN = ("%Y-%m-%d %H:%M:%S.%f UTC", "%Y-%m-%d %H:%M:%S UTC", "%Y-%m-%d %H:%M:%S")


@dataclass(frozen=True)
class Score:
    """What nbgrader's gradebook has of a submission.

    points: marks given by hand are in them, a penalty is not. penalty: what is taken off for
    being late. late: whether it came after the deadline. waiting: whether nbgrader waits for
    marks by hand. time: when it was handed in, in UTC, as far as that was known when it was graded.
    """

    points: float
    penalty: float = 0.0
    late: bool = False
    waiting: bool = False
    time: datetime | None = None

    @property
    def final(self) -> float:
        """The points that count, with the penalty taken off: never below 0."""
        return max(0.0, self.points - self.penalty)


def scores_of(classroom: Classroom, assignments: Sequence[str]) -> dict[tuple[str, str], Score]:
    """The scores of these assignments, by student (as the folder is called) and assignment.

    There are none without a gradebook. What was begun and never finished has a score too: only
    with a record does it count. Raises UnusableGradebook, and OSError.
    """
    if not classroom.gradebook.is_file():
        return {}
    with opened(classroom.db_url) as gradebook:
        return {
            (submission.student_id, assignment): Score(
                float(submission.score),
                float(submission.late_submission_penalty),
                submission.total_seconds_late > 0 or submission.late_submission_penalty > 0,
                bool(submission.needs_manual_grade),
                submission.timestamp,
            )
            for assignment in {each.name for each in gradebook.assignments} & {*assignments}
            for submission in gradebook.assignment_submissions(assignment)
        }


def penalty_of(classroom: Classroom, student: str, assignment: str) -> float:
    """The points that nbgrader takes off a submission for being late.

    Raises UnusableGradebook.
    """
    if not classroom.gradebook.is_file():
        return 0.0
    with opened(classroom.db_url) as gradebook:
        try:
            submission = gradebook.find_submission(assignment, student)
        except MissingEntry:
            return 0.0
        return float(submission.late_submission_penalty)


def change_since(
    project: Project, classroom: Classroom, record: Record, score: Score | None = None
) -> Change:
    """What has become of a submission since it was graded as a record says; "" for nothing.

    score: tells what the timestamp was. Without it, one that was changed or removed is taken for
    another submission, and only one that was added is seen to be that.
    A submission that is there and cannot be read just now counts as unchanged: `grade` says so.
    """
    try:
        now = read_submission(project, classroom, record.student, record.assignment)
    except (FileNotFoundError, NotADirectoryError):
        return "gone"
    except OSError:
        return ""
    if now.hash == record.submission:
        return ""
    for timestamp in _earlier_timestamps(score):
        if hash_of(now.data, now.problem, timestamp) == record.submission:
            return "timestamp"
    return "another submission"


def _earlier_timestamps(score: Score | None) -> Iterator[str]:
    """What timestamp.txt may have held when it was graded."""
    yield ""
    if score is not None and score.time is not None:
        yield from (score.time.strftime(form) for form in WRITTEN)
