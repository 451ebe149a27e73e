"""Mistakes with the mask of a module of multi-head attention."""

import math
from typing import Any

import torch
from torch import Tensor

from autograder.mistakes.module_steps import ELSEWHERE, MADE_ON_THE_CPU, MAKE_IT_THERE, Steps, Told

INF = math.inf


def filling(number: Any, **more: Any) -> dict[str, Any]:
    """The mask applied by filling with a number, and nothing else."""

    def weigh(self: Any, scores: Tensor, mask: Any) -> Tensor:
        return self.normalise(scores if mask is None else scores.masked_fill(~mask, number))

    return {"weigh": weigh, **more}


def masking(hide: Any) -> dict[str, Any]:
    """Scores changed by hide(scores, mask) before the softmax."""

    def weigh(self: Any, scores: Tensor, mask: Any) -> Tensor:
        return self.normalise(scores if mask is None else hide(scores, mask))

    return {"weigh": weigh}


def transforming(change: Any) -> dict[str, Any]:
    """The right masking, with a changed mask."""

    def weigh(self: Any, scores: Tensor, mask: Any) -> Tensor:
        return Steps.weigh(self, scores, change(self, scores, mask))

    return {"weigh": weigh}


def after(change: Any) -> dict[str, Any]:
    """The plain softmax, and the mask applied to the weights."""

    def weigh(self: Any, scores: Tensor, mask: Any) -> Tensor:
        weights = self.normalise(scores)
        return weights if mask is None else change(weights, mask)

    return {"weigh": weigh}


def renormalised(weights: Tensor, mask: Tensor) -> Tensor:
    kept = weights * mask
    return kept / kept.sum(dim=-1, keepdim=True)


def renormalised_safely(weights: Tensor, mask: Tensor) -> Tensor:
    kept = weights * mask
    return kept / (kept.sum(dim=-1, keepdim=True) + 1e-9)


def renormalised_clamped(weights: Tensor, mask: Tensor) -> Tensor:
    kept = weights * mask
    return kept / kept.sum(dim=-1, keepdim=True).clamp(min=1e-9)


def first_head_only(self: Any, scores: Tensor, mask: Any) -> Any:
    return mask[:, :1] if mask is not None and mask.ndim == 4 else mask


def first_text_only(self: Any, scores: Tensor, mask: Any) -> Any:
    return mask[:1] if mask is not None and mask.ndim == 4 else mask


def any_head(self: Any, scores: Tensor, mask: Any) -> Any:
    return mask.any(1, keepdim=True) if mask is not None and mask.ndim == 4 else mask


def all_heads(self: Any, scores: Tensor, mask: Any) -> Any:
    return mask.all(1, keepdim=True) if mask is not None and mask.ndim == 4 else mask


def too_high(number: float) -> dict[str, Any]:
    """A number that scores can be below, and hidden weights set to zero afterwards."""
    return masking_with(lambda self, s, mask: self.normalise(s.masked_fill(~mask, number)) * mask)


def masking_with(weights: Any) -> dict[str, Any]:
    def weigh(self: Any, scores: Tensor, mask: Any) -> Tensor:
        if mask is None:
            return self.normalise(scores)
        result: Tensor = weights(self, scores, mask)
        return result

    return {"weigh": weigh}


def clamped(limit: float) -> dict[str, Any]:
    return {"scale": lambda self, s: Steps.scale(self, s).clamp(-limit, limit)}


def remembering_empty(self: Any, scores: Tensor, mask: Any) -> Tensor:
    self.seeing = None if mask is None else mask.expand(scores.shape).any(-1).any(1)[..., None]
    return Steps.weigh(self, scores, mask)


def zero_where_empty(self: Any, joined: Tensor) -> Any:
    output = Steps.leave(self, joined)
    return output if self.seeing is None else output * self.seeing


def added_infinity(scores: Tensor, mask: Tensor) -> Tensor:
    return scores + torch.zeros_like(scores).masked_fill(~mask, -INF)


def nan_to_zero(self: Any, scores: Tensor, mask: Any) -> Tensor:
    if mask is None:
        return self.normalise(scores)
    return torch.nan_to_num(self.normalise(added_infinity(scores, mask)))


def nan_replaced(self: Any, scores: Tensor, mask: Any) -> Tensor:
    if mask is None:
        return self.normalise(scores)
    weights = self.normalise(added_infinity(scores, mask))
    return weights.masked_fill(torch.isnan(weights), 0.0)


def three_axes_are_batch(self: Any, scores: Tensor, mask: Any) -> Any:
    return mask.unsqueeze(1) if mask is not None and mask.ndim == 3 else mask


def unsqueezed_always(self: Any, scores: Tensor, mask: Any) -> Any:
    return None if mask is None else mask.unsqueeze(1)


def padding_meets_heads(self: Any, scores: Tensor, mask: Any) -> Any:
    return mask.squeeze(1) if mask is not None and mask.ndim == 4 else mask


def first_mask_only(self: Any, scores: Tensor, mask: Any) -> Any:
    while mask is not None and mask.ndim > 2:
        mask = mask[0]
    return mask


def lower(scores: Tensor, shift: int = 0) -> Tensor:
    return torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril(shift)


def always_causal(self: Any, scores: Tensor, mask: Any) -> Any:
    return lower(scores) if mask is None else mask & lower(scores)


def causal_by_default(self: Any, scores: Tensor, mask: Any) -> Any:
    return lower(scores) if mask is None else mask


def mask_on_the_cpu(self: Any, scores: Tensor, mask: Any) -> Any:
    everything = torch.ones(scores.shape[-2:], dtype=torch.bool)
    return everything if mask is None else mask & everything


def fixed_buffer(self: Any, d_model: int, bias: bool) -> None:
    Steps.build(self, d_model, bias)
    self.register_buffer("allowed", torch.ones(4, 4, dtype=torch.bool), persistent=False)


def through_buffer(self: Any, scores: Tensor, mask: Any) -> Any:
    return self.allowed if mask is None else mask & self.allowed


def query_rows(self: Any, scores: Tensor, mask: Any) -> Any:
    if mask is None or mask.shape[-2] != 1 or mask.shape[-1] != scores.shape[-2]:
        return mask
    return mask & mask.transpose(-2, -1)


def turned(self: Any, scores: Tensor, mask: Any) -> Any:
    return None if mask is None else mask.transpose(-2, -1)


def untracked(scores: Tensor, mask: Tensor) -> Tensor:
    empty = ~mask.any(-1, keepdim=True)
    with torch.no_grad():
        return scores.masked_fill(~mask, -INF).masked_fill(empty, 0.0)


def added(scores: Tensor, mask: Tensor) -> Tensor:
    return scores + mask


def ignored(self: Any, scores: Tensor, mask: Any) -> Tensor:
    return self.normalise(scores)


MASKS: tuple[Told, ...] = (
    (
        "mask-ignored",
        "the mask changes nothing. `masked_fill` without an underscore returns a new tensor.",
        "write scores = scores.masked_fill(~mask, -math.inf), or use masked_softmax.",
        ({"weigh": ignored},),
    ),
    (
        "mask-inverted",
        "the mask is read the other way round, as nn.MultiheadAttention reads its own.",
        "True means that a query may attend: hide where ~mask.",
        (
            transforming(lambda self, s, mask: None if mask is None else ~mask),
            masking(lambda s, mask: s.masked_fill(mask, -INF)),
            masking(lambda s, mask: s.masked_fill(mask, -1e9)),
        ),
    ),
    (
        "empty-row-not-a-number",
        "a query that may attend to nothing has −∞ everywhere, and its softmax is 0/0.",
        "use masked_softmax, which gives such a query zero weights.",
        (
            filling(-INF),
            masking(lambda s, mask: torch.where(mask, s, -INF)),
            masking(added_infinity),
            masking(lambda s, mask: s + mask.log()),
        ),
    ),
    (
        "empty-row-spoils-gradients",
        "NaN weights are replaced by 0, which mends the output, but the gradients still pass "
        "through 0/0.",
        "keep NaN from arising: use masked_softmax.",
        ({"weigh": nan_to_zero}, {"weigh": nan_replaced}),
    ),
    (
        "large-negative-number",
        "hidden scores become a large negative number. A query that may attend to nothing then "
        "attends to everything alike, and float16 ends at −65504.",
        "use masked_softmax, or fill with -math.inf and give empty rows zero weights.",
        (
            filling(-1e9),
            filling(-1e20),
            filling(-1e4),
            filling(-65504.0),
            masking(lambda s, mask: s.masked_fill(~mask, torch.finfo(s.dtype).min)),
            masking(lambda s, mask: s + (~mask) * -1e9),
            masking(lambda s, mask: s + (1.0 - mask.to(s.dtype)) * -1e9),
        ),
    ),
    (
        "filled-with-zero",
        "hidden scores become 0, and e⁰ = 1: they still get weight. Multiplying by the mask does "
        "the same.",
        "use masked_softmax, or fill with -math.inf before the softmax.",
        (
            filling(0.0),
            masking(lambda s, mask: s * mask),
        ),
    ),
    (
        "mask-added",
        "the boolean mask is added to the scores, which adds 1 where attending is allowed.",
        "use masked_softmax, or masked_fill(~mask, -math.inf).",
        (masking(added),),
    ),
    (
        "masked-after-softmax",
        "the mask is applied to the weights, and what is left does not sum to 1.",
        "mask the scores before the softmax; masked_softmax does it.",
        (
            after(lambda w, mask: w * mask),
            after(lambda w, mask: w.masked_fill(~mask, 0.0)),
        ),
    ),
    (
        "renormalised-after-softmax",
        "the weights are masked after the softmax and divided by their sum. If those that are left "
        "are very small, that is 0/0.",
        "mask the scores before the softmax; masked_softmax does it.",
        (after(renormalised), after(renormalised_safely), after(renormalised_clamped)),
    ),
    (
        "fill-not-low-enough",
        "hidden scores become a number that other scores can be below, and take all the weight.",
        "fill with -math.inf, or use masked_softmax.",
        (too_high(-1e4), too_high(-1e3), too_high(-100.0)),
    ),
    (
        "scores-clamped",
        "the scores are cut off at some number, so that large ones become equal.",
        "leave the scores as they are: torch.softmax copes with large ones.",
        (clamped(5e3), clamped(1e4), clamped(100.0), clamped(50.0), clamped(30.0)),
    ),
    (
        "empty-row-output-zeroed",
        "the output of a query that may attend to nothing is set to 0; its heads are 0, and W_o "
        "still adds its bias.",
        "give such a query zero weights, and let W_o do the rest.",
        ({"weigh": remembering_empty, "leave": zero_where_empty},),
    ),
    (
        "three-axes-taken-for-a-batch",
        "a mask of three axes is read as (batch, query, key); here it means (head, query, key).",
        "let it broadcast as it is; add no axis.",
        (transforming(three_axes_are_batch),),
    ),
    (
        "axis-added-to-the-mask",
        "the mask gets an axis that it has already, or does not need.",
        "let it broadcast as it is: it fits the scores (batch, heads, n_q, n_k).",
        (transforming(unsqueezed_always),),
    ),
    (
        "batch-meets-heads",
        "the mask loses an axis, so that its batch axis meets the heads.",
        "leave it (batch, 1, …): the axis of length 1 stands for the heads.",
        (transforming(padding_meets_heads),),
    ),
    (
        "first-mask-for-all",
        "the mask of the first text, or of the first head, serves all of them.",
        "let the whole mask broadcast.",
        (
            transforming(first_mask_only),
            transforming(first_head_only),
            transforming(first_text_only),
            transforming(any_head),
            transforming(all_heads),
        ),
    ),
    (
        "always-causal",
        "later words are hidden from earlier ones, although nobody asked.",
        "hide what the mask hides, and nothing else; without a mask hide nothing.",
        (transforming(always_causal), transforming(causal_by_default)),
    ),
    (
        MADE_ON_THE_CPU,
        ELSEWHERE,
        MAKE_IT_THERE,
        (transforming(mask_on_the_cpu),),
    ),
    (
        "mask-of-fixed-size",
        "a mask is made once, for texts of one length.",
        "cut it to the sizes at hand, or make it in forward.",
        ({"build": fixed_buffer, **transforming(through_buffer)},),
    ),
    (
        "queries-masked",
        "a mask for the keys is applied to the queries too, so that padding gets empty rows.",
        "hide keys alone: the mask broadcasts over the queries.",
        (transforming(query_rows),),
    ),
    (
        "mask-transposed",
        "queries and keys of the mask have changed places.",
        "use the mask as it is: (…, query, key).",
        (transforming(turned),),
    ),
    (
        "masked-without-gradients",
        "the masking is kept from autograd, so that nothing is learned through the scores.",
        "leave no_grad and .data out.",
        (masking(untracked),),
    ),
)
