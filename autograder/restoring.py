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
from operator import is_
from types import CodeType, FunctionType, ModuleType
from typing import Any

Home = ModuleType | type
Inside = tuple[CodeType, Any, Any]

FUNCTIONS_OF = (
    *("builtins", "sys", "os", "signal", "gc", "struct", "functools", "operator", "copy", "math"),
    *("inspect", "traceback", "warnings", "dis", "importlib"),
    *("numpy", "torch", "torch._C", "torch._C._nn", "torch.nn.functional", "torch.autograd"),
)
FUNCTIONS_AND_CLASSES_OF = (
    *("threading", "contextlib", "socket", "io", "json", "json.encoder", "json.decoder"),
    *(
        "torch.overrides",
        "torch.utils._python_dispatch",
        "torch._tensor",
        "torch.nn.modules.module",
    ),
)
LIBRARIES = (*FUNCTIONS_OF, *FUNCTIONS_AND_CLASSES_OF)
"""Libraries that are in the way from a function to its observation."""


@dataclass(frozen=True)
class Originals:
    """What modules and classes were, and the code of their functions.

    names: by home, what was kept of its names, and how many it had.
    """

    names: tuple[tuple[Home, Mapping[str, Any], int], ...]
    code: tuple[tuple[FunctionType, Inside], ...]

    @classmethod
    def of(cls, package: str) -> "Originals":
        """Those of every module of a package that is loaded by now, to the last name."""
        names = [name for name in sys.modules if name.partition(".")[0] == package]
        homes = _homes(names)
        functions = (f for f in _functions(homes) if str(f.__module__).startswith(package))
        return cls(tuple((h, dict(vars(h)), len(vars(h))) for h in homes), _insides(functions))

    @classmethod
    def of_libraries(cls) -> "Originals":
        """The functions and classes of LIBRARIES, as far as they are loaded.

        What they keep in variables changes as they are used, and is nobody's but theirs.
        """
        homes = [*_modules(FUNCTIONS_OF), *_homes(FUNCTIONS_AND_CLASSES_OF)]
        if "torch" in sys.modules:
            homes.append(sys.modules["torch"].Tensor)
        functions = (f for f in _functions(homes) if f.__module__ in LIBRARIES)
        return cls(tuple((h, _callables(h), len(vars(h))) for h in homes), _insides(functions))


def put_back(ours: Originals, libraries: Originals | None) -> None:
    """Undo what was changed, as far as it can be undone."""
    for originals in (ours, libraries):
        if originals is None:
            continue
        for home, names, known in originals.names:
            there = vars(home)
            # Nearly always nothing was changed, and this is asked after every call.
            if len(there) == known:
                now = there.values() if known == len(names) else map(there.get, names)
                if all(map(is_, now, names.values())):
                    continue
            for name in set(there) - set(names):
                # What was added to libraries stays, unless it hides what a class inherits.
                if originals is libraries and not (
                    isinstance(home, type) and any(name in vars(base) for base in home.__mro__[1:])
                ):
                    continue
                try:  # noqa: SIM105 (contextlib is among what may have been replaced)
                    delattr(home, name)
                except (AttributeError, TypeError):
                    pass
            for name, value in names.items():
                if name not in there or there[name] is not value:
                    try:  # noqa: SIM105
                        setattr(home, name, value)
                    except (AttributeError, TypeError):
                        pass
        for function, inside in originals.code:
            code, defaults, by_name = inside
            if (
                function.__code__ is not code
                or function.__defaults__ is not defaults
                or function.__kwdefaults__ is not by_name
            ):
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
        ours = partial(_privately(_with_first), own, kept)
        keep(ours)
        kept.append(Originals.of(package))
        return cls(ours, partial(own, kept[0], Originals.of_libraries()))


def _with_first(own: Callable[..., None], kept: list[Originals]) -> None:
    own(kept[0], None)


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


def _insides(functions: Iterable[FunctionType]) -> tuple[tuple[FunctionType, Inside], ...]:
    apart = {id(function): function for function in functions}
    return tuple((f, (f.__code__, f.__defaults__, f.__kwdefaults__)) for f in apart.values())
