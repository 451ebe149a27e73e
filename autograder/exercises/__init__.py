"""Every exercise of the course, one module per lesson, each with a tuple EXERCISES."""

import difflib
import functools
import importlib
import pkgutil
from collections.abc import Iterator

from autograder.declaring import Exercise


class UnknownExercise(LookupError):
    """No exercise bears this name. The message names those that come close."""

    def _render_traceback_(self) -> list[str]:  # IPython shows this instead of a traceback
        return [f"UnknownExercise: {self}"]


@functools.cache
def lesson_modules() -> tuple[str, ...]:
    """The dotted names of the lessons' modules, in reading order."""
    found = (info.name for info in pkgutil.iter_modules(__path__))
    return tuple(sorted(f"{__name__}.{name}" for name in found if name.startswith("lesson_")))


def iterate() -> Iterator[Exercise]:
    """All exercises in reading order. Lazy: later lessons import torch, which takes seconds."""
    for module in lesson_modules():
        yield from importlib.import_module(module).EXERCISES


def of_lesson(lesson: int) -> tuple[Exercise, ...]:
    """The exercises of one lesson, in the order in which they are solved."""
    return tuple(exercise for exercise in iterate() if exercise.lesson == lesson)


def find(name: object) -> Exercise:
    """The exercise of this name. Raises UnknownExercise, naming those that come close."""
    if type(name) is not str:
        raise UnknownExercise('An exercise goes by its name in quotes, such as "softmax".')
    found = _find(name)
    if found is not None:
        return found
    names = [exercise.name for exercise in iterate()]
    close = difflib.get_close_matches(name[:60], names, n=3, cutoff=0.5)
    shown = repr(name if len(name) <= 60 else f"{name[:60]}…")
    said = (
        f"Did you mean {' or '.join(map(repr, close))}?"
        if close
        else f"The exercises are {', '.join(names)}."
    )
    raise UnknownExercise(f"There is no exercise named {shown}. {said}")


@functools.cache
def _find(name: str) -> Exercise | None:
    return next((exercise for exercise in iterate() if exercise.name == name), None)
