"""The devices of this machine, and the time that work on one of them takes."""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch

WORDS = {"cuda": "GPU (cuda)", "mps": "GPU of this Mac (mps)", "cpu": "CPU (cpu)"}


def available_devices() -> list[str]:
    """The devices that PyTorch can compute on here, fastest kind first; "cpu" is always among them.

    A GPU that is here and fails, as with a driver that is too old, is left out.
    """
    found = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    return [*(device for device, is_here in found.items() if is_here and _works(device)), "cpu"]


def wait_for(device: str | torch.device) -> None:
    """Wait until the device has done what it was told: a GPU works while Python goes on."""
    kind = torch.device(device).type
    if kind == "cuda":
        torch.cuda.synchronize(device)
    elif kind == "mps":
        torch.mps.synchronize()


def milliseconds(
    step: Callable[[], Any],
    device: str | torch.device = "cpu",
    repetitions: int = 7,
    at_most: float = 1000.0,
) -> float:
    """The median time of `step()`, in ms, over several repetitions.

    The first call of anything is slow, so call the step once before.
    at_most: stop repeating once this many ms have gone by; the step runs at least once.
    """
    times: list[float] = []
    while len(times) < repetitions and sum(times) < at_most:
        wait_for(device)
        start = time.perf_counter()
        step()
        wait_for(device)
        times.append(1000 * (time.perf_counter() - start))
    return median(times)


def _works(device: str) -> bool:
    try:
        torch.ones(2, device=device).sum().item()
    except RuntimeError:
        return False
    return True
