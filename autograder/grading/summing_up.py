"""A class and an assignment in a few sentences, for the top of the report and for the terminal."""

from collections.abc import Sequence

from autograder.grading.looking import Look, concerned
from autograder.grading.surveying import Survey
from autograder.grading.tallying import ExerciseTally, MistakeTally, hardest
from autograder.grading.terminal import safe_text


def share(part: int, whole: int) -> str:
    """A part as a percentage, "38 %"; a few are not rounded to none, nor nearly all to all."""
    if not whole:
        return "–"
    percent = round(100 * part / whole)
    if part and part < whole:
        percent = min(max(percent, 1), 99)
    return f"{percent} %"


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its noun: "1 student", "3 students"."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def summary(
    found: Survey,
    tallies: Sequence[ExerciseTally],
    mistakes: Sequence[MistakeTally],
    looks: Sequence[Look],
) -> list[str]:
    """Three to five sentences that say what matters; fewer as long as nothing is graded."""
    said = [_handed_in(found)]
    graded = len(found.graded)
    if graded:
        right = sum(member.all_correct for member in found.graded)
        said.append(_right(right, graded))
        said += _hardest(found, tallies) + _most_common(mistakes)
    return [*said, _looks(looks)] if found.handed_in or looks else said


def _handed_in(found: Survey) -> str:
    here, graded = len(found.handed_in), len(found.graded)
    if not here:
        return "Nobody has handed in anything yet."
    said = f"{handed_in(found)} handed in"
    if graded == here:
        said += "; all of them are graded" if here > 1 else "; it is graded"
    faults = sum(bool(member.fault) and not member.graded for member in found.handed_in)
    waiting = here - graded - faults
    if graded != here:
        states = [f"{graded} {'is' if graded == 1 else 'are'} graded"]
        states += [f"{faults} could not be graded"] * bool(faults)
        states += [f"{waiting} {'is' if waiting == 1 else 'are'} not graded yet"] * bool(waiting)
        said += f"; {', '.join(states)}"
    late = sum(member.late for member in found.handed_in)
    return said + (f"; {late} came late." if late else ".")


def handed_in(found: Survey) -> str:
    """How many handed in, of how many: whoever is not in the roster is no part of the class."""
    if not found.roster:
        return str(len(found.handed_in))
    strangers = len(found.strangers)
    said = f"{len(found.handed_in) - strangers} of the {len(found.listed)} in the class"
    are = "who is" if strangers == 1 else "who are"
    return f"{said}, and {strangers} {are} not in the roster," if strangers else said


def _right(right: int, graded: int) -> str:
    if right == graded:
        return "Everything is right." if graded == 1 else "All of them have everything right."
    if not right:
        return "Nobody has everything right."
    has = "has" if right == 1 else "have"
    return f"{right} of {graded} ({share(right, graded)}) {has} everything right."


def _hardest(found: Survey, tallies: Sequence[ExerciseTally]) -> list[str]:
    hard = hardest(tallies)
    if hard is None or len(tallies) < 2:
        return []
    aside = ["those who must first mend an earlier exercise"] * any(t.follows for t in tallies)
    aside += ["hand-ins that could not be read"] * any(who.unreadable for who in found.graded)
    but = f" (not counting {', and '.join(aside)})" if aside else ""
    do = "does" if hard.own == 1 else "do"
    return [
        f"The hardest exercise was {hard.name}: {hard.own} of {hard.graded} {do} not have it "
        f"right yet{but}."
    ]


def _most_common(mistakes: Sequence[MistakeTally]) -> list[str]:
    named = [mistake for mistake in mistakes if mistake.id]
    if not named:
        return ["No mistake that has a name was found."] if mistakes else []
    first = named[0]
    if first.count == 1 and len(named) > 1:
        return ["No mistake was made by more than one student."]
    sentence = safe_text(" ".join(first.sentence.split())).rstrip(".")
    return [
        f"The most common mistake ({counted(first.count, 'student')}) is in {first.exercise}: "
        f"{sentence}."
    ]


def _looks(looks: Sequence[Look]) -> str:
    number = concerned(looks)
    strays = sum(member is None for look in looks for member, _ in look.about)
    if not number and not strays:
        return "Nobody needs a look."
    if not number:
        if strays == 1:
            return "1 file or folder needs a look: it lies where nobody grades it."
        return f"{strays} files or folders need a look: they lie where nobody grades them."
    reasons = [f"{look.why[:1].lower()}{look.why[1:]} ({len(look.about)})" for look in looks]
    more = f"; and {counted(len(reasons) - 3, 'more reason')}" if len(reasons) > 3 else ""
    needs = "needs" if number == 1 else "need"
    return f"{counted(number, 'student')} {needs} a look: {'; '.join(reasons[:3])}{more}."
