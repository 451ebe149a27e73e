"""The process that student code runs in: it runs cells, observes functions, decides nothing.

    python -m autograder.running DESCRIPTOR

Over the inherited socket DESCRIPTOR it receives one job and answers event by event, as
things happen, so that a process which dies midway has lost nothing that it did before:

    job      {"cells": [{"code": "…"} | {"check": "softmax", "cases": [packed cases]}, …]}
    events   {"event": "ready"}
             {"event": "started", "cell": 3}
             {"event": "ran", "cell": 3, "outputs": […], "count": 2}
             {"event": "observed", "cell": 4, "observations": packed observations}
             {"event": "missing", "cell": 4}
             {"event": "failed", "cell": 4, "why": "interrupted", "unsent" or "unobserved"}
             {"event": "done"}

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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import autograder
from autograder import exercises
from autograder.capturing import ZMQInteractiveShell, start_shell
from autograder.declaring import Case, Exercise
from autograder.observing import observe
from autograder.packing import pack_observations, unpack_case
from autograder.recording import type_name
from autograder.restoring import Originals
from autograder.watching import afterwards, watch_threads
from autograder.wire import WireError, decode, encode, receive

Send = Callable[[Mapping[str, Any]], None]

PR_SET_PDEATHSIG = 1  # of Linux's prctl
BESIDE_STUDENT_CODE = (
    "capturing",
    "confining",
    "declaring",
    "exercises",
    "module_moving",
    "module_probing",
    "observing",
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
    """Serve one job over the socket whose descriptor is the only argument."""
    _die_with_the_grader()
    serve(socket.socket(fileno=int(arguments[0])), start_shell())


def serve(connection: socket.socket, shell: ZMQInteractiveShell) -> None:
    """Say that this process is ready, receive one job, and run it."""

    def send(event: Mapping[str, Any]) -> None:
        connection.sendall(encode(event))

    interrupts = Interrupts()
    send({"event": "ready"})
    # Until here, what goes wrong is our own fault and is read from stderr; nothing is after this.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    message = receive(connection.recv)
    if message is not None:
        run(decode(message), shell, send, interrupts)
        send({"event": "done"})


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
        if package == "course" or (ours and rest.partition(".")[0] not in BESIDE_STUDENT_CODE):
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


def run(
    job: Mapping[str, Any], shell: ZMQInteractiveShell, send: Send, interrupts: Interrupts
) -> None:
    """Run the cells of a job in order, and observe at the place of each check."""
    watch_threads()
    # Everything of ours is in hand before the first line of student code runs.
    cells = [_prepare(cell) for cell in job["cells"]]
    _put_stand_ins()
    sys.meta_path.insert(0, _NotHere())
    originals = Originals.of("autograder")
    afterwards(originals.put_back)
    for index, cell in enumerate(cells):
        send({"event": "started", "cell": index})
        if isinstance(cell, str):
            event = _run_code(cell, shell, interrupts)
        else:
            originals.put_back()
            event = _observe(*cell, shell, interrupts)
        try:
            send({"cell": index, **event})
        except WireError:
            send({"cell": index, "event": "failed", "why": "unsent"})


def _prepare(cell: Mapping[str, Any]) -> str | tuple[Exercise, list[Case]]:
    if "code" in cell:
        return str(cell["code"])
    # Where the reference and the mistakes are to be found is nothing for this process.
    exercise = replace(exercises.find(cell["check"]), reference="", mistakes="")
    return exercise, [unpack_case(case) for case in cell["cases"]]


def _run_code(code: str, shell: ZMQInteractiveShell, interrupts: Interrupts) -> dict[str, Any]:
    # IPython shows exceptions as outputs; what still comes through broke IPython itself.
    try:
        with interrupts.allowed():
            shell.run_cell(code, store_history=True)
    except BaseException as error:
        shell.outputs.error(type(error).__name__, "", ["The shell itself stopped here."])
    return {"event": "ran", "outputs": shell.outputs.take(), "count": shell.execution_count - 1}


def _observe(
    exercise: Exercise, cases: list[Case], shell: ZMQInteractiveShell, interrupts: Interrupts
) -> dict[str, Any]:
    implementation = shell.user_ns.get(exercise.name, _MISSING)
    if implementation is _MISSING:
        return {"event": "missing"}
    try:
        with nobody_else(), interrupts.allowed():
            observations = observe(exercise, implementation, cases)
        return {"event": "observed", "observations": pack_observations(observations)}
    except KeyboardInterrupt:
        return {"event": "failed", "why": "interrupted"}
    except BaseException as error:  # student code has broken something that observing needs
        return {"event": "failed", "why": "unobserved", "error": type_name(type(error))}
    finally:
        shell.outputs.take()


@contextlib.contextmanager
def nobody_else() -> Iterator[None]:
    """Halt what else runs in the sandbox: other processes shall not answer for the function."""
    if os.getpid() != 1:  # without the sandbox they could be anybody's
        yield
        return
    _signal_all_others(signal.SIGSTOP)
    try:
        yield
    finally:
        _signal_all_others(signal.SIGCONT)


def _signal_all_others(number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(-1, number)  # everything in this namespace but its first process, which this is


def _put_stand_ins() -> None:
    """Let `from autograder import check, hint, judge, progress` work, and do nothing."""
    checking = types.ModuleType("autograder.checking")
    checking.CheckFailed = type("CheckFailed", (Exception,), {})  # type: ignore[attr-defined]
    sys.modules["autograder.checking"] = checking
    for name in ("check", "hint", "progress"):
        for module in (autograder, checking):
            setattr(module, name, _say_later)
    autograder.judge = _judge_later  # type: ignore[assignment]


def _say_later(*_arguments: Any, **_more: Any) -> None:
    print(CHECKS_LATER)


def _judge_later(*_arguments: Any, **_more: Any) -> types.SimpleNamespace:
    """Something with the attributes of a verdict, so that code which reads them goes on."""
    return types.SimpleNamespace(
        outcome="not attempted", correct=False, mistake=None, score=0.0, message=CHECKS_LATER
    )


if __name__ == "__main__":
    main(sys.argv[1:])
