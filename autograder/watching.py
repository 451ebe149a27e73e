"""When calls are watched for names that would skip an exercise, and who is told of them.

A guard rail, not a wall: student code shares the process and can switch it off. Whoever
does wins the choice of algorithm, never a wrong value, since values are judged elsewhere.
"""

import contextlib
import gc
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from types import FrameType
from typing import Any, NamedTuple

from autograder.noticing import (
    REPLACING,
    Hook,
    Note,
    operator_hook,
    profile_hook,
    torch_modes,
)
from autograder.overhearing import Kernels, Threads

# What `watched` watches for, while a probe runs: it says itself which calls are the learner's.
_WATCHED: ContextVar[tuple[Sequence[str], set[str]]] = ContextVar("_WATCHED", default=((), set()))


_afterwards: tuple[Callable[[], object], ...] = ()
# Whom to tell at once of a call that is not allowed. A list, for names of ours are put back after
# each call to what they were at the start.
_told: list[Note] = []


class _Watch(NamedTuple):
    """Whom to ask what a call, an operator of torch and an audit event mean."""

    hook: Hook
    of_operator: Note
    note: Note


_watches: list[_Watch | None] = []  # of the blocks that are watched just now; the last one counts


def _in_threads(frame: FrameType, event: str, argument: Any) -> None:
    if _watches and _watches[-1] is not None:
        _watches[-1].hook(frame, event, argument)


def _of_operator(operator: str) -> None:
    if _watches and _watches[-1] is not None:
        _watches[-1].of_operator(operator)


def _of_audit(name: str) -> None:
    if _watches and _watches[-1] is not None:
        _watches[-1].note(name)


_OWN = (globals(), vars(threading))
_threads = Threads(_in_threads, _OWN, _of_audit)
_kernels: list[Kernels] = []


def watch_threads() -> None:
    """From now on, let threads be watched whenever something is, also those started before.

    Makes every call in a thread slower, which nobody wants in a notebook that is worked in.
    """
    threading.setprofile(_in_threads)


def overhear() -> None:
    """From now on, and for good, notice also what belongs to no thread; slower, like threads."""
    _threads.listen()
    _put_kernels()


def _put_kernels() -> None:
    kernels = Kernels.put(_of_operator)
    if kernels is not None:
        _kernels.append(kernels)


@contextlib.contextmanager
def left_to_probe(not_allowed: Sequence[str], called: set[str]) -> Iterator[None]:
    """Inside the block, only what stands in `with watched():` is watched.

    Watching makes every call several times as slow, so probes leave out what they do themselves.
    """
    token = _WATCHED.set((not_allowed, called))
    try:
        yield
    finally:
        _WATCHED.reset(token)


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """Watch the calls inside the block for what the exercise does not allow."""
    try:
        with watch(*_WATCHED.get()):
            yield
    finally:
        for restore in _afterwards:
            restore()


def afterwards(restore: Callable[[], object]) -> None:
    """From now on, do this after each watched block, before what it did is looked at."""
    global _afterwards
    _afterwards = (*_afterwards, restore)


@contextlib.contextmanager
def told_at_once(tell: Note) -> Iterator[None]:
    """Inside the block, also tell the name of each call that is not allowed when it happens.

    What is only kept could be taken away again by the code that called.
    """
    _told.append(tell)
    try:
        yield
    finally:
        _told.remove(tell)


def _noting(called: set[str]) -> Note:
    """What to do with the name of a call that is not allowed."""
    told = tuple(_told)

    def note(name: str) -> None:
        for tell in told:
            tell(name)
        called.add(name)

    return note


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Nothing that was set up before shall be called by the collector, a signal or a trace.

    Ctrl-C apart, which means whoever observes. Threads that no hook sees are told of, and
    operators of torch that somebody has replaced.
    """
    tell = _noting(set())
    if not _kernels:  # torch was loaded only now
        _put_kernels()
    if _threads.unwatched():
        tell("_thread.start_new_thread")
    traced = sys.gettrace()
    sys.settrace(None)
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    set_up = [n for n, each in handlers.items() if callable(each) and n != signal.SIGINT]
    callbacks, collects = gc.callbacks[:], gc.isenabled()
    gc.disable()
    gc.callbacks.clear()
    for number in set_up:
        signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        if not all(kernels.untouched() for kernels in _kernels):
            tell(REPLACING)
        for number in set_up:
            signal.signal(number, handlers[number])
        gc.callbacks[:] = callbacks
        if collects:
            gc.enable()
        sys.settrace(traced)


@contextlib.contextmanager
def watch(not_allowed: Sequence[str], called: set[str]) -> Iterator[None]:
    """Add to `called` every name of `not_allowed` that is called inside the block."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(watch_python(not_allowed, called))
        modes = torch_modes(not_allowed, _noting(called))
        # The kernels see all operators that the second mode does, and leave torch.jit.trace alone.
        for mode in modes[:1] if _kernels else modes:
            stack.enter_context(mode)
        yield


@contextlib.contextmanager
def watch_python(not_allowed: Sequence[str], called: set[str]) -> Iterator[None]:
    """Like `watch`, by the first net alone, which costs the least.

    Where nothing is not allowed, nothing is watched inside the block, whatever is outside.
    """
    if not not_allowed and not _watches:
        yield
        return
    note = _noting(called)
    hook = profile_hook(not_allowed, note, _OWN) if not_allowed else None
    watch = _Watch(hook, operator_hook(not_allowed, note), note) if hook else None
    previous, previous_in_threads = sys.getprofile(), threading.getprofile()
    # setprofile for threads first: from the next line on, every call is seen.
    threading.setprofile(_in_threads)
    _watches.append(watch)
    sys.setprofile(hook)
    try:
        yield
    finally:
        _watches.remove(watch)
        if previous is None or callable(previous):
            sys.setprofile(previous)
        else:  # cProfile, as in `%prun check(...)`, is no function and goes on by itself
            sys.setprofile(None)
            previous.enable()
        threading.setprofile(previous_in_threads)
