"""Mistakes in cutting features into heads."""

from collections.abc import Callable

import torch
from torch import Tensor

from autograder.mistakes import ways

Split = Callable[[Tensor, int], Tensor]


def right_split(x: Tensor, h: int) -> Tensor:
    """(batch, n, d_model) → (batch, heads, n, d_k)."""
    return heads_last(x, h).transpose(1, 2)


def heads_last(x: Tensor, h: int) -> Tensor:
    """(batch, n, d_model) → (batch, n, heads, d_k); ValueError if that does not come out even."""
    batch, n, d_model = x.shape
    return x.reshape(batch, n, h, size_of_head(d_model, h))


def size_of_head(d_model: int, h: int) -> int:
    if d_model % h:
        raise ValueError(f"{d_model} features cannot be shared out evenly among {h} heads.")
    return d_model // h


def cut(x: Tensor, h: int) -> tuple[Tensor, ...]:
    """The heads as a tuple, each (batch, n, d_k)."""
    return x.split(size_of_head(x.shape[-1], h), dim=-1)


def checked(split: Split) -> Split:
    """The same, after what does not come out even was refused."""

    def after_check(x: Tensor, h: int) -> Tensor:
        size_of_head(x.shape[-1], h)
        return split(x, h)

    return after_check


def dropping(x: Tensor, h: int) -> Tensor:
    d_k = x.shape[-1] // h
    return torch.stack([x[..., i * d_k : (i + 1) * d_k] for i in range(h)], dim=1)


def padding(x: Tensor, h: int) -> Tensor:
    return right_split(torch.nn.functional.pad(x, (0, -x.shape[-1] % h)), h)


def unchecked(x: Tensor, h: int) -> Tensor:
    batch, n, d_model = x.shape
    return x.reshape(batch, n, h, d_model // h).transpose(1, 2)


@checked
def reshaped(x: Tensor, h: int) -> Tensor:
    batch, n, d_model = x.shape
    return x.reshape(batch, h, n, d_model // h)


@checked
def viewed(x: Tensor, h: int) -> Tensor:
    batch, n, d_model = x.shape
    return x.view(batch, h, n, d_model // h)


@checked
def reshaped_first(x: Tensor, h: int) -> Tensor:
    batch, n, d_model = x.shape
    return x.reshape(h, batch, n, d_model // h)


@checked
def interleaved(x: Tensor, h: int) -> Tensor:
    batch, n, d_model = x.shape
    return x.reshape(batch, n, d_model // h, h).permute(0, 3, 1, 2)


@checked
def merged_view(x: Tensor, h: int) -> Tensor:
    batch, n, _ = x.shape
    return x.view(batch * n, h, -1).reshape(batch, n, h, -1).transpose(1, 2)


def divided(shaped: Callable[..., Tensor], x: Tensor, h: int) -> Tensor:
    batch, n, d_model = x.shape
    return shaped(batch, n, h, d_model / h).transpose(1, 2)


def sliced_at(x: Tensor, h: int, step: int) -> Tensor:
    """Head i begins at feature i · step."""
    d_k = x.shape[-1] // h
    return torch.stack([x[..., i * step : i * step + d_k] for i in range(h)], dim=1)


def two_axes(x: Tensor, h: int) -> Tensor:
    n, d_model = x.shape
    return x.reshape(n, h, size_of_head(d_model, h)).transpose(0, 1)


def four_axes(x: Tensor, h: int) -> Tensor:
    batch, heads, n, d_k = x.shape
    return right_split(x.reshape(batch, n, heads * d_k), h)


@checked
def positions_cut(x: Tensor, h: int) -> Tensor:
    batch, n, d_model = x.shape
    return x.reshape(batch, h, n // h, d_model)


def refusing(message: str, error: type[Exception] = ValueError) -> Split:
    """Right, but what does not come out even is refused with these words."""

    def split(x: Tensor, h: int) -> Tensor:
        if x.shape[-1] % h:
            raise error(message)
        return right_split(x, h)

    return split


def checking_inverted(x: Tensor, h: int) -> Tensor:
    if x.shape[-1] % h == 0:
        raise ValueError(f"{x.shape[-1]} features cannot be shared out among {h} heads.")
    return unchecked(x, h)


def checking_positions(x: Tensor, h: int) -> Tensor:
    if x.shape[1] % h:
        raise ValueError(f"{x.shape[1]} cannot be shared out among {h} heads.")
    return unchecked(x, h)


NO_NUMBERS = "d_model must be divisible by num_heads"  # what most tutorials write

SPLIT = (
    *ways(
        "not-transposed",
        "the numbers are cut up in the order in which they come, word after word, so that a head "
        "gets pieces of different words.",
        "cut the last axis first, into (batch, n, num_heads, d_k), and then move the heads with "
        ".transpose(1, 2).",
        reshaped,
        viewed,
        checked(lambda x, h: x.reshape(x.shape[0], h, -1, x.shape[1]).transpose(2, 3)),
    ),
    *ways(
        "heads-after-positions",
        "the features are cut, but the heads' axis still stands after the positions.",
        "end with .transpose(1, 2).",
        heads_last,
        lambda x, h: torch.stack(cut(x, h), dim=-2),
    ),
    *ways(
        "interleaved",
        "head i takes every num_heads-th feature; it has to take d_k neighbours.",
        "reshape to (…, num_heads, d_k), in this order: the last axis is the one whose numbers "
        "are neighbours.",
        interleaved,
        checked(lambda x, h: torch.stack([x[..., i::h] for i in range(h)], dim=1)),
    ),
    *ways(
        "other-axes-swapped",
        "axes change places, but not positions and heads.",
        "of (batch, n, num_heads, d_k), swap axes 1 and 2: .transpose(1, 2).",
        lambda x, h: heads_last(x, h).transpose(2, 3),
        lambda x, h: heads_last(x, h).transpose(1, 3),
        lambda x, h: heads_last(x, h).transpose(0, 2),
        lambda x, h: heads_last(x, h).permute(0, 2, 3, 1),
        lambda x, h: heads_last(x, h).permute(0, 3, 2, 1),
        lambda x, h: heads_last(x, h).permute(0, 3, 1, 2),
        lambda x, h: heads_last(x, h).permute(1, 2, 0, 3),
        checked(lambda x, h: x.transpose(1, 2).reshape(x.shape[0], h, x.shape[1], -1)),
    ),
    *ways(
        "slices-misplaced",
        "the slices start at the wrong features.",
        "let head i start at feature i · d_k: x[..., i * d_k : (i + 1) * d_k].",
        checked(lambda x, h: sliced_at(x, h, 1)),
        checked(lambda x, h: sliced_at(x, h, h)),
    ),
    *ways(
        "size-not-whole",
        "`/` gives a float, even where the division comes out even, and no axis has a length of "
        "3.0.",
        "write //.",
        checked(lambda x, h: divided(x.reshape, x, h)),
        checked(lambda x, h: divided(x.view, x, h)),
    ),
    *ways(
        "all-axes-reversed",
        "`.T` reverses every axis, the batch too.",
        "swap two axes only: .transpose(1, 2).",
        lambda x, h: heads_last(x, h).permute(3, 2, 1, 0),
    ),
    *ways(
        "heads-before-batch",
        "the heads come before the batch.",
        "the order is (batch, num_heads, n, d_k): .transpose(1, 2), or dim=1 when you stack.",
        lambda x, h: heads_last(x, h).permute(2, 0, 1, 3),
        reshaped_first,
    ),
    *ways(
        "heads-folded-into-batch",
        "heads and batch share one axis.",
        "keep four axes: (batch, num_heads, n, d_k).",
        lambda x, h: right_split(x, h).flatten(0, 1),
        lambda x, h: torch.cat(cut(x, h), dim=0),
        lambda x, h: reshaped(x, h).flatten(0, 1),
    ),
    *ways(
        "heads-side-by-side-in-positions",
        "the heads are laid one after the other along the positions.",
        "give them an axis of their own.",
        lambda x, h: right_split(x, h).flatten(1, 2),
        lambda x, h: heads_last(x, h).flatten(1, 2),
    ),
    *ways(
        "number-and-size-exchanged",
        "num_heads is taken for the size of a head.",
        "there are num_heads heads, each of d_model // num_heads numbers.",
        lambda x, h: right_split(x, size_of_head(x.shape[-1], h)),
    ),
    *ways(
        "every-head-sees-all",
        "every head gets all the features.",
        "share the features out: each head gets d_model // num_heads of them.",
        checked(lambda x, h: torch.stack([x] * h, dim=1)),
    ),
    *ways(
        "all-heads-are-head-0",
        "every head gets the features of head 0.",
        "let head i start at feature i · d_k.",
        lambda x, h: torch.stack([cut(x, h)[0]] * h, dim=1),
    ),
    *ways(
        "batch-forgotten",
        "x is taken for one sentence, of two axes; it is a batch of sentences, of three.",
        "begin with `batch, n, d_model = x.shape`.",
        two_axes,
        four_axes,
    ),
    *ways(
        "positions-cut",
        "the positions are shared out among the heads; every head sees all positions, and a part "
        "of the features.",
        "cut the last axis.",
        positions_cut,
        checked(lambda x, h: torch.stack(x.chunk(h, dim=1), dim=1)),
    ),
    *ways(
        "heads-reversed",
        "the heads come in reverse order.",
        "head 0 has the first d_k features.",
        lambda x, h: right_split(x, h).flip(1),
    ),
    *ways(
        "features-dropped",
        "features that are left over are dropped without a word, or zeros are made up for them.",
        "raise a ValueError with both numbers when d_model % num_heads is not 0.",
        dropping,
        lambda x, h: right_split(x[..., : x.shape[-1] // h * h], h),
        padding,
    ),
    *ways(
        "indivisible-not-refused",
        "what does not come out even is left to PyTorch, whose error speaks of shapes.",
        "check first: if d_model % num_heads: raise ValueError(...), with both numbers.",
        unchecked,
        lambda x, h: x.reshape(*x.shape[:2], h, -1).transpose(1, 2),
        lambda x, h: x.unflatten(-1, (h, x.shape[-1] // h)).transpose(1, 2),
        lambda x, h: x.unflatten(-1, (h, -1)).transpose(1, 2),
        lambda x, h: torch.stack(x.chunk(h, dim=-1), dim=1),
        lambda x, h: torch.stack(x.tensor_split(h, dim=-1), dim=1),
        lambda x, h: torch.stack(x.split(x.shape[-1] // h, dim=-1), dim=1),
    ),
    *ways(
        "silent-value-error",
        "the error does not say which sizes do not fit.",
        'put both numbers into it: f"{d_model} features cannot be split into {num_heads} heads".',
        refusing("", AssertionError),
        refusing(NO_NUMBERS),
        refusing(NO_NUMBERS, AssertionError),
    ),
    *ways(
        "wrong-number-checked",
        "sizes that fit are refused.",
        "refuse when d_model % num_heads is not 0, and only then.",
        checking_inverted,
        checking_positions,
    ),
    *ways(
        "view-on-other-memory",
        "`view` cannot merge axes that do not lie one after the other in memory.",
        "write .reshape where you have .view: it copies when it must.",
        merged_view,
    ),
    *ways(
        "tuple-of-heads",
        "the heads are returned one by one.",
        "put them into one tensor: torch.stack(heads, dim=1).",
        lambda x, h: cut(x, h),
        lambda x, h: list(cut(x, h)),
    ),
    *ways(
        "gradient-cut",
        "the result is cut from the graph of gradients.",
        "leave .detach(), .data, .numpy() and no_grad out.",
        lambda x, h: right_split(x, h).detach(),
    ),
    *ways(
        "size-one-squeezed",
        "an axis of length 1 was removed, and it was one of the result's.",
        "leave squeeze() out.",
        lambda x, h: right_split(x, h).squeeze(),
        lambda x, h: heads_last(x, h).squeeze().transpose(1, 2),
    ),
)
