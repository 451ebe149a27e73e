"""Mistakes with what a module of multi-head attention keeps: its layers and sizes."""

from typing import Any

import torch
from torch import Tensor, nn

from autograder.mistakes.module_steps import Steps, Told, building


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


PARAMETERS: tuple[Told, ...] = (
    (
        "no-output-projection",
        "W_o is missing, so the heads stand side by side and never mix.",
        "add `self.W_o = nn.Linear(d_model, d_model)` and send the joined heads through it.",
        (building(W_o=None), building(W_o=lambda d, h, b: nn.Identity())),
    ),
    (
        "output-not-projected",
        "the module has W_o and does not use it.",
        "return self.W_o(...) of the joined heads.",
        ({"leave": lambda self, joined: joined},),
    ),
    (
        "values-not-projected",
        "the values are mixed without going through W_v.",
        "project them like queries and keys: self.W_v(...).",
        (
            projecting("W_q", "W_k", ""),
            building(W_v=None),
            building(W_v=lambda d, h, b: nn.Identity()),
        ),
    ),
    (
        "queries-or-keys-not-projected",
        "queries or keys do not go through their projection.",
        "use self.W_q for the queries and self.W_k for the keys.",
        (projecting("", "W_k", "W_v"), projecting("W_q", "", "W_v"), projecting("", "", "W_v")),
    ),
    (
        "nothing-projected",
        "the heads are cut from the input as it is, without W_q, W_k and W_v.",
        "project first, then split.",
        (projecting("", "", ""),),
    ),
    (
        "one-layer-for-two",
        "two projections are one and the same layer, so they can never learn different things.",
        "make four layers: nn.Linear(d_model, d_model) once for each.",
        (
            one_layer_for("W_q", "W_k"),
            one_layer_for("W_k", "W_v"),
            one_layer_for("W_q", "W_k", "W_v"),
            one_layer_for("W_q", "W_k", "W_v", "W_o"),
            building(W_k=None),
        ),
    ),
    (
        "wrong-layer-used",
        "queries, keys and values have changed roles: one of the projections, or what it gives, is "
        "used where another belongs.",
        "score W_q(…) against W_k(…), and mix W_v(…).",
        (
            projecting("W_q", "W_q", "W_v"),
            projecting("W_k", "W_k", "W_v"),
            projecting("W_q", "W_k", "W_k"),
            projecting("W_q", "W_v", "W_v"),
            projecting("W_k", "W_q", "W_v"),
            projecting("W_q", "W_v", "W_k"),
            projecting("W_q", "W_q", "W_q"),
        ),
    ),
    (
        "not-registered",
        "the layers are kept in a Python list, or weights as plain tensors. nn.Module does not see "
        "them, so they are neither trained nor moved nor saved.",
        "keep each layer as an attribute, self.W_q = nn.Linear(...).",
        (
            {"build": by_list, "project": listed_project},
            {"build": per_head_lists},
            {"build": as_tensors},
        ),
    ),
    (
        "a-layer-for-each-head",
        "every head has small layers of its own; here one layer of d_model × d_model serves all "
        "heads, and split_heads divides what it gives.",
        "write self.W_q = nn.Linear(d_model, d_model), and likewise for W_k and W_v.",
        ({"build": per_head_module_list},),
    ),
    (
        "other-names",
        "the projections have other names than W_q, W_k, W_v and W_o, by which they are found.",
        "call them self.W_q, self.W_k, self.W_v and self.W_o.",
        (
            named_otherwise("w_q", "w_k", "w_v", "w_o"),
            named_otherwise("q_proj", "k_proj", "v_proj", "out_proj"),
            named_otherwise("W_Q", "W_K", "W_V", "W_O"),
            named_otherwise("Wq", "Wk", "Wv", "Wo"),
            named_otherwise("q_linear", "k_linear", "v_linear", "out"),
            named_otherwise("query", "key", "value", "out"),
            named_otherwise("W_q", "W_k", "W_v", "out_proj"),
            named_otherwise("W_q", "W_k", "W_v", "proj"),
        ),
    ),
    (
        "packed-into-one-layer",
        "one layer projects query, key and value together, which is fast, but here they are three.",
        "make W_q, W_k and W_v, each nn.Linear(d_model, d_model).",
        (packed("qkv", "W_o"), packed("W_qkv", "W_o"), packed("qkv", "proj"), packed("W", "W_o")),
    ),
    (
        "bare-parameters",
        "the projections are bare weights, so there is no W_q.weight and no bias.",
        "use nn.Linear(d_model, d_model), which holds a weight and a bias.",
        ({"build": as_parameters},),
    ),
    (
        "second-output-projection",
        "there is a further layer beside the four projections.",
        "W_o is the last step; leave the other one out.",
        (
            building(W_o2=lambda d, h, b: linear(d, d, b)),
            building(out=lambda d, h, b: linear(d, d, b)),
            building(out_proj=lambda d, h, b: linear(d, d, b)),
            building(proj=lambda d, h, b: linear(d, d, b)),
            building(fc=lambda d, h, b: linear(d, d, b)),
        ),
    ),
    (
        "with-layer-norm",
        "a LayerNorm is part of the module; it belongs to the block around it (lesson 08).",
        "leave it out.",
        (
            building(norm=lambda d, h, b: nn.LayerNorm(d)),
            building(layer_norm=lambda d, h, b: nn.LayerNorm(d)),
            building(ln=lambda d, h, b: nn.LayerNorm(d)),
            {"leave": normed},
        ),
    ),
    (
        "head-size-for-all",
        "the projections give d_k features in all; that is one head's share.",
        "all heads together have d_model features: nn.Linear(d_model, d_model).",
        (
            building(**{n: lambda d, h, b: linear(d, d // h, b) for n in ("W_q", "W_k", "W_v")}),
            building(
                **{n: lambda d, h, b: linear(d, d // h, b) for n in ("W_q", "W_k", "W_v")},
                W_o=lambda d, h, b: linear(d // h, d, b),
            ),
        ),
    ),
    (
        "d-model-in-every-head",
        "every head has d_model features of its own, so there are num_heads times as many.",
        "the heads share d_model features, so write nn.Linear(d_model, d_model).",
        (
            building(
                **{n: lambda d, h, b: linear(d, d * h, b) for n in ("W_q", "W_k", "W_v")},
                W_o=lambda d, h, b: linear(d * h, d, b),
            ),
        ),
    ),
    (
        "same-numbers-at-the-start",
        "the weights start with the same number everywhere, and then all heads learn the same.",
        "leave them as nn.Linear makes them: random.",
        ({"build": zeroed}, {"build": ones}),
    ),
    (
        "frozen",
        "the parameters do not require gradients.",
        "leave requires_grad as nn.Linear sets it.",
        ({"build": frozen},),
    ),
    (
        "weight-not-transposed",
        "x @ W.weight multiplies with the wrong side: the weight of an nn.Linear is (out, in).",
        "call the layer, self.W_q(x), or multiply with W.weight.T.",
        tuple(
            by_hand(names, False, biased)
            for names in ("qkvo", "qkv", "q", "k", "v", "o")
            for biased in (True, False)
        ),
    ),
    (
        "bias-forgotten",
        "only the weight of a projection is used, and its bias is left out.",
        "call the layer, self.W_q(x), which adds its bias.",
        tuple(by_hand(names, True, False) for names in ("qkvo", "qkv", "q", "k", "v", "o")),
    ),
    (
        "new-layer-in-forward",
        "forward makes a layer of its own, with new random numbers in each call.",
        "make all layers in __init__.",
        (
            *(
                new_layers(names, cast, kept)
                for names in ("q", "qkv")
                for cast in (True, False)
                for kept in (True, False)
            ),
            new_layers("qkvo", True, True),
            new_layers("qkvo", False, True),
            new_output_layer(True),
            new_output_layer(False),
        ),
    ),
    (
        "parameters-replaced",
        "forward puts new nn.Parameter objects into the module; an optimizer would still hold the "
        "old ones.",
        "use the layers as they are: self.W_q(x).",
        ({"project": replaced},),
    ),
    (
        "layers-shared-between-modules",
        "layers are kept at the class or outside it, so that all modules have the same ones.",
        "make new layers in __init__ for each module, and keep them as self.W_q and so on.",
        (
            shared_by_all("W_q"),
            shared_by_all("W_o"),
            shared_by_all("W_q", "W_k", "W_v"),
            shared_by_all("W_q", "W_k", "W_v", "W_o"),
        ),
    ),
    (
        "output-projection-twice",
        "the joined heads go through W_o twice.",
        "return self.W_o(...) once.",
        ({"leave": projected_twice},),
    ),
    (
        "layer-on-heads",
        "a layer is applied to heads, which have d_k features each; it expects d_model.",
        "project first, then split, and concatenate first, then W_o.",
        (
            {"project": split_first, "split": lambda self, x: x},
            {"mix": heads_through_output, "leave": lambda self, joined: joined},
        ),
    ),
    (
        "generator-reset",
        "torch.manual_seed stands inside the module: all modules start alike, and whoever uses "
        "chance after it gets the same each time.",
        "leave manual_seed to whoever uses the module.",
        ({"build": seeded},),
    ),
    (
        "divisibility-not-checked",
        "num_heads that do not divide d_model are taken; features would be lost.",
        "raise ValueError in __init__, with both numbers in its message.",
        ({"check": no_check}, {"check": no_check, "score": late_check}),
    ),
    (
        "numbers-not-named",
        "the refusal does not say which numbers do not fit.",
        'put both into the message: f"{num_heads} heads do not divide {d_model} features".',
        ({"check": silent_check}, {"check": bare_assert}),
    ),
)
