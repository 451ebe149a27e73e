"""Right versions of lesson 06: of copy_from_torch and to_torch_mask, and those of the modules."""

from typing import Any

import torch
from torch import nn

from tests.autograder.variants.module_versions import COMPLETE, SMALLEST
from tests.autograder.variants.versions import Versions


def checked(mine: Any, theirs: Any) -> None:
    assert theirs.in_proj_weight is not None and theirs.bias_k is None, "this cannot be copied"
    assert mine.W_q.weight.shape == theirs.out_proj.weight.shape, "the sizes differ"
    assert (mine.W_q.bias is None) == (theirs.in_proj_bias is None), "the biases differ"


def by_state_dict(mine: Any, theirs: Any) -> None:
    checked(mine, theirs)
    state = {}
    for i, name in enumerate(("W_q", "W_k", "W_v")):
        state[f"{name}.weight"] = theirs.in_proj_weight.chunk(3)[i]
        if theirs.in_proj_bias is not None:
            state[f"{name}.bias"] = theirs.in_proj_bias.chunk(3)[i]
    state.update({f"W_o.{name}": value for name, value in theirs.out_proj.state_dict().items()})
    mine.load_state_dict(state)


def by_rows(mine: Any, theirs: Any) -> None:
    if theirs.kdim != theirs.embed_dim or theirs.vdim != theirs.embed_dim:
        raise ValueError("kdim and vdim cannot be copied")
    if theirs.bias_k is not None:
        raise ValueError("bias_k cannot be copied")
    d = mine.W_q.in_features
    if d != theirs.embed_dim:
        raise ValueError(f"{d} is not {theirs.embed_dim}")
    if (mine.W_o.bias is None) is not (theirs.out_proj.bias is None):
        raise ValueError("biases")
    for i, layer in enumerate((mine.W_q, mine.W_k, mine.W_v)):
        rows = slice(i * d, (i + 1) * d)
        layer.weight.data[:] = theirs.in_proj_weight.data[rows]
        if layer.bias is not None:
            layer.bias.data[:] = theirs.in_proj_bias.data[rows]
    mine.W_o.weight.data.copy_(theirs.out_proj.weight.data)
    if mine.W_o.bias is not None:
        mine.W_o.bias.data.copy_(theirs.out_proj.bias.data)


def with_new_data(mine: Any, theirs: Any) -> None:
    """`.data = …` keeps the nn.Parameter objects, and the clones share nothing."""
    checked(mine, theirs)
    for kind in ("weight", "bias"):
        packed = getattr(theirs, f"in_proj_{kind}")
        if packed is None:
            continue
        pieces = (*packed.detach().clone().split(len(packed) // 3), getattr(theirs.out_proj, kind))
        for layer, piece in zip((mine.W_q, mine.W_k, mine.W_v, mine.W_o), pieces, strict=True):
            getattr(layer, kind).data = piece.detach().clone()


@torch.no_grad()
def unflattened(ours: nn.Module, torch_module: nn.MultiheadAttention, strict: bool = True) -> None:
    checked(ours, torch_module)
    layers = [getattr(ours, f"W_{letter}") for letter in "qkv"]
    for layer, w in zip(layers, torch_module.in_proj_weight.unflatten(0, (3, -1)), strict=strict):
        nn.init.zeros_(layer.weight)
        layer.weight.add_(w)
    out: Any = getattr(ours, "W_o")  # noqa: B009
    out.weight.set_(torch_module.out_proj.weight.clone())
    if torch_module.in_proj_bias is not None:
        for layer, b in zip(layers, torch_module.in_proj_bias.view(3, -1), strict=strict):
            layer.bias.copy_(b)
        out.bias.copy_(torch_module.out_proj.bias)


VARIANTS: Versions = {
    "MultiHeadSelfAttention": SMALLEST,
    "MultiHeadAttention": COMPLETE,
    "copy_from_torch": (by_state_dict, by_rows, with_new_data, unflattened),
    "to_torch_mask": (
        lambda mask: ~mask,
        lambda mask: torch.logical_not(mask),
        lambda mask: mask == False,  # noqa: E712
        lambda mask: mask ^ True,
        lambda mask: torch.where(mask, False, True),
        lambda mask: torch.ones_like(mask).masked_fill(mask, False),
        lambda mask: (1 - mask.int()).bool(),
    ),
}
