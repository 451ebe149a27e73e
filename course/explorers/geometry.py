"""The little geometry that pictures need."""

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]


def outline_of(points: Points) -> Points:
    """The corners of the smallest convex outline around points (n, 2), in order: (m, 2).

    Every weighted average with weights ≥ 0 that sum to 1 lies inside it.
    Andrew's monotone chain (1979).
    """
    ordered = sorted({(float(x), float(y)) for x, y in points})
    if len(ordered) < 3:
        return np.array(ordered).reshape(-1, 2)
    below, above = _chain(ordered), _chain(ordered[::-1])
    return np.array(below[:-1] + above[:-1])


def _chain(ordered: list[tuple[float, float]]) -> list[tuple[float, float]]:
    chain: list[tuple[float, float]] = []
    for point in ordered:
        while len(chain) >= 2 and _turn(chain[-2], chain[-1], point) <= 0:
            chain.pop()
        chain.append(point)
    return chain


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    """Positive when the way from a over b to c turns left."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
