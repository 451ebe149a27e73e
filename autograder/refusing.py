"""Why an object cannot be used as what an exercise asks for, in a sentence, before it is called.

Runs beside student code, like `observing`, which asks it first.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

from autograder.declaring import Exercise, names_in
from autograder.recording import attribute, describe, type_name

# Arguments of modules that people give by name, and so do the checks.
BY_NAME = ("dropout", "bias", "mask", "need_weights")


def refusal(exercise: Exercise, implementation: object) -> str:
    """Why this object cannot be called as the exercise's function or class, or ""."""
    if exercise.is_class and not isinstance(implementation, type):
        return _no_class(exercise, implementation)
    if not callable(implementation):
        return (
            f"The check needs the function itself, written without parentheses or arguments: "
            f"{exercise.name}. It received {describe(implementation)}."
        )
    if exercise.is_class:
        assert isinstance(implementation, type)
        return _of_class(exercise, implementation)
    name = attribute(implementation, "__name__") or exercise.name
    found = _of_call(
        exercise.name, "called with", name, implementation, exercise.signature, all_given=True
    )
    if found and isinstance(implementation, type):
        return f"The check needs a function, and {describe(implementation)} is a class."
    return found


def _no_class(exercise: Exercise, implementation: object) -> str:
    if isinstance(implementation, FunctionType):
        return f"The check needs a class, and {describe(implementation)} is none."
    made = type_name(type(implementation)) == exercise.name
    what = f"what {exercise.name}(…) makes" if made else describe(implementation)
    return (
        f"The check needs the class itself, written without parentheses or arguments: "
        f"{exercise.name}. It received {what}."
    )


def _of_class(exercise: Exercise, implementation: type) -> str:
    found = _of_call(exercise.name, "built with", exercise.name, implementation, exercise.signature)
    if found:
        return found
    for signature in exercise.methods:
        method = signature.partition("(")[0]
        # nn.Module has a forward of its own, which only says that it is missing.
        function = _own(implementation, method)
        if function is None:
            return (
                f"{exercise.name} has no method {method}. If it is written down, see that it "
                "stands inside the class, indented like __init__, and is spelt like that."
            )
        words = f"{exercise.name}'s {method}"
        if isinstance(function, FunctionType):
            found = _of_call(words, "called with", method, function, signature, skip=1)
        if found:
            return found
    return ""


def _own(implementation: type, method: str) -> Any:
    """The method, unless it comes from torch's base class."""
    for kind in implementation.__mro__:
        if kind.__module__.partition(".")[0] in ("torch", "builtins"):
            continue
        if method in vars(kind):
            return vars(kind)[method]
    return None


def _of_call(
    what: str,
    verb: str,
    name: str,
    function: Callable[..., Any],
    wanted: str,
    *,
    skip: int = 0,
    all_given: bool = False,
) -> str:
    """Why the function does not take the arguments of a signature, or "".

    skip: how many arguments come before them (1 for the self of a method).
    all_given: whether it is always called with all of them, even if some have a default.
    """
    if _takes(function, wanted, skip, all_given):
        return ""
    signature = inspect.signature(function)
    expected = names_in(wanted)
    count = f"{len(expected)} argument{'' if len(expected) == 1 else 's'}"
    required = [p for p in signature.parameters.values() if p.default is p.empty]
    note = " Arguments of your own need a default value."
    given = [] if all_given else [each for each in expected if each in BY_NAME]
    unknown = [each for each in given if not _binds_name(signature, each)]
    if unknown:
        note = f" It is called with {' and '.join(f'{each}=…' for each in given)}, by name."
    elif not all_given and _takes(function, wanted, skip, all_given=True):
        note = " What has a default value there needs one in yours."
    elif any(p.kind is p.KEYWORD_ONLY for p in signature.parameters.values()):
        note = " Behind the star, arguments are given by name only: leave the star out."
    elif len(required) <= len(expected) + skip:
        note = ""
    shown = f"{name}{_names_only(signature)}"
    return f"{what} is {verb} {count}, as {wanted}, and yours is declared as {shown}.{note}"


def _takes(function: Callable[..., Any], wanted: str, skip: int, all_given: bool) -> bool:
    """Whether the function takes the arguments of a signature, by position.

    Unless all are given, those with a default may be left out, some are given by name, and all
    of them may be.
    """
    try:
        signature = inspect.signature(function)
    except Exception:  # some builtins have no signature; calling them will tell
        return True
    names = names_in(wanted)
    required = len(names) - wanted.count("=")
    least = names[:required]
    if all_given:
        return _binds(signature, skip, names, {})
    named = dict.fromkeys(name for name in names[required:] if name in BY_NAME)
    by_position = [name for name in names if name not in named]
    return _binds(signature, skip, least, {}) and (
        _binds(signature, skip, by_position, named)
        or _binds(signature, skip, least, dict.fromkeys(names[required:]))
    )


def _binds_name(signature: inspect.Signature, name: str) -> bool:
    kinds = [(p.kind, p.name) for p in signature.parameters.values()]
    return any(
        kind is inspect.Parameter.VAR_KEYWORD
        or (own == name and kind is not inspect.Parameter.POSITIONAL_ONLY)
        for kind, own in kinds
    )


def _binds(
    signature: inspect.Signature, skip: int, positional: Sequence[str], named: Mapping[str, Any]
) -> bool:
    try:
        signature.bind(*[None] * skip, *positional, **named)
    except TypeError:
        return False
    return True


def _names_only(signature: inspect.Signature) -> str:
    """The signature without annotations, and without defaults, whose repr may do anything."""
    names: list[str] = []
    starred = False
    for p in signature.parameters.values():
        if p.kind is p.KEYWORD_ONLY and not starred:
            names.append("*")
        starred = starred or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        names.append(f"{_stars(p)}{p.name}{'' if p.default is p.empty else '=…'}")
    return f"({', '.join(names)})"


def _stars(parameter: inspect.Parameter) -> str:
    if parameter.kind is parameter.VAR_KEYWORD:
        return "**"
    return "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
