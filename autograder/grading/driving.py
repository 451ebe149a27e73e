"""Running one notebook: sends cells to a runner, collects its events, and keeps the time.

Whatever student code does to its process, what comes out is a `Run`: what is known of each
cell, and why the rest is not. Only a runner that does not even start is our own fault.
"""

import contextlib
import signal
import time
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from autograder import exercises
from autograder.capturing import COUNT_LIMIT
from autograder.declaring import Case, Observations
from autograder.grading.launching import Runner, start_runner
from autograder.keeping import LATER
from autograder.noticing import ways_round
from autograder.packing import pack_case, unpack_observations, with_calls
from autograder.wire import HEADER, WireError, decode, encode, sizes

Start = Callable[[], AbstractContextManager[Runner]]

RECEIVED_LIMIT = 128 * 2**20  # bytes of all that a runner answers; an honest one has a tenth
CALLS_LIMIT = 1000  # times that a check tells of calls that are not allowed


class RunnerFault(RuntimeError):
    """The process for student code did not start: nothing that a student did."""


@dataclass(frozen=True)
class Limits:
    """Seconds: for one cell or check, for all of a notebook, to start, and to obey a stop."""

    cell: float = 30
    notebook: float = 300
    start: float = 120
    grace: float = 3


@dataclass(frozen=True)
class CodeCell:
    """A cell of the notebook that is run."""

    source: str


@dataclass(frozen=True)
class CheckCell:
    """The place of a check: here the exercise's function is observed on these cases."""

    exercise: str
    cases: Sequence[Case]


# The events that may end a cell.
ENDINGS: Mapping[type, Set[str]] = {
    CodeCell: {"ran", "failed"},
    CheckCell: {"observed", "missing", "failed"},
}


@dataclass
class CellRun:
    """What one cell did. All of it comes from the student's process.

    outputs: as it sent them, not yet cleaned.
    observations: for a check, what was observed, or None.
    missing: for a check, whether no function of the exercise's name was there.
    note: why there is nothing else, or "". reached: whether the notebook came as far as this.
    last: whether it stopped here.
    """

    outputs: list[Any] = field(default_factory=list)
    count: int | None = None
    observations: Observations | None = None
    missing: bool = False
    note: str = ""
    reached: bool = True
    last: bool = False


def drive(
    cells: Sequence[CodeCell | CheckCell],
    limits: Limits = Limits(),
    start: Start = start_runner,
) -> list[CellRun]:
    """Run the cells of one notebook in order; what is known of each of them.

    Raises RunnerFault when the process for student code cannot be started.
    """
    runs = [CellRun() for _ in cells]
    with start() as runner:
        driver = _Driver(runner, limits)
        driver.wait_until_ready()
        reached, why = driver.follow(cells, runs)
    if why and runs:
        runs[reached].note, runs[reached].last = why, True
        for run in runs[reached + 1 :]:
            run.note = f"the notebook stopped in an earlier cell, because {why}"
            run.reached = False
    return runs


def _pack_job(cells: Sequence[CodeCell | CheckCell]) -> bytes:
    return encode(
        {
            "cells": [
                {"code": cell.source} if isinstance(cell, CodeCell) else {"check": cell.exercise}
                for cell in cells
            ]
        }
    )


def _pack_cases(cell: CheckCell) -> bytes:
    exercise = exercises.find(cell.exercise)
    rules = {"not_allowed": [*exercise.not_allowed], "unwatched": [*exercise.unwatched]}
    return encode(rules) + encode({"cases": [pack_case(case) for case in cell.cases]})


class _Closed(Exception):
    """The other side closed the connection."""


class _Driver:
    def __init__(self, runner: Runner, limits: Limits) -> None:
        self._runner = runner
        self._limits = limits
        self._received = bytearray()
        self._left = RECEIVED_LIMIT

    def wait_until_ready(self) -> None:
        try:
            event = self._next(time.monotonic() + self._limits.start)
            if event == {"event": "ready"}:
                return
            why = "it did not answer as agreed"
        except TimeoutError:
            why = f"it was not ready after {self._limits.start:g} seconds"
        except (_Closed, WireError, OSError) as error:
            self._runner.kill()
            why = self._runner.last_words() or str(error)
        raise RunnerFault(f"The process for student code did not start: {why}")

    def follow(self, cells: Sequence[CodeCell | CheckCell], runs: list[CellRun]) -> tuple[int, str]:
        """Fill `runs` as events arrive; where it stopped, and why ("" at the regular end)."""
        index = 0
        end = time.monotonic() + self._limits.notebook
        try:
            self._tell(_pack_job(cells))
            for index, (cell, run) in enumerate(zip(cells, runs, strict=True)):
                _expect(self._next(end), {"started"}, index)
                if isinstance(cell, CheckCell):  # not before its turn, for others to look at
                    self._tell(_pack_cases(cell))
                self._follow_cell(index, cell, run, end)
        except (TimeoutError, _Overtime) as late:
            why = str(late) or "it did not answer in time"
            return index, self._too_long_in_all() if time.monotonic() >= end else why
        except (_Closed, OSError):
            code = self._runner.ended()
            return index, self._runner.hit or _how_it_ended(code)
        except WireError as error:
            return index, f"what it answered cannot be read: {str(error).rstrip('.')}"
        return len(runs), ""

    def _follow_cell(
        self, index: int, cell: CodeCell | CheckCell, run: CellRun, end: float
    ) -> None:
        own_end = time.monotonic() + self._limits.cell
        too_long = f"it ran for more than {self._limits.cell:g} seconds and was stopped"
        if end < own_end:
            too_long = f"{self._too_long_in_all()} and was stopped"
        called: set[str] = set()
        try:
            event = self._next_but_calls(min(end, own_end), index, cell, called)
        except TimeoutError:
            self._runner.interrupt()
            try:
                event = self._next_but_calls(
                    time.monotonic() + self._limits.grace, index, cell, called
                )
            except TimeoutError:
                raise _Overtime(f"{too_long}, which it ignored") from None
            run.note = too_long
        _expect(event, ENDINGS[type(cell)], index)
        _take(event, run, cell, called | _said_to_be_called(event, cell))

    def _next_but_calls(
        self, deadline: float, index: int, cell: CodeCell | CheckCell, called: set[str]
    ) -> dict[str, Any]:
        """The next event that is not of a call, whose names are added to `called`."""
        times = 0
        while (event := self._next(deadline)).get("event") == "called":
            _expect(event, {"called"}, index)
            name = event.get("name")
            if not isinstance(name, str) or name not in _watched(cell):
                raise WireError("It told of a call that nobody asked about.")
            # Each is told once by a process and by whoever is forked from it.
            times += 1
            if times > CALLS_LIMIT:
                raise WireError("It told of the same calls again and again.")
            called.add(name)
        return event

    def _too_long_in_all(self) -> str:
        return f"the notebook took more than {self._limits.notebook:g} seconds in all"

    def _tell(self, message: bytes) -> None:
        self._runner.connection.settimeout(self._limits.cell)
        self._runner.connection.sendall(message)

    def _next(self, deadline: float) -> dict[str, Any]:
        """The next event. Raises TimeoutError, _Closed, WireError; nothing received is lost."""
        while True:
            if len(self._received) >= HEADER.size:
                wanted = HEADER.size + sum(sizes(bytes(self._received[: HEADER.size])))
                if wanted > self._left:
                    raise WireError(f"it is more than {RECEIVED_LIMIT // 2**20} MB in all.")
                if len(self._received) >= wanted:
                    message = bytes(self._received[:wanted])
                    del self._received[:wanted]
                    self._left -= wanted
                    return decode(message)
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._runner.connection.settimeout(left)
            piece = self._runner.connection.recv(2**20)
            if not piece:
                raise _Closed("it closed the connection")
            self._received += piece


class _Overtime(Exception):
    """A cell that could not be stopped."""


def _expect(event: Mapping[str, Any], names: Set[str], index: int) -> None:
    name = event.get("event")
    if not isinstance(name, str) or name not in names or event.get("cell") != index:
        raise WireError("it did not come in the agreed order.")


def _watched(cell: CodeCell | CheckCell) -> Set[str]:
    """The names of the calls that a check tells of."""
    if isinstance(cell, CodeCell):
        return frozenset()
    return {*exercises.find(cell.exercise).not_allowed, *ways_round()}


def _take(
    event: Mapping[str, Any], run: CellRun, cell: CodeCell | CheckCell, called: Set[str]
) -> None:
    """Fill `run` from the event that ends a cell. Raises WireError."""
    name = event["event"]
    if name == "ran":
        outputs, count = event.get("outputs"), event.get("count")
        # An honest process sends no more, and each takes time to clean.
        run.outputs = outputs[:COUNT_LIMIT] if isinstance(outputs, list) else []
        run.count = count if type(count) is int and 0 <= count < 10**6 else None
    elif name == "observed" and isinstance(cell, CheckCell):
        observations = unpack_observations(event.get("observations"))
        _require_what_can_be(observations, cell)
        # What was told when it happened counts, whatever is said of it later.
        run.observations = with_calls(observations, called)
    elif name == "missing":
        run.missing = True
    else:
        run.note = run.note or _why_it_failed(event)


def _said_to_be_called(event: Mapping[str, Any], cell: CodeCell | CheckCell) -> Set[str]:
    """The names that an ending event tells of. Raises WireError for others than are watched."""
    names = event.get("called", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise WireError("It told of calls in another form than agreed.")
    if not {*names} <= _watched(cell):
        raise WireError("It told of a call that nobody asked about.")
    return {*names}


def _require_what_can_be(observations: Observations, cell: CheckCell) -> None:
    """Raise WireError for calls that are not watched, and for changes of what was not given."""
    given = {case.name: case.arguments.keys() for case in cell.cases}
    for name, observation in observations.by_case.items():
        if not {*observation.called} <= _watched(cell):
            raise WireError("It told of a call that nobody asked about.")
        if not {*observation.changed} <= {*given.get(name, ()), LATER}:
            raise WireError("It told of a change of what was not given.")


def is_overtime(why: str) -> bool:
    """Whether the reason for which something stopped is that it took too long."""
    return "more than" in why and "seconds" in why


def _why_it_failed(event: Mapping[str, Any]) -> str:
    """In our own words, for student code may write into the event what it likes."""
    why, error = event.get("why"), event.get("error")
    if why == "unsent":
        return "what it gave is too large or of no form that can be sent"
    if why == "unobserved" and isinstance(error, str) and error.isidentifier():
        return f"{error[:60]} while it was observed"
    return "it was interrupted"


def _how_it_ended(code: int | None) -> str:
    """In words, what an exit code says about student code that ended its process."""
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            name = signal.Signals(-code).name
            if name == "SIGSEGV":
                return "the Python process crashed (segmentation fault)"
            if name == "SIGKILL":
                return "the Python process was ended, perhaps because it used too much memory"
            return f"the Python process was ended by {name}"
    return "the Python process ended itself, as os._exit does"
