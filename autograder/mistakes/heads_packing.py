"""Mistakes in putting the projections of all heads side by side."""

import torch
from torch import Tensor

from autograder.mistakes import ways


def right_pack(w: Tensor) -> Tensor:
    """(heads, d_model, d_k) → (d_model, heads · d_k)."""
    return w.transpose(0, 1).flatten(1)


def packed_after(w: Tensor, *axes: int) -> Tensor:
    h, d_model, d_k = w.shape
    return w.permute(*axes).reshape(d_model, h * d_k)


def packed_view(w: Tensor) -> Tensor:
    h, d_model, d_k = w.shape
    return w.view(d_model, h * d_k)


def transposed_packed_view(w: Tensor) -> Tensor:
    h, d_model, d_k = w.shape
    return w.transpose(0, 1).view(d_model, h * d_k)


PACK = (
    *ways(
        "not-transposed",
        "the numbers are only given another shape: w is read row by row, head after head, and no "
        "two matrices come to stand side by side.",
        "swap the first two axes first, w.transpose(0, 1), and merge the last two then.",
        lambda w: packed_after(w, 0, 1, 2),
        packed_view,
    ),
    *ways(
        "view-after-transpose",
        "`view` needs axes that lie one after the other in memory, and after a transpose they do "
        "not.",
        "write .reshape or .flatten where you have .view, after the transpose.",
        transposed_packed_view,
        lambda w: w.transpose(0, 1).view(w.shape[1], -1),
    ),
    *ways(
        "interleaved",
        "the columns of the heads alternate; those of one head have to stay together.",
        "merge (num_heads, d_k) in this order: w.transpose(0, 1), then .flatten(start_dim=1).",
        lambda w: packed_after(w, 1, 2, 0),
        lambda w: torch.stack(list(w), dim=-1).flatten(1),
    ),
    *ways(
        "other-axes-swapped",
        "axes change places, but not the first two.",
        "swap heads and input features: w.transpose(0, 1).",
        lambda w: packed_after(w, 0, 2, 1),
        lambda w: packed_after(w, 2, 0, 1),
        lambda w: packed_after(w, 2, 1, 0),
    ),
    *ways(
        "all-axes-reversed",
        "`.T` reverses all three axes.",
        "swap the first two only: w.transpose(0, 1).",
        lambda w: w.permute(2, 1, 0),
        lambda w: w.permute(2, 1, 0).flatten(1),
        lambda w: w.permute(2, 1, 0).flatten(0, 1),
    ),
    *ways(
        "stacked-below",
        "the matrices stand one below the other; so each would need an input of its own.",
        "put them side by side: torch.cat(list(w), dim=-1).",
        lambda w: w.flatten(0, 1),
    ),
    *ways(
        "linear-convention",
        "rows and columns have changed places: that is how nn.Linear keeps its weight, (out, in). "
        "Here the packed matrix multiplies from the right, x @ packed.",
        "return shape (d_model, num_heads · d_k).",
        lambda w: right_pack(w).T,
        lambda w: w.flatten(0, 1).T,
        lambda w: w.transpose(1, 2).flatten(1),
    ),
    *ways(
        "block-diagonal",
        "the matrices stand on a diagonal with zeros around them, so that each head would see a "
        "slice of x; every head sees all of it.",
        "put them side by side: torch.cat(list(w), dim=-1).",
        lambda w: torch.block_diag(*w),
    ),
    *ways(
        "positions-joined",
        "each head has become one long row.",
        "keep one row for each input feature: w.transpose(0, 1) first.",
        lambda w: w.flatten(1),
        lambda w: w.flatten(),
        lambda w: w.flatten().unsqueeze(0),
        lambda w: w.transpose(0, 1).flatten(),
    ),
    *ways(
        "not-merged",
        "heads and numbers still have an axis each.",
        "merge the last two axes: .flatten(start_dim=1).",
        lambda w: w.transpose(0, 1),
        lambda w: w.permute(1, 2, 0),
        lambda w: w * 1,
    ),
    *ways(
        "heads-added-up",
        "the projections are added up or averaged; they have to stand side by side.",
        "keep all their numbers.",
        lambda w: w.sum(dim=0),
        lambda w: w.mean(dim=0),
    ),
    *ways(
        "heads-multiplied",
        "the projections are multiplied with each other.",
        "put them side by side: torch.cat(list(w), dim=-1).",
        lambda w: w.prod(dim=0),
    ),
    *ways(
        "all-heads-are-head-0",
        "only head 0 comes into the result.",
        "use every w[i].",
        lambda w: w[0] * 1,
        lambda w: w[0].repeat(1, w.shape[0]),
    ),
    *ways(
        "head-missing",
        "the first or the last head is missing.",
        "use every head, from 0 to num_heads − 1.",
        lambda w: torch.cat([*w[:-1]], dim=-1),
        lambda w: torch.cat([*w[1:]], dim=-1),
    ),
    *ways(
        "heads-reversed",
        "the heads come in reverse order.",
        "head 0 comes first.",
        lambda w: right_pack(w.flip(0)),
    ),
    *ways(
        "tuple-of-heads",
        "the projections are returned one by one.",
        "put them into one matrix: torch.cat(list(w), dim=-1).",
        lambda w: w.unbind(0),
        lambda w: list(w),
    ),
    *ways(
        "gradient-cut",
        "the result is cut from the graph of gradients, so that the projections learn nothing.",
        "leave .detach(), .data, .numpy() and no_grad out.",
        lambda w: right_pack(w).detach(),
    ),
    *ways(
        "size-one-squeezed",
        "an axis of length 1 was removed, and it was one of the result's.",
        "leave squeeze() out.",
        lambda w: right_pack(w).squeeze(),
    ),
)
