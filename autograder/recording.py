"""Turning what student code returned, raised or changed into plain data.

Everything here treats its argument as untrusted: it looks at `type(x)` and not at
what the object says of itself, and it copies, so that nothing that happens later can
change what was recorded.
"""

import copy
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

from autograder.declaring import Problem, Value

MESSAGE_LIMIT = 1000  # characters kept of an exception's message
STANDARD_LIBRARY = str(Path(traceback.__file__).parent)


def torch_if_loaded() -> Any:
    """The torch module when something has imported it, else None.

    Importing it here would add seconds to exercises that are pure NumPy.
    """
    return sys.modules.get("torch")


def is_tensor(x: object) -> bool:
    """Whether x is really a torch tensor (`__class__` can lie, `type` cannot)."""
    torch = torch_if_loaded()
    return torch is not None and issubclass(type(x), torch.Tensor)


def fresh(value: Any) -> Any:
    """A copy with the same memory layout, which student code may do anything to."""
    if isinstance(value, np.ndarray):
        return value.copy(order="K")
    if is_tensor(value):
        return value.detach().clone().requires_grad_(value.requires_grad)
    if isinstance(value, list | tuple):
        return type(value)(fresh(item) for item in value)
    return copy.copy(value)


def describe(x: object) -> str:
    """The type of x in words, for sentences like "it returned …"."""
    kind = type(x)
    if x is None:
        return "None"
    if issubclass(kind, np.ndarray) or is_tensor(x):
        word = "tensor" if is_tensor(x) else "NumPy array"
        return f"a {word} of shape {tuple(x.shape)}"  # type: ignore[attr-defined]
    if kind in (list, tuple, dict, set):
        count = len(x)  # type: ignore[arg-type]
        return f"a {kind.__name__} of {count} item{'' if count == 1 else 's'}"
    if callable(x):
        return f"the function {getattr(x, '__name__', '')}".strip()
    return f"{'an' if kind.__name__[:1].lower() in 'aeiou' else 'a'} {kind.__name__}"


def record(x: object) -> Value:
    """Reduce one returned object to a `Value`."""
    kind, words = type(x), describe(x)
    if x is None:
        return Value("none", description=words)
    if kind in (bool, int, float, complex):
        return Value("number", data=x, dtype=kind.__name__, description=words)
    if kind is str:
        return Value("text", data=x, description=words)
    if is_tensor(x):
        return _record_tensor(x, words)
    if issubclass(kind, np.ndarray | np.generic):
        plain = np.array(x, copy=True, order="C", subok=False)
        if plain.dtype.kind not in "biufc":
            return Value("other", description=f"a NumPy array of dtype {plain.dtype}")
        return Value("array", data=plain, dtype=plain.dtype.name, description=words)
    return Value("other", description=words)


def _record_tensor(x: Any, words: str) -> Value:
    torch = torch_if_loaded()
    with torch._C.DisableTorchFunctionSubclass():
        plain = torch.Tensor.detach(x).as_subclass(torch.Tensor)
        dtype = str(plain.dtype).removeprefix("torch.")
        device = str(plain.device)
        if device == "meta":
            return Value("tensor", np.empty(0), dtype, device, f"{words} on the meta device")
        plain = plain.to("cpu").resolve_conj().resolve_neg().to_dense()
        if plain.dtype == torch.bfloat16:
            plain = plain.float()
        return Value("tensor", plain.contiguous().numpy().copy(), dtype, device, words)


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of arguments whose contents differ between two copies."""
    return tuple(name for name in before if not _same(before[name], after[name]))


def _same(a: Any, b: Any) -> bool:
    if is_tensor(a):
        return is_tensor(b) and _same(record(a).data, record(b).data)
    if isinstance(a, np.ndarray):
        # A learner who assigns to .shape changes the input as surely as to its values.
        return a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    return True  # numbers, strings and None cannot be modified in place


def record_problem(error: BaseException, home: CodeType | None) -> Problem:
    """Reduce an exception to plain data, with the line of student code it came from.

    home: the code object of the learner's function, if it has one. The innermost frame
    from the same file is the line to show; libraries below it are no help.
    """
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if home is not None and frame.filename == home.co_filename]
    if not own:
        own = [frame for frame in frames if _is_student_file(frame.filename)]
    try:
        message = str(error)[:MESSAGE_LIMIT]
    except Exception:  # an exception of the student's own whose __str__ fails
        message = ""
    where = own[-1] if own else None
    return Problem(
        type=type(error).__name__,
        message=message,
        parents=tuple(parent.__name__ for parent in type(error).__mro__[1:-1]),
        function=where.name if where else "",
        line=(where.line or "").strip() if where else "",
        line_number=(where.lineno or 0) if where else 0,
    )


def _is_student_file(filename: str) -> bool:
    ours = str(Path(__file__).parent)
    return not (filename.startswith((ours, STANDARD_LIBRARY)) or "site-packages" in filename)
