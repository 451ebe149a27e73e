"""Observing an implementation: the only part that runs beside student code.

`observe` calls the learner's function on every case and records what happened as plain
data. It decides nothing: whether that was right is judged elsewhere, from the data.
"""

import contextlib
import dis
import inspect
import io
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import CodeType
from typing import Any

import numpy as np

from autograder.declaring import Case, Exercise, Observation, Observations, Probe, Value
from autograder.keeping import LATER, Kept, keep, kept
from autograder.recording import (
    attribute,
    changed,
    describe,
    fresh,
    printable,
    record,
    record_problem,
    torch_if_loaded,
)
from autograder.refusing import refusal
from autograder.watching import left_to_probe, watched

CUT = "\n… and more that is not shown here"
PRINT_LIMIT = 2000  # characters kept of what a function prints


def returns(*parts: str) -> Probe:
    """The usual probe: call with the case's arguments, record what is returned.

    parts: a name for each returned object. With several names the function has to
    return a tuple (or list) of that length; anything else is recorded as "returned".
    """

    def probe(implementation: Callable[..., Any], case: Case) -> Observation:
        with watched():  # also what is recorded: to look at a result may run code of its class
            arguments = {name: fresh(value) for name, value in case.arguments.items()}
            returned = implementation(*arguments.values())
            values = name_parts(returned, parts)
        keep(case, lambda: name_parts(returned, parts), values, arguments)
        return Observation(values=values, changed=changed(case.arguments, arguments))

    return probe


def name_parts(returned: object, parts: Sequence[str]) -> dict[str, Value]:
    """Record a returned object, or each item of a returned tuple, by name."""
    if len(parts) == 1:
        return {parts[0]: record(returned)}
    items = items_of(returned)
    if items is not None and len(items) == len(parts):
        return {part: record(item) for part, item in zip(parts, items, strict=True)}
    return {"returned": Value("other", description=describe(returned))}


def items_of(returned: object) -> list[Any] | None:
    """What a tuple or list holds, whatever its class says of itself; None for anything else."""
    for kind in (tuple, list):
        if issubclass(type(returned), kind):
            return list(kind.__iter__(returned))  # type: ignore[arg-type]
    return None


def observe(exercise: Exercise, implementation: object, cases: Sequence[Case]) -> Observations:
    """Observe an implementation on every case.

    Raises nothing that student code raises, except KeyboardInterrupt: a learner who
    presses the stop button means it.
    """
    why_not = refusal(exercise, implementation)
    if why_not:
        return Observations(refusal=why_not)
    assert callable(implementation)
    with kept() as calls:
        by_case = {case.name: observe_case(exercise, implementation, case) for case in cases}
    for name in _changed_later(exercise, calls):
        by_case[name] = replace(by_case[name], changed=(*by_case[name].changed, LATER))
    return Observations(
        by_case=by_case,
        refers_to=tuple(name for name in exercise.uses if name in _names_used(implementation)),
    )


def observe_case(exercise: Exercise, implementation: Callable[..., Any], case: Case) -> Observation:
    """Observe one call of something that can be called."""
    output = _BoundedText()
    called: set[str] = set()
    observation = Observation()
    not_allowed = () if case.name in exercise.unwatched else exercise.not_allowed
    with _quiet(output), as_usual(), left_to_probe(not_allowed, called):
        try:
            observation = exercise.probe(implementation, case)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit from a learner's exit() as well
            observation = Observation(problem=record_problem(error, code_of(implementation)))
    return Observation(
        values=observation.values,
        problem=observation.problem,
        changed=observation.changed,
        called=tuple(sorted(called)),
        printed=printable(output.getvalue(), PRINT_LIMIT + len(CUT)),
    )


def _changed_later(exercise: Exercise, calls: Mapping[str, Kept]) -> list[str]:
    """The cases whose results or arguments a later call has changed."""
    changed_later = []
    for name, call in calls.items():
        with _quiet(_BoundedText()), as_usual(), left_to_probe(exercise.not_allowed, set()):
            try:
                with watched():
                    has_changed = call.has_changed()
            except KeyboardInterrupt:
                raise
            except BaseException:  # from a class of the learner's: it says nothing of later calls
                continue
            if has_changed:
                changed_later.append(name)
    return changed_later


class _BoundedText(io.StringIO):
    """Keeps the start of what is written and drops the rest, however much it is."""

    def close(self) -> None:
        """Stay open: student code may close sys.stdout, and print again."""

    def write(self, text: str) -> int:
        room = PRINT_LIMIT - self.tell()
        if room >= 0:
            super().write(str(text)[:room])
            if len(text) > room:
                super().write(CUT)
        return len(text)


@contextlib.contextmanager
def unwarned() -> Iterator[None]:
    """No warnings, and no errors in their place, whatever the notebook has set.

    Warnings are no mistakes, and whoever turned them into errors did not mean our inputs.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def as_usual() -> Iterator[None]:
    """Torch's defaults inside the block, whatever the notebook has set, and its own put back after.

    Student code may change them as well, in its cells or in the call.
    """
    torch = torch_if_loaded()
    if torch is None:
        yield
        return
    dtype, device = torch.get_default_dtype(), torch.get_default_device()
    gradients = torch.is_grad_enabled()
    deterministic = torch.get_deterministic_debug_mode()
    anomalies, checked = torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
    casts = torch.is_autocast_enabled("cpu")
    inference = torch.inference_mode(False) if torch.is_inference_mode_enabled() else None
    if inference is not None:
        inference.__enter__()
    torch.set_anomaly_enabled(False)
    torch.set_autocast_enabled("cpu", False)
    torch.set_grad_enabled(True)
    if dtype != torch.float32:
        torch.set_default_dtype(torch.float32)
    if device.type != "cpu":
        torch.set_default_device(None)
    try:
        yield
    finally:
        if inference is not None:
            inference.__exit__(None, None, None)
        torch.set_grad_enabled(gradients)
        torch.set_anomaly_enabled(anomalies, checked)
        torch.set_autocast_enabled("cpu", casts)
        if torch.get_default_dtype() != dtype:
            torch.set_default_dtype(dtype)
        if torch.get_default_device() != device:
            torch.set_default_device(None if device.type == "cpu" else device)
        if torch.get_deterministic_debug_mode() != deterministic:
            torch.set_deterministic_debug_mode(deterministic)


@contextlib.contextmanager
def _quiet(output: io.StringIO) -> Iterator[None]:
    with (
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(output),
        unwarned(),
    ):
        yield


def code_of(implementation: object) -> CodeType | None:
    """The code object of a function, or of a class's or callable's own method."""
    code = attribute(function_of(implementation), "__code__")
    return code if isinstance(code, CodeType) else None


def function_of(implementation: object) -> Any:
    """The function itself, or a class's or callable's own method; None if there is none."""
    function = implementation
    with contextlib.suppress(Exception):  # a wrapper that wraps itself
        function = inspect.unwrap(implementation)  # type: ignore[arg-type]
    own = [attribute(function, name) for name in ("forward", "__call__", "__init__")]
    candidates = (function, *own)
    return next((f for f in candidates if isinstance(attribute(f, "__code__"), CodeType)), None)


def _names_used(implementation: object) -> set[str]:
    """Every global name that the implementation's code reads, nested code included."""
    codes: list[CodeType] = []
    if isinstance(implementation, type):
        members = [attribute(member, "__code__") for member in vars(implementation).values()]
        codes += [code for code in members if isinstance(code, CodeType)]
    else:
        code = code_of(implementation)
        codes += [code] if code is not None else []
    names: set[str] = set()
    while codes:
        code = codes.pop()
        names.update(
            str(step.argval)
            for step in dis.get_instructions(code)
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")
        )
        codes.extend(item for item in code.co_consts if isinstance(item, CodeType))
    return names
