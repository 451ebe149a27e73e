"""Mistakes in what a module of multi-head attention does around its attention: devices, dtypes,
gradients, what is kept or changed.
"""

import math
from typing import Any

import torch
from torch import Tensor

from autograder.mistakes.module_steps import (
    ELSEWHERE,
    MADE_ON_THE_CPU,
    MAKE_IT_THERE,
    Steps,
    Told,
)


def mixing(mix: Any) -> dict[str, Any]:
    return {"mix": lambda self, w, q, k, v: mix(self.drop(w), q, k, v)}


def kept_input(self: Any, *inputs: Tensor) -> Any:
    self.before = inputs[0]
    return Steps.project(self, *inputs)


def with_residual(self: Any, joined: Tensor) -> Any:
    return Steps.leave(self, joined) + self.before


def hard_float(self: Any, scores: Tensor) -> Tensor:
    return torch.softmax(scores.float(), dim=-1).to(scores.dtype)


def float_inputs(self: Any, *inputs: Tensor) -> Any:
    return Steps.project(self, *(x.float() for x in inputs))


def cuda_inputs(self: Any, *inputs: Tensor) -> Any:
    return Steps.project(self, *(x.cuda() for x in inputs))


def inputs_on_the_cpu(self: Any, *inputs: Tensor) -> Any:
    return Steps.project(self, *(x.to("cpu") for x in inputs))


def kept_in_the_class(self: Any, d_model: int, num_heads: int) -> None:
    Steps.check(self, d_model, num_heads)
    type(self).heads_of_all = num_heads


def split_as_all(self: Any, x: Tensor) -> Tensor:
    return x.unflatten(-1, (self.heads_of_all, -1)).transpose(1, 2)


def cpu_scale(self: Any, scores: Tensor) -> Tensor:
    return scores / torch.full((1,), math.sqrt(self.d_k), dtype=scores.dtype)


def through_numpy(self: Any, weights: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.from_numpy(weights.detach().numpy() @ v.detach().numpy())


def remembered(self: Any, *inputs: Tensor) -> Any:
    if not hasattr(self, "kept"):
        self.kept = Steps.project(self, *inputs)
    return self.kept


def by_shape(self: Any, *inputs: Tensor) -> Any:
    shapes = [x.shape for x in inputs]
    if getattr(self, "shapes", None) != shapes:
        self.shapes, self.kept = shapes, Steps.project(self, *inputs)
    return self.kept


def kept_keys(self: Any, *inputs: Tensor) -> Any:
    q, k, v = Steps.project(self, *inputs)
    if getattr(self, "keys", k[:0]).shape != k.shape:
        self.keys = k
    return q, self.keys, v


def reset(self: Any, *inputs: Tensor) -> Any:
    torch.manual_seed(0)
    return Steps.project(self, *inputs)


def switching(mode: bool) -> dict[str, Any]:
    def leave(self: Any, joined: Tensor) -> Any:
        self.train(mode)
        return Steps.leave(self, joined)

    return {"leave": leave}


def doubled_in_place(self: Any, *inputs: Tensor) -> Any:
    inputs[0].mul_(2)
    return Steps.project(self, *inputs)


def halved_in_place(self: Any, *inputs: Tensor) -> Any:
    inputs[0].div_(2)
    return Steps.project(self, *inputs)


def scaled_in_place(self: Any, *inputs: Tensor) -> Any:
    projected = Steps.project(self, *inputs)
    inputs[0].mul_(self.d_k**-0.5)
    return projected


def counted_length(self: Any, d_model: int, bias: bool) -> None:
    Steps.build(self, d_model, bias)
    self.length = None


def fixed_length(self: Any, x: Tensor) -> Tensor:
    self.length = x.shape[1] if self.length is None else self.length
    return x.reshape(-1, self.length, self.num_heads, self.d_k).transpose(1, 2)


AROUND: tuple[Told, ...] = (
    (
        "residual-added",
        "the input is added to the output; that belongs to the block around it (lesson 08).",
        "return the output of W_o alone.",
        ({"project": kept_input, "leave": with_residual},),
    ),
    (
        "gradient-cut",
        "something on the way is cut from the graph of gradients, so that a part never learns.",
        "leave .detach(), .data, .numpy() and no_grad out.",
        (
            mixing(lambda w, q, k, v: w.detach() @ v),
            mixing(lambda w, q, k, v: w @ v.detach()),
            mixing(lambda w, q, k, v: (w @ v).detach()),
            {"leave": lambda self, joined: Steps.leave(self, joined).detach()},
            {"project": lambda self, *i: tuple(x.detach() for x in Steps.project(self, *i))},
            {"mix": through_numpy},
        ),
    ),
    (
        "float32-in-between",
        "a step is done in float32 whatever the inputs are, which loses half of their digits.",
        "stay in the dtype of the inputs: no .float().",
        ({"normalise": hard_float},),
    ),
    (
        "float32-expected",
        "the inputs are turned into float32; the module may be in another dtype.",
        "use them as they come: no .float(), no dtype=torch.float32.",
        ({"project": float_inputs},),
    ),
    (
        "cuda-expected",
        "the code moves tensors to a GPU by itself; not every machine has one, and the module may "
        "lie elsewhere.",
        "leave .cuda() out: whoever uses the module moves it and its inputs.",
        ({"project": cuda_inputs},),
    ),
    (
        MADE_ON_THE_CPU,
        ELSEWHERE,
        MAKE_IT_THERE,
        ({"scale": cpu_scale}, {"project": inputs_on_the_cpu}),
    ),
    (
        "kept-between-calls",
        "something from an earlier call is used again.",
        "compute everything anew in each call, from its inputs.",
        ({"project": remembered}, {"project": by_shape}, {"project": kept_keys}),
    ),
    (
        "kept-in-the-class",
        "a size is kept in the class, or in a global variable, which all modules share: building "
        "one changes the others.",
        "keep it in the module: self.num_heads = num_heads.",
        ({"check": kept_in_the_class, "split": split_as_all},),
    ),
    (
        "fixed-length",
        "the length of the first text is kept; a text may have any length.",
        "read the length off the input in each call: x.shape[1].",
        ({"build": counted_length, "split": fixed_length},),
    ),
    (
        "input-changed",
        "the input is changed in place, and the caller still needs it.",
        "write x = x / … where you have x /= ….",
        (
            {"project": scaled_in_place},
            {"project": doubled_in_place},
            {"project": halved_in_place},
        ),
    ),
    (
        "generator-reset",
        "torch.manual_seed stands inside the module: all modules start alike, and whoever uses "
        "chance after it gets the same each time.",
        "leave manual_seed to whoever uses the module.",
        ({"project": reset},),
    ),
    (
        "mode-changed",
        "forward calls train() or eval(), so that the module is in another mode afterwards.",
        "leave the mode to whoever uses the module, and read it: self.training.",
        (switching(True), switching(False)),
    ),
)
