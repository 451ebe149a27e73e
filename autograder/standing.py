"""Where a learner stands: what was checked, passed and hinted at, kept as JSON.

Kept in the platform's user-data folder (or MANY_HEADS_HOME) by `course.storage`, which
writes atomically and sets damaged files aside. Grading and `judge` never touch it.
"""

import contextlib
import html
import importlib
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from autograder.exercises import lesson_modules
from autograder.verdicts import Verdict
from course import storage

STORE = "progress"


@dataclass(frozen=True)
class Step:
    """One exercise on the way: passed or not, and how often it was checked."""

    name: str
    title: str
    passed: bool
    tries: int


@dataclass(frozen=True)
class Standing:
    """A learner's progress through the course; a notebook shows it as a list.

    lessons: for each lesson its number, its title and its steps.
    note: a sentence when the kept file could not be read, else "".
    """

    lessons: tuple[tuple[int, str, tuple[Step, ...]], ...]
    note: str = ""

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps in reading order."""
        return tuple(step for _, _, steps in self.lessons for step in steps)

    @property
    def following(self) -> Step | None:
        """The first step that is not passed, or None when all are."""
        return next((step for step in self.steps if not step.passed), None)

    @property
    def summary(self) -> str:
        """One sentence: how many are passed, and what comes next."""
        passed = sum(step.passed for step in self.steps)
        after = f"Next: {self.following.name}." if self.following else "You have passed them all."
        return f"{passed} of {len(self.steps)} exercises passed. {after}"

    def __repr__(self) -> str:
        lines = [self.summary]
        for number, title, steps in self.lessons:
            lines.append(f"{number:02} {title}")
            lines += [f"  [{'x' if s.passed else ' '}] {s.name}: {_state(s)}" for s in steps]
        return "\n".join(filter(None, [*lines, self.note]))

    def _repr_html_(self) -> str:
        parts = [f"<p><strong>{html.escape(self.summary)}</strong></p>"]
        for number, title, steps in self.lessons:
            items = "".join(
                f"<li>{'<strong>' if step == self.following else ''}"
                f"<code>{html.escape(step.name)}</code>: {_state(step)}"
                f"{'</strong>' if step == self.following else ''}</li>"
                for step in steps
            )
            parts.append(
                f"<p style='margin:.4em 0 0'>{number:02} {html.escape(title)}</p>"
                f"<ul style='margin:0'>{items}</ul>"
            )
        if self.note:
            parts.append(f"<p>{html.escape(self.note)}</p>")
        return f'<section aria-label="Your progress">{"".join(parts)}</section>'


def _state(step: Step) -> str:
    if step.passed:
        return "passed"
    if step.tries:
        return f"not yet (checked {'once' if step.tries == 1 else f'{step.tries} times'})"
    return "not started"


def read() -> Standing:
    """The learner's standing over all lessons."""
    with _warnings_as_notes() as notes:
        kept = storage.read(STORE)
    lessons = []
    for name in lesson_modules():
        module = importlib.import_module(name)
        steps = tuple(
            Step(e.name, e.title, bool(_entry(kept, e.name).get("passed")), _tries(kept, e.name))
            for e in module.EXERCISES
        )
        lessons.append((module.EXERCISES[0].lesson, module.TITLE, steps))
    return Standing(tuple(lessons), " ".join(notes))


def hints_seen(name: str) -> int:
    """The number of the strongest hint that was shown for an exercise."""
    with _warnings_as_notes():
        return _count(_entry(storage.read(STORE), name).get("hints"))


def remember_hint(name: str, number: int) -> str:
    """Keep which hint was shown. Returns a sentence when it cannot be kept, else ""."""

    def change(entry: dict[str, Any]) -> None:
        entry["hints"] = max(number, _count(entry.get("hints")))

    return _update(name, change)


def remember_check(verdict: Verdict) -> str:
    """Keep that an exercise was checked, and passed if it was: a pass stays a pass.

    Returns a sentence when it cannot be kept, else "".
    """
    if verdict.outcome == "not attempted":
        return ""

    def change(entry: dict[str, Any]) -> None:
        entry["tries"] = _count(entry.get("tries")) + 1
        if verdict.correct:
            entry.setdefault("passed", datetime.now(UTC).isoformat(timespec="seconds"))

    return _update(verdict.exercise, change)


def _update(name: str, change: Callable[[dict[str, Any]], None]) -> str:
    if "NBGRADER_EXECUTION" in os.environ:  # what grading runs is nobody's progress
        return ""

    def apply(kept: dict[str, Any]) -> dict[str, Any]:
        entry = _entry(kept, name)
        change(entry)
        return {**kept, name: entry}

    with _warnings_as_notes() as notes:
        storage.update(STORE, apply)
    return " ".join(notes)


def _entry(kept: dict[str, Any], name: str) -> dict[str, Any]:
    entry = kept.get(name)
    return dict(entry) if isinstance(entry, dict) else {}


def _tries(kept: dict[str, Any], name: str) -> int:
    return _count(_entry(kept, name).get("tries"))


def _count(value: object) -> int:
    """A number from a file that anybody may have edited."""
    return value if isinstance(value, int) and value > 0 else 0


@contextlib.contextmanager
def _warnings_as_notes() -> Iterator[list[str]]:
    """Collect what StorageWarning says, to be shown beside the verdict; filled at the end."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", storage.StorageWarning)
        yield notes
    notes += [str(warning.message) for warning in caught]
