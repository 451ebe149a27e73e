"""What counts as a call to a name that would skip an exercise, and how it is noticed.

Three nets, because none sees everything: a profile hook sees Python and C functions
under whatever name they are called, torch's function mode sees calls through its public
API, and the dispatch mode sees operators even from traced or low-level calls.
"""

import contextlib
import functools
import gc
import importlib
import os
import signal
import sys
from collections.abc import Callable, Sequence
from types import CodeType, FrameType, MappingProxyType
from typing import Any

from autograder.recording import torch_if_loaded

Hook = Callable[[FrameType, str, Any], None]
Note = Callable[[str], object]
Namespace = dict[str, Any]


# What is in the dispatcher's name of an operation, where that is not the dotted name's last part.
OPERATORS = MappingProxyType(
    {
        "scaled_dot_product_attention": ("scaled_dot_product", "safe_softmax"),
        "multi_head_attention_forward": ("multi_head_attention", "transformer_encoder_layer"),
    }
)
# Ways past the hook: threads made past `threading` have none, what another process calls is not
# seen here (a signal lets it go on), and a hook can be taken away or changed, and is itself not
# heard within another. Nobody needs them for what is asked.
WAYS_ROUND = MappingProxyType(
    {
        **dict.fromkeys(("start_new_thread", "start_new"), "_thread"),
        **dict.fromkeys(("fork", "forkpty", "posix_spawn", "posix_spawnp", "system"), "os"),
        "fork_exec": "subprocess",
        **dict.fromkeys(("setprofile", "getprofile", "settrace"), "sys"),
        **dict.fromkeys(("kill", "killpg"), "os"),
        **dict.fromkeys(("pthread_kill", "pidfd_send_signal"), "signal"),
    }
)
# Whatever runs while the hook itself does is not seen: what the collector or a signal calls.
DISTURBING = MappingProxyType({gc.enable: "gc.enable", signal.signal: "signal.signal"})
# They start compilers, and programs that tell what machine this is.
LIBRARIES = ("torch._dynamo", "torch._inductor", "platform", "ctypes.")


REPLACING = "torch.library.Library"  # of torch's operators, by others
WENT_ON = "another process"  # that was halted, and went on


def ways_round() -> tuple[str, ...]:
    """The names of the calls that nothing allows, because what they do could not be watched."""
    ways = (f"{home}.{last}" for last, home in WAYS_ROUND.items())
    return (*ways, *DISTURBING.values(), REPLACING, WENT_ON)


def profile_hook(not_allowed: Sequence[str], note: Note, own: Sequence[Namespace]) -> Hook:
    """What `sys.setprofile` takes: notes the names of calls that are not allowed.

    own: the namespaces of modules that may go the ways round for their own ends.
    """
    # By identity: to compare code objects runs code of whoever has made one.
    codes = {id(code): (code, name) for name in not_allowed for code in _codes(name)}
    # By name as well: the library may be imported only inside the call.
    by_last: dict[str, dict[str, str]] = {}
    for name in not_allowed:
        by_last.setdefault(name.rpartition(".")[2], {}).setdefault(name.partition(".")[0], name)
    of_c = {last: homes.get("torch", next(iter(homes.values()))) for last, homes in by_last.items()}
    names = {"forward", *by_last, *(f"_{last}" for last in by_last)}
    ways = {*WAYS_ROUND, *(function.__name__ for function in DISTURBING)}

    def hook(frame: FrameType, event: str, argument: Any) -> None:
        # Called several times for every call: what is nothing to us ends as early as it can.
        if event == "c_call":
            last = getattr(argument, "__name__", None)
            if last in of_c:
                note(of_c[last])
            elif last in ways and not is_theirs(frame, own):
                if last in WAYS_ROUND:
                    note(f"{WAYS_ROUND[last]}.{last}")
                elif any(argument is function for function in DISTURBING):
                    note(DISTURBING[argument])
        elif event == "call":
            code = frame.f_code
            if id(code) in codes:
                note(codes[id(code)][1])
            elif code.co_name in names:
                last = code.co_name.lstrip("_")
                if last == "forward":
                    last = code.co_qualname.partition(".")[0]
                module = dict.get(frame.f_globals, "__name__")
                home = module.partition(".")[0] if type(module) is str else ""
                for package, name in by_last.get(last, {}).items():
                    if package == home or code.co_filename.startswith(_folder_of(package)):
                        note(name)

    return hook


def _folder_of(package: str) -> str:
    """Where the files of a package lie that is loaded by now; else where none do."""
    places = getattr(sys.modules.get(package), "__path__", None) or ("\0",)
    return f"{places[0]}{os.sep}"


def is_theirs(frame: FrameType, own: Sequence[Namespace]) -> bool:
    """Whether we ourselves or a library go this way for their own ends."""
    if any(frame.f_globals is names for names in own):
        return True
    callers: FrameType | None = frame
    while callers is not None:
        name = dict.get(callers.f_globals, "__name__")
        if type(name) is str and name.startswith(LIBRARIES):
            # Anybody can call a namespace so.
            return getattr(sys.modules.get(name), "__dict__", None) is callers.f_globals
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


def _of_torch(not_allowed: Sequence[str]) -> dict[str, str]:
    """The names of torch by their last parts."""
    names = [name for name in not_allowed if name.startswith("torch.")]
    return {name.rpartition(".")[2]: name for name in reversed(names)}


def operator_hook(not_allowed: Sequence[str], note: Note) -> Callable[[str], None]:
    """What is to be told which operator of torch runs, by its bare name: "softmax"."""
    by_last = _of_torch(not_allowed)

    def hook(operator: str) -> None:
        for last, name in by_last.items():
            if any(part in operator for part in OPERATORS.get(last, (last,))):
                note(name)

    return hook


def torch_modes(not_allowed: Sequence[str], note: Note) -> list[Any]:
    """Contexts in which torch's own functions and operators are noted; none without torch."""
    by_last = _of_torch(not_allowed)
    if not by_last or torch_if_loaded() is None:
        return []
    see_functions, see_operators = _mode_classes()
    return [see_functions(by_last, note), see_operators(operator_hook(not_allowed, note))]


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
        def __init__(self, hook):
            super().__init__()
            self.hook = hook

        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            # Skipping would load the whole compiler at the first operation, which takes seconds,
            # and lengthen every other one several times.
            return False

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.hook(_operator(func))
            return func(*args, **(kwargs or {}))

    return SeeFunctions, SeeOperators


@functools.lru_cache(maxsize=1024)
def _operator(function: Any) -> str:
    """The name of an operator without its namespace, overload and leading underscores."""
    return str(function.name()).partition("::")[2].partition(".")[0].lstrip("_")
