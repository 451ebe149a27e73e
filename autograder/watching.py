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
from typing import Any

from autograder.noticing import Hook, Note, profile_hook, torch_modes

# What `watched` watches for, while a probe runs: it says itself which calls are the learner's.
_WATCHED: ContextVar[tuple[Sequence[str], set[str]]] = ContextVar("_WATCHED", default=((), set()))


_afterwards: tuple[Callable[[], object], ...] = ()
_told: tuple[Note, ...] = ()  # whom to tell at once of a call that is not allowed
_hooks: list[Hook | None] = []  # of the blocks that are watched just now; the last one counts


def watch_threads() -> None:
    """From now on, let threads be watched whenever something is, also those started before.

    Makes every call in a thread slower, which nobody wants in a notebook that is worked in.
    """
    threading.setprofile(_in_threads)


def _in_threads(frame: FrameType, event: str, argument: Any) -> None:
    if _hooks and _hooks[-1] is not None:
        _hooks[-1](frame, event, argument)


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
    global _told
    before, _told = _told, (*_told, tell)
    try:
        yield
    finally:
        _told = before


def _noting(called: set[str]) -> Note:
    """What to do with the name of a call that is not allowed."""
    told = _told

    def note(name: str) -> None:
        for tell in told:
            tell(name)
        called.add(name)

    return note


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Nothing that was set up before shall be called by the collector, a signal or a trace.

    Ctrl-C apart, which means whoever observes. Threads that no hook sees are told of.
    """
    if sys._current_frames().keys() - threading._active.keys():  # type: ignore[attr-defined]
        _noting(set())("_thread.start_new_thread")
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
        for mode in torch_modes(not_allowed, _noting(called)):
            stack.enter_context(mode)
        yield


@contextlib.contextmanager
def watch_python(not_allowed: Sequence[str], called: set[str]) -> Iterator[None]:
    """Like `watch`, by the first net alone, which costs the least.

    Where nothing is not allowed, nothing is watched inside the block, whatever is outside.
    """
    if not not_allowed and not _hooks:
        yield
        return
    own = (globals(), vars(threading))
    hook = profile_hook(not_allowed, _noting(called), own) if not_allowed else None
    previous, previous_in_threads = sys.getprofile(), threading.getprofile()
    # setprofile for threads first: from the next line on, every call is seen.
    threading.setprofile(_in_threads)
    _hooks.append(hook)
    sys.setprofile(hook)
    try:
        yield
    finally:
        _hooks.remove(hook)
        if previous is None or callable(previous):
            sys.setprofile(previous)
        else:  # cProfile, as in `%prun check(...)`, is no function and goes on by itself
            sys.setprofile(None)
            previous.enable()
        threading.setprofile(previous_in_threads)
