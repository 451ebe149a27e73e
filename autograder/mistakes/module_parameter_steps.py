"""The steps that go wrong where a module makes, registers and uses its projections."""

from typing import Any

import torch
from torch import Tensor, nn

from autograder.mistakes.module_steps import Steps


def linear(d_in: int, d_out: int, bias: bool) -> nn.Linear:
    return nn.Linear(d_in, d_out, bias=bias)


def no_check(self: Any, d_model: int, num_heads: int) -> None:
    pass


def silent_check(self: Any, d_model: int, num_heads: int) -> None:
    if d_model % num_heads:
        raise ValueError("d_model must be divisible by num_heads")


def bare_assert(self: Any, d_model: int, num_heads: int) -> None:
    assert d_model % num_heads == 0


def late_check(self: Any, q: Tensor, k: Tensor) -> Tensor:
    if self.d_model % self.num_heads:
        raise ValueError(f"{self.d_model} {self.num_heads}")
    return Steps.score(self, q, k)


def by_list(self: Any, d_model: int, bias: bool) -> None:
    self.layers = [linear(d_model, d_model, bias) for _ in range(4)]


def listed_project(self: Any, query: Tensor, key: Tensor, value: Tensor) -> Any:
    return self.layers[0](query), self.layers[1](key), self.layers[2](value)


def per_head_lists(self: Any, d_model: int, bias: bool) -> None:
    self.heads = [
        [linear(d_model, d_model // self.num_heads, bias) for _ in range(3)]
        for _ in range(self.num_heads)
    ]
    self.W_o = linear(d_model, d_model, bias)


def per_head_module_list(self: Any, d_model: int, bias: bool) -> None:
    d_k = d_model // self.num_heads
    for name in ("W_q", "W_k", "W_v"):
        layers = [linear(d_model, d_k, bias) for _ in range(self.num_heads)]
        setattr(self, name, nn.ModuleList(layers))
    self.W_o = linear(d_model, d_model, bias)


def named_otherwise(*names: str) -> dict[str, Any]:
    def build(self: Any, d_model: int, bias: bool) -> None:
        for name in names:
            setattr(self, name, linear(d_model, d_model, bias))

    return {"build": build}


def packed(name: str, out: str) -> dict[str, Any]:
    def build(self: Any, d_model: int, bias: bool) -> None:
        setattr(self, name, linear(d_model, 3 * d_model, bias))
        setattr(self, out, linear(d_model, d_model, bias))

    return {"build": build}


def as_parameters(self: Any, d_model: int, bias: bool) -> None:
    for name in self.attribute_names:
        setattr(self, name, nn.Parameter(torch.randn(d_model, d_model)))


def as_tensors(self: Any, d_model: int, bias: bool) -> None:
    for name in self.attribute_names:
        setattr(self, name, torch.randn(d_model, d_model, requires_grad=True))


def zeroed(self: Any, d_model: int, bias: bool) -> None:
    Steps.build(self, d_model, bias)
    for parameter in self.parameters():
        nn.init.zeros_(parameter)


def ones(self: Any, d_model: int, bias: bool) -> None:
    Steps.build(self, d_model, bias)
    for parameter in self.parameters():
        nn.init.ones_(parameter)


def frozen(self: Any, d_model: int, bias: bool) -> None:
    Steps.build(self, d_model, bias)
    self.requires_grad_(False)


def one_layer_for(*names: str) -> dict[str, Any]:
    def build(self: Any, d_model: int, bias: bool) -> None:
        Steps.build(self, d_model, bias)
        for name in names[1:]:
            setattr(self, name, getattr(self, names[0]))

    return {"build": build}


def shared_by_all(*names: str) -> dict[str, Any]:
    """These layers are kept at the class, one for each size, and serve every module."""
    kept: dict[Any, nn.Linear] = {}

    def build(self: Any, d_model: int, bias: bool) -> None:
        Steps.build(self, d_model, bias)
        for name in names:
            layer = kept.setdefault((name, d_model, bias), linear(d_model, d_model, bias))
            setattr(self, name, layer)

    return {"build": build}


def seeded(self: Any, d_model: int, bias: bool) -> None:
    torch.manual_seed(0)
    Steps.build(self, d_model, bias)


def projecting(*names: str) -> dict[str, Any]:
    """Query, key and value through these layers, "" for none."""

    def project(self: Any, *inputs: Tensor) -> Any:
        return tuple(
            getattr(self, name)(x) if name else x for name, x in zip(names, inputs, strict=True)
        )

    return {"project": project}


def by_weight(self: Any, x: Tensor, layer: nn.Linear, turned: bool, biased: bool) -> Tensor:
    product = x @ (layer.weight.T if turned else layer.weight)
    return product if layer.bias is None or not biased else product + layer.bias


def by_hand(names: str, turned: bool, biased: bool) -> dict[str, Any]:
    """The layers of these letters, "qkvo", as products with their weights."""

    def project(self: Any, *inputs: Tensor) -> Any:
        layers = (self.W_q, self.W_k, self.W_v)
        return tuple(
            by_weight(self, x, layer, turned, biased) if letter in names else layer(x)
            for letter, x, layer in zip("qkv", inputs, layers, strict=True)
        )

    def leave(self: Any, joined: Tensor) -> Tensor:
        return by_weight(self, joined, self.W_o, turned, biased)

    return {"project": project, **({"leave": leave} if "o" in names else {})}


def normed(self: Any, joined: Tensor) -> Any:
    return nn.functional.layer_norm(Steps.leave(self, joined), (self.d_model,))


def fresh(like: Tensor, cast: bool) -> nn.Linear:
    size = like.shape[-1]
    return nn.Linear(size, size).to(like.dtype) if cast else nn.Linear(size, size, dtype=like.dtype)


def new_layers(names: str, cast: bool, kept: bool) -> dict[str, Any]:
    """Layers of these letters, "qkvo", made in forward, and kept under their names or not."""

    def made(self: Any, letter: str, x: Tensor) -> Any:
        if letter not in names:
            return getattr(self, f"W_{letter}")
        layer = fresh(x, cast)
        if kept:
            setattr(self, f"W_{letter}", layer)
        return layer

    def project(self: Any, *inputs: Tensor) -> Any:
        layers = [made(self, letter, x) for letter, x in zip("qkv", inputs, strict=True)]
        made(self, "o", inputs[0])
        return tuple(layer(x) for layer, x in zip(layers, inputs, strict=True))

    return {"project": project}


def new_output_layer(cast: bool) -> dict[str, Any]:
    return {"leave": lambda self, joined: fresh(joined, cast)(joined)}


def replaced(self: Any, *inputs: Tensor) -> Any:
    self.W_q.weight = nn.Parameter(self.W_q.weight.detach().clone())
    return Steps.project(self, *inputs)


def projected_twice(self: Any, joined: Tensor) -> Any:
    return self.W_o(self.W_o(joined))


def heads_through_output(self: Any, w: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Any:
    return self.W_o(self.drop(w) @ v)


def split_first(self: Any, *inputs: Tensor) -> Any:
    layers = (self.W_q, self.W_k, self.W_v)
    return tuple(layer(Steps.split(self, x)) for layer, x in zip(layers, inputs, strict=True))
