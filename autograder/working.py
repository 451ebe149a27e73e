"""The warm worker inside the sandbox: forks one confined child for each submission.

    python -m autograder.working DESCRIPTOR UID KEPT

It imports once what notebooks import, so that a submission costs a fork and not the seconds
of a start. Over the inherited socket DESCRIPTOR it is told what to do, one short JSON message
each way; the job itself goes over a connection of the child's own, which comes as a file
descriptor with the message:

    told     {"do": "run", "limits": {…}} with a descriptor,  {"do": "interrupt"},  {"do": "kill"}
    answers  {"event": "ready"},  {"event": "ended", "code": -9, "hit": "memory", "busy" or ""}

Student code never runs in this process, and cannot reach it.
"""

import gc
import itertools
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from autograder import exercises
from autograder.capturing import stay_without_windows
from autograder.confining import BUSY, LOCKS, Confinement, confine, fork_into_namespace
from autograder.running import Prepared, prepare, remember, serve

LOOK = 0.05  # seconds between two looks at the memory of a submission
BUSY_FOR = 2.0  # seconds for which more threads than BUSY may want a processor
SOCKET = 2 * 212992  # bytes that a socket may hold of what nobody has read, in the kernel
WARM_UP = """
import io
import matplotlib.figure, matplotlib.pyplot
import numpy, torch
torch.set_num_threads(1)
(torch.ones(2, 3) @ torch.ones(3, 2)).softmax(-1)
figure = matplotlib.figure.Figure()
figure.subplots().plot([1, 2])
figure.savefig(io.BytesIO())
"""


def main(arguments: list[str]) -> None:
    """Warm up, then serve one submission after the other until the grader hangs up."""
    control = socket.socket(fileno=int(arguments[0]))
    uid = int(arguments[1]) if arguments[1] != "-" else None
    kept = json.loads(arguments[2])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the grader's to answer
    prepared = warm()
    home = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    _tell(control, {"event": "ready"})
    while True:
        said, descriptors, _, _ = socket.recv_fds(control, 65536, 1)
        if not said:
            return
        told = json.loads(said)
        if told["do"] == "run":  # a stop that comes after the end has nobody to stop
            child = _fork(home, descriptors[0], control, told["limits"], uid, kept, prepared)
            os.close(descriptors[0])
            _attend(child, control, told["limits"]["memory"])


def warm() -> Prepared:
    """Load what notebooks use, in one thread: a fork of a process with threads would hang."""
    for exercise in exercises.iterate():
        exercises.find(exercise.name)  # which keeps it
    exec(WARM_UP, {})
    stay_without_windows()
    prepared = replace(prepare(), restoring=remember())
    gc.collect()
    gc.freeze()  # the collector shall not touch, and so copy, what children share
    return prepared


def _fork(
    home: int,
    connection: int,
    control: socket.socket,
    limits: Mapping[str, Any],
    uid: int | None,
    kept: Mapping[str, str],
    prepared: Prepared,
) -> int:
    child = fork_into_namespace(home)
    if child:
        return child
    try:
        control.close()
        os.dup2(connection, 3)
        os.closerange(4, 1 << 16)
        memory, disk = limits["memory"], limits["disk"]
        confine(
            Confinement(
                address_space=memory + limits["headroom"],
                file_size=disk,
                folder_size=disk,
                processes=limits["processes"],
                open_files=256,
                uid=uid,
                kept=kept,
                # What cases are made with is in memory by now, and would answer some of them.
                hidden=tuple(exercises.__path__),
            )
        )
        work = Path("/tmp/work")
        work.mkdir()
        os.chdir(work)
        serve(socket.socket(fileno=3), prepared)
    except BaseException as error:
        with suppress(BaseException):
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
        os._exit(70)
    os._exit(0)


@dataclass
class _Child:
    """A child while it runs."""

    pid: int
    hit: str = ""

    def kill(self, hit: str = "") -> None:
        self.hit = self.hit or hit
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)  # the first of its namespace takes all others along


def _attend(pid: int, control: socket.socket, memory: int) -> None:
    """Wait for the child to end, pass on what the grader says, and keep it in bounds."""
    child = _Child(pid)
    ended = os.pidfd_open(pid)
    try:
        looked = time.monotonic()
        busy = 0.0
        while True:
            ready, _, _ = select.select([ended, control.fileno()], [], [], LOOK)
            if ended in ready:
                break
            if ready:
                _obey(control, child)
            since = time.monotonic() - looked
            if since > LOOK:
                looked += since
                if memory_of_others() > memory:
                    child.kill("memory")
                if locks() > LOCKS:
                    child.kill("locks")
                busy = max(0.0, busy + (since if threads_that_run() > BUSY else -since))
                if busy > BUSY_FOR:
                    child.kill("busy")
    finally:
        os.close(ended)
    _, status = os.waitpid(pid, 0)
    _reap()
    code = os.waitstatus_to_exitcode(status)
    _tell(control, {"event": "ended", "code": code, "hit": child.hit})


def _obey(control: socket.socket, child: _Child) -> None:
    said = control.recv(65536)
    if not said:  # the grader is gone
        child.kill()
        os._exit(0)
    if json.loads(said)["do"] == "interrupt":
        with suppress(ProcessLookupError):
            os.kill(child.pid, signal.SIGINT)
    else:
        child.kill()


def memory_of_others() -> int:
    """Bytes that all processes but this one hold, each page shared with others by its share.

    What sockets may hold counts too: it is the kernel's, and shows in no process.
    """
    return sum(map(_proportional, _others())) + _sockets() * SOCKET


def threads_that_run() -> int:
    """How many threads of other processes run, or wait for a processor."""
    tasks: list[Path] = []
    for pid in _others():
        with suppress(OSError):
            tasks += Path(f"/proc/{pid}/task").iterdir()
    if len(tasks) <= BUSY:
        return 0
    running = 0
    for task in tasks:
        with suppress(OSError, IndexError):
            state = (task / "stat").read_bytes().rpartition(b")")[2].split()[0]
            running += state == b"R"
    return running


def _others() -> list[int]:
    own = os.getpid()
    pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    return [pid for pid in pids if pid not in (1, own)]


def _proportional(pid: int) -> int:
    with suppress(OSError, ValueError):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        held = [line.split()[1] for line in lines if line.startswith(("Pss:", "SwapPss:"))]
        return sum(map(int, held)) * 1024
    return 0


def _sockets() -> int:
    """How many sockets there are in this namespace of networks."""
    with suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/net/sockstat").read_text().split()[2])  # sockets: used 4
    return 0


def locks() -> int:
    """How many locks of files are held, counted up to one more than LOCKS."""
    with suppress(OSError), Path("/proc/locks").open("rb") as lines:  # a line for each
        return sum(1 for _ in itertools.islice(lines, LOCKS + 1))
    return 0


def _reap() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _tell(control: socket.socket, what: Mapping[str, Any]) -> None:
    with suppress(OSError):
        control.send(json.dumps(what).encode())


if __name__ == "__main__":
    main(sys.argv[1:])
