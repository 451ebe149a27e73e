"""Correct implementations, written in as many ways as people write them. All must pass.

Exercise name → the ways. Where no library is meant, plain Python works on nested lists.
"""

import math
from collections.abc import Callable
from typing import Any

import einops
import numpy as np
import torch


def loops_weighted_average(values: Any, weights: Any) -> Any:
    out = np.zeros(values.shape[:-1], dtype=values.dtype)
    for index in np.ndindex(*values.shape):
        out[index[:-1]] += values[index] * weights[index]
    return out


def loops_scores(q: Any, k: Any) -> Any:
    out = np.zeros((*q.shape[:-1], k.shape[-2]), dtype=q.dtype)
    for index in np.ndindex(*out.shape):
        *lead, i, j = index
        out[index] = sum(q[(*lead, i)] * k[(*lead, j)])
    return out


def plain_scores(q: Any, k: Any) -> Any:
    def scores(a: Any, b: Any) -> Any:
        if isinstance(a[0][0], list):
            return [scores(x, y) for x, y in zip(a, b, strict=True)]
        return [[sum(x * y for x, y in zip(row, key, strict=True)) for key in b] for row in a]

    return np.array(scores(q.tolist(), k.tolist()))


def plain_softmax(scores: Any) -> Any:
    def row(s: Any) -> Any:
        if isinstance(s[0], list):
            return [row(part) for part in s]
        top = max(s)
        e = [math.exp(x - top) for x in s]
        return [x / math.fsum(e) for x in e]

    return np.array(row(scores.tolist()))


def logsumexp_softmax(scores: Any) -> Any:
    top = scores.max(axis=-1, keepdims=True)
    log_sum = top + np.log(np.exp(scores - top).sum(axis=-1, keepdims=True))
    return np.exp(scores - log_sum)


def logaddexp_softmax(scores: Any) -> Any:
    return np.exp(scores - np.logaddexp.reduce(scores, axis=-1, keepdims=True))


def looped_softmax(scores: Any, axis: int = -1) -> Any:
    out = np.empty_like(scores)
    for index in np.ndindex(*scores.shape[:-1]):
        e = np.exp(scores[index] - np.max(scores[index]))
        print("a row", index)
        out[index] = e / e.sum()
    return out


def renormalised_softmax(scores: Any) -> Any:
    e = np.exp(scores - np.amax(scores, axis=-1, keepdims=True))
    weights = e / e.sum(-1)[..., None]
    return weights / weights.sum(-1, keepdims=True)


def differences_softmax(scores: Any) -> Any:
    # One over the sum of exp of differences: nothing is subtracted beforehand.
    with np.errstate(over="ignore"):
        return 1 / np.exp(scores[..., None, :] - scores[..., :, None]).sum(axis=-1)


def einsum_attention(q: Any, k: Any, v: Any) -> Any:
    weights = logsumexp_softmax(np.einsum("...qd,...kd->...qk", q, k))
    return np.einsum("...qk,...kd->...qd", weights, v), weights


def einops_attention(q: Any, k: Any, v: Any) -> Any:
    weights = renormalised_softmax(q @ einops.rearrange(k, "... n d -> ... d n"))
    return einops.einsum(weights, v, "... q k, ... k d -> ... q d"), weights


def query_by_query_attention(q: Any, k: Any, v: Any) -> Any:
    rows = []
    for i in range(q.shape[-2]):
        rows.append(plain_softmax((q[..., i : i + 1, :] * k).sum(axis=-1)))
    weights = np.stack(rows, axis=-2)
    return (weights[..., None] * v[..., None, :, :]).sum(axis=-2), weights


def unnormalised_attention(q: Any, k: Any, v: Any) -> Any:
    scores = q @ np.moveaxis(k, -1, -2)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    total = e.sum(-1, keepdims=True)
    return [(e @ v) / total, e / total]


def through_columns(x: Any, w_q: Any, w_k: Any, w_v: Any) -> Any:
    """Positions as columns, projections from the left."""
    columns = np.swapaxes(x, -1, -2)
    q, k, v = (np.swapaxes(w.T @ columns, -1, -2) for w in (w_q, w_k, w_v))
    return einsum_attention(q, k, v)


def one_bilinear_form(x: Any, w_q: Any, w_k: Any, w_v: Any) -> Any:
    weights = renormalised_softmax(x @ (w_q @ w_k.T) @ np.swapaxes(x, -1, -2))
    return (weights @ x) @ w_v, weights


def fused_projection(x: Any, w_q: Any, w_k: Any, w_v: Any, *, verbose: bool = False) -> Any:
    sizes = np.cumsum([w_q.shape[1], w_k.shape[1]])
    q, k, v = np.split(x @ np.concatenate([w_q, w_k, w_v], axis=1), sizes, axis=-1)
    return einops_attention(q, k, v)


def in_wider_precision(x: Any, w_q: Any, w_k: Any, w_v: Any) -> Any:
    wide = [np.asarray(a, dtype=np.longdouble) for a in (x, w_q, w_k, w_v)]
    q, k, v = (wide[0] @ w for w in wide[1:])
    output, weights = unnormalised_attention(q, k, v)
    return output.astype(np.float64), weights.astype(np.float64)


def looped_variance(d_k: Any, num_samples: Any, generator: Any) -> Any:
    q = torch.randn(num_samples, d_k, generator=generator)
    k = torch.randn(num_samples, d_k, generator=generator)
    dots = torch.stack([a @ b for a, b in zip(q, k, strict=True)])
    return ((dots - dots.mean()) ** 2).sum() / (num_samples - 1)


def numpy_variance(d_k: Any, num_samples: Any, generator: Any) -> Any:
    q, k = (torch.randn(num_samples, d_k, generator=generator) for _ in "qk")
    return torch.tensor(np.var((q * k).numpy().sum(1), ddof=1))


def einsum_scaled(q: Any, k: Any, v: Any) -> Any:
    weights = (torch.einsum("...qd,...kd->...qk", q, k) * q.shape[-1] ** -0.5).softmax(-1)
    return torch.einsum("...qk,...kd->...qd", weights, v), weights


def scaled_before(q: Any, k: Any, v: Any) -> Any:
    fourth_root = q.shape[-1] ** 0.25
    weights = torch.softmax((q / fourth_root) @ (k / fourth_root).mT, dim=-1)
    return torch.matmul(weights, v), weights


def logsumexp_scaled(q: Any, k: Any, v: Any) -> Any:
    scores = einops.einsum(q, k, "... q d, ... k d -> ... q k") / math.sqrt(k.size(-1))
    weights = (scores - scores.logsumexp(-1, keepdim=True)).exp()
    return einops.einsum(weights, v, "... q k, ... k d -> ... q d"), weights


def flattened_scaled(q: Any, k: Any, v: Any) -> Any:
    """Leading axes folded into one for bmm and baddbmm, and unfolded again."""
    lead = q.shape[:-2]
    q3, k3, v3 = (t.reshape(-1, *t.shape[-2:]) for t in (q, k, v))
    nothing = torch.zeros(1, dtype=q.dtype)
    scores = torch.baddbmm(nothing, q3, k3.transpose(1, 2), beta=0, alpha=q.shape[-1] ** -0.5)
    weights = torch.softmax(scores, dim=2)
    output = torch.bmm(weights, v3)
    return output.reshape(*lead, *output.shape[1:]), weights.reshape(*lead, *weights.shape[1:])


def looped_jacobian(weights: Any) -> Any:
    n = weights.shape[-1]
    rows = []
    for i in range(n):
        row = [weights[..., i] * ((1.0 if i == j else 0.0) - weights[..., j]) for j in range(n)]
        rows.append(torch.stack(row, dim=-1))
    return torch.stack(rows, dim=-2)


def looped_entropy(weights: Any) -> Any:
    total = torch.zeros_like(weights[..., 0])
    for j in range(weights.shape[-1]):
        w = weights[..., j]
        total = total - torch.where(
            w > 0, w * torch.log(w.clamp_min(torch.finfo(w.dtype).tiny)), 0.0
        )
    return total


VARIANTS: dict[str, tuple[Callable[..., Any], ...]] = {
    "weighted_average": (
        loops_weighted_average,
        lambda values, weights: np.einsum("...n,...n->...", values, weights),
        lambda values, weights: einops.einsum(values, weights, "... n, ... n -> ..."),
        lambda values, weights: np.average(values, axis=-1, weights=weights),
        lambda values, weights: (values[..., None, :] @ weights[..., :, None])[..., 0, 0],
        lambda a, b: np.sum(a * b, -1) / np.sum(b, -1),
        lambda values, weights: (
            math.fsum(map(float.__mul__, values.tolist(), weights.tolist()))
            if values.ndim == 1
            else np.vecdot(values, weights)
        ),
    ),
    "dot_product_scores": (
        loops_scores,
        plain_scores,
        lambda q, k: np.einsum("...qd,...kd->...qk", q, k),
        lambda q, k: einops.einsum(q, k, "... q d, ... k d -> ... q k"),
        lambda q, k: q @ einops.rearrange(k, "... n d -> ... d n"),
        lambda q, k: np.matmul(q, np.moveaxis(k, -2, -1)),
        lambda queries, keys, scale=1.0: (queries[..., :, None, :] * keys[..., None, :, :]).sum(-1),
        lambda q, k: np.swapaxes(k @ np.swapaxes(q, -1, -2), -1, -2),
        lambda q, k: np.astype(q, np.float64) @ k.mT,
    ),
    "softmax": (
        plain_softmax,
        logsumexp_softmax,
        logaddexp_softmax,
        looped_softmax,
        renormalised_softmax,
        differences_softmax,
    ),
    "attention": (
        einsum_attention,
        einops_attention,
        query_by_query_attention,
        unnormalised_attention,
    ),
    "self_attention": (
        through_columns,
        one_bilinear_form,
        fused_projection,
        in_wider_precision,
        lambda x, a, b, c: query_by_query_attention(
            np.einsum("...nd,de->...ne", x, a), np.tensordot(x, b, 1), np.dot(x, c)
        ),
    ),
    "dot_product_variance": (
        looped_variance,
        numpy_variance,
        lambda d_k, num_samples, generator: torch.var(
            torch.einsum(
                "nd,nd->n",
                torch.randn(num_samples, d_k, generator=generator),
                torch.randn(num_samples, d_k, generator=generator),
            ),
            dim=0,
        ),
        lambda d_k, num_samples, generator: torch.linalg.vecdot(
            torch.randn(num_samples, d_k, generator=generator),
            torch.randn((num_samples, d_k), generator=generator),
        ).var(unbiased=True),
    ),
    "scaled_dot_product_attention": (
        einsum_scaled,
        scaled_before,
        logsumexp_scaled,
        flattened_scaled,
    ),
    "softmax_jacobian": (
        looped_jacobian,
        lambda w: torch.diag_embed(w) - torch.einsum("...i,...j->...ij", w, w),
        lambda w: w[..., :, None] * (torch.eye(w.shape[-1], dtype=w.dtype) - w[..., None, :]),
        lambda w: (
            torch.eye(w.shape[-1], dtype=w.dtype) * w[..., None] - w[..., None] @ w[..., None, :]
        ),
    ),
    "attention_entropy": (
        looped_entropy,
        lambda w: torch.special.entr(w).sum(-1),
        lambda w: -torch.nan_to_num(w * w.log()).sum(-1),
        lambda w: -(w * torch.where(w == 0, 1, w).log()).sum(dim=-1),
        lambda w: -torch.einsum("...k,...k->...", w, w.clamp_min(torch.finfo(w.dtype).tiny).log()),
    ),
}
