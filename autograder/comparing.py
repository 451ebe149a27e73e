"""Setting one observation beside the expected one, on one case.

Pure functions of plain data: nothing here calls student code or the reference.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from autograder.declaring import Case, Exercise, Observation, Value

GRADIENT = "gradient of "  # how the names of parts that are gradients begin

# How far apart two correct algorithms may lie, in units of the last place at the size of
# the largest number involved. Correct float32 versions at scores of 2400 differ by 0.3
# such units; sums over a few hundred products by a few.
UNITS = 16
# Below this, relative to the result's largest number, a difference is a matter of taste even
# in float64: an epsilon of 1e-8 in a denominator is nobody's mistake. One of 1e-7 is beyond it.
FLOOR = 2e-8

KINDS_IN_WORDS = {
    "array": "a NumPy array of numbers",
    "tensor": "a torch tensor",
    "number": "a plain number",
    "none": "None",
}


def sentence(text: str) -> str:
    """The text with a capital at its start, everything else as it is."""
    return text[:1].upper() + text[1:]


@dataclass(frozen=True)
class Difference:
    """How an observation departs from what is expected on one case.

    outcome: one of the verdict's outcomes.
    mistake: the id for kinds that need no comparison with a wrong implementation, or "".
    what: one sentence that states it.
    part: which returned part it concerns, or "".
    at: the index of the worst value, where values differ.
    """

    outcome: str
    what: str
    mistake: str = ""
    part: str = ""
    at: tuple[int, ...] = ()


def tolerance(case: Case, expected: np.ndarray, *dtypes: str, size: float = 1.0) -> float:
    """The largest difference from `expected` that rounding alone can explain.

    It grows with the machine epsilon of the coarsest float dtype involved (inputs and
    result) and with the largest number that arises (scores or result). `size` is the least
    that counts as such a number.
    """
    epsilon = max((_epsilon(name) for name in case.dtypes.union(dtypes)), default=0.0)
    finite = np.abs(expected[np.isfinite(expected)])
    size = max(size, float(finite.max()) if finite.size else 0.0)
    return max(UNITS * epsilon * max(size, case.magnitude), FLOOR * size)


@functools.cache
def _epsilon(dtype: str) -> float:
    if dtype == "bfloat16":
        return 2.0**-7
    if dtype in ("float16", "float32", "float64"):
        return float(np.finfo(dtype).eps)
    return float(np.finfo(np.float64).eps)


def close(case: Case, a: Value, b: Value) -> bool:
    """Whether two recorded values agree up to rounding. NaN agrees with NaN."""
    if np.shape(a.data) != np.shape(b.data):
        return False
    x, y = _numbers(a), _numbers(b)
    if x is None or y is None:
        return (a.kind, a.data, a.description) == (b.kind, b.data, b.description)
    return not _apart(case, x, y, a.dtype, b.dtype).any()


def _apart(case: Case, x: np.ndarray, y: np.ndarray, *dtypes: str, size: float = 1.0) -> np.ndarray:
    """Where two arrays of one shape differ by more than rounding explains."""
    if y.dtype.kind in "biu":
        return np.asarray(x != y)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(x - y) <= tolerance(case, y, *dtypes, size=size)
    return ~(near | (x == y) | (np.isnan(x) & np.isnan(y)))


def _numbers(value: Value) -> np.ndarray | None:
    if value.kind in ("array", "tensor", "number"):
        data = np.asarray(value.data)
        return data.astype(np.float64) if data.dtype.kind == "f" else data
    return None


def difference(
    exercise: Exercise, case: Case, expected: Observation, seen: Observation | None
) -> Difference | None:
    """The first way in which `seen` departs from `expected`, or None if it holds."""
    if seen is None:
        return Difference("error", f"{exercise.name} gave no answer on this case.", "no-answer")
    if seen.called:
        return Difference("not allowed", _called_sentence(exercise, seen.called), "not-allowed")
    if expected.problem is not None:
        return _expected_problem(exercise, case, seen)
    if seen.problem is not None:
        return Difference("error", _problem_sentence(exercise, seen))
    if set(seen.values) != set(expected.values):
        return _wrong_parts(exercise, expected, seen)
    gradients = _largest_gradient(expected)
    for part, value in expected.values.items():
        size = gradients if part.startswith(GRADIENT) else 1.0
        found = _part_difference(exercise, case, part, value, seen.values[part], size)
        if found is not None:
            return found
    if seen.changed:
        names = " and ".join(seen.changed)
        return Difference(
            "wrong values",
            f"{exercise.name} changes its input {names} in place, and the caller still needs it.",
            "changed-input",
        )
    return None


def _largest_gradient(expected: Observation) -> float:
    """The scale on which all gradients of a case are compared.

    A gradient may be 0 by nature (that of W_k.bias is), and what is computed for it is noise of
    the size of the others' rounding.
    """
    arrays = (v.data for part, v in expected.values.items() if part.startswith(GRADIENT))
    sizes = [float(np.abs(a).max()) for a in arrays if isinstance(a, np.ndarray) and a.size]
    return max([1.0, *sizes])


def _called_sentence(exercise: Exercise, called: Sequence[str]) -> str:
    return (
        f"{exercise.name} calls {' and '.join(called)}. In this exercise you write yourself what "
        "that does."
    )


def _expected_problem(exercise: Exercise, case: Case, seen: Observation) -> Difference | None:
    problem = seen.problem
    if problem is None:
        return Difference(
            "wrong values",
            f"{exercise.name} should refuse these inputs with a ValueError; yours returned "
            "something.",
            "no-value-error",
        )
    if not {"ValueError", "AssertionError"} & {problem.type, *problem.parents}:
        return Difference("error", _problem_sentence(exercise, seen))
    missing = [word for word in case.mentions if word not in problem.message]
    if missing:
        return Difference(
            "wrong values",
            f"The {problem.type} for these inputs should name {' and '.join(case.mentions)}; "
            f"its message is {problem.message!r}.",
            "silent-value-error",
        )
    return None


def _problem_sentence(exercise: Exercise, seen: Observation) -> str:
    problem = seen.problem
    assert problem is not None
    said = f": {problem.message}" if problem.message else ""
    if not problem.line:
        return f"{exercise.name} stopped with {problem.type}{said}"
    place = f"In line {problem.line_number} of its cell: " if problem.line_number else ""
    return f"{exercise.name} stopped with {problem.type}{said}\n{place}`{problem.line}`"


def _wrong_parts(exercise: Exercise, expected: Observation, seen: Observation) -> Difference:
    wanted = " and ".join(exercise.returns)
    returned = seen.values.get("returned")
    got = returned.description if returned else ", ".join(seen.values)
    if returned is not None and returned.description == "None":
        return _returned_none(exercise)
    return Difference(
        "wrong type",
        f"{exercise.name} should return {len(exercise.returns)} things, {wanted}; "
        f"yours returned {got}.",
        "wrong-number-of-results",
    )


def _returned_none(exercise: Exercise) -> Difference:
    return Difference(
        "wrong type",
        f"{exercise.name} returned None. A function without a return line returns None.",
        "returned-none",
    )


def _part_difference(
    exercise: Exercise, case: Case, part: str, expected: Value, seen: Value, size: float
) -> Difference | None:
    whose = f"the array of {part}" if part.endswith("s") else f"the {part}"
    if len(exercise.returns) == 1 and part in exercise.returns:
        whose = "the result"
    if seen.kind == "none" and part.startswith(GRADIENT):
        reached = part.removeprefix(GRADIENT)
        said = f"No gradient reaches {reached}: the result does not depend on it, for autograd."
        return Difference("wrong values", said, "missing-gradient", part)
    if seen.kind == "none":
        if len(exercise.returns) == 1:
            return _returned_none(exercise)
        return Difference("wrong type", sentence(f"{whose} is None."), "returned-none", part)
    wrong_type = _type_sentence(case, whose, expected, seen)
    if wrong_type:
        return Difference("wrong type", wrong_type, "", part)
    if np.shape(seen.data) != np.shape(expected.data):
        said = _shape_sentence(exercise, part, whose, np.shape(seen.data), np.shape(expected.data))
        return Difference("wrong shape", said, "", part)
    x, y = _numbers(seen), _numbers(expected)
    if x is None or y is None:
        if seen.data == expected.data:
            return None
        said = sentence(f"{whose} is {seen.data!r}, not {expected.data!r}.")
        return Difference("wrong values", said, "", part)
    # The dtype that was seen has no say: a forged one would widen the tolerance.
    apart = _apart(case, x, y, expected.dtype, size=size)
    if not apart.any():
        return None
    what, mistake = _values_sentence(whose, x, y, apart)
    if part.startswith(GRADIENT):
        what, mistake = f"{what} The result itself may be right.", mistake or "wrong-gradient"
    return Difference("wrong values", what, mistake, part, _worst(x, y, apart))


def _type_sentence(case: Case, whose: str, expected: Value, seen: Value) -> str:
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


def _shape_sentence(
    exercise: Exercise, part: str, whose: str, seen: tuple[int, ...], expected: tuple[int, ...]
) -> str:
    start = sentence(f"{whose} has shape {seen}, and should have {expected}")
    if len(seen) != len(expected):
        axes = f"{len(seen)} {'axis' if len(seen) == 1 else 'axes'}"
        return f"{start}: {axes} instead of {len(expected)}."
    names = _axis_names(exercise.axes.get(part, ()), len(expected))
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


def _values_sentence(
    whose: str, x: np.ndarray, y: np.ndarray, apart: np.ndarray
) -> tuple[str, str]:
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


def _worst(x: np.ndarray, y: np.ndarray, apart: np.ndarray) -> tuple[int, ...]:
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.where(apart, np.nan_to_num(np.abs(x - y), nan=np.inf), -1.0)
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(gap)), gap.shape))


def agrees(case: Case, seen: Observation, other: Observation) -> bool:
    """Whether two wrong implementations did the same on a case, up to rounding.

    Two exceptions agree whatever their words: the same mistake written with `@` or with
    einsum fails with other messages. Callers ask for agreement in values as well.
    """
    if seen.problem is not None or other.problem is not None:
        return seen.problem is not None and other.problem is not None
    return set(seen.values) == set(other.values) and all(
        close(case, seen.values[part], other.values[part]) for part in seen.values
    )
