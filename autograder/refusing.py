"""Why an object cannot be used as what an exercise asks for, in a sentence, before it is called.

Runs beside student code, like `observing`, which asks it first.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

from autograder.declaring import Exercise, names_in
from autograder.recording import attribute, describe, plain_name, type_name

NO_FUNCTION = (
    "The check needs the function itself, written without parentheses or arguments: {name}. "
    "It received {what}."
)
CLASS_FOR_FUNCTION = "The check needs a function, and {what} is a class."
FUNCTION_FOR_CLASS = "The check needs a class, and {what} is none."
NO_CLASS = (
    "The check needs the class itself, written without parentheses or arguments: {name}. "
    "It received {what}."
)
NO_METHOD = (
    "{name} has no method {method}. If it is written down, see that it stands inside the class, "
    "indented like __init__, and is spelt like that."
)
ARGUMENTS = "{call} {count}, as {wanted}, and yours is declared as {shown}.{note}"
NOTES = {
    "own": " Arguments of your own need a default value.",
    "named": " It is called with {named}, by name.",
    "default": " What has a default value there needs one in yours.",
    "star": " Behind the star, arguments are given by name only: leave the star out.",
}
# What may stand in these places: no sentence of anybody else's.
PLACES = {
    "name": r"\w+",
    "what": r"[^.!?\n]{1,200}",
    "method": r"\w+",
    "call": r"\w+('s \w+)? is (called|built) with",
    "count": r"\d+ arguments?",
    "wanted": r"\w+\([\w ,.=*]*\)",
    "shown": r"[\w<>]+\([\w ,=*…]*\)",
    "named": r"[\w =…]+",
}

# Arguments of modules that people give by name, and so do the checks.
BY_NAME = ("dropout", "bias", "mask", "need_weights")


def refusal(exercise: Exercise, implementation: object) -> str:
    """Why this object cannot be called as the exercise's function or class, or ""."""
    if exercise.is_class and not isinstance(implementation, type):
        return _no_class(exercise, implementation)
    if not callable(implementation):
        return NO_FUNCTION.format(name=exercise.name, what=describe(implementation))
    if exercise.is_class:
        assert isinstance(implementation, type)
        return _of_class(exercise, implementation)
    name = attribute(implementation, "__name__") or exercise.name
    found = _of_call(
        exercise.name, "called with", name, implementation, exercise.signature, all_given=True
    )
    if found and isinstance(implementation, type):
        return CLASS_FOR_FUNCTION.format(what=describe(implementation))
    return found


def _no_class(exercise: Exercise, implementation: object) -> str:
    if isinstance(implementation, FunctionType):
        return FUNCTION_FOR_CLASS.format(what=describe(implementation))
    made = type_name(type(implementation)) == exercise.name
    what = f"what {exercise.name}(…) makes" if made else describe(implementation)
    return NO_CLASS.format(name=exercise.name, what=what)


def _of_class(exercise: Exercise, implementation: type) -> str:
    found = _of_call(exercise.name, "built with", exercise.name, implementation, exercise.signature)
    if found:
        return found
    for signature in exercise.methods:
        method = signature.partition("(")[0]
        # nn.Module has a forward of its own, which only says that it is missing.
        function = _own(implementation, method)
        if function is None:
            return NO_METHOD.format(name=exercise.name, method=method)
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
    note = NOTES["own"]
    given = [] if all_given else [each for each in expected if each in BY_NAME]
    unknown = [each for each in given if not _binds_name(signature, each)]
    if unknown:
        note = NOTES["named"].format(named=" and ".join(f"{each}=…" for each in given))
    elif not all_given and _takes(function, wanted, skip, all_given=True):
        note = NOTES["default"]
    elif any(p.kind is p.KEYWORD_ONLY for p in signature.parameters.values()):
        note = NOTES["star"]
    elif len(required) <= len(expected) + skip:
        note = ""
    shown = f"{plain_name(name)}{_names_only(signature)}"
    return ARGUMENTS.format(
        call=f"{what} is {verb}", count=count, wanted=wanted, shown=shown, note=note
    )


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


def in_our_words(said: str) -> bool:
    """Whether a text is one of the sentences above, or nothing, and not one of student code's."""
    notes = "|".join(_pattern(note) for note in NOTES.values())
    places = {"note": f"({notes})?"}
    sentences = (
        NO_FUNCTION,
        CLASS_FOR_FUNCTION,
        FUNCTION_FOR_CLASS,
        NO_CLASS,
        NO_METHOD,
        ARGUMENTS,
    )
    return not said or any(re.fullmatch(_pattern(each, places), said) for each in sentences)


def _pattern(sentence: str, more: Mapping[str, str] = {}) -> str:
    """A regular expression for a sentence with places."""
    places = {**PLACES, **more}
    parts = re.split(r"\{(\w+)\}", sentence)
    return "".join(places[p] if i % 2 else re.escape(p) for i, p in enumerate(parts))
