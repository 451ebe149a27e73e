"""Counting: how an assignment went, and which mistakes were made most.

Pure functions of a `Survey`. Who wrote the same as somebody else is nowhere looked for: right
answers to small exercises are alike, and that accuses nobody.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from autograder import exercises
from autograder.advising import ADVICE
from autograder.declaring import Exercise, Mistake
from autograder.exercises import UnknownExercise
from autograder.expecting import mistakes_of
from autograder.grading.surveying import Found, Member, Survey
from autograder.verdicts import OUTCOMES

TRY = "Try: "


@dataclass(frozen=True)
class ExerciseTally:
    """How one exercise went among those who are graded.

    outcomes: every outcome, and how many have it.
    follows: how many only have to mend an earlier exercise first, as far as one can tell.
    own: how many do not have it right, and not because of an earlier exercise, of a notebook that
        stopped before, or of a file that could not be read.
    points: the mean of what they got.
    """

    name: str
    max_points: float
    graded: int
    outcomes: dict[str, int]
    follows: int
    own: int
    points: float

    @property
    def right(self) -> int:
        """How many have it right."""
        return self.outcomes["correct"]


@dataclass(frozen=True)
class MistakeTally:
    """One mistake in one exercise, and who made it.

    id: the mistake's, or "" for what no known mistake explains.
    sentence: what happened, as students read it. hint: what they were told to try.
    """

    exercise: str
    id: str
    sentence: str
    hint: str
    members: tuple[Member, ...]

    @property
    def count(self) -> int:
        """How many made it."""
        return len(self.members)


def tally_exercises(found: Survey) -> list[ExerciseTally]:
    """One tally for each exercise, in order."""
    tallies = []
    for name, points in found.exercises:
        made = [(who, row) for who in found.graded for row in who.rows if row.exercise == name]
        rows = [row for _, row in made]
        outcomes = Counter(row.outcome for row in rows)
        tallies.append(
            ExerciseTally(
                name,
                points,
                len(rows),
                {outcome: outcomes[outcome] for outcome in OUTCOMES},
                sum(bool(row.follows) for row in rows),
                sum(_own(member, row) for member, row in made),
                sum(row.points for row in rows) / len(rows) if rows else 0.0,
            )
        )
    return tallies


def hardest(tallies: Sequence[ExerciseTally]) -> ExerciseTally | None:
    """The exercise that stopped most, those aside who have to mend an earlier one first."""
    return max((each for each in tallies if each.own), key=lambda each: each.own, default=None)


def _own(member: Member, row: Found) -> bool:
    """Whether a row is not right for a reason of its own."""
    return not row.correct and not row.follows and row.reached and not member.unreadable


def own_mistake(member: Member, row: Found) -> bool:
    """Whether a row shows a mistake that was made there, and does not follow from another."""
    return _own(member, row) and row.tried and not row.stopped


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
        tallies,
        # What solutions/ no longer has comes last: it was graded before it was taken out.
        key=lambda each: (
            not each.id,
            -each.count,
            order.get(each.exercise, len(order)),
            each.exercise,
            each.id,
        ),
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
    return MistakeTally(exercise, id, sentence, hint, tuple(who for who, _ in made))


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
