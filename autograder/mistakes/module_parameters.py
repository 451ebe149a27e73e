"""Mistakes with what a module of multi-head attention keeps: its layers and sizes."""

from torch import nn

from autograder.mistakes.module_parameter_steps import (
    as_parameters,
    as_tensors,
    bare_assert,
    by_hand,
    by_list,
    frozen,
    heads_through_output,
    late_check,
    linear,
    listed_project,
    named_otherwise,
    new_layers,
    new_output_layer,
    no_check,
    normed,
    one_layer_for,
    ones,
    packed,
    per_head_lists,
    per_head_module_list,
    projected_twice,
    projecting,
    replaced,
    seeded,
    shared_by_all,
    silent_check,
    split_first,
    zeroed,
)
from autograder.mistakes.module_steps import Told, building

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
