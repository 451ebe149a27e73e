"""Mistakes in how a module of multi-head attention cuts and joins its heads."""

import math
from typing import Any

from torch import Tensor

from autograder.mistakes.module_steps import (
    Steps,
    Told,
)


def view_only(self: Any, x: Tensor) -> Tensor:
    return x.reshape(x.shape[0], self.num_heads, x.shape[1], self.d_k)


def interleaved(self: Any, x: Tensor) -> Tensor:
    return x.reshape(x.shape[0], x.shape[1], self.d_k, self.num_heads).permute(0, 3, 1, 2)


def heads_after_positions(self: Any, x: Tensor) -> Tensor:
    return x.reshape(x.shape[0], x.shape[1], self.num_heads, self.d_k)


def one_big_head(self: Any, x: Tensor) -> Tensor:
    return x.unsqueeze(1)


def first_head_only(self: Any, x: Tensor) -> Tensor:
    return Steps.split(self, x)[:, :1].expand(-1, self.num_heads, -1, -1)


def reshaped_back(self: Any, heads: Tensor) -> Tensor:
    batch, _, n, _ = heads.shape
    return heads.reshape(batch, n, -1)


def viewed_back(self: Any, heads: Tensor) -> Tensor:
    batch, _, n, _ = heads.shape
    return heads.transpose(1, 2).view(batch, n, -1)


def both_reshaped() -> dict[str, Any]:
    return {"split": view_only, "concat": reshaped_back}


def interleaved_back(self: Any, heads: Tensor) -> Tensor:
    return heads.permute(0, 2, 3, 1).flatten(2)


def averaged_heads(self: Any, heads: Tensor) -> Tensor:
    return heads.mean(dim=1).repeat(1, 1, self.num_heads)


def summed_heads(self: Any, heads: Tensor) -> Tensor:
    return heads.sum(dim=1).repeat(1, 1, self.num_heads)


def for_a_square(self: Any, heads: Tensor) -> Tensor:
    return heads.transpose(2, 3).reshape(heads.shape[0], heads.shape[2], -1)


HEADS: tuple[Told, ...] = (
    (
        "view-without-transpose",
        "the features are cut into heads by a reshape alone, which mixes positions and heads.",
        "reshape to (batch, n, num_heads, d_k), then transpose(1, 2); split_heads does it.",
        ({"split": view_only},),
    ),
    (
        "reshape-without-transpose-back",
        "the heads are joined by a reshape alone, which mixes positions and heads.",
        "transpose(1, 2) first, then reshape; concat_heads does it.",
        ({"concat": reshaped_back},),
    ),
    (
        "both-reshaped",
        "heads are cut and joined by reshapes alone. That undoes itself, but in between each head "
        "sees pieces of several positions.",
        "transpose(1, 2) after cutting and before joining; split_heads and concat_heads do it.",
        (both_reshaped(),),
    ),
    (
        "features-interleaved",
        "a head takes every num_heads-th feature, where it should take d_k neighbours.",
        "reshape to (batch, n, num_heads, d_k): heads first, then the features of one.",
        (
            {"split": interleaved},
            {"split": interleaved, "concat": interleaved_back},
            {"concat": interleaved_back},
        ),
    ),
    (
        "attends-over-heads",
        "the heads' axis is where the positions should be, so heads attend to each other.",
        "bring the heads before the positions: transpose(1, 2).",
        (
            {
                "split": heads_after_positions,
                "concat": lambda self, heads: heads.flatten(2),
            },
        ),
    ),
    (
        "view-after-transpose",
        "view cannot join axes that a transpose has moved apart in memory.",
        "use reshape or flatten, or .contiguous() before view.",
        ({"concat": viewed_back},),
    ),
    (
        "one-head",
        "there is one head over all features, whatever num_heads is.",
        "split queries, keys and values into num_heads heads.",
        (
            {
                "split": one_big_head,
                "scale": lambda self, scores: scores / math.sqrt(self.d_model),
            },
            {"split": one_big_head},
        ),
    ),
    (
        "all-heads-alike",
        "every head computes the same.",
        "let head i use its own d_k features.",
        ({"split": first_head_only},),
    ),
    (
        "heads-merged",
        "the heads are added up or averaged, where they should stand side by side.",
        "concatenate them.",
        ({"concat": averaged_heads}, {"concat": summed_heads}),
    ),
    (
        "heads-turned",
        "positions and features of a head have changed places before joining.",
        "transpose axes 1 and 2, the heads and the positions.",
        ({"concat": for_a_square},),
    ),
)
