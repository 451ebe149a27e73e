"""Between our module and PyTorch's `nn.MultiheadAttention`: weights and masks, lesson 06.

PyTorch packs the projections of query, key and value into one weight, (3 · d_model, d_model), and
its boolean masks say where a query may NOT attend.
"""

from typing import Protocol

import torch
from torch import Tensor, nn


class FourProjections(Protocol):
    """Anything with the four projections of multi-head attention."""

    W_q: nn.Linear
    W_k: nn.Linear
    W_v: nn.Linear
    W_o: nn.Linear


@torch.no_grad()
def copy_from_torch(mine: FourProjections, theirs: nn.MultiheadAttention) -> None:
    """Copy the weights of `theirs` into `mine`, in place and without sharing storage.

    Raises ValueError, before anything is changed, when the sizes differ, when one has biases and
    the other has none, and when `theirs` has what `mine` has no place for: kdim, vdim or bias_k.
    """
    if theirs.in_proj_weight is None:
        raise ValueError(
            f"The module of PyTorch has kdim={theirs.kdim} or vdim={theirs.vdim} of its own; "
            f"only projections from embed_dim={theirs.embed_dim} can be copied."
        )
    if theirs.bias_k is not None or theirs.bias_v is not None:
        raise ValueError(
            "The module of PyTorch has bias_k and bias_v, which ours has no place for."
        )
    into = (mine.W_q, mine.W_k, mine.W_v, mine.W_o)
    weights = (*theirs.in_proj_weight.chunk(3), theirs.out_proj.weight)
    biases: tuple[Tensor | None, ...] = (None,) * 4
    if theirs.in_proj_bias is not None:
        biases = (*theirs.in_proj_bias.chunk(3), theirs.out_proj.bias)
    for projection, weight, bias in zip(into, weights, biases, strict=True):
        _check_places(projection, weight, bias)
    for projection, weight, bias in zip(into, weights, biases, strict=True):
        projection.weight.copy_(weight)
        if bias is not None:
            projection.bias.copy_(bias)


def _check_places(projection: nn.Linear, weight: Tensor, bias: Tensor | None) -> None:
    if projection.weight.shape != weight.shape:
        raise ValueError(
            f"A weight of shape {tuple(weight.shape)} does not fit into a projection of shape "
            f"{tuple(projection.weight.shape)}."
        )
    if (projection.bias is None) != (bias is None):
        has, lacks = ("PyTorch's", "ours") if projection.bias is None else ("Ours", "PyTorch's")
        raise ValueError(f"{has} module has biases and {lacks} has none.")


def to_torch_mask(mask: Tensor) -> Tensor:
    """The mask that `nn.MultiheadAttention` wants, for ours.

    mask: bool, True means "may attend" → bool of the same shape, True means "may NOT attend".
    """
    return ~mask
