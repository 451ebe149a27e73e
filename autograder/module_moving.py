"""Modules that are moved to another device: on "meta" a tensor has a shape and no numbers, so that
no accelerator is needed to see whether code lets what lies here meet what lies there.

It runs beside student code and decides nothing.
"""

import contextlib
import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from autograder.recording import describe, is_tensor

# How torch says that numbers are needed where there are shapes only.
NEEDS_NUMBERS = ("meta tensor", "data-dependent", "_local_scalar_dense", "no data", "is_nonzero")


def devices() -> list[str]:
    """The devices to try beside the CPU: "meta", and one that is in use here already."""
    found = ["meta"]
    if torch.cuda.is_initialized():
        found.append("cuda")
    if torch.backends.mps.is_available() and torch.mps.current_allocated_memory() > 0:
        found.append("mps")
    return found


class _Landing(TorchFunctionMode):
    """Lets a tensor without numbers be moved to the CPU, where it gets zeros.

    Code that does so is wrong only if it lets the copy meet what lies elsewhere.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        given = kwargs or {}
        if func in (Tensor.cpu, Tensor.to) and args[0].device.type == "meta":
            targets = {_device_of(each) for each in (*args[1:], *given.values())}
            if func is Tensor.cpu or "cpu" in targets:
                dtypes = [
                    each for each in (*args[1:], *given.values()) if type(each) is torch.dtype
                ]
                return torch.zeros(args[0].shape, dtype=(*dtypes, args[0].dtype)[0])
        return func(*args, **given)


def _device_of(target: Any) -> str:
    """The device that `Tensor.to` is told by such an argument, or ""."""
    if is_tensor(target):
        return target.device.type
    if type(target) is str:
        return target.partition(":")[0]
    return target.type if type(target) is torch.device else ""


def describe_move(module: Any, run: Callable[[Any, str], Sequence[Any]]) -> str:
    """Whether the results lie where the module and its inputs were moved to, in words.

    run: calls the module with the inputs on a device, and returns the results.
    """
    for device in devices():
        try:
            moved = copy.deepcopy(module).to(device)
            with _Landing() if device == "meta" else contextlib.nullcontext():
                results = run(moved, device)
        except (RuntimeError, NotImplementedError) as error:
            if device == "meta" and any(text in str(error) for text in NEEDS_NUMBERS):
                continue  # asks a tensor for its numbers, which is fine elsewhere
            raise
        for result in results:
            if not is_tensor(result):
                return f"the result is {describe(result)}"
            if result.device.type != device:
                return f"a result lies on {result.device.type} when the module is on {device}"
    return "the results lie where the module is"
