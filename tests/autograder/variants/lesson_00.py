"""Right versions of lesson 00."""

import math
from typing import Any

import einops
import numpy as np

from tests.autograder.variants.versions import Versions


def loops_weighted_average(values: Any, weights: Any) -> Any:
    out = np.zeros(values.shape[:-1], dtype=values.dtype)
    for index in np.ndindex(*values.shape):
        out[index[:-1]] += values[index] * weights[index]
    return out


VARIANTS: Versions = {
    "weighted_average": (
        loops_weighted_average,
        lambda values, weights: np.einsum("...n,...n->...", values, weights),
        lambda values, weights: einops.einsum(values, weights, "... n, ... n -> ..."),
        lambda values, weights: np.average(values, axis=-1, weights=weights),
        lambda values, weights: (values[..., None, :] @ weights[..., :, None])[..., 0, 0],
        lambda a, b: np.sum(a * b, -1) / np.sum(b, -1),
        lambda values, weights: (
            math.fsum(map(float.__mul__, values.tolist(), weights.tolist()))
            if values.ndim == 1
            else np.vecdot(values, weights)
        ),
    ),
}
