"""Counting: how an assignment went, which mistakes were made most, and who needs a look.

Pure functions of a `Survey`. Who wrote the same as somebody else is nowhere looked for: right
answers to small exercises are alike, and that accuses nobody.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autograder import exercises
from autograder.advising import ADVICE
from autograder.declaring import Exercise, Mistake
from autograder.exercises import UnknownExercise
from autograder.expecting import mistakes_of
from autograder.grading.surveying import Found, Member, Survey
from autograder.verdicts import OUTCOMES

SEVERAL = 3  # mistakes of one's own from which on somebody needs a look
TRY = "Try: "
TOO_LONG = ("more than", "seconds")  # in what is said of a notebook that was stopped for its time


@dataclass(frozen=True)
class ExerciseTally:
    """How one exercise went among those who are graded.

    outcomes: every outcome, and how many have it.
    follows: how many only have to mend an earlier exercise first, as far as one can tell.
    points: the mean of what they got.
    """

    name: str
    title: str
    max_points: float
    graded: int
    outcomes: dict[str, int]
    follows: int
    points: float

    @property
    def right(self) -> int:
        """How many have it right."""
        return self.outcomes["correct"]

    @property
    def own(self) -> int:
        """How many do not have it right, and not because of an earlier exercise."""
        return self.graded - self.right - self.follows


@dataclass(frozen=True)
class MistakeTally:
    """One mistake in one exercise, and who made it.

    id: the mistake's, or "" for what no known mistake explains.
    sentence: what happened, as students read it. hint: what they were told to try.
    """

    exercise: str
    id: str
    outcome: str
    sentence: str
    hint: str
    members: tuple[Member, ...]

    @property
    def count(self) -> int:
        """How many made it."""
        return len(self.members)


@dataclass(frozen=True)
class Look:
    """A reason to look at somebody's work, and at whose.

    about: each student, with a remark or "". For what lies in nobody's place, the student is None.
    """

    why: str
    about: tuple[tuple[Member | None, str], ...]

    @property
    def groups(self) -> list[tuple[str, list[Member]]]:
        """Each remark once, and all of whom it is true; what most share comes first."""
        found: dict[str, list[Member]] = {}
        for member, remark in self.about:
            found.setdefault(remark, []).extend([member] if member else [])
        return sorted(found.items(), key=lambda each: -len(each[1]))


def tally_exercises(found: Survey) -> list[ExerciseTally]:
    """One tally for each exercise, in order."""
    tallies = []
    for name, points in found.exercises:
        rows = [row for member in found.graded for row in member.rows if row.exercise == name]
        outcomes = Counter(row.outcome for row in rows)
        declared = declaration(name)
        tallies.append(
            ExerciseTally(
                name,
                declared.title if declared else "",
                points,
                len(rows),
                {outcome: outcomes[outcome] for outcome in OUTCOMES},
                sum(1 for row in rows if row.follows),
                sum(row.points for row in rows) / len(rows) if rows else 0.0,
            )
        )
    return tallies


def hardest(tallies: Sequence[ExerciseTally]) -> ExerciseTally | None:
    """The exercise that stopped most, those aside who have to mend an earlier one first."""
    return max((each for each in tallies if each.own), key=lambda each: each.own, default=None)


def own_mistake(member: Member, row: Found) -> bool:
    """Whether a row shows a mistake that was made there, and does not follow from another."""
    wrong = row.tried and not row.correct and not row.follows
    return wrong and not row.stopped and not member.unreadable


def tally_mistakes(found: Survey) -> list[MistakeTally]:
    """Every mistake, the most common first; what no known mistake explains comes last."""
    made: dict[tuple[str, str, str], list[tuple[Member, Found]]] = {}
    for member in found.graded:
        for row in member.rows:
            if own_mistake(member, row):
                # One mistake may show as wrong values here and as an error there.
                key = row.exercise, row.mistake, "" if row.mistake else row.outcome
                made.setdefault(key, []).append((member, row))
    order = {name: number for number, (name, _) in enumerate(found.exercises)}
    tallies = [_tally(exercise, id, rows) for (exercise, id, _), rows in made.items()]
    return sorted(
        tallies, key=lambda each: (not each.id, -each.count, order[each.exercise], each.id)
    )


def _tally(exercise: str, id: str, made: Sequence[tuple[Member, Found]]) -> MistakeTally:
    rows = [row for _, row in made]
    outcome = Counter(row.outcome for row in rows).most_common(1)[0][0]
    known = declared_mistake(exercise, id)
    if known is not None:
        sentence, hint = known.happened, known.advice
    elif id:
        sentence = Counter(row.note for row in rows).most_common(1)[0][0]
        hint = ADVICE.get(id) or _tried(rows)
    else:
        sentence, hint = f"{outcome}: no known mistake explains it.", ""
    return MistakeTally(exercise, id, outcome, sentence, hint, tuple(who for who, _ in made))


def _tried(rows: Sequence[Found]) -> str:
    """What most were told to try."""
    said = [line for row in rows for line in row.told.splitlines()[-1:] if line.startswith(TRY)]
    return Counter(said).most_common(1)[0][0].removeprefix(TRY) if said else ""


def declaration(name: str) -> Exercise | None:
    """The exercise of this name, or None when the catalogue has none."""
    try:
        return exercises.find(name)
    except UnknownExercise:
        return None


def declared_mistake(exercise: str, id: str) -> Mistake | None:
    """The declared mistake with an id, or None when it is a kind of fault without a declaration."""
    declared = declaration(exercise)
    known = mistakes_of(declared) if declared and id else ()
    return next((mistake for mistake in known if mistake.id == id), None)


def who_needs_a_look(found: Survey) -> list[Look]:
    """The reasons that somebody has, those first that stand between a student and marks.

    What nobody has handed in yet, nobody has failed to hand in.
    """
    members = found.members if found.handed_in else ()
    looks = [
        Look(why, tuple((member, remark(member)) for member in members if holds(member)))
        for why, holds, remark in REASONS
    ]
    strays = tuple(
        (None, f"{'/'.join(filter(None, (stray.student, stray.place)))}: {stray.why}")
        for stray in found.strays
    )
    looks.insert(1, Look("Lies where nobody grades it", strays))
    return [look for look in looks if look.about]


def concerned(looks: Sequence[Look]) -> int:
    """How many students appear in these lists."""
    return len({member.id for look in looks for member, _ in look.about if member is not None})


def _rows(member: Member, holds: Callable[[Found], bool]) -> list[Found]:
    return [row for row in member.rows if holds(row)]


def _slow(row: Found) -> bool:
    return all(words in row.stopped for words in TOO_LONG)


def _ended(row: Found) -> bool:
    return bool(row.stopped) and not _slow(row)


def _first(rows: Sequence[Found]) -> str:
    """Where a notebook stopped, and why: what comes after it only follows."""
    return f"{rows[0].exercise}: {rows[0].stopped}" if rows else ""


def _mistakes(member: Member) -> list[Found]:
    return _rows(member, lambda row: own_mistake(member, row))


def _struck(member: Member) -> bool:
    several = len(_mistakes(member))
    return several >= SEVERAL or (several > 1 and not any(row.correct for row in member.rows))


def _names(rows: Sequence[Found]) -> str:
    return ", ".join(row.exercise for row in rows)


def _nothing_tried(member: Member) -> bool:
    return member.graded and not any(row.tried for row in member.rows)


def _forbidden(row: Found) -> bool:
    return row.outcome == "not allowed" and not row.follows


Reason = tuple[str, Callable[[Member], bool], Callable[[Member], str]]

REASONS: tuple[Reason, ...] = (
    (
        "Not graded, a fault of the machine or of ours",
        lambda member: bool(member.fault),
        lambda member: member.fault + (" (marks from before stand)" if member.graded else ""),
    ),
    (
        "Handed in, not graded yet",
        lambda member: member.handed_in and not member.graded and not member.fault,
        lambda member: "",
    ),
    (
        "Handed in again since it was graded",
        lambda member: member.stale and not member.fault,
        lambda member: "",
    ),
    (
        "Could not be read",
        lambda member: bool(member.unreadable),
        lambda member: member.unreadable,
    ),
    ("Not handed in", lambda member: not member.handed_in, lambda member: ""),
    ("Nothing attempted", _nothing_tried, lambda member: ""),
    (
        "Stopped because it took too long",
        lambda member: bool(_rows(member, _slow)),
        lambda member: _first(_rows(member, _slow)),
    ),
    (
        "Ended before its time (crash, memory, exit)",
        lambda member: bool(_rows(member, _ended)),
        lambda member: _first(_rows(member, _ended)),
    ),
    (
        "Called what is not allowed",
        lambda member: bool(_rows(member, _forbidden)),
        lambda member: _names(_rows(member, _forbidden)),
    ),
    ("Waits for marks by hand", lambda member: member.waiting, lambda member: ""),
    (
        "Struck by several mistakes",
        _struck,
        lambda member: f"{len(_mistakes(member))} mistakes",
    ),
    ("Not in the roster", lambda member: not member.listed, lambda member: ""),
)
