"""Putting our own modules back as they were, after student code has run.

A guard rail like `watching`: who replaces a function of ours by name, or the code in it, has
not changed how the next exercise is observed. Who goes after this module finds a way; what
values are right is judged elsewhere all the same.
"""

import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from operator import is_
from types import CodeType, FunctionType, ModuleType
from typing import Any

Inside = tuple[CodeType, Any, Any]


@dataclass(frozen=True)
class Originals:
    """The names of modules and classes, and the code of their functions, as they were."""

    names: tuple[tuple[ModuleType | type, Mapping[str, Any]], ...]
    code: tuple[tuple[FunctionType, Inside], ...]

    @classmethod
    def of(cls, package: str) -> "Originals":
        """Those of every module of a package that is loaded by now."""
        modules = [
            module
            for name, module in list(sys.modules.items())
            if name.partition(".")[0] == package and type(module) is ModuleType
        ]
        classes = [
            value
            for module in modules
            for value in vars(module).values()
            if isinstance(value, type) and value.__module__ == module.__name__
        ]
        homes: list[ModuleType | type] = [*modules, *classes]
        functions = {id(f): f for f in _functions(homes) if f.__module__.startswith(package)}
        return cls(
            tuple((home, dict(vars(home))) for home in homes),
            tuple((f, _inside(f)) for f in functions.values()),
        )

    def put_back(self) -> None:
        """Undo what was changed, as far as it can be undone."""
        for home, names in self.names:
            there = vars(home)
            # Nearly always nothing was changed, and this is asked after every call.
            if len(there) == len(names) and all(map(is_, there.values(), names.values())):
                continue
            now = dict(there)
            for name in now.keys() - names.keys():
                with suppress(AttributeError, TypeError):
                    delattr(home, name)
            for name, value in names.items():
                if now.get(name, self) is not value:
                    with suppress(AttributeError, TypeError):
                        setattr(home, name, value)
        for function, inside in self.code:
            code, defaults, by_name = inside
            if (
                function.__code__ is not code
                or function.__defaults__ is not defaults
                or function.__kwdefaults__ is not by_name
            ):
                function.__code__, function.__defaults__, function.__kwdefaults__ = inside


def _functions(homes: Iterable[ModuleType | type]) -> Iterable[FunctionType]:
    for home in homes:
        for value in vars(home).values():
            function = getattr(value, "__func__", value)
            if isinstance(function, FunctionType):
                yield function


def _inside(function: FunctionType) -> Inside:
    return function.__code__, function.__defaults__, function.__kwdefaults__
