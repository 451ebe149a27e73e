"""Noticing calls to names that would skip an exercise.

A guard rail, not a wall: student code shares the process and can switch it off. Whoever
does wins the choice of algorithm, never a wrong value, since values are judged elsewhere.

Three nets, because none sees everything: a profile hook sees Python and C functions
under whatever name they are called, torch's function mode sees calls through its public
API, and the dispatch mode sees operators even from traced or low-level calls.
"""

import contextlib
import functools
import gc
import importlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from types import CodeType, FrameType
from typing import Any

from autograder.recording import torch_if_loaded

# What the dispatcher calls an operation, where that is not the dotted name's last part.
OPERATORS = {
    "scaled_dot_product_attention": ("scaled_dot_product", "safe_softmax"),
    "softmax": ("softmax",),
    "log_softmax": ("log_softmax",),
}


# Ways past the hook: threads made past `threading` have none, what another process calls is not
# seen here, and a hook can be taken away or changed. Nobody needs them for what is asked.
WAYS_ROUND = {
    **dict.fromkeys(("start_new_thread", "start_new"), "_thread"),
    **dict.fromkeys(("fork", "forkpty", "posix_spawn", "posix_spawnp", "system"), "os"),
    "fork_exec": "subprocess",
    **dict.fromkeys(("setprofile", "getprofile"), "sys"),
}
# Whatever runs while the hook itself does is not seen: what the collector or a signal calls.
DISTURBING = {gc.enable: "gc.enable", signal.signal: "signal.signal"}

# What `watched` watches for, while a probe runs: it says itself which calls are the learner's.
_WATCHED: ContextVar[tuple[Sequence[str], set[str]]] = ContextVar("_WATCHED", default=((), set()))


# They start compilers, and programs that tell what machine this is.
LIBRARIES = ("torch._dynamo", "torch._inductor", "platform", "ctypes.")

Hook = Callable[[FrameType, str, Any], None]
Tell = Callable[[str], object]

_afterwards: tuple[Callable[[], object], ...] = ()
_told: tuple[Tell, ...] = ()  # whom to tell at once of a call that is not allowed
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
def told_at_once(tell: Tell) -> Iterator[None]:
    """Inside the block, also tell the name of each call that is not allowed when it happens.

    What is only kept could be taken away again by the code that called.
    """
    global _told
    before, _told = _told, (*_told, tell)
    try:
        yield
    finally:
        _told = before


def _noting(called: set[str]) -> Tell:
    """What to do with the name of a call that is not allowed."""
    told = _told

    def note(name: str) -> None:
        for tell in told:
            tell(name)
        called.add(name)

    return note


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Nothing that was set up before shall be called by the collector or by a signal.

    Ctrl-C apart, which means whoever observes.
    """
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


def ways_round() -> tuple[str, ...]:
    """The names of the calls that nothing allows, because what they do could not be watched."""
    return (*(f"{home}.{last}" for last, home in WAYS_ROUND.items()), *DISTURBING.values())


@contextlib.contextmanager
def watch(not_allowed: Sequence[str], called: set[str]) -> Iterator[None]:
    """Add to `called` every name of `not_allowed` that is called inside the block."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(watch_python(not_allowed, called))
        if torch_if_loaded() is not None:
            names = [name for name in not_allowed if name.startswith("torch.")]
            for mode in _torch_modes(names, called):
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
    hook = _profile_hook(not_allowed, called) if not_allowed else None
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


def _profile_hook(not_allowed: Sequence[str], called: set[str]) -> Hook:
    # By identity: to compare code objects runs code of whoever has made one.
    codes = {id(code): (code, name) for name in not_allowed for code in _codes(name)}
    # By name as well: the library may be imported only inside the call.
    by_last: dict[str, dict[str, str]] = {}
    for name in not_allowed:
        by_last.setdefault(name.rpartition(".")[2], {}).setdefault(name.partition(".")[0], name)
    of_c = {last: homes.get("torch", next(iter(homes.values()))) for last, homes in by_last.items()}
    ways = {*WAYS_ROUND, *(function.__name__ for function in DISTURBING)}
    note = _noting(called)

    def hook(frame: FrameType, event: str, argument: Any) -> None:
        # Called several times for every call: what is nothing to us ends as early as it can.
        if event == "c_call":
            last = getattr(argument, "__name__", None)
            if last in of_c:
                note(of_c[last])
            elif last in ways and not _is_theirs(frame):
                if last in WAYS_ROUND:
                    note(f"{WAYS_ROUND[last]}.{last}")
                elif any(argument is function for function in DISTURBING):
                    note(DISTURBING[argument])
        elif event == "call":
            code = frame.f_code
            if id(code) in codes:
                note(codes[id(code)][1])
            elif code.co_name in by_last:
                module = dict.get(frame.f_globals, "__name__")
                home = module.partition(".")[0] if type(module) is str else ""
                for package, name in by_last[code.co_name].items():
                    if package == home or f"/{package}/" in code.co_filename.replace("\\", "/"):
                        note(name)

    return hook


def _is_theirs(frame: FrameType) -> bool:
    """Whether we ourselves, `threading` or another library go this way for their own ends."""
    if frame.f_globals is globals() or frame.f_globals is vars(threading):
        return True
    callers: FrameType | None = frame
    while callers is not None:
        name = dict.get(callers.f_globals, "__name__")
        if type(name) is str and name.startswith(LIBRARIES):
            return True
        callers = callers.f_back
    return False


def _codes(name: str) -> list[CodeType]:
    """The code objects behind a dotted name, as far as its library is loaded."""
    parts = name.split(".")
    if parts[0] not in sys.modules:
        return []
    for split in range(len(parts) - 1, 0, -1):
        module = ".".join(parts[:split])
        if module not in sys.modules:
            with contextlib.suppress(Exception):
                importlib.import_module(module)
        if module in sys.modules:
            try:
                found = functools.reduce(getattr, parts[split:], sys.modules[module])
            except AttributeError:
                continue
            members = (found, getattr(found, "forward", None))
            codes = (getattr(member, "__code__", None) for member in members)
            return [code for code in codes if isinstance(code, CodeType)]
    return []


def _torch_modes(names: Sequence[str], called: set[str]) -> list[Any]:
    if not names:
        return []
    by_last = {name.rpartition(".")[2]: name for name in reversed(names)}
    see_functions, see_operators = _mode_classes()
    note = _noting(called)
    return [see_functions(by_last, note), see_operators(by_last, note)]


@functools.cache
def _mode_classes() -> tuple[Any, Any]:
    """The two classes of modes; made once, where torch is loaded, for making them takes time."""
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    class SeeFunctions(TorchFunctionMode):
        def __init__(self, by_last, note):
            super().__init__()
            self.by_last, self.note = by_last, note

        def __torch_function__(self, func, types, args=(), kwargs=None):
            last = getattr(func, "__name__", "")
            if last in self.by_last:
                self.note(self.by_last[last])
            return func(*args, **(kwargs or {}))

    class SeeOperators(TorchDispatchMode):
        def __init__(self, by_last, note):
            super().__init__()
            self.by_last, self.note = by_last, note

        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            # Skipping would load the whole compiler at the first operation, which takes seconds,
            # and lengthen every other one several times.
            return False

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            for last, name in self.by_last.items():
                if _operation(func).startswith(OPERATORS.get(last, (last,))):
                    self.note(name)
            return func(*args, **(kwargs or {}))

    return SeeFunctions, SeeOperators


@functools.lru_cache(maxsize=1024)
def _operation(operator: Any) -> str:
    """The name of an operator without its namespace, overload and leading underscores."""
    return str(operator.name()).partition("::")[2].partition(".")[0].lstrip("_")
