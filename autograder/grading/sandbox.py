"""The sandbox: bubblewrap around a warm worker, which confines one child per submission.

Inside there is no network, nothing that can be written but a folder of the submission's own,
and of the host's files only what Python needs: no solutions, no reference, no gradebook, no
other submission. As root, the children are another user; as an ordinary user, the whole
sandbox lives in a user namespace.
"""

import atexit
import contextlib
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from autograder.confining import ARCHITECTURES, BUSY, LOCKS
from autograder.grading.binding import PACKAGES, files, kept
from autograder.grading.driving import RunnerFault
from autograder.grading.launching import environment

STRANGER = 60_000  # as root: the first of the user ids of the children
USERS = 5000  # as root, workers that run at the same time are different users
START, KILL = 120, 30  # seconds: to start, and to be rid of what a submission has started

_here = threading.local()  # a worker serves one submission at a time, so each thread has its own


class NoSandbox(RunnerFault):
    """Student code cannot be confined on this machine. The message says why, and what to try."""


@dataclass(frozen=True)
class Allowance:
    """What one submission may use.

    memory: bytes that all its processes may hold together. headroom: bytes of address space
    beyond that, for what is mapped and never touched. disk: bytes of temporary files.
    processes: how many it may have at a time, threads included.
    """

    memory: int = 2 * 2**30
    disk: int = 256 * 2**20
    processes: int = 64
    headroom: int = 6 * 2**30


def why_not() -> str:
    """Why student code cannot be confined on this machine, and what to try; "" when it can."""
    if sys.platform != "linux":
        return (
            "The sandbox needs Linux. On macOS and Windows, grade in a Linux container or in WSL, "
            "or use --trust-submissions for submissions that you would also run yourself."
        )
    if platform.machine() not in ARCHITECTURES:
        return f"The sandbox knows {' and '.join(ARCHITECTURES)}, not {platform.machine()}."
    if shutil.which("bwrap") is None:
        return (
            "The sandbox needs bubblewrap, which is not installed: "
            "`sudo apt-get install bubblewrap`, `sudo dnf install bubblewrap`, or what your system "
            "has for it."
        )
    return ""


class Worker:
    """A warm worker in its sandbox: makes one runner after the other.

    allowance: of the submissions to come; may be changed between two of them.
    """

    def __init__(self, allowance: Allowance = Allowance(), number: int = 0) -> None:
        """Start it, and wait for nothing. Raises NoSandbox when that cannot be done here."""
        self.allowance = allowance
        self._ready = False
        problem = why_not()
        if problem:
            raise NoSandbox(problem)
        self._complaints: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed by close)
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        uid = str(STRANGER + number) if os.geteuid() == 0 else "-"
        command = [*confined(), sys.executable, "-m", "autograder.working"]
        with theirs:
            self._process = subprocess.Popen(
                [*command, str(theirs.fileno()), uid, json.dumps(kept())],
                pass_fds=[theirs.fileno()],
                cwd="/",
                env={},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._complaints,
            )
        atexit.register(self.close)

    def wait_until_ready(self) -> None:
        """Wait until it is warm. Raises NoSandbox when it does not start, or does not hold."""
        if self._ready:
            return
        try:
            self.hear({"ready"}, START)
            self._ready = True
        except (OSError, TimeoutError) as error:
            self.close()
            said = self.last_words() or str(error) or "it did not answer"
            raise NoSandbox(f"The sandbox does not start here: {said}") from error

    def tell(self, what: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
        """Send the worker one message. Raises OSError when it is gone."""
        socket.send_fds(self._control, [json.dumps(what).encode()], list(descriptors))

    def hear(self, events: set[str], seconds: float | None = None) -> dict[str, Any]:
        """The worker's next message. Raises OSError when it is gone, TimeoutError."""
        self._control.settimeout(seconds)
        said = self._control.recv(65536)
        if not said:
            raise OSError("the worker ended")
        message: dict[str, Any] = json.loads(said)
        if message.get("event") not in events:
            raise OSError(f"the worker said {message}")
        return message

    def last_words(self) -> str:
        """The end of what it wrote to stderr."""
        with contextlib.suppress(OSError, ValueError):
            self._complaints.seek(0)
            return self._complaints.read()[-2000:].decode("utf-8", "replace").strip()
        return ""

    @contextlib.contextmanager
    def start_runner(self) -> Iterator["Child"]:
        """Fork a child for one submission; at the end of the block it is gone. Raises NoSandbox."""
        self.wait_until_ready()
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                self.tell({"do": "run", "limits": asdict(self.allowance)}, [theirs.fileno()])
            child = Child(ours, self)
            try:
                yield child
            finally:
                child.kill()

    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the worker and everything in its sandbox; doing it again changes nothing."""
        atexit.unregister(self.close)
        self._control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=0.2)
        self._process.kill()
        self._process.wait()
        self._complaints.close()


def at_hand(allowance: Allowance) -> Worker:
    """The worker of this thread, started if there is none, for submissions of this allowance."""
    worker: Worker | None = getattr(_here, "worker", None)
    if worker is None or not worker.alive():
        if worker is not None:
            worker.close()
        worker = _here.worker = Worker(allowance, number=threading.get_native_id() % USERS)
    worker.allowance = allowance
    return worker


class Child:
    """The process of one submission, and our end of the connection to it."""

    def __init__(self, connection: socket.socket, worker: Worker) -> None:
        self.connection = connection
        self._worker = worker
        self._end: dict[str, Any] | None = None

    def interrupt(self) -> None:
        """Ask student code to stop, as the stop button does."""
        if self._end is None:
            self._worker.tell({"do": "interrupt"})

    def ended(self) -> int | None:
        """How it ended, once it has closed its end of the connection."""
        code = self._wait(2)
        return self.kill() if code is None else code

    @property
    def hit(self) -> str:
        """Which limit ended it, in words, or ""."""
        memory = self._worker.allowance.memory / 2**30
        words = {
            "memory": f"it used more than {memory:g} GB of memory",
            "locks": f"it held more than {LOCKS} locks of files",
            "busy": f"it kept more than {BUSY} processes or threads busy at a time",
        }
        return words.get(self._end["hit"], "") if self._end else ""

    def kill(self) -> int | None:
        """End the process and what it started; how it ended.

        A worker that does not say so is ended itself: what it says later would be taken for
        the end of the next submission.
        """
        if self._end is None:
            with contextlib.suppress(OSError):
                self._worker.tell({"do": "kill"})
        code = self._wait(KILL)
        if code is None:
            self._worker.close()
        return code

    def last_words(self) -> str:
        """What the worker wrote to stderr, where a child that cannot be confined complains."""
        return self._worker.last_words()

    def _wait(self, seconds: float) -> int | None:
        if self._end is None:
            with contextlib.suppress(TimeoutError, OSError):
                self._end = self._worker.hear({"ended"}, seconds)
        return None if self._end is None else int(self._end["code"])


def confined() -> list[str]:
    """The command line of bubblewrap, up to the command that runs inside."""
    command = ["bwrap", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    for capability in ("SYS_ADMIN", "SETPCAP"):
        command += ["--cap-add", f"CAP_{capability}"]
    if os.geteuid() == 0:
        for capability in ("SETUID", "SETGID", "KILL", "SYS_PTRACE"):
            command += ["--cap-add", f"CAP_{capability}"]
    else:
        command += ["--unshare-user", "--uid", "0", "--gid", "0"]
    for kind in ("ipc", "pid", "net", "uts", "cgroup-try"):
        command.append(f"--unshare-{kind}")
    command += ["--hostname", "sandbox", "--clearenv"]
    for name, value in environment(Path("/tmp"), Path(PACKAGES)).items():
        command += ["--setenv", name, value]
    command += ["--perms", "1777", "--tmpfs", "/tmp", "--proc", "/proc", "--dev", "/dev"]
    # Reads the same, and cannot be mapped as memory that no process is charged for.
    command += ["--dev-bind", "/dev/full", "/dev/zero"]
    return [*command, *files(), "--remount-ro", "/dev", "--remount-ro", "/", "--"]
