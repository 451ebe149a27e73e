"""Wrong implementations that people really write, one module per lesson.

Each lesson's module has MISTAKES: exercise name → tuple of `Mistake`. They are loaded only where
judging happens, never beside student code.
"""

from collections.abc import Callable
from typing import Any

from autograder.declaring import Mistake


def ways(
    id: str, happened: str, advice: str, *implementations: Callable[..., Any]
) -> tuple[Mistake, ...]:
    """One mistake, in the several ways of making it that fail differently."""
    return tuple(Mistake(id, happened, advice, each) for each in implementations)
