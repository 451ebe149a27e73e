"""Cases and observations as plain data that `autograder.wire` can send.

Packing happens beside student code, so that whatever is too large is cut or described;
unpacking happens where marks are given, so that every field is checked.
"""

import math
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autograder.declaring import Case, Observation, Observations, Problem, Value
from autograder.recording import NAME
from autograder.refusing import in_our_words
from autograder.wire import DTYPES, WireError

# Bytes of one returned array, and of all; larger ones travel as their description. What is asked
# for anywhere has a tenth of that.
VALUE_LIMIT, VALUES_LIMIT = 4 * 2**20, 24 * 2**20
TEXT_LIMIT = 10_000  # characters of one string
NAME_LIMIT = 200  # characters of one name
WHOLE_LIMIT = 2**63  # beyond it, NumPy keeps numbers as objects, which nothing can be done with
# Fields of a problem that stand in our own sentences.
PLAIN = ("type", "raised_in", "function")
# What no description of a value has: the end of one sentence and the beginning of the next.
SENTENCE = re.compile(r"[.!?]\s|[\x00-\x1f]")
COUNT_LIMIT = 1000  # cases, or names in a list
PARTS_LIMIT = 100  # parts of what is observed of a case; a module has about twenty
# Names of parts are ours, and a few words long; the parts of a few exercises are parameters.
WORD = r"\w[\w']*(?:\.\w+)*"
PART = re.compile(rf"{WORD}(?: {WORD}){{0,7}}")
DEVICE = re.compile(r"(?:[a-z_]{1,20}(?::\d{1,3})?)?")


def pack_case(case: Case) -> dict[str, Any]:
    """What of a case travels: its name and the arguments, not what it is for."""
    return {"name": case.name, "arguments": dict(case.arguments)}


def unpack_case(packed: Any) -> Case:
    """The case that `pack_case` packed. Raises WireError."""
    fields = _fields(packed, name=str, arguments=dict)
    return Case(fields["name"], "", fields["arguments"])


def pack_observations(observations: Observations) -> dict[str, Any]:
    """Observations as plain data; whatever is too large is cut or described."""
    room = _Room()
    return {
        "by_case": {name: _pack_observation(o, room) for name, o in observations.by_case.items()},
        "refusal": _cut(observations.refusal),
        "refers_to": [_cut(name, NAME_LIMIT) for name in observations.refers_to],
    }


@dataclass
class _Room:
    """How many bytes of arrays may still be sent."""

    left: int = VALUES_LIMIT

    def takes(self, size: int) -> bool:
        if size > min(self.left, VALUE_LIMIT):
            return False
        self.left -= size
        return True


def _pack_observation(observation: Observation, room: _Room) -> dict[str, Any]:
    problem = observation.problem
    values = observation.values.items()
    return {
        "values": {_cut(part, NAME_LIMIT): _pack_value(value, room) for part, value in values},
        "problem": problem and _pack_problem(problem),
        "changed": list(observation.changed),
        "called": list(observation.called),
        "printed": _cut(observation.printed),
    }


def _pack_problem(problem: Problem) -> dict[str, Any]:
    cut = {name: _cut(text) for name, text in vars(problem).items() if isinstance(text, str)}
    parents = [_cut(parent, NAME_LIMIT) for parent in problem.parents[:COUNT_LIMIT]]
    return {**cut, "line_number": problem.line_number, "parents": parents}


def _pack_value(value: Value, room: _Room) -> dict[str, Any]:
    data = value.data
    if isinstance(data, np.ndarray):
        if not room.takes(data.nbytes):
            words = f"{value.description}, too large to be compared"
            return vars(Value("other", description=_cut(words)))
        if data.dtype.name not in DTYPES:  # long double and its complex kin
            data = data.astype(np.complex128 if data.dtype.kind == "c" else np.float64)
    elif type(data) is int and abs(data) >= WHOLE_LIMIT:
        data = math.inf if data > 0 else -math.inf
    elif type(data) is str:
        data = _cut(data)
    return {**vars(value), "data": data, "description": _cut(value.description)}


def _cut(text: str, limit: int = TEXT_LIMIT) -> str:
    return str(text)[:limit]


def unpack_observations(packed: Any) -> Observations:
    """The observations that `pack_observations` packed, every field checked. Raises WireError."""
    fields = _fields(packed, by_case=dict, refusal=str, refers_to=list)
    _names(list(fields["by_case"]))
    if not in_our_words(fields["refusal"]):
        raise WireError("Why it cannot be called is said in other words than ours.")
    return Observations(
        {name: _unpack_observation(o) for name, o in fields["by_case"].items()},
        fields["refusal"],
        _names(fields["refers_to"]),
    )


def with_calls(observations: Observations, called: Collection[str]) -> Observations:
    """The same, with these calls in every case."""
    if not called:
        return observations
    by_case = {
        name: replace(each, called=tuple(sorted({*each.called, *called})))
        for name, each in observations.by_case.items()
    }
    return replace(observations, by_case=by_case)


def _unpack_observation(packed: Any) -> Observation:
    fields = _fields(
        packed, values=dict, problem=(dict, type(None)), changed=list, called=list, printed=str
    )
    if len(fields["values"]) > PARTS_LIMIT or not all(map(PART.fullmatch, fields["values"])):
        raise WireError("The parts of a result bear other names than ours.")
    return Observation(
        {part: _unpack_value(value) for part, value in fields["values"].items()},
        None if fields["problem"] is None else _unpack_problem(fields["problem"]),
        _plain_names(fields["changed"]),
        _plain_names(fields["called"]),
        fields["printed"],
    )


def _unpack_problem(packed: Any) -> Problem:
    fields = _fields(
        packed,
        type=str,
        message=str,
        parents=list,
        raised_in=str,
        function=str,
        line=str,
        line_number=int,
    )
    _plain_names([name for name in map(fields.get, PLAIN) if name])
    return Problem(**{**fields, "parents": _plain_names(fields["parents"])})


def _unpack_value(packed: Any) -> Value:
    fields = _fields(packed, kind=str, data=object, dtype=str, device=str, description=str)
    if SENTENCE.search(fields["description"]):
        raise WireError("A returned value is described in other words than ours.")
    if not DEVICE.fullmatch(fields["device"]):
        raise WireError("A returned value is said to be on a device of no such name.")
    kind, data, dtype = fields["kind"], fields["data"], fields["dtype"]
    fits = {
        "array": type(data) is np.ndarray and _is_array_dtype(dtype),
        "tensor": type(data) is np.ndarray and re.fullmatch(r"[a-z0-9_]{1,30}", dtype),
        "number": type(data) in (bool, float, complex)
        or (type(data) is int and abs(data) < WHOLE_LIMIT),
        "text": type(data) is str and len(data) <= TEXT_LIMIT,
        "none": data is None,
        "other": data is None,
    }
    if not fits.get(kind):
        raise WireError(f"A returned value is said to be of kind {kind[:40]!r}, and is not.")
    return Value(**fields)


def _is_array_dtype(name: str) -> bool:
    return name in DTYPES or name in (np.dtype("longdouble").name, np.dtype("clongdouble").name)


def _names(items: list[Any]) -> tuple[str, ...]:
    if len(items) > COUNT_LIMIT:
        raise WireError(f"There are {len(items)} names, where {COUNT_LIMIT} are many.")
    if not all(type(item) is str and len(item) <= NAME_LIMIT for item in items):
        raise WireError("A list of names contains something else.")
    return tuple(items)


def _plain_names(items: list[Any]) -> tuple[str, ...]:
    if not all(NAME.fullmatch(name) for name in _names(items)):
        raise WireError("A list of Python's names contains something else.")
    return tuple(items)


def _fields(packed: Any, **types: Any) -> dict[str, Any]:
    """The table itself, once it has exactly these names with values of these types."""
    if type(packed) is not dict or set(packed) != set(types):
        raise WireError(f"Expected a table of {', '.join(types)}.")
    for name, kind in types.items():
        if not isinstance(packed[name], kind) or (kind is int and type(packed[name]) is bool):
            raise WireError(f"{name} is of the wrong type, {type(packed[name]).__name__}.")
        if kind is str and len(packed[name]) > TEXT_LIMIT:
            raise WireError(f"{name} has {len(packed[name])} characters, which is too much.")
    return packed
