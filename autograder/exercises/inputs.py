"""Inputs for cases, so that exercises draw them alike.

The rules that cases follow: sizes all different and none 1 (with a case for size 1 beside
them), random values and never ones, both float dtypes, arrays that are not contiguous.
"""

import math

import numpy as np
from numpy.typing import DTypeLike, NDArray

Array = NDArray[np.floating]


def normal(
    rng: np.random.Generator, *shape: int, dtype: DTypeLike = np.float64, scale: float = 1.0
) -> Array:
    """Normally distributed numbers of the given shape, standard deviation `scale`."""
    return np.asarray(scale * rng.standard_normal(shape), dtype=dtype)


def readable(rng: np.random.Generator, *shape: int) -> Array:
    """Numbers with one decimal and none of them 0, for a case that is shown on a screen."""
    tenths = rng.integers(1, 20, size=shape) * rng.choice((-1, 1), size=shape)
    return np.asarray(tenths / 10, dtype=np.float64)


def permuted(rng: np.random.Generator, *shape: int) -> Array:
    """Normal numbers whose axes lie in memory in reverse order (not contiguous)."""
    return normal(rng, *reversed(shape)).transpose()


def root_is_exact(d_k: int) -> bool:
    """Whether √d_k is a whole number, which every dtype holds exactly."""
    return math.isqrt(d_k) ** 2 == d_k


def indivisible(rng: np.random.Generator, num_heads: int) -> int:
    """A width between 10 and 29 that num_heads does not divide.

    It shares no digit with num_heads, so that a message which names one of the two does not name
    the other by accident; and it is drawn, so that a message cannot name it without looking.
    """
    widths = [n for n in range(10, 30) if n % num_heads and str(num_heads) not in str(n)]
    return int(rng.choice(widths))


def shares(rng: np.random.Generator, *shape: int, dtype: DTypeLike = np.float64) -> Array:
    """Positive numbers that sum to 1 over the last axis."""
    raw = rng.uniform(0.1, 1.0, size=shape)
    return np.asarray(raw / raw.sum(axis=-1, keepdims=True), dtype=dtype)
