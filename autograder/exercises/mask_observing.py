"""What there is to say of masks, and of what they hide, beside the numbers themselves."""

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


def kind_of_entries(_case: Case, observation: Observation) -> Observation:
    """What kind of entries a mask has, beside the mask.

    A mask of the numbers 0 and 1 equals the right one as far as its values go; with the kind
    noted, it is known as a mistake of its own.
    """
    if not observation.values:
        return observation
    (mask,) = observation.values.values()
    kind = "truth values" if mask.dtype == "bool" else "numbers"
    return replace(
        observation, values={**observation.values, "kind of entries": Value("text", kind)}
    )


def hidden_weights(case: Case, observation: Observation) -> Observation:
    """Whether the weights of hidden keys are exactly 0, beside the weights.

    A weight of 1e-9 equals 0 as far as rounding goes, and still lets a key through.
    """
    if "weights" not in observation.values:
        return observation
    leaks = _leaks(observation.values["weights"], case.arguments["mask"])
    said = Value("text", "not exactly 0" if leaks else "exactly 0")
    return replace(observation, values={**observation.values, "weights of hidden keys": said})


def _leaks(weights: Value, mask: Tensor | None) -> bool:
    if mask is None or not isinstance(weights.data, np.ndarray):
        return False
    try:
        hidden = np.broadcast_to(~mask.numpy(), weights.data.shape)
    except ValueError:  # another shape than it should be: that is said elsewhere
        return False
    return bool((weights.data[hidden] != 0).any())
