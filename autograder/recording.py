"""Turning what student code returned, raised or changed into plain data.

Everything here treats its argument as untrusted: it looks at `type(x)` and not at
what the object says of itself, and it copies, so that nothing that happens later can
change what was recorded.
"""

import copy
import re
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CodeType,
    CoroutineType,
    FunctionType,
    GeneratorType,
    MethodType,
)
from typing import Any

import numpy as np

from autograder.declaring import Problem, Value

MESSAGE_LIMIT = 1000  # characters kept of an exception's message
NAME_LIMIT = 60
NAME = re.compile(r"[\w.<>]+|…")  # also <lambda>
SIZE_LIMIT = 5_000_000  # numbers in one result; the largest expected ones have thousands
STANDARD_LIBRARY = str(Path(traceback.__file__).parent)


def torch_if_loaded() -> Any:
    """The torch module when something has imported it, else None.

    Importing it here would add seconds to exercises that are pure NumPy.
    """
    return sys.modules.get("torch")


def is_tensor(x: object) -> bool:
    """Whether x is really a torch tensor (`__class__` can lie, `type` cannot)."""
    # Asked so often, also while calls are watched, that each call in here would show.
    return "torch" in sys.modules and issubclass(type(x), sys.modules["torch"].Tensor)


def fresh(value: Any) -> Any:
    """A copy with the same memory layout, which student code may do anything to."""
    if isinstance(value, np.ndarray):
        return value.copy(order="K")
    if is_tensor(value):
        return value.detach().clone().requires_grad_(value.requires_grad)
    if isinstance(value, list | tuple):
        return type(value)(fresh(item) for item in value)
    return copy.copy(value)


def attribute(x: object, name: str) -> Any:
    """The attribute, or None: looking one up can run student code, which can raise anything."""
    try:
        return getattr(x, name, None)
    except Exception:
        return None


def type_name(kind: type) -> str:
    """The class's real name, whatever its metaclass says."""
    return str(type.__dict__["__name__"].__get__(kind))


def plain_name(name: object) -> str:
    """A name as Python has it, or "…": whatever else stands there could be taken for our words."""
    text = str(name)
    return text if len(text) <= NAME_LIMIT and NAME.fullmatch(text) else "…"


def printable(text: str, limit: int = MESSAGE_LIMIT) -> str:
    """The start of a text, without what no file can hold (lone surrogates)."""
    return text[:limit].encode("utf-8", "replace").decode("utf-8")


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
        return f"a {type_name(kind)} of {count} item{'' if count == 1 else 's'}"
    if issubclass(kind, type):
        return f"the class {plain_name(type_name(x))}"  # type: ignore[arg-type]
    if issubclass(kind, CoroutineType):
        return "a coroutine: the function is declared with async, which has to go"
    if issubclass(kind, GeneratorType):
        return "a generator: the function says yield where it should say return"
    if issubclass(kind, FunctionType | BuiltinFunctionType | MethodType):
        return f"the function {plain_name(attribute(x, '__name__'))}"
    name = plain_name(type_name(kind))
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def record(x: object) -> Value:
    """Reduce one returned object to a `Value`. Never raises: what cannot be read is "other"."""
    kind, words = type(x), describe(x)
    if x is None:
        return Value("none", description=words)
    if kind is int and abs(x) >= 2**63:  # type: ignore[arg-type]
        return Value("other", description="a whole number of more than 18 digits")
    if kind in (bool, int, float, complex):
        return Value("number", data=x, dtype=kind.__name__, description=words)
    if kind is str:
        return Value("text", data=printable(str(x)), description=words)
    try:
        if is_tensor(x):
            return _record_tensor(x, words)
        if issubclass(kind, np.ndarray | np.generic):
            return _record_array(x, words)
    except Exception:  # layouts that have no plain form: sparse, quantised, nested
        return Value("other", description=f"{words} that cannot be read as plain numbers")
    return Value("other", description=words)


def _record_array(x: Any, words: str) -> Value:
    if x.size > SIZE_LIMIT:
        return Value("other", description=f"{words}, too many numbers to look at")
    plain = np.array(x, copy=True, order="C", subok=False)
    if plain.dtype.kind not in "biufc":
        return Value("other", description=f"{words} and dtype {plain.dtype}, not of numbers")
    return Value("array", data=plain, dtype=plain.dtype.name, description=words)


def _record_tensor(x: Any, words: str) -> Value:
    torch = torch_if_loaded()
    if type(x) is not torch.Tensor:
        with torch._C.DisableTorchFunctionSubclass():
            plain = torch.Tensor.detach(x).as_subclass(torch.Tensor)
            return _record_plain(torch, plain, words)
    # No code but torch's own runs for these, so that nobody has to look on, which takes time.
    with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
        return _record_plain(torch, x.detach(), words)


def _record_plain(torch: Any, plain: Any, words: str) -> Value:
    if plain.numel() > SIZE_LIMIT:
        return Value("other", description=f"{words}, too many numbers to look at")
    dtype = str(plain.dtype).removeprefix("torch.")
    device = str(plain.device)
    if device == "meta":  # a shape without numbers
        numbers = np.broadcast_to(np.float64(np.nan), tuple(plain.shape))
        return Value("tensor", numbers, dtype, device, f"{words} on the meta device")
    plain = plain.to("cpu").resolve_conj().resolve_neg()
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
        message = printable(str(error))
    except KeyboardInterrupt:
        raise
    except BaseException:  # an exception of the student's own whose __str__ fails
        message = ""
    where = own[-1] if own else None
    return Problem(
        type=plain_name(type_name(type(error))),
        message=message,
        parents=tuple(plain_name(type_name(parent)) for parent in type(error).__mro__[1:-1]),
        raised_in=plain_name(frames[-1].name) if frames else "",
        function=plain_name(where.name) if where else "",
        line=printable((where.line or "").strip()) if where else "",
        line_number=(where.lineno or 0) if where else 0,
    )


def _is_student_file(filename: str) -> bool:
    ours = str(Path(__file__).parent)
    return not (filename.startswith((ours, STANDARD_LIBRARY)) or "site-packages" in filename)
