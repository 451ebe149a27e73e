"""Setting one observation beside the expected one, on one case.

Pure functions of plain data: nothing here calls student code or the reference.
"""

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from autograder.declaring import PARAMETERS, Case, Exercise, Observation, Problem, Value
from autograder.keeping import LATER
from autograder.phrasing import sentence, shape_sentence, type_sentence, values_sentence, worst
from autograder.registering import compare_parameters

GRADIENT = "gradient of "  # how the names of parts that are gradients begin

# How far apart two correct algorithms may lie, in units of the last place at the size of
# the largest number involved. Correct float32 versions at scores of 2400 differ by 0.3
# such units; sums over a few hundred products by a few.
UNITS = 16
# Below this, relative to the result's largest number, a difference is a matter of taste even
# in float64: an epsilon of 1e-8 in a denominator is nobody's mistake. One of 1e-7 is beyond it.
FLOOR = 2e-8
# A root of d_k that is held in float32 is off by this share, and so are the scores.
ROOT = 6.5e-8
SCORES = 1e4  # of larger scores a softmax picks one, and their rounding does not show
MOST_NUMBERS = 16  # that a message may hold: shapes of several inputs are no matter
# What Python itself says in a ValueError, where code takes its inputs apart: nobody's refusal.
PYTHONS_OWN = re.compile(r"(too many|not enough) values to unpack|math domain error")
REFUSALS = frozenset(("ValueError", "AssertionError"))


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
    root = ROOT * size * (1 + min(case.magnitude, SCORES)) if case.scaled else 0.0
    size = max(size, float(finite.max()) if finite.size else 0.0)
    return max(UNITS * epsilon * max(size, case.magnitude), FLOOR * size, root)


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
        wide = {"f": np.float64, "b": np.int8}.get(data.dtype.kind)  # bools cannot be subtracted
        return data if wide is None else data.astype(wide)
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
        said = _problem_sentence(exercise, seen)
        if _refuses(seen.problem):
            said = f"{said}\nThese inputs are allowed: nothing should be raised."
            return Difference("error", said, "needless-error")
        return Difference("error", said)
    if PARAMETERS in expected.values:  # without the right ones, nothing else was looked at
        found = _parameters_difference(exercise, expected, seen)
        if found is not None:
            return found
    if set(seen.values) != set(expected.values):
        return _wrong_parts(exercise, expected, seen)
    gradients = _largest_gradient(expected)
    for part, value in expected.values.items():
        size = gradients if part.startswith(GRADIENT) else 1.0
        found = _part_difference(exercise, case, part, value, seen.values[part], size)
        if found is not None:
            return _after_change(exercise, seen, found)
    if _changed_inputs(seen):
        return Difference("wrong values", _changed_sentence(exercise, seen), "changed-input")
    if seen.changed:
        said = (
            f"This is right when {exercise.name} returns. But a later call changes what was "
            "returned or given here, and whoever called still needs it."
        )
        return Difference("wrong values", said, "changed-later")
    return None


def _changed_inputs(seen: Observation) -> tuple[str, ...]:
    return tuple(name for name in seen.changed if name != LATER)


def _changed_sentence(exercise: Exercise, seen: Observation) -> str:
    names = " and ".join(_changed_inputs(seen))
    return f"{exercise.name} changes its input {names} in place, and the caller still needs it."


def _after_change(exercise: Exercise, seen: Observation, found: Difference) -> Difference:
    """Wrong values of code that changes its inputs: the change may be what makes them wrong."""
    if not _changed_inputs(seen) or found.outcome != "wrong values":
        return found
    what = f"{found.what} And {_changed_sentence(exercise, seen)}"
    return replace(found, what=what, mistake="changed-input")


def _refuses(problem: Problem) -> bool:
    """Whether this is an error that the learner's own function raises about its inputs."""
    return (
        problem.type in REFUSALS
        and problem.raised_in == problem.function
        and problem.line.startswith(("raise", "assert", "if"))
        and not PYTHONS_OWN.search(problem.message)
    )


def _parameters_difference(
    exercise: Exercise, expected: Observation, seen: Observation
) -> Difference | None:
    wanted, have = expected.values[PARAMETERS], seen.values.get(PARAMETERS, Value("text", ""))
    if have.kind == wanted.kind and wanted.data == have.data:
        return None
    what, mistake = compare_parameters(exercise.name, str(have.data), str(wanted.data))
    return Difference("wrong values", what, mistake, PARAMETERS)


def _largest_gradient(expected: Observation) -> float:
    """The scale on which all gradients of a case are compared.

    A gradient may be 0 by nature (that of W_k.bias is), and what is computed for it is noise of
    the size of the others' rounding.
    """
    arrays = (v.data for part, v in expected.values.items() if part.startswith(GRADIENT))
    sizes = [float(np.abs(a).max()) for a in arrays if isinstance(a, np.ndarray) and a.size]
    return max([1.0, *sizes])


def _called_sentence(exercise: Exercise, called: Sequence[str]) -> str:
    said = f"{exercise.name} calls {' and '.join(called)}"
    if set(called) & set(exercise.not_allowed):
        return f"{said}. In this exercise you write yourself what that does."
    return f"{said}, which leads out of sight of the check. Compute the answer without it."


def _expected_problem(exercise: Exercise, case: Case, seen: Observation) -> Difference | None:
    problem = seen.problem
    if problem is None:
        return Difference(
            "wrong values",
            f"{exercise.name} should refuse these inputs with a ValueError; yours takes them.",
            "no-value-error",
        )
    refused = REFUSALS & {problem.type, *problem.parents}
    if refused and PYTHONS_OWN.search(problem.message):
        said = f"{_problem_sentence(exercise, seen)}\nPython itself says that, before anything "
        return Difference("error", f"{said}was refused.", "other-error")
    if not refused:
        said = f"{_problem_sentence(exercise, seen)}\nThese inputs call for a ValueError."
        return Difference("error", said, "other-error")
    missing = [word for word in case.mentions if word not in problem.message]
    numbers = set(re.findall(r"\d+", problem.message))
    if case.mentions and len(numbers) > MOST_NUMBERS:
        return Difference(
            "wrong values",
            f"The {problem.type} for these inputs should name {' and '.join(case.mentions)}, and "
            f"not {len(numbers)} numbers, among which nobody finds them.",
            "silent-value-error",
        )
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
    # On one line: lines of its own could be taken for ours.
    said = f": {' '.join(problem.message.split())}" if problem.message else ""
    if not problem.line:
        return f"{exercise.name} stopped with {problem.type}{said}"
    place = f"In line {problem.line_number} of its cell: " if problem.line_number else ""
    return f"{exercise.name} stopped with {problem.type}{said}\n{place}`{problem.line}`"


def _wrong_parts(exercise: Exercise, expected: Observation, seen: Observation) -> Difference:
    wanted = " and ".join(exercise.returns)
    returned = seen.values.get("returned")
    untold = [part for part in expected.values if part not in seen.values]
    if returned is None and untold and seen.values:
        # The probe stopped early, or found no tensor: the parts that are there say why.
        for part, value in seen.values.items():
            wanted_value = expected.values.get(part)
            if wanted_value is not None and wanted_value.kind == value.kind == "text":
                found = _text_difference(part, wanted_value, value)
                if found:
                    return found
    known = [part for part in seen.values if part in expected.values]
    got = returned.description if returned else ", ".join(known) or "something else"
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
    if "." in part and not part.startswith(GRADIENT):  # "W_q.weight"
        whose = part
    if len(exercise.returns) == 1 and part in exercise.returns:
        whose = "the result"
    if seen.kind == expected.kind == "none":
        return None
    if seen.kind == expected.kind == "text":
        return _text_difference(part, expected, seen)
    if seen.kind == "none" and part.startswith(GRADIENT):
        reached = part.removeprefix(GRADIENT)
        said = f"No gradient reaches {reached}: the result does not depend on it, for autograd."
        return Difference("wrong values", said, "missing-gradient", part)
    if seen.kind == "none":
        if len(exercise.returns) == 1:
            return _returned_none(exercise)
        return Difference("wrong type", sentence(f"{whose} is None."), "returned-none", part)
    wrong_type = type_sentence(whose, expected, seen)
    if wrong_type:
        return Difference("wrong type", wrong_type, "", part)
    if np.shape(seen.data) != np.shape(expected.data):
        axes = exercise.axes.get(part, ())
        said = shape_sentence(axes, whose, np.shape(seen.data), np.shape(expected.data))
        return Difference("wrong shape", said, "", part)
    x, y = _numbers(seen), _numbers(expected)
    assert x is not None and y is not None
    # The dtype that was seen has no say: a forged one would widen the tolerance.
    apart = _apart(case, x, y, expected.dtype, size=size)
    if not apart.any():
        return None
    what, mistake = values_sentence(whose, x, y, apart)
    if part.startswith(GRADIENT):
        what, mistake = f"{what} The result itself may be right.", mistake or "wrong-gradient"
    return Difference("wrong values", what, mistake, part, worst(x, y, apart))


def _text_difference(part: str, expected: Value, seen: Value) -> Difference | None:
    if seen.data == expected.data:
        return None
    said = sentence(f"{part}: {seen.data}. It should be: {expected.data}.")
    return Difference("wrong values", said, "", part)


def agrees(case: Case, seen: Observation, other: Observation) -> bool:
    """Whether two wrong implementations did the same on a case, up to rounding.

    Tensors of different float dtypes do not: what a wrong dtype comes with says nothing of why.
    Two exceptions agree whatever their words: the same mistake written with `@` or with
    einsum fails with other messages. Callers ask for agreement in values as well.
    """
    if seen.problem is not None or other.problem is not None:
        return seen.problem is not None and other.problem is not None
    return set(seen.values) == set(other.values) and all(
        _one_precision(seen.values[part], other.values[part])
        and close(case, seen.values[part], other.values[part])
        for part in seen.values
    )


def _one_precision(a: Value, b: Value) -> bool:
    floats = "float" in a.dtype and "float" in b.dtype
    return not (a.kind == b.kind == "tensor" and floats) or a.dtype == b.dtype
