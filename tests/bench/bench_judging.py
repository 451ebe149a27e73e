"""How well the grader judges: mistakes that fail and are named, right versions that pass.

Counted over the declared mistakes and the right versions of every exercise, each on 20 sets of
cases. Those that a count of less than 100 % is about are listed below the table.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from autograder import exercises, judge
from autograder.declaring import Exercise
from autograder.expecting import mistakes_of
from tests.autograder.variants import VARIANTS

SEEDS = range(20)


@dataclass
class Count:
    """What became of the implementations of one exercise, or of all."""

    wrong: int = 0
    failed: int = 0
    named: int = 0
    right: int = 0
    refused: int = 0
    remarks: list[str] = field(default_factory=list)

    def add(self, other: "Count") -> None:
        """Add another exercise's counts to these."""
        for name in ("wrong", "failed", "named", "right", "refused"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.remarks += other.remarks

    def row(self, name: str) -> str:
        """One line of the table."""
        killed, named = (f"{n / max(self.wrong, 1):.1%}" for n in (self.failed, self.named))
        alarms = f"{self.refused / max(self.right, 1):.1%}"
        return f"{name:34}{self.wrong:8}{killed:>8}{named:>8}{self.right:8}{alarms:>14}"


def tried(exercise: Exercise, seeds: range) -> Count:
    """Judge every declared mistake and every right version on these seeds."""
    count = Count()
    for mistake, seed in _each(mistakes_of(exercise), seeds):
        verdict = judge(exercise.name, mistake.implementation, seed=seed)
        count.wrong += 1
        count.failed += not verdict.correct
        count.named += verdict.mistake == mistake.id
        if verdict.correct or verdict.mistake != mistake.id:
            taken = "passed" if verdict.correct else f"named {verdict.mistake}"
            count.remarks.append(f"{exercise.name}: {mistake.id} {taken} (seed {seed})")
    for version, seed in _each(VARIANTS.get(exercise.name, ()), seeds):
        verdict = judge(exercise.name, version, seed=seed)
        count.right += 1
        count.refused += not verdict.correct
        if not verdict.correct:
            said = verdict.message.splitlines()[0]
            count.remarks.append(f"{exercise.name}: {_name(version)} refused (seed {seed}): {said}")
    return count


def _each(items: Any, seeds: range) -> Iterator[tuple[Any, int]]:
    return ((item, seed) for seed in seeds for item in items)


def _name(version: Callable[..., Any]) -> str:
    return str(getattr(version, "__name__", version))


def main() -> None:
    """Print a line per exercise, one for all, and what was not judged as it should be."""
    total = Count()
    print(f"{'exercise':34}{'wrong':>8}{'fail':>8}{'named':>8}{'right':>8}{'false alarms':>14}")
    for exercise in exercises.iterate():
        count = tried(exercise, SEEDS)
        print(count.row(exercise.name), flush=True)
        total.add(count)
    print(total.row("all"))
    print("\n".join(total.remarks[:40]))


if __name__ == "__main__":
    main()
