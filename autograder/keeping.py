"""What a function gave away, and what it was given, looked at again after all its calls.

A result that a later call writes over was right when it was returned, and is wrong when it is
used: one array for all calls, or an earlier caller's input that is changed after all.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.declaring import Case, Value
from autograder.recording import changed

LATER = "later.call"
"""Stands among the names of what a call has changed, for what a later one changed of it."""

Look = Callable[[], Mapping[str, Value]]


@dataclass(frozen=True)
class Kept:
    """A call as it was.

    look: records anew what was returned; values: what was recorded the first time. before: the
    arguments; given: those that the function got, unless it changed them itself.
    """

    look: Look
    values: Mapping[str, Value]
    before: Mapping[str, Any]
    given: Mapping[str, Any]

    def has_changed(self) -> bool:
        """Whether another call has changed what this one returned or was given."""
        now = self.look()
        differs = any(not _same(value, now.get(name)) for name, value in self.values.items())
        return differs or bool(changed(self.before, self.given))


_KEPT: ContextVar[dict[str, Kept] | None] = ContextVar("_KEPT", default=None)


@contextmanager
def kept() -> Iterator[Mapping[str, Kept]]:
    """Inside the block, `keep` keeps calls, by the names of their cases."""
    calls: dict[str, Kept] = {}
    token = _KEPT.set(calls)
    try:
        yield calls
    finally:
        _KEPT.reset(token)


def keep(case: Case, look: Look, values: Mapping[str, Value], given: Mapping[str, Any]) -> None:
    """Keep a call for later, where somebody wants to know."""
    calls = _KEPT.get()
    if calls is not None:
        itself = changed(case.arguments, given)
        left = {name: value for name, value in given.items() if name not in itself}
        before = {name: case.arguments[name] for name in left}
        calls[case.name] = Kept(look, dict(values), before, left)


def _same(then: Value, now: Value | None) -> bool:
    if now is None or (then.kind, then.dtype) != (now.kind, now.dtype):
        return False
    if isinstance(then.data, np.ndarray) and isinstance(now.data, np.ndarray):
        return then.data.shape == now.data.shape and then.data.tobytes() == now.data.tobytes()
    return then.kind == "other" or then.data == now.data
