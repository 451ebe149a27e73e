"""Plain data over a pipe: how inputs reach the process of student code, and observations leave it.

A message is a header of 12 bytes (a mark and two lengths), JSON, and the raw bytes of the
arrays that the JSON refers to. Nothing is ever unpickled. Whoever decodes does not trust
whoever encoded: types, dtypes, shapes, sizes and nesting are checked before anything is
built, and whatever is wrong raises WireError and nothing else.

torch is imported only when a tensor occurs.
"""

import json
import math
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autograder.recording import is_tensor

HEADER = struct.Struct(">4sII")
MARK = b"MHw1"
JSON_LIMIT = 16 * 2**20  # bytes of JSON in a message
DATA_LIMIT = 32 * 2**20  # bytes of arrays in a message
PARTS_LIMIT = 300_000  # tables and lists in a message: "{}," is 3 bytes, and a hundred in memory
STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
DEPTH_LIMIT = 30
AXES_LIMIT = 32

WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
BROKEN = ("float16", "float32", "float64", "complex64", "complex128")
DTYPES = frozenset(("bool", *WHOLE, *BROKEN))
TORCH_DTYPES = DTYPES | {"bfloat16"}


class WireError(ValueError):
    """A message that is not what was agreed: torn, too large, or of the wrong form."""


def encode(message: Mapping[str, Any]) -> bytes:
    """The bytes of a message of plain data. Raises WireError for anything else, or too much."""
    buffers: list[bytes] = []
    try:
        text = json.dumps(_flatten(message, buffers), separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise WireError(f"This cannot be sent: {error}") from error
    head, data = text.encode("ascii"), b"".join(buffers)
    if len(head) > JSON_LIMIT or len(data) > DATA_LIMIT:
        raise WireError(f"A message of {len(head) + len(data)} bytes is too large to be sent.")
    if _has_too_many_parts(head):
        raise WireError("A message of so many parts is too large to be sent.")
    return HEADER.pack(MARK, len(head), len(data)) + head + data


def sizes(header: bytes) -> tuple[int, int]:
    """How many bytes of JSON and of arrays follow a header. Raises WireError."""
    if len(header) != HEADER.size:
        raise WireError("The message ended within its header.")
    mark, head, data = HEADER.unpack(header)
    if mark != MARK:
        raise WireError("What arrived is not a message: it does not start with the agreed mark.")
    if head > JSON_LIMIT or data > DATA_LIMIT:
        raise WireError(f"A message of {head + data} bytes was announced, which is too large.")
    return head, data


def decode(message: bytes) -> dict[str, Any]:
    """The plain data of one whole message. Raises WireError."""
    head, data = sizes(message[: HEADER.size])
    if len(message) != HEADER.size + head + data:
        raise WireError("The message is shorter or longer than it says.")
    start = HEADER.size + head
    if _has_too_many_parts(message[HEADER.size : start]):
        raise WireError("The message has too many parts.")
    try:
        tree = json.loads(message[HEADER.size : start].decode("ascii"), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise WireError(f"The message is not JSON: {error}") from error
    found = _restore(tree, memoryview(message)[start:], 0)
    if not isinstance(found, dict):
        raise WireError("A message is a table of names and values.")
    return found


def _has_too_many_parts(text: bytes) -> bool:
    """Whether JSON opens more lists and tables than there may be, those within strings apart."""
    if text.count(b"[") + text.count(b"{") <= PARTS_LIMIT:
        return False
    bare = STRING.sub(b"", text)
    return bare.count(b"[") + bare.count(b"{") > PARTS_LIMIT


def receive(read: Callable[[int], bytes]) -> bytes | None:
    """One whole message, still encoded, from a function that reads up to n bytes.

    Returns None when the other side has closed. Raises WireError when it closed midway, and
    what `read` raises.
    """
    header = _exactly(read, HEADER.size)
    if not header:
        return None
    head, data = sizes(header)
    rest = _exactly(read, head + data)
    if len(rest) != head + data:
        raise WireError("The connection closed in the middle of a message.")
    return header + rest


def _exactly(read: Callable[[int], bytes], count: int) -> bytes:
    pieces = []
    while count > 0:
        piece = read(min(count, 2**20))
        if not piece:
            break
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


# Values as JSON. What JSON has no form for becomes a list: ["kind", …]. Lists become ["list", …].


def _flatten(value: Any, buffers: list[bytes]) -> Any:
    kind = type(value)
    if value is None or kind in (bool, str):
        return value
    if kind is int:
        return value if abs(value) < 2**63 else ["int", hex(value)]
    if kind is float:
        return value if math.isfinite(value) else ["float", repr(value)]
    if kind is complex:
        return ["complex", _flatten(value.real, buffers), _flatten(value.imag, buffers)]
    if kind in (list, tuple):
        return [kind.__name__, *(_flatten(item, buffers) for item in value)]
    if isinstance(value, Mapping):
        if not all(type(key) is str for key in value):
            raise TypeError("the names in a table have to be strings")
        return {key: _flatten(item, buffers) for key, item in value.items()}
    if isinstance(value, np.generic):
        return ["scalar", *_flatten_array(np.asarray(value), buffers)]
    if isinstance(value, np.ndarray):
        return ["array", *_flatten_array(value, buffers)]
    if is_tensor(value):
        return ["tensor", *_flatten_tensor(value, buffers)]
    if f"{kind.__module__}.{kind.__name__}" == "torch.dtype":
        return ["torch dtype", str(value).removeprefix("torch.")]
    raise TypeError(f"a {kind.__name__} is not plain data")


def _flatten_array(array: np.ndarray, buffers: list[bytes]) -> list[Any]:
    if array.dtype.name not in DTYPES:
        raise TypeError(f"an array of dtype {array.dtype} is not plain data")
    order = _memory_order(array.shape, array.strides)
    dense = np.array(np.transpose(array, order), order="C")
    return [array.dtype.name, list(array.shape), order, _keep(dense, buffers)]


def _flatten_tensor(tensor: Any, buffers: list[bytes]) -> list[Any]:
    import torch

    name = str(tensor.dtype).removeprefix("torch.")
    if name not in TORCH_DTYPES or tensor.device.type != "cpu":
        raise TypeError(f"a tensor of dtype {name} on {tensor.device} is not plain data")
    order = _memory_order(tuple(tensor.shape), tensor.stride())
    dense = tensor.detach().permute(order).contiguous().resolve_conj().resolve_neg()
    if name == "bfloat16":  # NumPy has no such type: its bits travel as integers
        dense = dense.view(torch.int16)
    at = _keep(dense.numpy(), buffers)
    return [name, list(tensor.shape), order, at, bool(tensor.requires_grad)]


def _memory_order(shape: Sequence[int], strides: Sequence[int]) -> list[int]:
    """The axes from the outermost in memory to the innermost (C order: 0, 1, 2, …)."""
    return sorted(range(len(shape)), key=lambda axis: (-abs(strides[axis]), axis))


def _keep(dense: np.ndarray, buffers: list[bytes]) -> list[int]:
    """Add an array's bytes, little-endian, to the message; where they lie, and how many."""
    start = sum(map(len, buffers))
    buffers.append(dense.astype(dense.dtype.newbyteorder("<"), copy=False).tobytes())
    return [start, len(buffers[-1])]


def _restore(tree: Any, data: memoryview, depth: int) -> Any:
    if depth > DEPTH_LIMIT:
        raise WireError("The message is nested too deeply.")
    if isinstance(tree, str):
        # A lone surrogate could not be written to a file later.
        return tree.encode("utf-8", "replace").decode("utf-8")
    if isinstance(tree, dict):
        return {
            _restore(key, data, depth): _restore(item, data, depth + 1)
            for key, item in tree.items()
        }
    if not isinstance(tree, list):
        return tree
    kind, *rest = tree if tree else [None]
    restore = RESTORERS.get(kind) if isinstance(kind, str) else None
    if restore is None:
        raise WireError(f"The message contains an unknown kind of value, {str(kind)[:40]!r}.")
    try:
        return restore(rest, data, depth)
    except WireError:
        raise
    except (TypeError, ValueError, OverflowError, RuntimeError, MemoryError) as error:
        raise WireError(f"The message contains a malformed {kind}: {error}") from error


def _restore_array(rest: list[Any], data: memoryview) -> np.ndarray:
    name, shape, order, (start, size) = rest
    if name not in DTYPES:
        raise WireError(f"The message contains an array of dtype {str(name)[:40]!r}.")
    dtype = np.dtype(name)
    _require_counts(shape, AXES_LIMIT)
    _require_counts(order, AXES_LIMIT)
    _require_counts([start, size], 2)
    if sorted(order) != list(range(len(shape))):
        raise WireError("The message contains an array with an impossible order of axes.")
    if math.prod(shape) * dtype.itemsize != size or start + size > len(data):
        raise WireError("The message contains an array whose size does not match its shape.")
    flat = np.frombuffer(data[start : start + size], dtype=dtype.newbyteorder("<")).astype(dtype)
    dense = flat.reshape([shape[axis] for axis in order])
    return np.transpose(dense, np.argsort(order)) if order else dense


def _require_counts(numbers: Any, limit: int) -> None:
    if not isinstance(numbers, list) or len(numbers) > limit:
        raise WireError("The message contains an array with too many axes.")
    if not all(type(number) is int and 0 <= number < 2**40 for number in numbers):
        raise WireError("The message contains an array with an impossible shape.")


def _restore_tensor(rest: list[Any], data: memoryview) -> Any:
    import torch

    name, shape, order, at, requires_grad = rest
    stored = "int16" if name == "bfloat16" else name
    array = _restore_array([stored, shape, order, at], data)
    dense = torch.from_numpy(np.array(np.transpose(array, order), order="C"))
    if name == "bfloat16":
        dense = dense.view(torch.bfloat16)
    tensor = dense.permute(np.argsort(order).tolist()) if order else dense
    return tensor.requires_grad_() if requires_grad is True else tensor


def _restore_dtype(rest: list[Any]) -> Any:
    (name,) = rest
    if name not in TORCH_DTYPES:
        raise WireError(f"The message contains an unknown torch dtype, {str(name)[:40]!r}.")
    import torch

    return getattr(torch, name)


def _restore_float(rest: list[Any]) -> float:
    (text,) = rest
    if text not in ("nan", "inf", "-inf"):
        raise WireError("The message contains a malformed float.")
    return float(text)


def _restore_int(rest: list[Any]) -> int:
    (text,) = rest
    if not isinstance(text, str) or len(text) > 1000:
        raise WireError("The message contains an integer that is too large.")
    return int(text, 16)


def _items(rest: list[Any], data: memoryview, depth: int) -> list[Any]:
    return [_restore(item, data, depth + 1) for item in rest]


RESTORERS: dict[str, Callable[[list[Any], memoryview, int], Any]] = {
    "int": lambda rest, data, depth: _restore_int(rest),
    "float": lambda rest, data, depth: _restore_float(rest),
    "complex": lambda rest, data, depth: complex(*_items(rest, data, depth)),
    "list": _items,
    "tuple": lambda rest, data, depth: tuple(_items(rest, data, depth)),
    "scalar": lambda rest, data, depth: _restore_array(rest, data)[()],
    "array": lambda rest, data, depth: _restore_array(rest, data),
    "tensor": lambda rest, data, depth: _restore_tensor(rest, data),
    "torch dtype": lambda rest, data, depth: _restore_dtype(rest),
}
