"""Mistakes in making the causal mask."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.mistakes import ways

Maker = Callable[[int, int], Any]


def ones(*shape: int) -> Tensor:
    return torch.ones(*shape, dtype=torch.bool)


def right_causal(n_q: int, n_k: int) -> Tensor:
    return ones(n_q, n_k).tril(n_k - n_q)


def refuse(n_q: int, n_k: int) -> None:
    if n_k < n_q:
        raise ValueError(f"{n_q} queries, {n_k} keys")


def causal(make: Maker) -> Callable[..., Any]:
    """A causal mask that is right but for what `make` does with both sizes."""

    def implementation(n_q: int, n_k: int | None = None) -> Any:
        n_k = n_q if n_k is None else n_k
        refuse(n_q, n_k)
        return make(n_q, n_k)

    return implementation


def careless(make: Maker) -> Callable[..., Any]:
    """The same, without refusing too few keys."""
    return lambda n_q, n_k=None: make(n_q, n_q if n_k is None else n_k)


def top_left(n_q: int, n_k: int) -> Tensor:
    return ones(n_q, n_k).tril()


def making(*makers: Maker) -> list[Callable[..., Any]]:
    return [causal(make) for make in makers]


def blocked(allowed: Tensor) -> Tensor:
    """A mask to be added to scores: 0 where allowed, −∞ elsewhere."""
    return torch.zeros(allowed.shape).masked_fill(~allowed, -math.inf)


def rowwise(n_q: int, n_k: int) -> Tensor:
    mask = torch.zeros(n_q, n_k, dtype=torch.bool)
    for i in range(n_q):
        mask[i, :i] = True
    return mask


def without_numbers(n_q: int, n_k: int | None = None) -> Tensor:
    n_k = n_q if n_k is None else n_k
    if n_k < n_q:
        raise ValueError("fewer keys than queries")
    return right_causal(n_q, n_k)


def only_one_number(n_q: int, n_k: int | None = None) -> Tensor:
    n_k = n_q if n_k is None else n_k
    if n_k < n_q:
        raise ValueError(f"n_k = {n_k} is too small")
    return right_causal(n_q, n_k)


def only_squares(n_q: int, n_k: int | None = None) -> Tensor:
    n_k = n_q if n_k is None else n_k
    if n_k <= n_q:
        raise ValueError(f"{n_q} queries, {n_k} keys")
    return right_causal(n_q, n_k)


def no_earlier_words(n_q: int, n_k: int | None = None) -> Tensor:
    n_k = n_q if n_k is None else n_k
    if n_k != n_q:
        raise ValueError(f"{n_q} queries, {n_k} keys")
    return right_causal(n_q, n_k)


def falsy_size(n_q: int, n_k: int | None = None) -> Tensor:
    n_k = n_k or n_q
    refuse(n_q, n_k)
    return right_causal(n_q, n_k)


def buffered(size: int) -> Maker:
    """A mask cut from a buffer: right as far as the buffer goes."""
    return lambda n_q, n_k: ones(size, size).tril()[n_k - n_q : n_k, :n_k]


def none_not_filled_in(n_q: int, n_k: Any = None) -> Tensor:
    refuse(n_q, n_k)
    return right_causal(n_q, n_k)


def none_given_to_ones(n_q: int, n_k: Any = None) -> Tensor:
    mask = torch.ones(n_q, n_k, dtype=torch.bool)
    refuse(n_q, n_k)
    return mask.tril(n_k - n_q)


CAUSAL = (
    *ways(
        "inverted",
        "the mask is the other way round: in this course True means that a query may attend, "
        "while nn.MultiheadAttention's masks say True for what it may not.",
        "keep what lies on the diagonal and below it: .tril(...), without ~.",
        *making(lambda n_q, n_k: ~right_causal(n_q, n_k), lambda n_q, n_k: ones(n_q, n_k).triu(1)),
    ),
    *ways(
        "upper-triangle",
        "the upper triangle is kept: each word sees itself and what comes after it.",
        "use .tril(...), the lower triangle, where keys come no later than the query.",
        *making(
            lambda n_q, n_k: ones(n_q, n_k).triu(),
            lambda n_q, n_k: ones(n_q, n_k).triu(n_k - n_q),
        ),
    ),
    *ways(
        "strict",
        "the diagonal is missing: a word may not see itself, and the first one sees nothing.",
        "allow the word itself as well: its diagonal is n_k − n_q.",
        *making(
            lambda n_q, n_k: ones(n_q, n_k).tril(n_k - n_q - 1),
            lambda n_q, n_k: ones(n_q, n_k).tril(-1),
            lambda n_q, n_k: torch.arange(n_q)[:, None] + n_k - n_q > torch.arange(n_k),
            rowwise,
        ),
    ),
    *ways(
        "one-too-many",
        "each word also sees the next one, which is what it is meant to predict.",
        "the diagonal is n_k − n_q, without + 1.",
        *making(
            lambda n_q, n_k: ones(n_q, n_k).tril(n_k - n_q + 1),
            lambda n_q, n_k: ones(n_q, n_k).tril(1),
        ),
    ),
    *ways(
        "top-left",
        "the mask is aligned at the top left, as PyTorch's is_causal does it: with more keys than "
        "queries the last query does not see the last keys.",
        "shift the diagonal by the number of earlier words: .tril(diagonal=n_k - n_q).",
        causal(top_left),
        careless(top_left),
    ),
    *ways(
        "shifted-back",
        "the diagonal moves down where it should move up: the sign of n_k − n_q is turned.",
        "write .tril(diagonal=n_k - n_q).",
        *making(lambda n_q, n_k: ones(n_q, n_k).tril(n_q - n_k)),
    ),
    *ways(
        "keys-ignored",
        "n_k is not used: the mask has as many columns as rows, whatever n_k says.",
        "make the mask of shape (n_q, n_k).",
        *making(lambda n_q, n_k: right_causal(n_q, n_q)),
    ),
    *ways(
        "queries-ignored",
        "the mask has n_k rows; it has a row for each query, n_q of them.",
        "make the mask of shape (n_q, n_k), or keep the last n_q rows only.",
        *making(
            lambda n_q, n_k: right_causal(n_k, n_k),
        ),
    ),
    *ways(
        "sizes-swapped",
        "rows and columns have changed places: queries are rows, keys are columns.",
        "make the mask of shape (n_q, n_k).",
        *making(
            lambda n_q, n_k: right_causal(n_q, n_k).T,
            lambda n_q, n_k: ones(n_k, n_q).tril(),
            lambda n_q, n_k: ones(n_k, n_q).tril(n_k - n_q),
        ),
    ),
    *ways(
        "fixed-length",
        "the mask is built for a fixed length, which is not the one that is asked for.",
        "make it of shape (n_q, n_k) each time.",
        *making(
            lambda n_q, n_k: ones(16, 16).tril(),
            lambda n_q, n_k: ones(128, 128).tril(),
            lambda n_q, n_k: ones(1, 1, 64, 64).tril(),
            buffered(64),
            buffered(128),
            buffered(512),
            buffered(1024),
        ),
    ),
    *ways(
        "numbers-not-truth-values",
        "the mask has numbers, 0 and 1, where it should have truth values, True and False: "
        "~mask and masked_fill do not work with numbers.",
        "say dtype=torch.bool when you make it, or end with .bool().",
        *making(
            lambda n_q, n_k: right_causal(n_q, n_k).float(),
            lambda n_q, n_k: right_causal(n_q, n_k).long(),
            lambda n_q, n_k: top_left(n_q, n_k).to(torch.uint8),
        ),
        careless(lambda n_q, n_k: top_left(n_q, n_k).float()),
    ),
    *ways(
        "numbers-to-add",
        "the mask has 0 and −∞ (or a large negative number), ready to be added to scores; asked "
        "for are truth values, True where a query may attend.",
        "return the comparison itself, or .bool(); the −∞ is put in later, in the softmax.",
        *making(
            lambda n_q, n_k: blocked(right_causal(n_q, n_k)),
            lambda n_q, n_k: blocked(top_left(n_q, n_k)),
            lambda n_q, n_k: torch.full((n_q, n_k), -math.inf).triu(n_k - n_q + 1),
            lambda n_q, n_k: (~right_causal(n_q, n_k)) * -1e9,
        ),
    ),
    *ways(
        "everything-allowed",
        "every query sees every key: nothing is masked.",
        "keep the lower triangle only: .tril(...). It returns a new tensor, which you have to use.",
        *making(ones),
    ),
    *ways(
        "diagonal-only",
        "each word sees itself alone, and nothing that came before it.",
        "keep all that lies on the diagonal and below it, with .tril(...).",
        *making(
            lambda n_q, n_k: torch.eye(n_q, n_k, dtype=torch.bool),
            lambda n_q, n_k: ones(n_q, n_k).tril(n_k - n_q).triu(n_k - n_q),
        ),
    ),
    *ways(
        "more-axes",
        "the mask has axes for batch and heads in front; it needs none, it broadcasts.",
        "return it with two axes, (n_q, n_k).",
        *making(
            lambda n_q, n_k: right_causal(n_q, n_k)[None],
            lambda n_q, n_k: right_causal(n_q, n_k)[None, None],
        ),
    ),
    *ways(
        "fewer-keys-accepted",
        "fewer keys than queries are accepted, although the first queries then see nothing.",
        "raise a ValueError that names both numbers, if n_k < n_q.",
        careless(right_causal),
        lambda n_q, n_k=None: right_causal(n_q, n_k if n_k and n_k > n_q else n_q),
    ),
    *ways(
        "error-without-numbers",
        "the ValueError does not name both numbers, which whoever reads it needs to see.",
        'write both into the message: f"{n_q} queries, but {n_k} keys".',
        without_numbers,
        only_one_number,
    ),
    *ways(
        "square-refused",
        "as many keys as queries are refused, although each word then sees itself and what came "
        "before.",
        "refuse n_k < n_q only.",
        only_squares,
    ),
    *ways(
        "earlier-words-refused",
        "more keys than queries are refused; they are what a model sees that writes word by word.",
        "refuse n_k < n_q only.",
        no_earlier_words,
    ),
    *ways(
        "zero-taken-for-none",
        "`n_k or n_q` takes 0 for a size that was left out: 0 counts as false, like None.",
        "write `if n_k is None: n_k = n_q`.",
        falsy_size,
    ),
    *ways(
        "size-one-squeezed",
        "an axis of length 1 was removed, and it was one of the result's.",
        "leave squeeze() out.",
        *making(
            lambda n_q, n_k: right_causal(n_q, n_k).squeeze(),
            lambda n_q, n_k: right_causal(n_q, n_k).squeeze(0),
        ),
    ),
    *ways(
        "none-not-filled-in",
        "n_k is used although it may be None.",
        "begin with `if n_k is None: n_k = n_q`.",
        none_not_filled_in,
        none_given_to_ones,
    ),
)
