"""Mistakes in putting the outputs of all heads side by side."""

import torch
from torch import Tensor

from autograder.mistakes import ways


def right_concat(heads: Tensor) -> Tensor:
    """(batch, heads, n, d_v) → (batch, n, heads · d_v)."""
    return heads.transpose(1, 2).flatten(2)


def reshaped(heads: Tensor) -> Tensor:
    batch, h, n, d_v = heads.shape
    return heads.reshape(batch, n, h * d_v)


def viewed(heads: Tensor) -> Tensor:
    batch, h, n, d_v = heads.shape
    return heads.view(batch, n, h * d_v)


def transposed_view(heads: Tensor) -> Tensor:
    batch, h, n, d_v = heads.shape
    return heads.transpose(1, 2).view(batch, n, h * d_v)


def shaped_after(heads: Tensor, *axes: int) -> Tensor:
    batch, h, n, d_v = heads.shape
    return heads.permute(*axes).reshape(batch, n, h * d_v)


def interleaved(heads: Tensor) -> Tensor:
    return shaped_after(heads, 0, 2, 3, 1)


def head_0_repeated(heads: Tensor) -> Tensor:
    return heads[:, 0].repeat(1, 1, heads.shape[1])


CONCAT = (
    *ways(
        "not-transposed-back",
        "the numbers are only given another shape: one row of the result has numbers of several "
        "words.",
        "bring positions before heads first, .transpose(1, 2), and merge the last two axes then.",
        reshaped,
        viewed,
    ),
    *ways(
        "view-after-transpose",
        "`view` needs axes that lie one after the other in memory, and after a transpose they do "
        "not.",
        "write .reshape or .flatten where you have .view (or .contiguous() before it), after the "
        "transpose.",
        transposed_view,
        lambda heads: heads.transpose(1, 2).view(*heads.transpose(1, 2).shape[:2], -1),
    ),
    *ways(
        "interleaved",
        "the numbers of the heads alternate; the numbers of one head have to stay together.",
        "merge (num_heads, d_v) in this order: .transpose(1, 2), then .flatten(start_dim=2).",
        interleaved,
        lambda heads: torch.stack(heads.unbind(1), dim=-1).flatten(2),
    ),
    *ways(
        "other-axes-swapped",
        "axes change places, but not heads and positions.",
        "swap axes 1 and 2: .transpose(1, 2).",
        lambda heads: shaped_after(heads, 0, 1, 3, 2),
        lambda heads: shaped_after(heads, 0, 3, 2, 1),
        lambda heads: shaped_after(heads, 0, 3, 1, 2),
        lambda heads: shaped_after(heads, 1, 0, 2, 3),
        lambda heads: shaped_after(heads, 2, 1, 0, 3),
        lambda heads: shaped_after(heads, 1, 2, 0, 3),
        lambda heads: shaped_after(heads, 2, 0, 1, 3),
    ),
    *ways(
        "all-axes-reversed",
        "`.T` reverses every axis, the batch too.",
        "swap two axes only: .transpose(1, 2).",
        lambda heads: shaped_after(heads, 3, 2, 1, 0),
        lambda heads: heads.permute(3, 2, 1, 0).flatten(2),
    ),
    *ways(
        "joined-along-positions",
        "the heads are laid one after the other along the positions; every word keeps one row.",
        "join them along the last axis: dim=-1.",
        lambda heads: heads.flatten(1, 2),
        lambda heads: heads.transpose(1, 2).flatten(1, 2),
        lambda heads: torch.cat(heads.unbind(1), dim=0),
    ),
    *ways(
        "positions-joined",
        "the positions of a head are put side by side, not the heads of a position.",
        "swap heads and positions before you merge the last two axes.",
        lambda heads: heads.flatten(2),
        lambda heads: heads.flatten(2).transpose(1, 2),
    ),
    *ways(
        "batch-for-heads",
        "the loop runs over the sentences of the batch, not over the heads: a tensor is taken "
        "apart along its first axis.",
        "take it apart along axis 1: heads.unbind(1), or heads[:, i].",
        lambda heads: torch.cat(heads.unbind(0), dim=-1),
        lambda heads: torch.cat([heads[i] for i in range(heads.shape[1])], dim=-1),
    ),
    *ways(
        "axis-kept",
        "the axis of the heads is still there, with length 1.",
        "take heads apart with .unbind(1), or merge axes with .flatten(start_dim=2).",
        lambda heads: torch.cat(heads.chunk(heads.shape[1], dim=1), dim=-1),
        lambda heads: right_concat(heads).unsqueeze(1),
    ),
    *ways(
        "not-merged",
        "heads and numbers still have an axis each.",
        "merge the last two axes: .flatten(start_dim=2).",
        lambda heads: heads.transpose(1, 2),
        lambda heads: heads.permute(0, 2, 3, 1),
        lambda heads: heads * 1,
    ),
    *ways(
        "everything-merged",
        "positions are merged too; every word keeps a row of its own.",
        "merge the last two axes only: .flatten(start_dim=2).",
        lambda heads: heads.transpose(1, 2).flatten(1),
        lambda heads: heads.transpose(1, 2).flatten(),
        lambda heads: heads.flatten(1),
        lambda heads: heads.transpose(1, 2).flatten(0, 1).flatten(1),
    ),
    *ways(
        "heads-added-up",
        "the heads are melted into one: added up, averaged, or the largest number taken; they "
        "have to stand side by side.",
        "keep all their numbers: the result has num_heads · d_v for each word.",
        lambda heads: heads.sum(dim=1),
        lambda heads: heads.mean(dim=1),
        lambda heads: heads.amax(dim=1),
    ),
    *ways(
        "all-heads-are-head-0",
        "only head 0 comes into the result.",
        "use every head.",
        lambda heads: heads[:, 0],
        head_0_repeated,
    ),
    *ways(
        "head-missing",
        "the first or the last head is missing.",
        "use every head, from 0 to num_heads − 1.",
        lambda heads: torch.cat([heads[:, i] for i in range(heads.shape[1] - 1)], dim=-1),
        lambda heads: torch.cat([heads[:, i] for i in range(1, heads.shape[1])], dim=-1),
    ),
    *ways(
        "heads-reversed",
        "the heads come in reverse order.",
        "head 0 comes first.",
        lambda heads: right_concat(heads.flip(1)),
    ),
    *ways(
        "tuple-of-heads",
        "the heads are returned one by one.",
        "put them into one tensor: torch.cat(heads, dim=-1).",
        lambda heads: heads.unbind(1),
        lambda heads: list(heads.unbind(1)),
    ),
    *ways(
        "gradient-cut",
        "the result is cut from the graph of gradients.",
        "leave .detach(), .data, .numpy() and no_grad out.",
        lambda heads: right_concat(heads).detach(),
    ),
    *ways(
        "size-one-squeezed",
        "an axis of length 1 was removed, and it was one of the result's.",
        "leave squeeze() out.",
        lambda heads: right_concat(heads).squeeze(),
        lambda heads: right_concat(heads.squeeze()),
    ),
)
