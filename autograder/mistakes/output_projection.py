"""Mistakes in putting the heads side by side and mixing them with W^O."""

import torch
from torch import Tensor

from autograder.declaring import Mistake
from autograder.mistakes import ways


def side_by_side(heads: Tensor) -> Tensor:
    """The right concatenation: (batch, n, num_heads · d_v)."""
    return heads.transpose(1, 2).flatten(2)


def blocks(heads: Tensor, w_o: Tensor) -> Tensor:
    """The right blocks of w_o: (num_heads, d_v, d_model)."""
    return w_o.unflatten(0, (heads.shape[1], heads.shape[3]))


def each(heads: Tensor, w_o: Tensor) -> Tensor:
    """The right contributions: (batch, num_heads, n, d_model)."""
    return heads @ blocks(heads, w_o)


def right(heads: Tensor, w_o: Tensor) -> Tensor:
    return side_by_side(heads) @ w_o


# Ways to put heads side by side that go wrong.


def not_turned(heads: Tensor) -> Tensor:
    batch, num_heads, n, d_v = heads.shape
    return heads.reshape(batch, n, num_heads * d_v)


def interleaved(heads: Tensor) -> Tensor:
    return heads.permute(0, 2, 3, 1).flatten(2)


def batch_folded(heads: Tensor) -> Tensor:
    batch, num_heads, n, d_v = heads.shape
    return heads.transpose(0, 1).reshape(batch, n, num_heads * d_v)


def rows_from(start: int, heads: Tensor, w_o: Tensor) -> Tensor:
    return w_o[start : start + heads.shape[3]]


PROJECT_OUTPUT: tuple[Mistake, ...] = (
    *ways(
        "output-projection-missing",
        "the heads are put side by side, and w_o is not used: nothing mixes them.",
        "multiply the concatenated heads with w_o.",
        lambda heads, w_o: side_by_side(heads),
    ),
    *ways(
        "second-output-projection",
        "w_o is applied twice.",
        "multiply with w_o once.",
        lambda heads, w_o: right(heads, w_o) @ w_o,
    ),
    *ways(
        "w-o-transposed",
        "w_o is turned before it is multiplied, as nn.Linear and F.linear do with a weight of "
        "shape (out, in), or it stands on the left; only a square one survives that.",
        "multiply with w_o as it is: concatenated @ w_o.",
        lambda heads, w_o: side_by_side(heads) @ w_o.T,
        lambda heads, w_o: torch.nn.functional.linear(side_by_side(heads), w_o),
        lambda heads, w_o: (w_o @ side_by_side(heads).mT).mT,
    ),
    *ways(
        "w-o-from-the-left",
        "w_o stands on the left of the product.",
        "multiply from the right: concatenated @ w_o.",
        lambda heads, w_o: w_o @ side_by_side(heads),
    ),
    *ways(
        "not-transposed-back",
        "heads are reshaped without a transpose before, so that a row holds several words of one "
        "head, not all heads of one word.",
        "bring heads and words into the order (batch, n, num_heads, d_v) first: "
        "heads.transpose(1, 2).",
        lambda heads, w_o: not_turned(heads) @ w_o,
        lambda heads, w_o: heads.view(heads.shape[0], heads.shape[2], -1) @ w_o,
    ),
    *ways(
        "view-after-transpose",
        "view cannot merge axes that a transpose has put out of their order in memory.",
        "use reshape or flatten after the transpose.",
        lambda heads, w_o: heads.transpose(1, 2).view(heads.shape[0], heads.shape[2], -1) @ w_o,
    ),
    *ways(
        "interleaved",
        "the numbers of the heads alternate, as in (d_v, num_heads); all numbers of head 0 come "
        "first, then all of head 1.",
        "the order before the reshape is (batch, n, num_heads, d_v).",
        lambda heads, w_o: interleaved(heads) @ w_o,
    ),
    *ways(
        "other-axes-swapped",
        "the wrong axes change places before the reshape.",
        "swap heads and words, axes 1 and 2: heads.transpose(1, 2).",
        lambda heads, w_o: heads.transpose(1, 3).reshape(*not_turned(heads).shape) @ w_o,
        lambda heads, w_o: heads.transpose(2, 3).reshape(*not_turned(heads).shape) @ w_o,
    ),
    *ways(
        "heads-before-batch",
        "the heads axis is moved before the batch, so that sentences are mixed.",
        "leave the batch axis where it is, and swap axes 1 and 2.",
        lambda heads, w_o: batch_folded(heads) @ w_o,
        lambda heads, w_o: heads.permute(2, 0, 1, 3).reshape(*not_turned(heads).shape) @ w_o,
    ),
    *ways(
        "batch-for-heads",
        "the loop runs over the batch: sentences are put side by side, not heads.",
        "the heads are axis 1: heads.unbind(1), or heads[:, i].",
        lambda heads, w_o: torch.cat(list(heads), dim=-1) @ w_o,
    ),
    *ways(
        "joined-along-positions",
        "the heads are put one below the other: along the words, not along the features.",
        "concatenate along the last axis: dim=-1.",
        lambda heads, w_o: torch.cat(heads.unbind(1), dim=1) @ w_o,
        lambda heads, w_o: torch.cat(heads.unbind(1), dim=0) @ w_o,
        lambda heads, w_o: heads.transpose(1, 2).flatten(1, 2) @ w_o,
    ),
    *ways(
        "whole-w-o-for-each-head",
        "each head alone meets all of w_o, which has rows for all heads together.",
        "concatenate the heads first: concat_heads(heads) @ w_o.",
        lambda heads, w_o: heads @ w_o,
        lambda heads, w_o: heads.sum(dim=1) @ w_o,
        lambda heads, w_o: heads.mean(dim=1) @ w_o,
        lambda heads, w_o: torch.einsum("bhnd,dm->bnm", heads, w_o),
    ),
    *ways(
        "one-block-for-all-heads",
        "all heads go through the same rows of w_o; each has rows of its own.",
        "head i meets the rows from i · d_v to (i + 1) · d_v.",
        lambda heads, w_o: heads.sum(dim=1) @ rows_from(0, heads, w_o),
        lambda heads, w_o: heads.sum(dim=1) @ w_o[-heads.shape[3] :],
    ),
    *ways(
        "heads-averaged-first",
        "the heads are averaged before they meet w_o; each has rows of its own in it.",
        "put the heads side by side, and do not average them.",
        lambda heads, w_o: heads.mean(dim=1) @ rows_from(0, heads, w_o),
    ),
    *ways(
        "one-head-only",
        "only one head arrives in the output.",
        "add up what all heads write: start with 0 and use +=.",
        lambda heads, w_o: each(heads, w_o)[:, 0],
        lambda heads, w_o: each(heads, w_o)[:, -1],
    ),
    *ways(
        "head-missing",
        "one head is left out.",
        "range(num_heads) runs over all of them, from 0 to num_heads − 1.",
        lambda heads, w_o: each(heads, w_o)[:, :-1].sum(dim=1),
        lambda heads, w_o: each(heads, w_o)[:, 1:].sum(dim=1),
    ),
    *ways(
        "averaged-over-heads",
        "the result is divided by the number of heads; the sum is asked for.",
        "add up, with sum and not mean.",
        lambda heads, w_o: each(heads, w_o).mean(dim=1),
    ),
    *ways(
        "scaled-again",
        "the result is divided by a root of a size. Scores are scaled, the output is not.",
        "leave the division out.",
        lambda heads, w_o: right(heads, w_o) / heads.shape[3] ** 0.5,
        lambda heads, w_o: right(heads, w_o) / heads.shape[1] ** 0.5,
        lambda heads, w_o: right(heads, w_o) / w_o.shape[0] ** 0.5,
        lambda heads, w_o: right(heads, w_o) / w_o.shape[1] ** 0.5,
    ),
    *ways(
        "not-summed-over-heads",
        "what each head writes is returned by itself; here it is added up.",
        "sum over the heads, axis 1; or concatenate first, and the product does it.",
        each,
        lambda heads, w_o: each(heads, w_o).transpose(0, 1),
        lambda heads, w_o: side_by_side(each(heads, w_o)),
    ),
    *ways(
        "axis-kept",
        "the heads axis is still there, with length 1.",
        "leave keepdim out.",
        lambda heads, w_o: each(heads, w_o).sum(dim=1, keepdim=True),
    ),
    *ways(
        "summed-over-another-axis",
        "the contributions are added up over another axis than the heads.",
        "the heads are axis 1: .sum(dim=1).",
        lambda heads, w_o: each(heads, w_o).sum(dim=2),
        lambda heads, w_o: each(heads, w_o).sum(dim=0),
    ),
    *ways(
        "heads-reversed",
        "the last head comes first.",
        "keep the heads in their order.",
        lambda heads, w_o: right(heads.flip(1), w_o),
    ),
    *ways(
        "activation-added",
        "the output goes through one more function; W^O is a plain matrix product.",
        "return the product as it is.",
        lambda heads, w_o: torch.relu(right(heads, w_o)),
        lambda heads, w_o: torch.softmax(right(heads, w_o), dim=-1),
        lambda heads, w_o: torch.tanh(right(heads, w_o)),
        lambda heads, w_o: torch.nn.functional.gelu(right(heads, w_o)),
    ),
    *ways(
        "output-transposed",
        "words and features of the output have changed places.",
        "return the product as it is: one row for each word.",
        lambda heads, w_o: right(heads, w_o).mT,
    ),
    *ways(
        "gradient-cut",
        "the result is cut from the graph of gradients, so that nothing can be learned through it.",
        "leave .detach(), .data, .item() and no_grad out.",
        lambda heads, w_o: right(heads.detach(), w_o),
        lambda heads, w_o: right(heads, w_o.detach()),
        lambda heads, w_o: right(heads, w_o).detach(),
    ),
    *ways(
        "size-one-squeezed",
        "an axis of length 1 was removed, and it was one of the result's.",
        "leave squeeze() out.",
        lambda heads, w_o: right(heads, w_o).squeeze(),
        lambda heads, w_o: right(heads, w_o).squeeze(0),
        lambda heads, w_o: right(heads, w_o).squeeze(1),
        lambda heads, w_o: right(heads, w_o).squeeze(-1),
    ),
)
