"""Sentences on how a returned value differs from the expected one: its type, shape, numbers.

Pure functions of plain data, for `comparing`.
"""

from collections.abc import Sequence

import numpy as np

from autograder.declaring import Value

KINDS_IN_WORDS = {
    "array": "a NumPy array of numbers",
    "tensor": "a torch tensor",
    "number": "a plain number",
    "none": "None",
}


def sentence(text: str) -> str:
    """The text with a capital at its start, everything else as it is."""
    return text[:1].upper() + text[1:]


def ended(text: str) -> str:
    """The text with a full stop at its end, unless it ends as a sentence does already."""
    return text if text.endswith((".", "!", "?", ":", "…")) else f"{text}."


def type_sentence(whose: str, expected: Value, seen: Value) -> str:
    """Why `seen` is the wrong kind of thing, or "". NumPy results may be wider."""
    if expected.kind == "array" and seen.kind == "number" and not np.shape(expected.data):
        seen = Value("array", np.asarray(seen.data), np.asarray(seen.data).dtype.name)
    if seen.kind != expected.kind:
        wanted = KINDS_IN_WORDS.get(expected.kind, expected.description)
        return sentence(f"{whose} should be {wanted}, and is {seen.description}.")
    if seen.device != expected.device:
        return sentence(f"{whose} is on device {seen.device}; its inputs are on {expected.device}.")
    if seen.kind not in ("array", "tensor") or seen.dtype == expected.dtype:
        return ""
    wide = seen.kind == "array" and np.dtype(seen.dtype).kind == np.dtype(expected.dtype).kind
    if wide and np.can_cast(expected.dtype, seen.dtype):
        return ""
    return sentence(f"{whose} has dtype {seen.dtype}; here it should be {expected.dtype}.")


def shape_sentence(
    axes: Sequence[str], whose: str, seen: tuple[int, ...], expected: tuple[int, ...]
) -> str:
    """What is wrong with a shape. axes: the names of the last axes."""
    start = sentence(f"{whose} has shape {seen}, and should have {expected}")
    if len(seen) != len(expected):
        count = f"{len(seen)} {'axis' if len(seen) == 1 else 'axes'}"
        return f"{start}: {count} instead of {len(expected)}."
    names = _axis_names(axes, len(expected))
    wrong = [
        f"its {name} has length {a} instead of {b}"
        for name, a, b in zip(names, seen, expected, strict=True)
        if a != b
    ]
    return f"{start}: {' and '.join(wrong)}."


def _axis_names(names: Sequence[str], count: int) -> list[str]:
    """Names for all axes: those declared are the last ones, others go by their number."""
    spare = max(count - len(names), 0)
    known = [f"{name} axis" for name in names[len(names) - (count - spare) :]]
    return [f"axis {i}" for i in range(spare)] + known


def values_sentence(whose: str, x: np.ndarray, y: np.ndarray, apart: np.ndarray) -> tuple[str, str]:
    """A sentence on how the values differ, and a mistake id for kinds that bear a name."""
    if np.isnan(x).any() and not np.isnan(y).any():
        return sentence(f"{whose} contains NaN, which arises from 0/0, ∞/∞ or ∞ − ∞."), "nan"
    if np.isinf(x).any() and not np.isinf(y).any():
        return sentence(f"{whose} contains infinity."), "infinity"
    if apart.size == 1:
        return sentence(f"{whose} has the right shape, but its number is wrong."), ""
    share = f"{int(apart.sum())} of {apart.size} numbers are wrong"
    return sentence(f"{whose} has the right shape, but {share}{_pattern(x, y)}."), ""


def _pattern(x: np.ndarray, y: np.ndarray) -> str:
    """A regularity between wrong and right values that points at the cause, in words."""
    if x.dtype.kind not in "fiu" or y.size < 2 or not np.isfinite(x).all():
        return ""
    size = float(np.abs(y).max())
    if size == 0 or not np.isfinite(size):
        return ""
    if np.abs(x).max() == 0:
        return ": all of yours are 0"
    gap = float(np.abs(x - y).max())
    if gap <= 1e-3 * size:
        return f", by at most {gap:.1g}: nearly right, so something small was added or lost"
    factor = float((x * y).sum() / (y * y).sum())
    if np.allclose(x, factor * y, rtol=1e-4, atol=1e-5 * size):
        return f": yours are {factor:.4g} times the expected ones"
    shift = float((x - y).mean())
    if np.allclose(x, y + shift, rtol=1e-4, atol=1e-5 * size):
        return f": yours are the expected ones plus {shift:.4g}"
    if y.ndim >= 2 and y.shape[-1] == y.shape[-2] and np.allclose(x, np.swapaxes(y, -1, -2)):
        return ": yours are the expected ones with the last two axes swapped"
    if np.allclose(np.sort(x, axis=None), np.sort(y, axis=None), rtol=1e-4, atol=1e-5 * size):
        return ": the numbers are the expected ones, at other places"
    return ""


def worst(x: np.ndarray, y: np.ndarray, apart: np.ndarray) -> tuple[int, ...]:
    """The index of the largest difference among those that count."""
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.where(apart, np.nan_to_num(np.abs(x - y), nan=np.inf), -1.0)
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(gap)), gap.shape))
