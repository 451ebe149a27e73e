"""The type of what each lesson's module declares."""

from collections.abc import Callable
from typing import Any

Versions = dict[str, tuple[Callable[..., Any], ...]]
