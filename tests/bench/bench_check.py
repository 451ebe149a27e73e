"""How long `check` takes once it is warm: judging and making the HTML, in milliseconds."""

import pkgutil
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from autograder import exercises, judge
from autograder.expecting import mistakes_of
from autograder.rendering import to_html, to_text

PROMISED = 150.0  # ms, median
REPEATS = 7


def milliseconds(name: str, implementation: Callable[..., Any]) -> float:
    """The median time of a check of this implementation."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        verdict = judge(name, implementation)
        to_html(verdict), to_text(verdict)
        times.append(1000 * (time.perf_counter() - start))
    return median(times)


def main() -> None:
    """Print a line per exercise."""
    print(f"{'exercise':24}{'correct':>10}{'wrong, median':>16}{'wrong, worst':>16}")
    for exercise in exercises.iterate():
        reference = pkgutil.resolve_name(exercise.reference)
        right = milliseconds(exercise.name, reference)
        wrong = [milliseconds(exercise.name, m.implementation) for m in mistakes_of(exercise)]
        slow = "" if median(wrong) <= PROMISED else f"  over the {PROMISED:.0f} ms promised"
        print(f"{exercise.name:24}{right:10.1f}{median(wrong):16.1f}{max(wrong):16.1f}{slow}")


if __name__ == "__main__":
    main()
