"""One forward and one backward pass of a module, watched from inside.

The steps are watched and not assumed: a torch function mode notes every call that gives a tensor,
so they are what this module does, up to where it stops if it stops.
"""

import copy
import inspect
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from course.attention.functional import scaled_dot_product_attention, split_heads
from course.devices import milliseconds
from course.explorers.sentences import ENGLISH

SENTENCE = ENGLISH.words
TIMED_FOR = 4.0  # ms at most per run, so that a key press stays quick

Make = Callable[[int, int], nn.Module]


@dataclass
class Step:
    """A call that gave a tensor (or several): its name, and the shape of what it gave."""

    name: str
    shape: tuple[int, ...]
    count: int = 1
    projects: bool = False
    """Whether it is a projection, which gives features of positions and no map."""


@dataclass
class Run:
    """What was seen of a module up to its end, or to its error."""

    num_heads: int
    d_model: int
    steps: list[Step] = field(default_factory=list)
    parameters: list[tuple[str, tuple[int, ...], float | None]] = field(default_factory=list)
    """Name, shape, and the gradient's norm, None before the backward pass or without one."""
    weights: Tensor | None = None
    returned_weights: bool = True
    milliseconds: float = 0.0

    @property
    def num_parameters(self) -> int:
        """The count of numbers that the module learns."""
        return sum(torch.Size(shape).numel() for _, shape, _ in self.parameters)


class _Watch(TorchFunctionMode):
    """Notes each call that gives a tensor; a projection goes by its name in the module."""

    def __init__(self, module: nn.Module, steps: list[Step]) -> None:
        super().__init__()
        self.steps = steps
        self.names = {
            id(layer.weight): name
            for name, layer in module.named_modules()
            if isinstance(layer, nn.Linear)
        }

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        tensors = [result] if isinstance(result, Tensor) else result
        if isinstance(tensors, list | tuple) and tensors and isinstance(tensors[0], Tensor):
            name = getattr(func, "__name__", "call")
            projects = name == "linear"
            if name == "__get__":  # an attribute such as .T
                name = "." + getattr(getattr(func, "__self__", None), "__name__", "attribute")
            elif projects and len(args) > 1 and id(args[1]) in self.names:
                name = self.names[id(args[1])]
            self.steps.append(Step(name, tuple(tensors[0].shape), len(tensors), projects))
        return result


def run_module(given: Make | nn.Module, d_model: int, num_heads: int, device: str, run: Run) -> Any:
    """Make the module (or copy it), run it, and write into `run` what is seen on the way.

    d_model, num_heads: used to make it; one that is made already keeps its own.
    """
    if isinstance(given, nn.Module):
        module: Any = _copy(given)
        d_model = run.d_model = _features(module)
        num_heads = run.num_heads = int(getattr(module, "num_heads", 1))
    else:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            module = given(d_model, num_heads)
        if not isinstance(module, nn.Module):
            raise ValueError(
                f"{_name(given)}(d_model, num_heads) made {type(module).__name__}, and a module "
                "is needed. Does your class inherit from nn.Module?"
            )
    module = module.to(device).eval()
    run.parameters = [(name, tuple(p.shape), None) for name, p in module.named_parameters()]
    dtype = next((p.dtype for p in module.parameters()), torch.float32)
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1, len(SENTENCE), d_model, generator=generator).to(device, dtype)

    gives_weights = _accepts(module.forward, "need_weights")
    with _Watch(module, run.steps):
        result = module(x, need_weights=True) if gives_weights else module(x)
    output, weights = _parts(result, gives_weights)
    _check("output", output, (1, len(SENTENCE), d_model))
    if not gives_weights:
        run.returned_weights = False
        weights = _weights_from_projections(module, x, num_heads)
    if weights is not None:
        _check("weights", weights, (1, num_heads, len(SENTENCE), len(SENTENCE)))
        run.weights = weights.detach()[0]

    if not output.requires_grad:
        raise ValueError(
            "Your output does not hang on any parameter, so no gradient can flow back. Are the "
            "projections registered (nn.Linear, nn.ModuleList), and is there a detach() or "
            "no_grad() on the way?"
        )
    output.square().mean().backward()
    run.parameters = [
        (name, tuple(p.shape), None if p.grad is None else p.grad.norm().item())
        for name, p in module.named_parameters()
    ]
    with torch.inference_mode():
        run.milliseconds = milliseconds(lambda: module(x), device, 5, at_most=TIMED_FOR)


def axes_of(step: Step, run: Run) -> str:
    """The names of the axes of what a step gave, or "" where more than one reading is possible."""
    n, h, d_model = len(SENTENCE), run.num_heads, run.d_model
    d_k = d_model // h
    readings = {
        "batch, position, d_model": (1, n, d_model),
        "batch, position, d_k": (1, n, d_k),
        "batch, position, heads, d_k": (1, n, h, d_k),
        "batch, heads, position, d_k": (1, h, n, d_k),
        "batch, heads, d_k, position": (1, h, d_k, n),
        "batch, heads, query, key": (1, h, n, n),
        "batch, query, key": (1, n, n),
    }
    if h == 1:
        del readings["batch, position, d_k"]  # it is d_model
    if step.projects:
        del readings["batch, query, key"]
    fitting = [words for words, reading in readings.items() if reading == step.shape]
    return fitting[0] if len(fitting) == 1 else ""


def _copy(module: nn.Module) -> nn.Module:
    try:
        copied = copy.deepcopy(module)
    except RuntimeError as problem:  # it keeps a tensor that it has computed
        raise ValueError(
            f"Your module cannot be copied ({problem}). Pass the class itself, "
            f"inspect_module({type(module).__name__})."
        ) from None
    copied.zero_grad()
    return copied


def _features(module: Any) -> int:
    """The count of features that a module takes in, as its first projection has it."""
    with suppress(AttributeError):
        return int(module.W_q.in_features)
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            return layer.in_features
    raise ValueError(
        f"{type(module).__name__} has no nn.Linear among its modules, so nothing says how many "
        "features it takes. Are its projections registered, not in a Python list?"
    )


def _accepts(function: Callable[..., Any], name: str) -> bool:
    parameters = inspect.signature(function).parameters
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def _parts(result: Any, gives_weights: bool) -> tuple[Any, Any]:
    if not gives_weights:
        return result, None
    if isinstance(result, tuple) and len(result) == 2:
        return result
    raise ValueError(
        f"With need_weights=True your forward returned {type(result).__name__}, and two things "
        "are needed. End it with: return output, weights"
    )


def _check(name: str, tensor: Any, shape: tuple[int, ...]) -> None:
    if not isinstance(tensor, Tensor):
        raise ValueError(
            f"Your {name} is {type(tensor).__name__}, and a tensor is needed. "
            "Does your forward end with a return?"
        )
    if tuple(tensor.shape) != shape:
        raise ValueError(
            f"Your {name} has the shape {tuple(tensor.shape)}, and {shape} is needed. "
            "Look for the first step whose shape surprises you."
        )
    if not tensor.isfinite().all():
        raise ValueError(f"Your {name} has NaN or infinity in it. Look at the softmax first.")


def _weights_from_projections(module: Any, x: Tensor, num_heads: int) -> Tensor | None:
    if not (hasattr(module, "W_q") and hasattr(module, "W_k")):
        return None
    with torch.no_grad():
        q, k = (split_heads(project(x), num_heads) for project in (module.W_q, module.W_k))
        return scaled_dot_product_attention(q, k, k)[1]


def _name(given: Any) -> str:
    return getattr(given, "__name__", type(given).__name__)
