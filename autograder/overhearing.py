"""What cannot be switched off for one thread: torch's kernels, and Python's audit events.

Hooks and modes belong to a thread, and are not asked in all of C. The kernels of a process are
its own, and whoever runs one runs ours; and Python tells its audit hooks, for good, of whatever
would let code run unwatched. Only where notebooks are graded: both cost a little at every turn.
"""

import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from autograder.noticing import is_theirs
from autograder.recording import torch_if_loaded

Tell = Callable[[str], object]

PARTS = ("softmax", "scaled_dot_product", "multi_head_attention", "transformer_encoder_layer")
COMPOSITE = ("CompositeImplicitAutograd", "CompositeExplicitAutograd")
KEYS = ("CPU", "SparseCPU", "NestedTensorCPU", *COMPOSITE)
"""Where kernels are put; what is not here ends in one that is, or is nothing for a processor."""
EVENTS = {
    "os.fork": "os.fork",
    "os.forkpty": "os.forkpty",
    "os.posix_spawn": "os.posix_spawn",
    "os.system": "os.system",
    "subprocess.Popen": "subprocess.fork_exec",
    "os.kill": "os.kill",
    "os.killpg": "os.killpg",
    "signal.pthread_kill": "signal.pthread_kill",
    "sys.settrace": "sys.settrace",
    "sys.setprofile": "sys.setprofile",
}
"""Audit events of what would not be watched, and the names that they are told by."""


@dataclass(frozen=True)
class Kernels:
    """Kernels that tell the name of the operator before it runs, in the place of torch's own."""

    library: Any
    dump: Callable[[str], str]
    as_put: tuple[tuple[str, str], ...]

    @classmethod
    def put(cls, tell: Tell) -> "Kernels | None":
        """Put them, for this process and its forks; None while torch is not loaded."""
        torch = torch_if_loaded()
        if torch is None:
            return None
        library = torch.library.Library("aten", "IMPL")
        has, dump = torch._C._dispatch_has_kernel_for_dispatch_key, torch._C._dispatch_dump
        put = set()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it says that kernels are replaced, which is meant
            for full in torch._C._dispatch_get_all_op_names():
                name = full.removeprefix("aten::")
                if name == full or "backward" in name or not any(part in name for part in PARTS):
                    continue
                for key in KEYS:
                    if has(full, key):
                        put.add(full)
                        # A composite kernel is behind any of the keys that it stands for.
                        behind = "CPU" if key in COMPOSITE else key
                        own = torch.library.get_kernel(full, behind)
                        kernel = _telling(own, name.partition(".")[0].lstrip("_"), tell)
                        library.impl(name, kernel, key, with_keyset=True, allow_override=True)
        return cls(library, dump, tuple((full, dump(full)) for full in put))

    def untouched(self) -> bool:
        """Whether they are still where they were put, and nothing is before them."""
        return all(self.dump(full) == as_put for full, as_put in self.as_put)


def _telling(own: Any, operation: str, tell: Tell) -> Callable[..., Any]:
    run = own.call_boxed

    def kernel(keyset: Any, *arguments: Any, **more: Any) -> Any:
        tell(operation)
        return run(keyset, *arguments, **more)

    return kernel


@dataclass
class Threads:
    """Whether each thread is watched from its first line on, and whatever else is told of.

    in_threads: the hook that each of them gets. own: the namespaces that may go these ways.
    tell: who is told, while something is watched.
    """

    in_threads: Callable[..., Any]
    own: tuple[dict[str, Any], ...]
    tell: Tell
    hooked: "weakref.WeakKeyDictionary[threading.Thread, int]" = field(
        default_factory=weakref.WeakKeyDictionary
    )
    at_first: "weakref.WeakSet[threading.Thread]" = field(default_factory=weakref.WeakSet)

    def listen(self) -> None:
        """From now on, and for good, for this process and its forks."""
        self.at_first.update(threading.enumerate())
        bootstrap = threading.Thread._bootstrap  # type: ignore[attr-defined]
        current, active = threading.get_ident, threading._active  # type: ignore[attr-defined]
        main, frame_of = threading.main_thread(), sys._getframe

        def heard(event: str, arguments: tuple[Any, ...]) -> None:
            if event.startswith("_thread.start"):
                # Whoever took it away would have threads that are not watched.
                threading._profile_hook = self.in_threads
                if getattr(arguments[0], "__func__", None) is not bootstrap:
                    self.tell("_thread.start_new_thread")
            elif event in EVENTS:
                thread = active.get(current())
                if event == "sys.setprofile" and thread is not None and thread is not main:
                    self.hooked[thread] = self.hooked.get(thread, 0) + 1
                elif not is_theirs(frame_of(1), self.own):
                    self.tell(EVENTS[event])

        sys.addaudithook(heard)

    def unwatched(self) -> bool:
        """Whether a thread runs now that was not watched all the time."""
        active = threading._active  # type: ignore[attr-defined]
        others = [ident for ident in sys._current_frames() if ident != threading.get_ident()]
        threads = [active.get(ident) for ident in others]
        return any(
            thread is None or (thread not in self.at_first and self.hooked.get(thread, 0) != 1)
            for thread in threads
        )
