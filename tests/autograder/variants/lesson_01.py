"""Right versions of lesson 01."""

import math
from typing import Any

import einops
import numpy as np

from tests.autograder.variants.versions import Versions


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


VARIANTS: Versions = {
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
}
