"""What to say about a mistake in class, made of what the catalogue says already.

Nothing is written for it anew: the question is the exercise's hint that speaks most of what the
mistake speaks of, the example is what a student sees who makes the mistake, and the lesson is the
exercise's own.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path

from markupsafe import Markup

import course
from autograder.declaring import Exercise, Mistake
from autograder.exercises import lesson_modules
from autograder.expecting import mistakes_of
from autograder.grading.tallying import declaration, declared_mistake
from autograder.judging import judge
from autograder.rendering import to_html
from autograder.verdicts import Verdict

WORD = re.compile(r"\w{4,}")
OUR_LINE = re.compile(r"\nIn line \d+ of its cell: .*")  # of the catalogue, and nobody's to mend


@dataclass(frozen=True)
class TalkingPoints:
    """What to say about one mistake; each part is "" where the catalogue has nothing.

    question: to begin with. finding: what the smallest example shows, in a sentence.
    example: that example as students see it, with its numbers.
    lesson: number and title. notebook: where in the project it is.
    """

    question: str = ""
    finding: str = ""
    example: Markup = field(default_factory=Markup)
    lesson: str = ""
    notebook: str = ""


def talking_points(exercise: str, id: str) -> TalkingPoints:
    """What the catalogue has to say about a mistake in an exercise."""
    declared, mistake = declaration(exercise), declared_mistake(exercise, id)
    if declared is None:
        return TalkingPoints()
    lesson = f"{declared.lesson:02} {_title(declared.lesson)}".strip()
    notebook = _notebook(declared.lesson)
    if mistake is None:
        return TalkingPoints(declared.hints[0], lesson=lesson, notebook=notebook)
    verdict = _example(declared, id)
    label = f"Example of {id} in {exercise}"  # no two on a page are the same
    return TalkingPoints(
        _question(declared, mistake),
        verdict.what if verdict else "",
        # Our own verdict on our own code: nothing of a student's is in it.
        Markup(to_html(verdict, label)) if verdict else Markup(),
        lesson,
        notebook,
    )


def _question(exercise: Exercise, mistake: Mistake) -> str:
    """The hint that has most words in common with what is said of the mistake, mildest first.

    Not the last one, which gives the answer away, unless there is no other.
    """
    about = _words([mistake.happened, mistake.advice])
    return max(exercise.hints[:-1] or exercise.hints, key=lambda hint: len(about & _words([hint])))


def _words(texts: Sequence[str]) -> set[str]:
    return {word.casefold() for text in texts for word in WORD.findall(text)}


def _example(exercise: Exercise, id: str) -> Verdict | None:
    """What `check` says to somebody who makes a mistake, with the smallest example alone.

    A mistake may have several implementations; the first that is known by the id serves.
    """
    for mistake in mistakes_of(exercise):
        if mistake.id == id:
            verdict = judge(exercise.name, mistake.implementation)
            if verdict.mistake == id and verdict.example is not None and not verdict.mend_first:
                return replace(verdict, what=OUR_LINE.sub("", verdict.what), cases=())
    return None


def _notebook(lesson: int) -> str:
    """Where a lesson is, from the project's folder; "" when it is not there.

    No link: a browser that shows the report would show the notebook's JSON.
    """
    found = sorted(Path(course.__file__).parent.glob(f"{lesson:02}-*.ipynb"))
    return f"course/{found[0].name}" if found else ""


def _title(lesson: int) -> str:
    for name in lesson_modules():
        if name.endswith(f"lesson_{lesson:02}"):
            return str(import_module(name).TITLE)
    return ""
