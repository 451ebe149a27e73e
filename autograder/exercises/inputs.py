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
    taken = set(str(num_heads))
    widths = [n for n in range(10, 30) if n % num_heads and not taken & set(str(n))]
    return int(rng.choice(widths))


def heads_of_refusals(rng: np.random.Generator) -> tuple[int, int]:
    """Two numbers of heads for refusals, either one first: 2 or 3, and one from 4 to 8.

    Whoever looks at some numbers of heads only, or only at whether a width is even, lets one of
    them through.
    """
    small, larger = rng.choice((2, 3)), rng.choice((4, 5, 6, 7, 8))
    first, second = rng.permuted((small, larger)).tolist()
    return first, second


def alike(rng: np.random.Generator, array: Array) -> Array:
    """Other numbers of the same sizes, whose first and last one are those of `array`.

    Whoever keeps results by what identifies inputs cheaply gives the earlier one again.
    """
    other = normal(rng, *array.shape, dtype=array.dtype, scale=float(array.std()))
    other.flat[0], other.flat[-1] = array.flat[0], array.flat[-1]
    return other


def shares(rng: np.random.Generator, *shape: int, dtype: DTypeLike = np.float64) -> Array:
    """Positive numbers that sum to 1 over the last axis."""
    raw = rng.uniform(0.1, 1.0, size=shape)
    return np.asarray(raw / raw.sum(axis=-1, keepdims=True), dtype=dtype)
