"""Mistakes in what each head writes: its own rows of W^O, and no others."""

import torch
from torch import Tensor

from autograder.declaring import Mistake
from autograder.mistakes import ways
from autograder.mistakes.output_projection import (
    blocks,
    each,
    not_turned,
    right,
    rows_from,
    side_by_side,
)


def interleaved_blocks(heads: Tensor, w_o: Tensor) -> Tensor:
    return w_o.unflatten(0, (heads.shape[3], heads.shape[1])).transpose(0, 1)


def overlapping(step: int, heads: Tensor, w_o: Tensor) -> Tensor:
    every = range(heads.shape[1])
    return torch.stack([heads[:, i] @ rows_from(i * step, heads, w_o) for i in every], dim=1)


def running_total(heads: Tensor, w_o: Tensor) -> Tensor:
    return each(heads, w_o).cumsum(dim=1)


def cut_by_columns(heads: Tensor, w_o: Tensor) -> Tensor:
    d_v = heads.shape[3]
    parts = (w_o[:, i * d_v : (i + 1) * d_v] for i in range(heads.shape[1]))
    return torch.stack([heads[:, i] @ part for i, part in enumerate(parts)], dim=1)


def sentence_by_sentence(heads: Tensor, w_o: Tensor, dim: int) -> Tensor:
    pairs = zip(heads, blocks(heads, w_o), strict=False)
    return torch.stack([sentence @ block for sentence, block in pairs], dim=dim)


def others_zeroed(heads: Tensor, w_o: Tensor) -> Tensor:
    """For each head all others are set to 0, in the tensor itself."""
    parts = []
    for i in range(heads.shape[1]):
        alone = heads
        for j in range(heads.shape[1]):
            if j != i:
                alone[:, j] = 0
        parts.append(right(alone, w_o))
    return torch.stack(parts, dim=1)


def others_zeroed_behind_autograd(heads: Tensor, w_o: Tensor) -> Tensor:
    with torch.no_grad():
        heads[:, 1:] = 0
    return each(heads, w_o)


def each_zeroed(heads: Tensor, w_o: Tensor) -> Tensor:
    """What is missing from the total once a head is set to 0, in the tensor itself."""
    total, parts = right(heads, w_o), []
    for i in range(heads.shape[1]):
        without = heads
        without[:, i] = 0
        parts.append(total - right(without, w_o))
    return torch.stack(parts, dim=1)


HEAD_CONTRIBUTIONS: tuple[Mistake, ...] = (
    *ways(
        "interleaved",
        "head i is given every num_heads-th row of w_o; it meets d_v rows that follow each other.",
        "cut w_o into blocks with w_o.unflatten(0, (num_heads, d_v)): heads first, then d_v.",
        lambda heads, w_o: heads @ interleaved_blocks(heads, w_o),
    ),
    *ways(
        "one-block-for-all-heads",
        "all heads go through the same rows of w_o; each has rows of its own.",
        "head i meets the rows from i · d_v to (i + 1) · d_v.",
        lambda heads, w_o: heads @ rows_from(0, heads, w_o),
        lambda heads, w_o: heads @ w_o[-heads.shape[3] :],
        lambda heads, w_o: heads @ blocks(heads, w_o).sum(dim=0),
        lambda heads, w_o: heads @ blocks(heads, w_o).mean(dim=0),
    ),
    *ways(
        "blocks-overlap",
        "the rows of w_o that the heads meet start at the wrong place: blocks overlap, or leave "
        "rows out.",
        "head i starts at row i · d_v, and ends before row (i + 1) · d_v.",
        lambda heads, w_o: overlapping(1, heads, w_o),
        lambda heads, w_o: overlapping(heads.shape[1], heads, w_o),
    ),
    *ways(
        "columns-not-rows",
        "w_o is cut along its columns; a head has rows of it.",
        "cut along the first axis: w_o[i * d_v : (i + 1) * d_v].",
        lambda heads, w_o: heads @ w_o.T.unflatten(0, (heads.shape[1], heads.shape[3])),
        cut_by_columns,
        lambda heads, w_o: heads @ torch.stack(w_o.chunk(heads.shape[1], dim=1)),
    ),
    *ways(
        "w-o-reshaped-wrongly",
        "w_o is reshaped into other blocks than its rows have: numbers of several rows are mixed.",
        "the blocks are (num_heads, d_v, d_model), in this order: "
        "w_o.reshape(num_heads, d_v, d_model).",
        lambda heads, w_o: heads @ w_o.reshape(heads.shape[1], -1, heads.shape[3]).mT,
        lambda heads, w_o: heads @ w_o.reshape(-1, *heads.shape[1::2]).permute(1, 2, 0),
        lambda heads, w_o: heads @ w_o.T.reshape(heads.shape[1], heads.shape[3], -1),
        lambda heads, w_o: heads @ w_o.reshape(heads.shape[3], -1, heads.shape[1]).permute(2, 0, 1),
    ),
    *ways(
        "blocks-in-reverse",
        "the first head is given the last block of w_o.",
        "head i meets block i.",
        lambda heads, w_o: heads @ blocks(heads, w_o).flip(0),
    ),
    *ways(
        "whole-w-o-for-each-head",
        "each head meets all of w_o, which has rows for all heads together.",
        "head i meets its own rows only: w_o[i * d_v : (i + 1) * d_v].",
        lambda heads, w_o: heads @ w_o,
        lambda heads, w_o: torch.einsum("bhnd,dm->bhnm", heads, w_o),
    ),
    *ways(
        "contributions-summed",
        "the contributions are added up already; here each head's is asked for.",
        "leave the sum over the heads out.",
        right,
        lambda heads, w_o: each(heads, w_o).sum(dim=1, keepdim=True),
    ),
    *ways(
        "total-shared-evenly",
        "every head is given the same share of the total; how much a head writes depends on what "
        "it holds.",
        "multiply each head with its own rows of w_o.",
        lambda heads, w_o: (
            (right(heads, w_o) / heads.shape[1]).unsqueeze(1).expand(-1, heads.shape[1], -1, -1)
        ),
    ),
    *ways(
        "total-for-each-head",
        "every head is given the total of all.",
        "multiply each head with its own rows of w_o.",
        lambda heads, w_o: right(heads, w_o).unsqueeze(1).expand(-1, heads.shape[1], -1, -1),
    ),
    *ways(
        "total-cut-into-heads",
        "the total of all heads is cut into pieces; each piece holds something of every head.",
        "multiply each head with its own rows of w_o, before anything is added up.",
        lambda heads, w_o: right(heads, w_o).unflatten(2, (heads.shape[1], -1)).transpose(1, 2),
    ),
    *ways(
        "batch-for-heads",
        "the loop runs over the sentences, and not over the heads.",
        "the heads are axis 1: heads.unbind(1), or heads[:, i].",
        lambda heads, w_o: sentence_by_sentence(heads, w_o, 0),
        lambda heads, w_o: sentence_by_sentence(heads, w_o, 1),
    ),
    *ways(
        "divided-by-heads",
        "the contributions are divided by the number of heads; then they add up to the mean.",
        "leave the division out.",
        lambda heads, w_o: each(heads, w_o) / heads.shape[1],
    ),
    *ways(
        "running-total",
        "each head's contribution has those of the earlier heads in it.",
        "keep the products by themselves, and add nothing up.",
        running_total,
    ),
    *ways(
        "everything-but-this-head",
        "what all other heads write is returned, not what this one writes.",
        "subtract that from the total, or multiply each head with its own rows of w_o.",
        lambda heads, w_o: each(heads, w_o).sum(dim=1, keepdim=True) - each(heads, w_o),
    ),
    *ways(
        "output-projection-missing",
        "w_o is not used: the heads come back, or stand in their place of the concatenation.",
        "multiply each head with its rows of w_o.",
        lambda heads, w_o: heads,
        lambda heads, w_o: torch.einsum(
            "bhnd,hg->bhngd", heads, torch.eye(heads.shape[1], dtype=heads.dtype)
        ).flatten(3),
    ),
    *ways(
        "transpose-missing",
        "heads that were reshaped without a transpose are used: words and heads are mixed.",
        "use `heads` as they come: heads[:, i] is head i.",
        lambda heads, w_o: (
            not_turned(heads).unflatten(2, heads.shape[1::2]).transpose(1, 2) @ blocks(heads, w_o)
        ),
        lambda heads, w_o: side_by_side(heads).reshape(heads.shape) @ blocks(heads, w_o),
    ),
    *ways(
        "heads-axis-elsewhere",
        "the heads axis stands at another place.",
        "the order is (batch, num_heads, n, d_model): torch.stack(..., dim=1).",
        lambda heads, w_o: each(heads, w_o).transpose(0, 1),
        lambda heads, w_o: each(heads, w_o).transpose(1, 2),
        lambda heads, w_o: each(heads, w_o).movedim(1, -1),
    ),
    *ways(
        "heads-axis-reshaped",
        "axes of the result are reshaped into each other, where they should change places.",
        "use transpose or movedim, or stack along dim=1.",
        lambda heads, w_o: (c := each(heads, w_o)).transpose(1, 2).reshape(c.shape),
        lambda heads, w_o: (c := each(heads, w_o)).transpose(0, 1).reshape(c.shape),
    ),
    *ways(
        "joined-not-stacked",
        "the contributions are joined along an axis that is there already.",
        "give the heads an axis of their own: torch.stack(..., dim=1).",
        lambda heads, w_o: side_by_side(each(heads, w_o)),
        lambda heads, w_o: each(heads, w_o).flatten(1, 2),
        lambda heads, w_o: torch.cat(each(heads, w_o).unbind(1), dim=0),
    ),
    *ways(
        "list-returned",
        "a list of contributions is returned; one tensor is asked for.",
        "stack them: torch.stack(contributions, dim=1).",
        lambda heads, w_o: list(each(heads, w_o).unbind(1)),
        lambda heads, w_o: each(heads, w_o).unbind(1),
    ),
    *ways(
        "sizes-not-vectors",
        "the size of each contribution is returned, not the contribution.",
        "return the products themselves.",
        lambda heads, w_o: each(heads, w_o).norm(dim=-1),
        lambda heads, w_o: each(heads, w_o).norm(dim=-1, keepdim=True),
        lambda heads, w_o: each(heads, w_o).abs(),
    ),
    *ways(
        "changed-input",
        "heads are set to 0 in the tensor that was handed over: the next head finds them gone, and "
        "so does the caller.",
        "work on a copy for each head, heads.clone(), or multiply heads[:, i] with its own rows.",
        others_zeroed,
        each_zeroed,
        others_zeroed_behind_autograd,
    ),
    *ways(
        "gradient-cut",
        "the result is cut from the graph of gradients, so that nothing can be learned through it.",
        "leave .detach(), .data, .item() and no_grad out.",
        lambda heads, w_o: each(heads.detach(), w_o),
        lambda heads, w_o: each(heads, w_o.detach()),
        lambda heads, w_o: each(heads, w_o).detach(),
    ),
    *ways(
        "size-one-squeezed",
        "an axis of length 1 was removed, and it was one of the result's.",
        "leave squeeze() out.",
        lambda heads, w_o: each(heads, w_o).squeeze(),
        lambda heads, w_o: each(heads, w_o).squeeze(0),
        lambda heads, w_o: each(heads, w_o).squeeze(1),
        lambda heads, w_o: each(heads, w_o).squeeze(2),
        lambda heads, w_o: each(heads, w_o).squeeze(-1),
    ),
)
