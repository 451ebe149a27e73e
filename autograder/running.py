"""The process that student code runs in: it runs cells, observes functions, decides nothing.

    python -m autograder.running DESCRIPTOR

Over the inherited socket DESCRIPTOR it receives the cells and answers event by event, as things
happen, so that a process which dies midway has lost nothing that it did before. What a check
asks is told when its turn has come, so that nobody sees it before:

    job      {"cells": [{"code": "…"} | {"check": "softmax"}, …]}
    told     {"not_allowed": [names], "unwatched": [names of cases]}, once for each check
             {"cases": [packed cases]}, after it
    events   {"event": "ready"}
             {"event": "started", "cell": 3}
             {"event": "ran", "cell": 3, "outputs": […], "count": 2}
             {"event": "called", "cell": 4, "name": "torch.softmax"}, where that is not allowed
             {"event": "observed", "cell": 4, "observations": packed observations,
              "called": ["torch.softmax"]}, again, should the first message have been held up
             {"event": "missing", "cell": 4}
             {"event": "failed", "cell": 4, "why": "interrupted", "unsent" or "unobserved"}

Neither the course nor the judging side is imported here. Student code shares this process
and can do to it what it likes: whoever reads the events trusts none of them.
"""

import contextlib
import ctypes
import os
import signal
import socket
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import autograder
from autograder import exercises
from autograder.capturing import ZMQInteractiveShell, start_shell
from autograder.declaring import Exercise
from autograder.halting import nobody_else
from autograder.noticing import WENT_ON, ways_round
from autograder.observing import observe
from autograder.packing import pack_observations, unpack_case
from autograder.recording import type_name
from autograder.restoring import Restoring
from autograder.watching import (
    afterwards,
    overhear,
    told_at_once,
    undisturbed,
    watch_python,
    watch_threads,
)
from autograder.wire import WireError, decode, encode, receive

PR_SET_PDEATHSIG = 1  # of Linux's prctl
BESIDE_STUDENT_CODE = (
    "capturing",
    "confining",
    "declaring",
    "exercises",
    "halting",
    "keeping",
    "module_moving",
    "module_probing",
    "noticing",
    "observing",
    "overhearing",
    "packing",
    "probing",
    "recording",
    "refusing",
    "restoring",
    "running",
    "watching",
    "wire",
    "working",
)
CHECKS_LATER = "Checks run when your notebook is graded; here nothing is checked."
_MISSING = object()


def main(arguments: list[str]) -> None:
    """Serve one notebook over the socket whose descriptor is the only argument."""
    _die_with_the_grader()
    serve(socket.socket(fileno=int(arguments[0])), prepare())


@dataclass(frozen=True)
class Prepared:
    """The shell that cells run in, and what undoes what they change of ours.

    restoring: None where not everything of ours is loaded yet.
    """

    shell: ZMQInteractiveShell
    restoring: Restoring | None = None


def prepare() -> Prepared:
    """Make what does not depend on the notebook, once for this process and its forks."""
    shell = start_shell()
    assert shell.display_formatter is not None
    shell.display_formatter.format(1)  # makes its parts, which takes a while
    shell.run_cell("pass", store_history=False)
    watch_threads()
    overhear()
    sys.addaudithook = _nothing  # they cannot be taken away, and nobody sees what they call
    _put_stand_ins()
    return Prepared(shell)


def remember() -> Restoring:
    """What puts everything back as it is now; from here on, nobody imports what would answer.

    What cases are made with answers some of them, and whoever needs it here has it in hand.
    """
    hidden = [name for name in sys.modules if name.startswith(f"{exercises.__name__}.")]
    for name in hidden:
        vars(exercises).pop(name.rpartition(".")[2], None)
    restoring = Restoring.of("autograder", afterwards)
    for name in hidden:
        del sys.modules[name]
    sys.meta_path.insert(0, _NotHere())
    return restoring


def serve(connection: socket.socket, prepared: Prepared) -> None:
    """Say that this process is ready, and run the cells of one notebook."""
    line = Line(connection)
    interrupts = Interrupts()
    line.send({"event": "ready"})
    # Until here, what goes wrong is our own fault and is read from stderr; nothing is after this.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    run(line, prepared, interrupts)


@dataclass(frozen=True)
class Line:
    """The connection to whoever grades."""

    connection: socket.socket

    def send(self, event: Mapping[str, Any]) -> None:
        """Send one event. Raises WireError when it is too large, or no plain data."""
        self.connection.sendall(encode(event))

    def receive(self) -> bytes:
        """The next message, still encoded; empty when the other side has closed."""
        return receive(self.connection.recv) or b""

    def telling(
        self, names: Iterable[str], cell: int
    ) -> tuple[Callable[[str], None], Callable[[], list[str]]]:
        """What tells that one of these was called, once for each; and which of them it told of.

        All of it is in hand before student code runs, which could replace what it takes.
        """
        events = {n: encode({"event": "called", "cell": cell, "name": n}) for n in names}
        write, descriptor = os.write, self.connection.fileno()

        def tell(name: str) -> None:
            event = events.pop(name, None)
            if event is not None:
                write(descriptor, event)

        return tell, lambda: [name for name in names if name not in events]


def _die_with_the_grader() -> None:
    """Ask Linux to kill this process when the grader dies, however it dies."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class _NotHere:
    """Refuses the imports that would answer an exercise instead of the student.

    It keeps honest people honest; keeping the others out takes a sandbox.
    """

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Raise ModuleNotFoundError for the course and the judging side, else pass."""
        package, _, rest = name.partition(".")
        ours = package == "autograder" and bool(rest)
        if package == "course" or (ours and rest not in BESIDE_STUDENT_CODE):
            raise ModuleNotFoundError(f"{name} is not there while a notebook is graded.", name=name)


class Interrupts:
    """SIGINT stops student code, and only that: never a message that is half sent."""

    def __init__(self) -> None:
        self._allowed = False
        signal.signal(signal.SIGINT, self._handle)

    def _handle(self, number: int, frame: types.FrameType | None) -> None:
        if self._allowed:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def allowed(self) -> Iterator[None]:
        """Inside the block, SIGINT raises KeyboardInterrupt; outside, it is ignored."""
        self._allowed = True
        try:
            yield
        finally:
            self._allowed = False


def run(line: Line, prepared: Prepared, interrupts: Interrupts) -> None:
    """Run the cells of a job in order, and observe at the place of each check."""
    # Everything of ours is in hand before the first line of student code runs.
    shell = prepared.shell
    cells = [_prepare(cell) for cell in decode(line.receive())["cells"]]
    put_back = (prepared.restoring or remember()).everything
    for index, cell in enumerate(cells):
        line.send({"event": "started", "cell": index})
        if isinstance(cell, str):
            event = _run_code(cell, shell, interrupts)
        else:
            # Said now, for what lies here from the start can be found and changed.
            rules = decode(line.receive())
            not_allowed, unwatched = tuple(rules["not_allowed"]), tuple(rules["unwatched"])
            cell = replace(cell, not_allowed=not_allowed, unwatched=unwatched)
            tell, told = line.telling((*cell.not_allowed, *ways_round()), index)
            with told_at_once(tell), nobody_else(partial(tell, WENT_ON)):
                event = _observe(cell, line.receive(), shell, interrupts)
            event["called"] = told()
        put_back()  # what sending rests on, and the next check
        try:
            line.send({"cell": index, **event})
        except WireError:
            line.send({"cell": index, "event": "failed", "why": "unsent"})


def _prepare(cell: Mapping[str, Any]) -> str | Exercise:
    if "code" in cell:
        return str(cell["code"])
    # Where the reference and the mistakes are to be found is nothing for this process.
    return replace(exercises.find(cell["check"]), reference="", mistakes="")


def _run_code(code: str, shell: ZMQInteractiveShell, interrupts: Interrupts) -> dict[str, Any]:
    # IPython shows exceptions as outputs; what still comes through broke IPython itself.
    try:
        with interrupts.allowed():
            shell.run_cell(code, store_history=True)
    except BaseException as error:
        shell.outputs.error(type(error).__name__, "", ["The shell itself stopped here."])
    return {"event": "ran", "outputs": shell.outputs.take(), "count": shell.execution_count - 1}


def _observe(
    exercise: Exercise, asked: bytes, shell: ZMQInteractiveShell, interrupts: Interrupts
) -> dict[str, Any]:
    try:
        # From before the inputs can be read: else whoever lies in wait for them, in a thread or in
        # what is called while they are unpacked, could answer them in ways that are not allowed.
        with undisturbed(), watch_python(exercise.not_allowed, set()):
            cases = [unpack_case(case) for case in decode(asked)["cases"]]
            implementation = shell.user_ns.get(exercise.name, _MISSING)
            if implementation is _MISSING:
                return {"event": "missing"}
            with interrupts.allowed():
                observations = observe(exercise, implementation, cases)
        return {"event": "observed", "observations": pack_observations(observations)}
    except KeyboardInterrupt:
        return {"event": "failed", "why": "interrupted"}
    except BaseException as error:  # student code has broken something that observing needs
        return {"event": "failed", "why": "unobserved", "error": type_name(type(error))}
    finally:
        shell.outputs.take()


def _put_stand_ins() -> None:
    """Let `from autograder import check, hint, judge, progress` work, and do nothing."""
    checking = types.ModuleType("autograder.checking")
    checking.CheckFailed = type("CheckFailed", (Exception,), {})  # type: ignore[attr-defined]
    sys.modules["autograder.checking"] = checking
    for name in ("check", "hint", "progress"):
        for module in (autograder, checking):
            setattr(module, name, _say_later)
    autograder.judge = _judge_later  # type: ignore[assignment]


def _nothing(*_arguments: Any, **_more: Any) -> None:
    """Stand for what does not work while a notebook is graded."""


def _say_later(*_arguments: Any, **_more: Any) -> None:
    print(CHECKS_LATER)


def _judge_later(*_arguments: Any, **_more: Any) -> types.SimpleNamespace:
    """Something with the attributes of a verdict, so that code which reads them goes on."""
    return types.SimpleNamespace(
        outcome="not attempted", correct=False, mistake=None, score=0.0, message=CHECKS_LATER
    )


if __name__ == "__main__":
    main(sys.argv[1:])
