"""Mistakes in making the padding mask."""

import torch
from torch import Tensor

from autograder.mistakes import ways
from autograder.mistakes.mask_causal import blocked, ones


def positions(max_len: int) -> Tensor:
    return torch.arange(max_len)


def right_padding(lengths: Tensor, max_len: int) -> Tensor:
    return (positions(max_len) < lengths[:, None])[:, None, None, :]


def shortened(lengths: Tensor, max_len: int) -> Tensor:
    lengths -= 1
    return (positions(max_len) <= lengths[:, None])[:, None, None, :]


def raised(lengths: Tensor, max_len: int) -> Tensor:
    lengths.clamp_(min=1)
    return right_padding(lengths, max_len)


def filled_from_the_end(lengths: Tensor, max_len: int) -> Tensor:
    """Slices up to −(max_len − length), which is empty where nothing is to be cut off."""
    mask = torch.zeros(len(lengths), 1, 1, max_len, dtype=torch.bool)
    for i, length in enumerate(lengths):
        mask[i, ..., : int(length) - max_len] = True
    return mask


def longest(lengths: Tensor, max_len: int) -> Tensor:
    return right_padding(lengths, int(lengths.max()))


PADDING = (
    *ways(
        "inverted",
        "True stands at the padding: in this course True means that a word may be attended to, "
        "while nn.MultiheadAttention's key_padding_mask says True for what may not.",
        "True where the position is smaller than the length, and no ~.",
        lambda n, m: ~right_padding(n, m),
        lambda n, m: (positions(m) >= n[:, None])[:, None, None, :],
        lambda n, m: (positions(m) > n[:, None])[:, None, None, :],
    ),
    *ways(
        "one-too-many",
        "one place of padding too many is allowed: positions count from 0, so that a sentence of "
        "3 words ends at position 2.",
        "compare with <, not with <=.",
        lambda n, m: right_padding(n + 1, m),
    ),
    *ways(
        "one-too-few",
        "the last word of each sentence is left out: positions count from 0.",
        "compare positions from 0 on with <: torch.arange(max_len) < length.",
        lambda n, m: right_padding(n - 1, m),
    ),
    *ways(
        "padding-in-front",
        "the words stand at the end of their places; here they stand at the start, with the "
        "padding behind them.",
        "True where the position is smaller than the length.",
        lambda n, m: right_padding(n, m).flip(-1),
        lambda n, m: (positions(m) > m - n[:, None])[:, None, None, :],
    ),
    *ways(
        "unsqueezed-once",
        "only one axis is put in, so that the sentences meet the heads when the mask is "
        "broadcast to (batch, heads, query, key).",
        "put in two, for heads and queries: [:, None, None, :].",
        lambda n, m: right_padding(n, m)[:, 0],
    ),
    *ways(
        "not-unsqueezed",
        "the axes for heads and queries are missing, so that the sentences meet the queries when "
        "the mask is broadcast to (batch, heads, query, key).",
        "put them in: [:, None, None, :].",
        lambda n, m: right_padding(n, m)[:, 0, 0],
        lambda n, m: right_padding(n, m)[:, 0, 0][None],
        lambda n, m: right_padding(n, m)[:, 0, 0][None, None],
        lambda n, m: right_padding(n, m).squeeze(),
    ),
    *ways(
        "on-queries",
        "the padding lies on the axis of the queries: padded queries would see nothing, and every "
        "query would still see the padding.",
        "the last axis is that of the keys: (batch, 1, 1, max_len).",
        lambda n, m: right_padding(n, m).transpose(-2, -1),
        lambda n, m: right_padding(n, m).permute(0, 3, 1, 2),
    ),
    *ways(
        "on-queries-as-well",
        "queries at padding are masked as well; what they attend to is never looked at, and such "
        "an empty row makes trouble only.",
        "mask keys only: (batch, 1, 1, max_len).",
        lambda n, m: right_padding(n, m) & right_padding(n, m).transpose(-2, -1),
    ),
    *ways(
        "expanded",
        "the mask is repeated for every query or head; length 1 is enough, because it broadcasts.",
        "return (batch, 1, 1, max_len).",
        lambda n, m: right_padding(n, m).expand(-1, 1, m, m),
        lambda n, m: right_padding(n, m).repeat(1, 1, m, 1),
    ),
    *ways(
        "axes-mixed",
        "positions and sentences have changed places, and a reshape hides it.",
        "make rows of sentences: torch.arange(max_len) < lengths[:, None].",
        lambda n, m: (positions(m)[:, None] < n).reshape(len(n), 1, 1, m),
    ),
    *ways(
        "positions-against-sentences",
        "position i is compared with the length of sentence i, where every position is to be "
        "compared with every length.",
        "give the lengths an axis of their own: lengths[:, None].",
        lambda n, m: (positions(m) < n)[None, None, None, :],
        lambda n, m: (positions(m) < n)[:, None, None, None],
    ),
    *ways(
        "sentence-axis-elsewhere",
        "the axis of the sentences is not the first one.",
        "the order is (batch, 1, 1, max_len): [:, None, None, :].",
        lambda n, m: right_padding(n, m).transpose(0, 1),
        lambda n, m: right_padding(n, m).permute(3, 1, 2, 0),
    ),
    *ways(
        "longest-for-all",
        "all sentences get the same mask, that of one of them.",
        "compare with every length on its own: lengths[:, None].",
        lambda n, m: right_padding(n.max().expand(len(n)), m),
        lambda n, m: right_padding(n[:1].expand(len(n)), m),
        lambda n, m: right_padding(n[:1], m),
    ),
    *ways(
        "longest-for-max-len",
        "the mask is as long as the longest sentence, not max_len.",
        "use torch.arange(max_len).",
        longest,
    ),
    *ways(
        "last-word-only",
        "one position of each sentence is allowed only.",
        "compare with <, not with ==.",
        lambda n, m: (positions(m) == n[:, None] - 1)[:, None, None, :],
        lambda n, m: (positions(m) == n[:, None])[:, None, None, :],
    ),
    *ways(
        "causal-added",
        "the mask also hides later words; that is the causal mask's task, and both are joined "
        "with & where they are used.",
        "leave .tril() out.",
        lambda n, m: right_padding(n, m) & ones(m, m).tril(),
    ),
    *ways(
        "numbers-not-truth-values",
        "the mask has numbers, 0 and 1, where it should have truth values, True and False: "
        "~mask and masked_fill do not work with numbers.",
        "return the comparison as it is, or end with .bool().",
        lambda n, m: right_padding(n, m).float(),
        lambda n, m: right_padding(n, m).long(),
        lambda n, m: right_padding(n, m).to(torch.uint8),
    ),
    *ways(
        "numbers-to-add",
        "the mask has 0 and −∞ (or a large negative number), ready to be added to scores; asked "
        "for are truth values, True where a word may be attended to.",
        "return the comparison itself; the −∞ is put in later, in the softmax.",
        lambda n, m: blocked(right_padding(n, m)),
        lambda n, m: (~right_padding(n, m)) * -1e9,
    ),
    *ways(
        "everything-allowed",
        "every position is allowed: nothing is masked.",
        "True where the position is smaller than the length, False elsewhere.",
        lambda n, m: ones(len(n), 1, 1, m),
        lambda n, m: (n[:, None] > 0).expand(-1, m)[:, None, None, :],
    ),
    *ways(
        "empty-sentence-kept",
        "a sentence of no words keeps one place; all of it is padding.",
        "leave the lengths as they are: the softmax takes care of empty rows.",
        lambda n, m: right_padding(n.clamp(min=1), m),
    ),
    *ways(
        "full-sentence-emptied",
        "a sentence that fills all places is masked altogether: the slice [:-0] is empty.",
        "compare positions with lengths, or slice up to the length.",
        filled_from_the_end,
    ),
    *ways(
        "too-few-bits",
        "the lengths are turned into numbers of eight bits, which end at 127 or 255; beyond that "
        "they start again.",
        "leave the dtype of the lengths as it is.",
        lambda n, m: right_padding(n.to(torch.int8), m),
        lambda n, m: right_padding(n.to(torch.uint8), m),
        lambda n, m: (positions(m).to(torch.int8) < n.to(torch.int8)[:, None])[:, None, None, :],
        lambda n, m: (positions(m).to(torch.uint8) < n.to(torch.uint8)[:, None])[:, None, None, :],
    ),
    *ways(
        "size-one-squeezed",
        "an axis of length 1 was removed, and it was one of the result's.",
        "leave squeeze() out.",
        lambda n, m: right_padding(n, m).squeeze(0),
        lambda n, m: right_padding(n, m).squeeze(-1),
    ),
    *ways(
        "changed-input",
        "the lengths are changed in place, and the caller still needs them.",
        "write lengths - 1 into a new variable, not lengths -= 1.",
        shortened,
        raised,
    ),
)
