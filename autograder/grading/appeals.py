"""An appeal answered: what was asked, what came, and whether the verdict stands.

One page to be shown to a student, and a few lines for the terminal. Both say the same.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from autograder.declaring import Exercise
from autograder.grading.pages import code_to_html, document, time_said
from autograder.grading.places import Classroom
from autograder.grading.records import Row, write_atomically
from autograder.grading.repeating import Repeated
from autograder.grading.terminal import safe_text
from autograder.rendering import to_html, to_text
from autograder.verdicts import Example

EVERY_CASE = (
    "Every case has to hold: on inputs made from the seed, {name} has to give what the reference "
    "gives, up to rounding."
)
PARTIAL = (
    "With partial credit, a wrong answer earns the share of the cases that hold; what was not "
    "allowed, failed or was not attempted earns nothing."
)
RULES = {
    "correct": EVERY_CASE,
    "wrong values": EVERY_CASE,
    "wrong shape": EVERY_CASE + " That begins with the shape of what comes back.",
    "wrong type": EVERY_CASE + " That begins with the kind of thing that comes back.",
    "error": EVERY_CASE + " For that it has to be there, and to run to its end.",
    "not attempted": "What raises NotImplementedError in every case, as the stub does, counts as "
    "not attempted.",
    "not allowed": "{name} has to do the work itself: it may not call what would skip the exercise "
    "({names}).",
}


def answer(repeated: Repeated) -> str:
    """Whether the verdict stands, in a sentence or two."""
    if repeated.row is None and repeated.place:
        return (
            f"This cannot be graded again: the assignment in solutions/ has no exercise "
            f"{repeated.exercise.name} any more. The record stands as it is."
        )
    if repeated.row is None:
        return (
            "This cannot be run again: what was graded is not here any more. What lies in "
            "submitted/ has been changed or replaced since, or removed; its hash is another one "
            "than in the record, and no copy in earlier/ has the right one."
        )
    if repeated.words_differ:
        return (
            "The same verdict came out again, in other words or with other numbers: the code may "
            "depend on chance or on time, or the grader is another version."
        )
    if repeated.reproduced:
        return "The same verdict came out again."
    if [name for name, _, _ in repeated.differences] == ["points"]:
        (_, before, now), *_ = repeated.differences
        return (
            f"The same verdict came out again, and is worth something else: {before} points in the "
            f"record, {now} now. Partial credit (c.Judge.partial_credit in nbgrader_config.py) has "
            "been switched on or off since it was graded. The record stands until it is graded "
            "again with --regrade."
        )
    said = "; ".join(
        f"{name} {_was(name)} {before}, and {_is(name)} {now}"
        for name, before, now in repeated.differences
    )
    return (
        f"Another verdict came out: {said}. The code may depend on chance or on time, or the "
        "exercise, the grader or the settings in nbgrader_config.py have been changed since."
    )


def _was(name: str) -> str:
    return "were" if name == "points" else "was"


def _is(name: str) -> str:
    return "are" if name == "points" else "is"


def rule(exercise: Exercise, row: Row, *, partial_credit: bool = False) -> str:
    """The rule that decided, in a sentence or two.

    partial_credit: whether a wrong answer earns something now.
    """
    names = ", ".join(exercise.not_allowed)
    said = RULES.get(row.outcome, EVERY_CASE).format(name=exercise.name, names=names)
    earned = 0 < row.points < row.max_points
    return f"{said} {PARTIAL}" if partial_credit or earned else said


def worst(example: Example | None) -> str:
    """Where what came and what was expected are furthest apart, in a sentence, or ""."""
    if example is None or example.yours is None or example.expected is None or not example.at:
        return ""
    yours, expected = np.asarray(example.yours.data), np.asarray(example.expected.data)
    if yours.shape != expected.shape or len(example.at) != yours.ndim:
        return ""
    where = ", ".join(map(str, example.at))
    return (
        f"They differ most at {example.part}[{where}]: {yours[example.at]:.6g} came, and "
        f"{expected[example.at]:.6g} was expected."
    )


def points(repeated: Repeated) -> str:
    """The points in the record, and those that somebody gave instead."""
    row = repeated.before
    hand = ""
    if repeated.by_hand is not None:
        hand = f"; {repeated.by_hand:g} {'was' if repeated.by_hand == 1 else 'were'} given by hand"
    return f"{row.points:g} of {row.max_points:g}{hand}"


def write_page(classroom: Classroom, repeated: Repeated) -> Path:
    """Write the page of an appeal; where it is. Raises OSError."""
    record, exercise = repeated.record, repeated.exercise
    path = classroom.explanations / record.student / record.assignment / f"{exercise.name}.html"
    verdict = repeated.verdict
    page = document(
        "explanation",
        f"How {exercise.name} was graded",
        record.student,
        graded=time_said(record.graded),
        repeated=repeated,
        record=record,
        exercise=exercise,
        row=repeated.before,
        answer=answer(repeated),
        rule=rule(exercise, repeated.before, partial_credit=repeated.partial_credit),
        worst=worst(verdict.example if verdict else None),
        points=points(repeated),
        card=Markup(to_html(verdict)) if verdict else "",
        sources=list(
            zip(
                (each.number for each in repeated.sources),
                code_to_html([each.code for each in repeated.sources]),
                strict=True,
            )
        ),
        **_asked(exercise),
    )
    write_atomically(path, page)
    return path


def _asked(exercise: Exercise) -> dict[str, Any]:
    axes = {name: ", ".join(names) for name, names in exercise.axes.items() if names}
    return {"returns": [(name, axes.get(name, "")) for name in exercise.returns]}


def lines(repeated: Repeated) -> Iterator[str]:
    """The same for a terminal, harmless for it."""
    record, exercise, row = repeated.record, repeated.exercise, repeated.before
    verdict = repeated.verdict
    yield f"{record.student}  {record.assignment}  {exercise.name}"
    yield answer(repeated)
    yield from repeated.notes
    decided = rule(exercise, row, partial_credit=repeated.partial_credit)
    yield f"Asked: {exercise.signature} ({exercise.title}). {decided}"
    mistake = f", mistake {row.mistake}" if row.mistake else ""
    yield f"Recorded: {row.outcome}{mistake}. Points: {points(repeated)}."
    yield f"Graded on {time_said(record.graded)} with seed {record.seed}."
    yield ""
    yield from (to_text(verdict) if verdict else row.message).split("\n")
    yield from filter(None, [worst(verdict.example if verdict else None)])


def printed(repeated: Repeated) -> str:
    """What the terminal shows of an appeal."""
    return "\n".join(map(safe_text, lines(repeated)))
