"""Masking in a module of multi-head attention, right and wrong: what its mistakes are made of."""

import math
from typing import Any

import torch
from torch import Tensor

from autograder.mistakes.module_steps import Steps

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


def finished(weights: Any) -> Any:
    """The same, with 0 for NaN."""
    return lambda w, mask: torch.nan_to_num(weights(w, mask), nan=0.0)


def shifted(scores: Tensor, mask: Tensor) -> Tensor:
    """The largest score of all keys, hidden ones too, is subtracted before the mask is applied."""
    e = (scores - scores.amax(dim=-1, keepdim=True).detach()).masked_fill(~mask, -INF).exp()
    return torch.nan_to_num(e / e.sum(dim=-1, keepdim=True), nan=0.0)


def mask_kept_for_mixing(self: Any, scores: Tensor, mask: Any) -> Tensor:
    self.hiding = mask
    return self.normalise(scores)


def masked_when_mixing(self: Any, weights: Tensor) -> Tensor:
    return Steps.drop(self, weights if self.hiding is None else weights * self.hiding)


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
