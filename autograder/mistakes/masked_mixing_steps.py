"""Attention under a mask, right and wrong: what its mistakes are made of."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.mistakes.attention_steps import Scores, products, right_scores, root
from autograder.mistakes.masked_steps import NOTHING, masked, right

Weights = Callable[[Tensor, Tensor | None], Any]
Mix = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor | None], Any]

right_weights = masked(right)


def right_mix(w: Tensor, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Any:
    return w @ v, w


def attending(
    scores: Scores = right_scores, weights: Weights = right_weights, mix: Mix = right_mix
) -> Callable[..., Any]:
    """Attention under a mask from three steps, each of which may be wrong."""
    return lambda q, k, v, mask=None: mix(weights(scores(q, k), mask), q, k, v, mask)


def scoring(*scores: Scores) -> list[Callable[..., Any]]:
    return [attending(scores=each) for each in scores]


def mixing(*mixes: Mix) -> list[Callable[..., Any]]:
    return [attending(mix=each) for each in mixes]


def without_mask(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Any:
    return attending()(q, k, v)


def masked_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Any:
    """Without a default for the mask. It bears the name that Python's message has."""
    return attending()(q, k, v, mask)


def keys_masked(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Any:
    """The mask, as one of keys, multiplied onto k: the scores of hidden keys become 0."""
    if mask is None:
        return attending()(q, k, v)
    return attending()(q, k * mask.any(dim=-2).unsqueeze(-1), v)


def output_repaired(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Any:
    """NaN is taken out of the output, and stays in the weights."""
    scores = right_scores(q, k)
    if mask is not None:
        scores = scores.masked_fill(~mask, NOTHING)
    weights = torch.softmax(scores, dim=-1)
    return (weights @ v).nan_to_num(0), weights


def weights_of_all_returned(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Any:
    scores = right_scores(q, k)
    return right_weights(scores, mask) @ v, torch.softmax(scores, dim=-1)


def scores_returned(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Any:
    scores = right_scores(q, k)
    return right_weights(scores, mask) @ v, scores


def masked_scores_returned(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Any:
    scores = right_scores(q, k)
    hidden = scores if mask is None else scores.masked_fill(~mask, NOTHING)
    return right_weights(scores, mask) @ v, hidden


def query_scaled_in_place(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Any:
    q /= root(q)
    weights = right_weights(products(q, k), mask)
    return weights @ v, weights


def value_zeroed_in_place(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Any:
    output, weights = attending()(q, k, v, mask)
    v *= 0
    return output, weights


def mask_turned_in_place(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Any:
    result = attending()(q, k, v, mask)
    if mask is not None:
        mask.logical_not_()
    return result


def causal_too(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Any:
    n_q, n_k = q.shape[-2], k.shape[-2]
    causal = torch.ones(n_q, n_k, dtype=torch.bool).tril(max(n_k - n_q, 0))
    return attending()(q, k, v, causal if mask is None else mask & causal)


def causal_without_mask(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Any:
    n_q, n_k = q.shape[-2], k.shape[-2]
    if mask is None and n_q == n_k:
        mask = torch.ones(n_q, n_k, dtype=torch.bool).tril()
    return attending()(q, k, v, mask)


def padding_on_queries(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Any:
    if mask is not None and mask.shape[-2] == 1 and q.shape[-2] == k.shape[-2]:
        mask = mask.transpose(-2, -1)
    return attending()(q, k, v, mask)
