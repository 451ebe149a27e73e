"""The softmax under a mask, right and wrong: what its mistakes are made of."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Weights = Callable[[Tensor, Tensor], Any]
NOTHING = -math.inf


def softmax(scores: Tensor) -> Tensor:
    return torch.softmax(scores, dim=-1)


def empty(mask: Tensor) -> Tensor:
    return ~mask.any(dim=-1, keepdim=True)


def right(scores: Tensor, mask: Tensor) -> Tensor:
    return softmax(scores.masked_fill(~mask, NOTHING).masked_fill(empty(mask), 0)).masked_fill(
        empty(mask), 0
    )


def masked(weights: Weights) -> Callable[[Tensor, Tensor | None], Any]:
    """A softmax that is right without a mask, and with one does what `weights` does."""
    return lambda scores, mask: softmax(scores) if mask is None else weights(scores, mask)


def masking(*each: Weights) -> list[Callable[..., Any]]:
    return [masked(weights) for weights in each]


def zeroed(weights: Weights) -> Weights:
    """The same, with zeros in the rows that may attend to nothing."""
    return lambda scores, mask: weights(scores, mask).masked_fill(empty(mask), 0)


def filled(value: float) -> Weights:
    return lambda scores, mask: softmax(scores.masked_fill(~mask, value))


def added(value: float) -> Weights:
    """The mask as numbers to add: 0 where allowed, `value` elsewhere, in the scores' dtype."""

    def weights(scores: Tensor, mask: Tensor) -> Tensor:
        return softmax(
            scores + torch.zeros_like(mask, dtype=scores.dtype).masked_fill(~mask, value)
        )

    return weights


def then_masked(weights: Weights) -> Weights:
    return lambda scores, mask: weights(scores, mask) * mask


def finished(weights: Weights) -> Weights:
    return lambda scores, mask: weights(scores, mask).nan_to_num(0)


def below_the_lowest(scores: Tensor, mask: Tensor) -> Tensor:
    """Hidden scores are lower than all others, but no more than that."""
    return softmax(torch.where(mask, scores, scores.min() - 20))


def under_empty(find: Callable[[Tensor], Tensor]) -> Weights:
    """Right, but for the rows that are taken for empty."""
    return lambda scores, mask: softmax(
        scores.masked_fill(~mask, NOTHING).masked_fill(find(mask), 0)
    ).masked_fill(find(mask), 0)


def filled_under_empty(find: Callable[[Tensor], Tensor]) -> Weights:
    """The same, with the rows taken for empty set right after the softmax alone."""
    return lambda scores, mask: softmax(scores.masked_fill(~mask, NOTHING)).masked_fill(
        find(mask), 0
    )


def lowest(scores: Tensor, mask: Tensor) -> Tensor:
    return softmax(scores.masked_fill(~mask, torch.finfo(scores.dtype).min))


def products(scores: Tensor, mask: Tensor) -> Tensor:
    return softmax(scores * mask)


def renormalised(scores: Tensor, mask: Tensor, least: float = 0.0) -> Tensor:
    weights = softmax(scores) * mask
    return weights / weights.sum(dim=-1, keepdim=True).clamp_min(least)


def divided(e: Tensor) -> Tensor:
    return e / e.sum(dim=-1, keepdim=True)


def with_epsilon(e: Tensor, epsilon: float = 1e-8) -> Tensor:
    return e / (e.sum(dim=-1, keepdim=True) + epsilon)


def divided_or_left(e: Tensor) -> Tensor:
    """Divided by its sum, and left as it is where that is 0."""
    total = e.sum(dim=-1, keepdim=True)
    return e / total.masked_fill(total == 0, 1)


def exponentials(scores: Tensor, mask: Tensor, least: float = 0.0) -> Tensor:
    e = scores.exp() * mask
    return e / e.sum(dim=-1, keepdim=True).clamp_min(least)


def one_maximum(scores: Tensor, mask: Tensor, least: float = 0.0) -> Tensor:
    e = (scores - scores.masked_fill(~mask, NOTHING).max().detach()).exp() * mask
    return e / e.sum(dim=-1, keepdim=True).clamp_min(least)


def divided_where_possible(scores: Tensor, mask: Tensor) -> Tensor:
    """torch.where hides the NaN of 0/0 from the result, and not from the gradients."""
    hidden = scores + torch.zeros_like(mask, dtype=scores.dtype).masked_fill(~mask, NOTHING)
    top = hidden.amax(dim=-1, keepdim=True).masked_fill(empty(mask), 0).detach()
    e = (hidden - top).exp()
    total = e.sum(dim=-1, keepdim=True)
    return torch.where(total > 0, e / total, 0.0)


def shifted_exponentials(scores: Tensor, mask: Tensor) -> Tensor:
    """exp() of the allowed scores, the largest of each row subtracted; 0 for hidden ones."""
    hidden = scores.masked_fill(~mask, NOTHING)
    top = hidden.amax(dim=-1, keepdim=True).masked_fill(empty(mask), 0).detach()
    return (hidden - top).exp()


def constant_denominator(scores: Tensor, mask: Tensor) -> Tensor:
    e = shifted_exponentials(scores, mask)
    return e / e.sum(dim=-1, keepdim=True).masked_fill(empty(mask), 1).detach()


def filled_without_gradients(scores: Tensor, mask: Tensor) -> Tensor:
    with torch.no_grad():
        return right(scores, mask)


def repaired_in_place(scores: Tensor, mask: Tensor) -> Tensor:
    weights = softmax(scores.masked_fill(~mask, NOTHING))
    weights[weights.isnan()] = 0
    return weights


def zeroed_in_place(scores: Tensor, mask: Tensor) -> Tensor:
    weights = softmax(scores.masked_fill(~mask, NOTHING))
    return weights.masked_fill_(empty(mask), 0)


def over(dim: int) -> Weights:
    return lambda scores, mask: torch.softmax(
        scores.masked_fill(~mask, NOTHING), dim=dim
    ).nan_to_num(0)


def over_everything(scores: Tensor, mask: Tensor) -> Tensor:
    flat = scores.masked_fill(~mask, NOTHING).flatten()
    return torch.softmax(flat, dim=0).reshape(scores.shape)


def under(change: Callable[[Tensor], Tensor]) -> Weights:
    """The right softmax, under another mask than the one that is given."""
    return lambda scores, mask: right(scores, change(mask))


def with_mask(change: Callable[[Tensor], Tensor]) -> list[Callable[..., Any]]:
    """The right softmax, and one that leaves NaN in empty rows, under another mask."""
    return masking(under(change), lambda scores, mask: filled(NOTHING)(scores, change(mask)))


def integer_inverse(scores: Tensor, mask: Tensor) -> Tensor:
    return right(scores, ~(~mask.int()).bool())


def changing_scores(scores: Tensor, mask: Tensor | None) -> Tensor:
    if mask is None:
        return softmax(scores)
    scores.masked_fill_(~mask, NOTHING)
    return softmax(scores).masked_fill(empty(mask), 0)


def changing_scores_behind_autograd(scores: Tensor, mask: Tensor | None) -> Tensor:
    if mask is None:
        return softmax(scores)
    scores.data.masked_fill_(~mask, NOTHING)
    return softmax(scores.masked_fill(empty(mask), 0)).masked_fill(empty(mask), 0)


def changing_mask(scores: Tensor, mask: Tensor | None) -> Tensor:
    if mask is None:
        return softmax(scores)
    nothing = empty(mask)
    hidden = mask.logical_not_()
    return softmax(scores.masked_fill(hidden, NOTHING).masked_fill(nothing, 0)).masked_fill(
        nothing, 0
    )


def opening_empty_rows(scores: Tensor, mask: Tensor | None) -> Tensor:
    if mask is None:
        return softmax(scores)
    nothing = empty(mask)
    mask |= nothing
    return filled(NOTHING)(scores, mask).masked_fill(nothing, 0)


def as_condition(scores: Tensor, mask: Any) -> Tensor:
    hidden: Any = not mask
    return softmax(scores.masked_fill(hidden, NOTHING))


# What people do first with a mask; each stops with words of its own when it is None.
FIRST_STEPS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda scores, mask: ~mask,
    lambda scores, mask: scores.masked_fill(mask == 0, NOTHING),
    lambda scores, mask: torch.where(mask, scores, NOTHING),
    lambda scores, mask: scores.masked_fill(mask, NOTHING),
    lambda scores, mask: mask.float(),
    lambda scores, mask: mask.bool(),
    lambda scores, mask: mask.to(scores.dtype),
    lambda scores, mask: mask.unsqueeze(0),
    lambda scores, mask: torch.logical_not(mask),
    lambda scores, mask: scores * mask,
    lambda scores, mask: mask.any(dim=-1, keepdim=True),
)


def starting(step: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def weights(scores: Tensor, mask: Tensor | None) -> Any:
        if mask is None:
            return step(scores, mask)
        return right(scores, mask)

    return weights
