"""Putting back what student code has replaced, of ours and of what observing rests on.

A guard rail like `watching`: who replaces a function by name, or the code in it, has not
changed how the next exercise is observed. Who goes after what keeps the originals finds a way;
what values are right is judged elsewhere all the same.
"""

import builtins
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from operator import attrgetter, is_, methodcaller
from types import CodeType, FunctionType, ModuleType
from typing import Any

Home = ModuleType | type

LIBRARIES = (
    *("builtins", "sys", "threading", "contextlib", "socket", "gc", "signal", "os"),
    *("json", "json.encoder", "json.decoder"),
    *("torch.overrides", "torch.utils._python_dispatch", "torch.nn.modules.module"),
)
"""What noticing a call and sending what was noticed rest on. What else is called for that is
watched itself."""


@dataclass(frozen=True)
class Originals:
    """What modules and classes were, and the code of their functions.

    Side by side: homes, what they hold (a view that follows them), and what is kept of it; and
    functions, and what is in each.
    """

    homes: tuple[Home, ...]
    there: tuple[Mapping[str, Any], ...]
    kept: tuple[Mapping[str, Any], ...]
    functions: tuple[FunctionType, ...]
    code: tuple[CodeType, ...]
    defaults: tuple[Any, ...]
    by_name: tuple[Any, ...]
    added_stays: bool

    @classmethod
    def of(cls, package: str) -> "Originals":
        """Those of every module of a package that is loaded by now, to the last name."""
        homes = _homes([name for name in sys.modules if name.partition(".")[0] == package])
        functions = (f for f in _functions(homes) if str(f.__module__).startswith(package))
        return cls._made({home: dict(vars(home)) for home in homes}, functions, added_stays=False)

    @classmethod
    def of_libraries(cls) -> "Originals":
        """The functions and classes of LIBRARIES, as far as they are loaded.

        What they keep in variables changes as they are used, and is nobody's but theirs.
        """
        homes = _homes(LIBRARIES)
        functions = (f for f in _functions(homes) if f.__module__ in LIBRARIES)
        return cls._made({h: _callables(h) for h in homes}, functions, added_stays=True)

    @classmethod
    def _made(
        cls,
        names: Mapping[Home, Mapping[str, Any]],
        functions: Iterable[FunctionType],
        *,
        added_stays: bool,
    ) -> "Originals":
        apart = tuple({id(function): function for function in functions}.values())
        return cls(
            tuple(names),
            tuple(map(vars, names)),
            tuple(names.values()),
            apart,
            tuple(map(CODE, apart)),
            tuple(map(DEFAULTS, apart)),
            tuple(map(BY_NAME, apart)),
            added_stays,
        )


CODE, DEFAULTS, BY_NAME = map(attrgetter, ("__code__", "__defaults__", "__kwdefaults__"))
VALUES = methodcaller("values")


def put_back(originals: Originals) -> None:
    """Undo what was changed, as far as it can be undone.

    Nearly always nothing was, and this is asked after every call; so most of it is told with few
    calls of functions, each of which is dear while calls are watched.
    """
    homes, there, kept = originals.homes, originals.there, originals.kept
    same = False
    if not originals.added_stays and sum(map(len, there)) == sum(map(len, kept)):
        same = all(map(is_, chain(*map(VALUES, there)), chain(*map(VALUES, kept))))
    for home, now, values in () if same else zip(homes, there, kept, strict=True):
        if all(map(is_, map(now.get, values), values.values())) and len(now) == len(values):
            continue
        for name in set(now) - set(values):
            # What was added to libraries stays, unless it hides what a class inherits.
            if originals.added_stays and not (
                isinstance(home, type) and any(name in vars(base) for base in home.__mro__[1:])
            ):
                continue
            try:  # noqa: SIM105 (contextlib is among what may have been replaced)
                delattr(home, name)
            except (AttributeError, TypeError):
                pass
        for name, value in values.items():
            if name not in now or now[name] is not value:
                try:  # noqa: SIM105
                    setattr(home, name, value)
                except (AttributeError, TypeError):
                    pass
    functions, code = originals.functions, originals.code
    defaults, by_name = originals.defaults, originals.by_name
    if not (
        all(map(is_, map(CODE, functions), code))
        and all(map(is_, map(DEFAULTS, functions), defaults))
        and all(map(is_, map(BY_NAME, functions), by_name))
    ):
        for function, *inside in zip(functions, code, defaults, by_name, strict=True):
            function.__code__, function.__defaults__, function.__kwdefaults__ = inside


@dataclass(frozen=True)
class Restoring:
    """What puts back our own modules, and those and LIBRARIES. None of it can be replaced by name.

    ours: quick, for after every call. everything: for where nothing of ours is under way.
    """

    ours: Callable[[], None]
    everything: Callable[[], None]

    @classmethod
    def of(cls, package: str, keep: Callable[[Callable[[], None]], object]) -> "Restoring":
        """Remember everything as it is once `keep` has been given what puts back our own."""
        own = _privately(put_back)
        kept: list[Originals] = []
        ours = partial(_privately(_each), own, kept)
        keep(ours)
        kept.append(Originals.of(package))
        return cls(ours, partial(_privately(_each), own, [*kept, Originals.of_libraries()]))


def _each(put: Callable[[Originals], None], kept: list[Originals]) -> None:
    for originals in kept:
        put(originals)


def _privately(function: Callable[..., None]) -> Callable[..., None]:
    """The same function, with builtins and other names of its own, that nobody can replace."""
    assert isinstance(function, FunctionType)
    names = {**function.__globals__, "__builtins__": dict(vars(builtins))}
    return FunctionType(function.__code__, names, function.__name__)


def _modules(names: Iterable[str]) -> list[ModuleType]:
    """Those that are loaded by now."""
    loaded = [sys.modules[name] for name in names if name in sys.modules]
    return [module for module in loaded if type(module) is ModuleType]


def _homes(names: Iterable[str]) -> list[Home]:
    """Modules, and the classes that are defined in them."""
    modules = _modules(names)
    classes = [
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__
    ]
    return [*modules, *classes]


def _callables(home: Home) -> dict[str, Any]:
    names = vars(home).items()
    return {name: value for name, value in names if callable(value) or isinstance(home, type)}


def _functions(homes: Iterable[Home]) -> Iterable[FunctionType]:
    for home in homes:
        for value in vars(home).values():
            function = getattr(value, "__func__", value)
            if isinstance(function, FunctionType):
                yield function
