"""What there is to know of a class and one assignment: who handed in, and what became of it.

Points follow the same rules as `marks.csv`: those of the record, and where somebody set a score by
hand, that score. Scores and penalties of the whole assignment are nbgrader's.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from autograder import exercises
from autograder.exercises import UnknownExercise
from autograder.grading.gradebook import check_gradebook, set_by_hand
from autograder.grading.marks import Fault, read_faults
from autograder.grading.places import Classroom, Project
from autograder.grading.records import Record, Row, read_all
from autograder.grading.repairing import CHECK
from autograder.grading.roster import Roster, UnusableRoster, read_roster, same_name
from autograder.grading.scores import Change, Score, change_since, scores_of
from autograder.grading.submissions import Unmatched, folders, unmatched


@dataclass(frozen=True)
class Found:
    """One exercise of one student.

    points: as in marks.csv. by_hand: whether somebody set them.
    follows: the earlier exercise that it calls and that is to be mended first, or "".
    stopped: why it was never judged ("it ran for more than 30 seconds and was stopped"), or "".
    reached: whether the notebook came as far as this exercise.
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
    reached: bool = True

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
    change: what has become of the hand-in since it was graded, or "".
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
    change: Change = ""
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
    def listed(self) -> list[Member]:
        """Whoever is in the roster; everybody, when there is none."""
        return [member for member in self.members if member.listed]

    @property
    def strangers(self) -> list[Member]:
        """Whoever handed in and is not in the roster."""
        return [member for member in self.members if not member.listed]

    @property
    def max_points(self) -> float:
        """The points of the whole assignment."""
        return sum(points for _, points in self.exercises)


def survey(project: Project, classroom: Classroom, assignments: Sequence[str]) -> list[Survey]:
    """What is known of these assignments, one survey each. Raises UnusableGradebook, OSError."""
    check_gradebook(classroom.gradebook)
    by_hand = set_by_hand(classroom.db_url) if classroom.gradebook.is_file() else {}
    scores = scores_of(classroom, assignments)
    known = _Known(
        tuple(read_all(classroom.verdicts)),
        tuple(read_faults(classroom.verdicts)),
        tuple(folders(classroom)),
    )
    roster, note = _roster(classroom)
    strays = tuple(unmatched(classroom, project.assignments()))
    made = []
    for assignment in assignments:
        members = _Members(project, classroom, assignment, known, by_hand, scores).of(roster)
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


@dataclass(frozen=True)
class _Known:
    """What a classroom has of all assignments, read once."""

    records: tuple[Record, ...]
    faults: tuple[Fault, ...]
    folders: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class _Members:
    project: Project
    classroom: Classroom
    assignment: str
    known: _Known
    by_hand: Mapping[tuple[str, str, str], float]
    scores: Mapping[tuple[str, str], Score]

    def of(self, roster: Roster) -> Iterator[Member]:
        """Everybody, by the name under which they are shown."""
        records = {
            record.student: record
            for record in self.known.records
            if record.assignment == self.assignment
        }
        faults = {
            fault.student: fault.why
            for fault in self.known.faults
            if fault.assignment == self.assignment
        }
        here = {who for who, what in self.known.folders if what == self.assignment}
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
        score = self.scores.get((student, self.assignment))
        counts = score or Score(0.0)
        page = self.classroom.feedback / student / self.assignment / f"{record.notebook}.html"
        return Member(
            student,
            name,
            rows=rows,
            unreadable=record.problem,
            change=change_since(self.project, self.classroom, record, score),
            waiting=counts.waiting,
            late=counts.late,
            penalty=counts.penalty,
            final=score.final if score else None,
            feedback=page if page.is_file() else None,
            listed=listed,
        )

    def _found(self, record: Record, row: Row) -> Found:
        score = self.by_hand.get((record.student, record.assignment, CHECK + row.exercise))
        by_hand = score is not None and score != row.points
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
            row.stopped,
            row.reached,
        )


def _follows(record: Record, row: Row) -> str:
    """The earlier exercise that is to be mended first, as far as one can tell.

    What is not allowed in an earlier exercise is found again in all that are built from it.
    """
    if row.outcome != "not allowed":
        return row.mend_first
    try:
        uses = exercises.find(row.exercise).uses
    except UnknownExercise:
        return ""
    outcomes = {other.exercise: other.outcome for other in record.rows}
    return next((name for name in uses if outcomes.get(name) == row.outcome), "")
