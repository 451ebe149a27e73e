"""Probes for masks and for what they hide: they record more than the usual ones."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from torch import Tensor

from autograder.declaring import Case, Observation, Probe, Value


def left_out(probe: Probe) -> Probe:
    """The probe, calling without the last argument where that is None: it has a default."""

    def calling(implementation: Callable[..., Any], case: Case) -> Observation:
        def call(*arguments: Any) -> Any:
            return implementation(*(arguments[:-1] if arguments[-1] is None else arguments))

        return probe(call, case)

    return calling


def masks(probe: Probe) -> Probe:
    """The probe, recording beside the mask what kind of entries it has.

    A mask of the numbers 0 and 1 equals the right one as far as its values go; with the kind
    recorded, it is known as a mistake of its own.
    """

    def noting(implementation: Callable[..., Any], case: Case) -> Observation:
        observation = probe(implementation, case)
        (mask,) = observation.values.values()
        kind = "truth values" if mask.dtype == "bool" else "numbers"
        return replace(
            observation, values={**observation.values, "kind of entries": Value("text", kind)}
        )

    return noting


def hides(probe: Probe) -> Probe:
    """The probe, recording beside the weights whether those of hidden keys are exactly 0.

    A weight of 1e-9 equals 0 as far as rounding goes, and still lets a key through.
    """

    def noting(implementation: Callable[..., Any], case: Case) -> Observation:
        observation = probe(implementation, case)
        if "weights" not in observation.values:
            return observation
        leaks = _leaks(observation.values["weights"], case.arguments["mask"])
        said = Value("text", "not exactly 0" if leaks else "exactly 0")
        return replace(observation, values={**observation.values, "weights of hidden keys": said})

    return noting


def _leaks(weights: Value, mask: Tensor | None) -> bool:
    if mask is None or not isinstance(weights.data, np.ndarray):
        return False
    try:
        hidden = np.broadcast_to(~mask.numpy(), weights.data.shape)
    except ValueError:  # another shape than it should be: that is said elsewhere
        return False
    return bool((weights.data[hidden] != 0).any())
