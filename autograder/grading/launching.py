"""Starting the process that runs student code.

Here without a sandbox, for submissions that are trusted: in a folder of its own, with an
environment of its own, killed with everything it started when it is no longer needed. Student
code can read what the grader's user can read. `sandbox` is the other way, and the usual one.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

import autograder

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


class Runner(Protocol):
    """A process that runs one notebook, and our end of the connection to it."""

    @property
    def connection(self) -> socket.socket:
        """Where jobs go and events come from."""

    @property
    def hit(self) -> str:
        """Which limit ended it, in words, or ""."""

    def interrupt(self) -> None:
        """Ask student code to stop, as the stop button does."""

    def ended(self) -> int | None:
        """How it ended, once it has closed its end of the connection."""

    def kill(self) -> int | None:
        """End the process and what it started; how it ended, if that can be told."""

    def last_words(self) -> str:
        """The end of what it wrote to stderr before it was ready."""


@dataclass(frozen=True)
class Unconfined:
    """A started `autograder.running`, for submissions that are trusted."""

    connection: socket.socket
    process: subprocess.Popen[bytes]
    complaints: IO[bytes]
    hit: str = ""

    def interrupt(self) -> None:
        """Ask student code to stop, as the stop button does."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process.pid, signal.SIGINT)

    def ended(self) -> int | None:
        """How it ended, once it has closed its end of the connection."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.process.wait(timeout=2)
        return self.kill()

    def kill(self) -> int | None:
        """End the process and what it started; how it ended, if that can be told."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.process.wait(timeout=10)
        return None

    def last_words(self) -> str:
        """The end of what it wrote to stderr before it was ready."""
        with contextlib.suppress(OSError):
            self.complaints.seek(0)
            return self.complaints.read()[-2000:].decode("utf-8", "replace").strip()
        return ""


@contextlib.contextmanager
def start_runner() -> Iterator[Unconfined]:
    """Start a runner; at the end of the block it is killed, and its folder removed."""
    home = Path(tempfile.mkdtemp(prefix="many-heads-"))
    ours, theirs = socket.socketpair()
    try:
        with theirs, tempfile.TemporaryFile() as complaints:
            work = home / "work"
            work.mkdir()
            _copy_font_cache(home)
            process = subprocess.Popen(
                [sys.executable, "-m", "autograder.running", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                cwd=work,
                env=environment(home, Path(autograder.__file__).resolve().parents[1]),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=complaints,
                start_new_session=True,  # so that everything it starts can be killed with it
            )
            theirs.close()  # else its death would not show as the end of the connection
            runner = Unconfined(ours, process, complaints)
            try:
                yield runner
            finally:
                runner.kill()
    finally:
        ours.close()
        shutil.rmtree(home, ignore_errors=True)


def environment(home: Path, packages: Path) -> dict[str, str]:
    """The whole environment of student code; nothing of the grader's own is handed on.

    packages: the folder from which `autograder` is imported.
    """
    return {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"]),
        "PYTHONPATH": str(packages),
        "PYTHONHASHSEED": "0",  # the order of a set does not decide a mark
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(home),
        "USER": "student",  # some libraries ask who it is, and the sandbox's user has no name
        "PIP_NO_INDEX": "1",  # else pip tries for long to reach a network that is not there
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "TMPDIR": str(home),
        "IPYTHONDIR": str(home / "ipython"),
        "MANY_HEADS_HOME": str(home / "many-heads"),
        "MPLCONFIGDIR": str(home / "matplotlib"),
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "TORCH_COMPILE_DISABLE": "1",  # compiling for each case takes longer than all of them
        "NBGRADER_EXECUTION": "autograde",
        **dict.fromkeys(ONE_THREAD, "1"),
    }


def _copy_font_cache(home: Path) -> None:
    # Searching the system's fonts again takes matplotlib seconds in every new home.
    with contextlib.suppress(ImportError, OSError):
        import matplotlib

        folder = home / "matplotlib"
        folder.mkdir()
        for cache in Path(matplotlib.get_cachedir()).glob("fontlist-*.json"):
            shutil.copy(cache, folder)
