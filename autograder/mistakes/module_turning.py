"""Mistakes in turning our mask into the one that PyTorch's module wants."""

import math

import torch

from autograder.declaring import Mistake
from autograder.mistakes import ways

TURNING: tuple[Mistake, ...] = (
    *ways(
        "unchanged",
        "the mask is returned as it is, and PyTorch reads it the other way round.",
        "return ~mask.",
        lambda mask: mask,
        lambda mask: mask.clone(),
        lambda mask: ~~mask,
    ),
    *ways(
        "transposed",
        "queries and keys have changed places.",
        "keep the axes, and turn True and False round: ~mask.",
        lambda mask: mask.T,
        lambda mask: ~mask.T,
    ),
    *ways(
        "float-mask",
        "a mask of numbers to add, 0 and −∞, is made; a mask of bools is asked for.",
        "return ~mask.",
        lambda mask: torch.zeros(mask.shape).masked_fill(~mask, -math.inf),
        lambda mask: torch.zeros(mask.shape).masked_fill(mask, -math.inf),
        lambda mask: torch.where(mask, 0.0, -math.inf),
        lambda mask: mask.float().log(),
        lambda mask: (~mask).float() * -1e9,
        lambda mask: torch.zeros(mask.shape).masked_fill(~mask, -1e9),
    ),
    *ways(
        "numbers-for-bools",
        "the mask is made of numbers, not of True and False.",
        "return ~mask, which stays a mask of bools.",
        lambda mask: ~mask.int(),
        lambda mask: ~mask.long(),
        lambda mask: (~mask).float(),
        lambda mask: (~mask).int(),
        lambda mask: (~mask).to(torch.uint8),
    ),
    *ways(
        "subtracted",
        "bools cannot be subtracted or negated with −.",
        "turn them round with ~mask.",
        lambda mask: 1 - mask,
        lambda mask: True - mask,
        lambda mask: -mask,
    ),
    *ways(
        "pythons-not",
        "`not` asks for one truth value, and a mask has many.",
        "write ~mask, which turns each entry round.",
        lambda mask: not mask,
    ),
    *ways(
        "always-causal",
        "the causal mask is made from the shape; the given mask is not read.",
        "return ~mask.",
        lambda mask: torch.ones_like(mask).triu(1),
        lambda mask: torch.ones_like(mask).tril(),
    ),
    *ways(
        "empty-rows-opened",
        "a query that may attend to nothing may attend to everything in the new mask.",
        "turn every entry round, in such rows too: ~mask.",
        lambda mask: ~mask & mask.any(dim=-1, keepdim=True),
    ),
    *ways(
        "axes-added",
        "the mask gets axes for batch or heads; it stays (n_q, n_k) here.",
        "return ~mask.",
        lambda mask: ~mask[None],
        lambda mask: ~mask[None, None],
    ),
    *ways(
        "size-one-squeezed",
        "an axis of length 1 was removed.",
        "return ~mask, without squeeze().",
        lambda mask: ~mask.squeeze(),
    ),
)
