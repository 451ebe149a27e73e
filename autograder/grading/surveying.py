"""What there is to know of a class and one assignment: who handed in, and what became of it.

Points follow the same rules as `marks.csv`: those of the record, and where somebody set a score by
hand, that score. Scores and penalties of the whole assignment are nbgrader's.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nbgrader.api import MissingEntry

from autograder import exercises
from autograder.exercises import UnknownExercise
from autograder.grading.gradebook import check_gradebook, opened, set_by_hand
from autograder.grading.marks import read_faults
from autograder.grading.places import Classroom, Project
from autograder.grading.records import Record, Row, read_all
from autograder.grading.repairing import CHECK
from autograder.grading.roster import Roster, UnusableRoster, read_roster, same_name
from autograder.grading.submissions import Unmatched, folders, read_submission, unmatched

# What `marking` writes of an exercise that was never judged, and why.
NOT_THERE = "When its check was reached, the notebook had nothing named "
NOT_JUDGED = re.compile(
    rf"(?:\w+ was not judged: |{NOT_THERE}\w+: its cell did not finish, )(.*)", re.DOTALL
)
FOLLOWS = re.compile(r"^Mend (\w+) first: ", re.MULTILINE)


@dataclass(frozen=True)
class Found:
    """One exercise of one student.

    points: as in marks.csv. by_hand: whether somebody set them.
    follows: the earlier exercise that it calls and that is to be mended first, or "".
    stopped: why it was never judged ("it ran for more than 30 seconds and was stopped"), or "".
    told: what the student was told, the whole message.
    """

    exercise: str
    points: float
    max_points: float
    outcome: str
    mistake: str
    note: str
    told: str = ""
    by_hand: bool = False
    follows: str = ""
    stopped: str = ""

    @property
    def correct(self) -> bool:
        """Whether the function is right, whatever points it has."""
        return self.outcome == "correct"

    @property
    def tried(self) -> bool:
        """Whether there was anything to judge."""
        return self.outcome != "not attempted"


@dataclass(frozen=True)
class Member:
    """One student of the class.

    id: the name of the folder. name: as the roster has it, or "".
    rows: one for each exercise, () when nothing is graded.
    unreadable: why there was nothing that could be graded, in words for the student, or "".
    fault: why it was not graded, a fault of the machine, or "".
    stale: whether it was handed in again since it was graded.
    waiting: whether nbgrader waits for marks by hand. late: whether it came after the deadline.
    penalty: points taken off for that, by nbgrader. final: nbgrader's score with it, or None.
    feedback: the student's feedback page, or None.
    listed: whether the roster has the student; true for everybody when there is no roster.
    """

    id: str
    name: str = ""
    handed_in: bool = True
    rows: tuple[Found, ...] = ()
    unreadable: str = ""
    fault: str = ""
    stale: bool = False
    waiting: bool = False
    late: bool = False
    penalty: float = 0.0
    final: float | None = None
    feedback: Path | None = None
    listed: bool = True

    @property
    def graded(self) -> bool:
        """Whether there are marks."""
        return bool(self.rows)

    @property
    def points(self) -> float:
        """The sum of this student's rows in marks.csv, before any penalty."""
        return sum(row.points for row in self.rows)

    @property
    def all_correct(self) -> bool:
        """Whether every exercise is right."""
        return self.graded and all(row.correct for row in self.rows)


@dataclass(frozen=True)
class Survey:
    """A class and one assignment.

    exercises: their names, and the points that each is worth.
    strays: what lies where nobody would grade it, whatever assignment it belongs to.
    roster: whether there is one that can be read. note: what is wrong with it, or "".
    """

    assignment: str
    exercises: tuple[tuple[str, float], ...]
    members: tuple[Member, ...]
    strays: tuple[Unmatched, ...] = ()
    roster: bool = False
    note: str = ""

    @property
    def handed_in(self) -> list[Member]:
        """Whoever handed in something."""
        return [member for member in self.members if member.handed_in]

    @property
    def graded(self) -> list[Member]:
        """Whoever has marks."""
        return [member for member in self.members if member.graded]

    @property
    def max_points(self) -> float:
        """The points of the whole assignment."""
        return sum(points for _, points in self.exercises)


@dataclass(frozen=True)
class _Score:
    """What nbgrader's gradebook has of a submission."""

    final: float
    penalty: float
    late: bool
    waiting: bool


def survey(project: Project, classroom: Classroom, assignments: Sequence[str]) -> list[Survey]:
    """What is known of these assignments, one survey each. Raises UnusableGradebook, OSError."""
    check_gradebook(classroom.gradebook)
    there = classroom.gradebook.is_file()
    by_hand = set_by_hand(classroom.db_url) if there else {}
    scores = _scores(classroom.db_url, assignments) if there else {}
    roster, note = _roster(classroom)
    strays = tuple(unmatched(classroom, project.assignments()))
    made = []
    for assignment in assignments:
        members = _Members(project, classroom, assignment, by_hand, scores).of(roster)
        made.append(
            Survey(
                assignment,
                tuple(project.exercises_of(assignment)),
                tuple(members),
                strays,
                bool(roster.people),
                note,
            )
        )
    return made


def _roster(classroom: Classroom) -> tuple[Roster, str]:
    try:
        return (read_roster(classroom.roster) if classroom.roster.is_file() else Roster()), ""
    except UnusableRoster as unusable:
        return Roster(), str(unusable)


def _scores(db_url: str, assignments: Sequence[str]) -> dict[tuple[str, str], _Score]:
    found = {}
    with opened(db_url) as gradebook:
        for assignment in assignments:
            try:
                gradebook.find_assignment(assignment)
            except MissingEntry:
                continue
            for submission in gradebook.assignment_submissions(assignment):
                penalty = float(submission.late_submission_penalty)
                found[submission.student_id, assignment] = _Score(
                    final=max(0.0, float(submission.score) - penalty),
                    penalty=penalty,
                    late=submission.total_seconds_late > 0 or penalty > 0,
                    waiting=bool(submission.needs_manual_grade),
                )
    return found


@dataclass(frozen=True)
class _Members:
    project: Project
    classroom: Classroom
    assignment: str
    by_hand: Mapping[tuple[str, str, str], float]
    scores: Mapping[tuple[str, str], _Score]

    def of(self, roster: Roster) -> Iterator[Member]:
        """Everybody, by the name under which they are shown."""
        records = {
            record.student: record
            for record in read_all(self.classroom.verdicts)
            if record.assignment == self.assignment
        }
        faults = {
            fault.student: fault.why
            for fault in read_faults(self.classroom.verdicts)
            if fault.assignment == self.assignment
        }
        here = {who for who, what in folders(self.classroom) if what == self.assignment}
        people = {same_name(person.id): person for person in roster.people}
        members = []
        for student in here | records.keys() | faults.keys():
            person = people.pop(same_name(student), None)
            listed = person is not None or not roster.people
            name = person.name if person else ""
            member = self._member(student, name, listed, records.get(student))
            members.append(replace(member, fault=faults.get(student, "")))
        members += [Member(person.id, person.name, handed_in=False) for person in people.values()]
        yield from sorted(members, key=lambda who: (same_name(who.name or who.id), who.id))

    def _member(self, student: str, name: str, listed: bool, record: Record | None) -> Member:
        if record is None:
            return Member(student, name, listed=listed)
        rows = tuple(self._found(record, row) for row in record.rows)
        score = self.scores.get((student, self.assignment), _Score(0.0, 0.0, False, False))
        page = self.classroom.feedback / student / self.assignment / f"{record.notebook}.html"
        return Member(
            student,
            name,
            rows=rows,
            unreadable=_unreadable(rows),
            stale=self._stale(record),
            waiting=score.waiting,
            late=score.late,
            penalty=score.penalty,
            final=score.final if (student, self.assignment) in self.scores else None,
            feedback=page if page.is_file() else None,
            listed=listed,
        )

    def _found(self, record: Record, row: Row) -> Found:
        score = self.by_hand.get((record.student, record.assignment, CHECK + row.exercise))
        by_hand = score is not None and score != row.points
        stopped = NOT_JUDGED.match(row.note)
        return Found(
            row.exercise,
            float(score) if score is not None and by_hand else row.points,
            row.max_points,
            row.outcome,
            row.mistake,
            row.note,
            row.message,
            by_hand,
            _follows(record, row),
            stopped.group(1).rstrip(".") if stopped else "",
        )

    def _stale(self, record: Record) -> bool:
        try:
            now = read_submission(self.project, self.classroom, record.student, record.assignment)
        except OSError:  # not there any more, or not readable just now
            return False
        return now.hash != record.submission


def _follows(record: Record, row: Row) -> str:
    """The earlier exercise that is to be mended first, as far as one can tell.

    A message also holds words of the student's, so what it says must fit the other rows. What is
    not allowed in an earlier exercise is found again in all that are built from it.
    """
    try:
        uses = exercises.find(row.exercise).uses
    except UnknownExercise:
        return ""
    outcomes = {other.exercise: other.outcome for other in record.rows}
    if row.outcome == "not allowed":
        return next((name for name in uses if outcomes.get(name) == row.outcome), "")
    said = FOLLOWS.search(row.message)
    earlier = said.group(1) if said and row.outcome != "correct" else ""
    return earlier if earlier in uses and outcomes.get(earlier, "correct") != "correct" else ""


def _unreadable(rows: Sequence[Found]) -> str:
    """Why a whole hand-in could not be graded: the same for every exercise, and nothing judged."""
    reasons = {row.note for row in rows}
    if len(reasons) != 1 or any(row.outcome != "error" or row.mistake for row in rows):
        return ""
    (reason,) = reasons
    # The message of what was never judged has a headline and the reason, and no advice.
    bare = all(" ".join(row.told.split()) == f"{row.exercise}: error {row.note}" for row in rows)
    explained = reason.startswith(NOT_THERE) or any(row.stopped for row in rows)
    return reason if bare and not explained else ""
