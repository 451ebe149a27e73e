"""Several submissions at a time: on processes of this machine, or on a Dask cluster.

What takes time, running and judging, is sent away as plain data and comes back as plain data.
Storing stays with one process: the gradebook has one writer.
"""

import contextlib
import multiprocessing
import os
import pickle
import platform
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from dataclasses import dataclass
from multiprocessing.connection import wait as wait_for
from typing import Any, Generic, TypeVar

from autograder.grading import starting
from autograder.grading.driving import Limits, RunnerFault
from autograder.grading.preparing import prepare, task_of
from autograder.grading.reading import Unreadable, read_notebook
from autograder.grading.repairing import Known
from autograder.grading.sandbox import Allowance, NoSandbox, at_hand
from autograder.grading.working_out import Done, work

LOOK = 1.0  # seconds between two looks at whether somebody is still there to answer
STARTS = 50  # times that processes are started for a submission
TRIES = 3  # times that a submission is sent out before it is given up

Key = TypeVar("Key")


@dataclass(frozen=True)
class Request:
    """What was handed in, and all that is needed to work it out.

    known: the labelled cells of its assignment. seed: what the inputs are made from.
    allowance: None to run student code without the sandbox.
    """

    data: bytes
    known: tuple[Known, ...]
    seed: int
    limits: Limits
    allowance: Allowance | None


def fulfil(request: Request) -> Done:
    """Read, repair, run and judge; where nothing can be run, without a task, which is no fault.

    Raises RunnerFault, NoSandbox, UnknownExercise.
    """
    nothing = Done(request.seed)
    try:
        notebook = read_notebook(request.data)
    except Unreadable:
        return nothing
    problem, _ = prepare(notebook, request.known)
    if problem:
        return nothing
    task = task_of(notebook, request.seed, request.limits, request.allowance)
    return Done(request.seed, task, work(task))


def fulfil_elsewhere(request: Request) -> Done:
    """`fulfil`, on a machine that has a name."""
    try:
        return fulfil(request)
    except RunnerFault as fault:
        raise type(fault)(f"On the machine {platform.node()}: {fault}") from fault


def _packed(function: Callable[[Request], Done], request: Request) -> bytes:
    # Unpacked by whoever asks for it, and not by a thread of the executor's: an answer may need
    # modules that the other thread is importing just then, and so stop both.
    return pickle.dumps(function(request))


class Lost(RuntimeError):
    """The processes that worked on a submission ended, time and again."""


@dataclass
class _Sent(Generic[Key]):
    key: Key
    request: Request
    tries: int = 0


class Crew(Generic[Key]):
    """Works out submissions elsewhere, and gives the answers in the order in which they come.

    start: makes the executor, and again when its processes have died. room: how many
    submissions are sent out at a time. function: what is done with a request there. there:
    whether anybody still works on them. gone: what is said of those that nobody works on.
    """

    def __init__(
        self,
        start: Callable[[], Executor],
        room: int,
        function: Callable[[Request], Done] = fulfil,
        there: Callable[[], bool] = lambda: True,
        gone: str = "The processes that work on it do not start. Is memory short?",
    ) -> None:
        self._there = there
        self._start, self._room, self._function, self._gone = start, room, function, gone
        self._executor: Executor | None = None
        self._sent: dict[Future[bytes], _Sent[Key]] = {}
        self._suspects: deque[_Sent[Key]] = deque()

    def submit(self, key: Key, request: Request) -> None:
        """Send a request out."""
        self._send(_Sent(key, request))

    @property
    def full(self) -> bool:
        """Whether `next` should be asked before more is sent out."""
        return len(self._sent) + len(self._suspects) >= self._room

    @property
    def busy(self) -> bool:
        """Whether answers are to come."""
        return bool(self._sent or self._suspects)

    def next(self) -> tuple[Key, Done | Exception]:
        """Wait for an answer: whose it is, and what came of it."""
        while True:
            if not self._sent:
                # One of these may have brought the processes down: each goes alone.
                self._send(self._suspects.popleft())
            ended, waiting = wait(self._sent, LOOK, return_when=FIRST_COMPLETED)
            if not ended and self._there():
                continue
            future = next(iter(ended or waiting))
            sent = self._sent.pop(future)
            if not ended:  # what was sent just when the connection broke never ends
                return sent.key, Lost(self._gone)
            try:
                return sent.key, pickle.loads(future.result())
            except BrokenExecutor:
                self._broken(sent)
                if sent.tries >= TRIES:
                    self._suspects.remove(sent)
                    why = f"The process that worked on it ended {TRIES} times. Is memory short?"
                    return sent.key, Lost(why)
            except CancelledError:
                return sent.key, Lost(self._gone)
            except Exception as error:
                return sent.key, error

    def _send(self, sent: _Sent[Key]) -> None:
        sent.tries += 1
        for _ in range(STARTS):
            if self._executor is None:
                self._executor = self._start()
            try:
                future = self._executor.submit(_packed, self._function, sent.request)
                self._sent[future] = sent
                return
            except BrokenExecutor:
                self._broken()
            except ConnectionError:  # the process that workers are forked from is about to end
                self._broken()
                time.sleep(0.1)
            except Exception:  # as Dask's client raises when the scheduler has gone
                break
        lost: Future[bytes] = Future()  # which is the answer to this submission, and to no other
        lost.set_exception(Lost(self._gone))
        self._sent[lost] = sent

    def _broken(self, *more: _Sent[Key]) -> None:
        """Start afresh; what was under way is tried again."""
        self._suspects.extend([*more, *self._sent.values()])
        self._sent.clear()
        self._stop()

    def _stop(self) -> None:
        executor, self._executor = self._executor, None
        if executor is not None:
            with contextlib.suppress(Exception):  # a cluster that is gone cannot be told to stop
                executor.shutdown(wait=False)

    def close(self) -> None:
        """Let go of everything that is still under way."""
        self._sent.clear()
        self._suspects.clear()
        self._stop()


@contextlib.contextmanager
def processes(jobs: int, allowance: Allowance | None) -> Iterator[Crew[Any]]:
    """A crew of processes on this machine; at the end of the block they are gone.

    jobs: how many. allowance: that of the submissions to come, so that sandboxes start early.
    """
    before = set(multiprocessing.active_children())

    def start() -> Executor:
        return ProcessPoolExecutor(
            jobs,
            mp_context=starting.context(),
            initializer=_begin,
            initargs=(allowance,),
        )

    crew: Crew[Any] = Crew(start, room=2 * jobs)
    try:
        yield crew
    finally:
        crew.close()
        for process in set(multiprocessing.active_children()) - before:
            process.terminate()  # nobody waits for what it still works on
            process.join()


def _begin(allowance: Allowance | None) -> None:
    """Start what every submission needs, while nobody waits. What goes wrong is said by `work`."""
    threading.Thread(target=_end_with_the_grader, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the grader's to answer
    if allowance is not None:
        with contextlib.suppress(NoSandbox):
            at_hand(allowance)


def _end_with_the_grader() -> None:
    """Wait until the grader is gone, however it went, and go too."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for([parent.sentinel])
        os.kill(os.getpid(), signal.SIGKILL)


class NoCluster(RuntimeError):
    """There is no Dask scheduler at an address, or no worker."""


@contextlib.contextmanager
def cluster(address: str) -> Iterator[Crew[Any]]:
    """A crew on the workers of a Dask cluster, whose scheduler is at an address.

    A worker that is lost loses nothing: Dask sends its submissions to another one. Workers need
    this package and what it asks for; a machine without bubblewrap refuses by itself.
    Raises NoCluster.
    """
    from distributed import Client
    from distributed.comm import parse_address, parse_host_port
    from distributed.comm.registry import get_backend

    try:
        protocol, place = parse_address(address)
        get_backend(protocol)  # what is no address the client would ask for, in vain and for long
        parse_host_port(place)
        client = Client(address, timeout=10, set_as_default=False)
    except (OSError, ValueError) as error:
        raise NoCluster(
            f"There is no Dask scheduler at {address} ({error}). Start one with `dask scheduler`, "
            "and workers with `dask worker ADDRESS`, or grade here with --jobs."
        ) from error
    with client:
        threads = sum(client.nthreads().values())
        if not threads:
            raise NoCluster(
                f"The scheduler at {address} has no workers. Start some with "
                f"`dask worker {address}` on the machines that shall do the work."
            )
        crew: Crew[Any] = Crew(
            lambda: client.get_executor(pure=False),
            2 * threads,
            fulfil_elsewhere,
            lambda: client.status != "closed",
            f"The scheduler at {address} has gone. What is graded is kept: start a scheduler "
            "again, and grade again.",
        )
        try:
            yield crew
        finally:
            crew.close()
