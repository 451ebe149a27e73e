"""Right versions of lesson 05."""

import math
from typing import Any

import einops
import numpy as np
import torch

from tests.autograder.variants.versions import Versions

# causal_mask


def compared_causal(n_q: Any, n_k: Any = None) -> Any:
    if n_k is None:
        n_k = n_q
    if n_q > n_k:
        raise ValueError(f"too few keys: n_q={n_q}, n_k={n_k}")
    query = torch.arange(n_k - n_q, n_k).unsqueeze(1)
    key = torch.arange(n_k).unsqueeze(0)
    return key <= query


def looped_causal(n_q: Any, n_k: Any = None) -> Any:
    n_k = n_q if n_k is None else n_k
    assert n_k >= n_q, (n_q, n_k)
    offset = n_k - n_q
    rows = [[j <= i + offset for j in range(n_k)] for i in range(n_q)]
    return torch.tensor(rows)


def last_rows_of_a_square(n_q: int, n_k: int | None = None, device: Any = None) -> torch.Tensor:
    keys = n_q if n_k is None else n_k
    if keys < n_q:
        raise ValueError("cannot mask {} queries with {} keys".format(n_q, keys))  # noqa: UP032
    return torch.tril(torch.ones(keys, keys, device=device))[-n_q:].bool()


def not_later(n_q: Any, n_k: Any = None) -> Any:
    n_k = n_q if n_k is None else n_k
    if n_k < n_q:
        raise ValueError(n_q, n_k)
    return ~torch.triu(torch.ones((n_q, n_k), dtype=torch.bool), diagonal=1 + n_k - n_q)


def earlier_words_in_front(n_q: Any, n_k: Any = None) -> Any:
    n_k = n_q if n_k is None else n_k
    if n_k - n_q < 0:
        raise ValueError(f"{n_k=} < {n_q=}")
    earlier = torch.ones(n_q, n_k - n_q, dtype=torch.bool)
    return torch.cat([earlier, torch.ones(n_q, n_q, dtype=torch.bool).tril()], dim=1)


def numpy_causal(n_q: Any, n_k: Any = None) -> Any:
    n_k = n_q if n_k is None else n_k
    if n_k < n_q:
        raise ValueError(f"{n_q} > {n_k}")
    return torch.from_numpy(np.tri(n_q, n_k, n_k - n_q, dtype=bool))


# padding_mask


def looped_padding(lengths: Any, max_len: Any) -> Any:
    mask = torch.zeros(len(lengths), 1, 1, max_len, dtype=torch.bool)
    for i, length in enumerate(lengths.tolist()):
        mask[i, :, :, :length] = True
    return mask


def listed_padding(lengths: Any, max_len: Any) -> Any:
    return torch.tensor([[[[j < n for j in range(max_len)]]] for n in lengths])


def counted_padding(lengths: Any, max_len: Any) -> Any:
    """Ones, added up along each row, up to the length."""
    count = torch.ones(lengths.shape[0], max_len, dtype=lengths.dtype).cumsum(dim=1)
    return (count <= lengths.view(-1, 1)).view(-1, 1, 1, max_len)


# masked_softmax


def inside_out(scores: Any, mask: Any) -> Any:
    """Empty rows are opened before the softmax and closed after it."""
    if mask is None:
        return scores.softmax(-1)
    nothing = ~mask.any(-1, keepdim=True)
    weights = torch.where(mask | nothing, scores, -math.inf).softmax(-1)
    return torch.where(nothing, torch.zeros_like(weights), weights)


def mended(scores: Any, mask: Any) -> Any:
    """masked_fill lets no gradient through, so that a NaN does not come back."""
    if mask is None:
        return torch.softmax(scores, dim=-1)
    return torch.nan_to_num(torch.softmax(scores.masked_fill(mask == 0, float("-inf")), dim=-1))


def closed_again(scores: Any, mask: Any) -> Any:
    if mask is None:
        mask = torch.ones_like(scores, dtype=torch.bool)
    hidden = mask.logical_not()
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1).masked_fill(hidden, 0.0)


def additive(scores: Any, mask: Any) -> Any:
    if mask is None:
        return torch.softmax(scores, -1)
    bias = torch.zeros_like(scores).masked_fill(~mask, -math.inf)
    bias = bias.masked_fill(~mask.any(dim=-1, keepdim=True), 0)
    return torch.softmax(scores + bias, -1) * mask


def lowest(scores: Any, mask: Any) -> Any:
    if mask is None:
        return torch.softmax(scores, dim=-1)
    lowest = torch.finfo(scores.dtype).min
    return torch.softmax(scores.masked_fill(~mask, lowest), dim=-1) * mask.to(scores.dtype)


def exponentials(scores: Any, mask: Any) -> Any:
    """By hand, with the largest allowed score subtracted, and 1 for an empty denominator."""
    if mask is None:
        mask = torch.ones((), dtype=torch.bool)
    mask = mask.expand_as(scores)
    hidden = scores.masked_fill(~mask, -math.inf)
    top = hidden.max(dim=-1, keepdim=True).values
    top = torch.where(top == -math.inf, torch.zeros_like(top), top).detach()
    e = torch.exp(hidden - top)
    total = e.sum(dim=-1, keepdim=True)
    return e / torch.where(total == 0, torch.ones_like(total), total)


def clamped(scores: Any, mask: Any) -> Any:
    if mask is None:
        return torch.softmax(scores, dim=-1)
    hidden = scores.masked_fill(~mask, -math.inf)
    top = hidden.amax(dim=-1, keepdim=True).clamp_min(torch.finfo(scores.dtype).min).detach()
    e = (hidden - top).exp()
    return e / e.sum(dim=-1, keepdim=True).clamp_min(1e-3)  # 1 at least, or 0


def renormalised_after_infinity(scores: Any, mask: Any) -> Any:
    if mask is None:
        return torch.softmax(scores, dim=-1)
    empty = ~mask.any(dim=-1, keepdim=True)
    weights = torch.softmax(scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0), dim=-1)
    weights = weights * mask
    return weights / weights.sum(dim=-1, keepdim=True).masked_fill(empty, 1)


def logsumexp(scores: Any, mask: Any) -> Any:
    if mask is None:
        return (scores - scores.logsumexp(dim=-1, keepdim=True)).exp()
    empty = ~mask.any(dim=-1, keepdim=True)
    hidden = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0)
    weights = (hidden - torch.logsumexp(hidden, dim=-1, keepdim=True)).exp()
    return weights.masked_fill(empty, 0)


def row_by_row(scores: Any, mask: Any) -> Any:
    """Each query on its own, over the keys that it may attend to."""
    if mask is None:
        return torch.softmax(scores, dim=-1)
    flat = scores.reshape(-1, scores.shape[-1])
    allowed = mask.broadcast_to(scores.shape).reshape(flat.shape)
    rows = []
    for row, chosen in zip(flat, allowed, strict=True):
        weights = torch.zeros_like(row)
        if chosen.any():
            weights[chosen] = torch.softmax(row[chosen], dim=0)
        rows.append(weights)
    return torch.stack(rows).reshape(scores.shape)


# masked_attention


def with_einsum(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    weights = mended(torch.einsum("...qd,...kd->...qk", q, k) * q.shape[-1] ** -0.5, mask)
    return torch.einsum("...qk,...kd->...qd", weights, v), weights


def with_einops(query: Any, key: Any, value: Any, mask: Any = None, verbose: bool = False) -> Any:
    scores = einops.einsum(query, key, "... i d, ... j d -> ... i j") / math.sqrt(key.shape[-1])
    if verbose:
        print(scores.shape)
    weights = inside_out(scores, mask)
    return einops.einsum(weights, value, "... i j, ... j d -> ... i d"), weights


def masked_before_scaling(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    scores = q @ k.mT
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = torch.softmax(scores / math.sqrt(q.shape[-1]), dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0)
    return weights @ v, weights


def in_place_on_own_scores(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    scores = torch.matmul(q, k.transpose(-1, -2))
    scores /= math.sqrt(q.size(-1))
    if mask is not None:
        scores.masked_fill_(~mask, -math.inf)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = torch.where(mask, weights, 0.0)
    return torch.matmul(weights, v), weights


def folded(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    """Leading axes folded into one for baddbmm and bmm, the mask with them, and unfolded again."""
    lead, n_q, n_k = q.shape[:-2], q.shape[-2], k.shape[-2]
    q3, k3, v3 = (t.reshape(-1, *t.shape[-2:]) for t in (q, k, v))
    nothing = torch.zeros(1, dtype=q.dtype)
    scores = torch.baddbmm(nothing, q3, k3.transpose(1, 2), beta=0, alpha=q.shape[-1] ** -0.5)
    if mask is not None:
        mask = mask.expand(*lead, n_q, n_k).reshape(-1, n_q, n_k)
    weights = exponentials(scores, mask)
    return torch.bmm(weights, v3).reshape(*lead, n_q, -1), weights.reshape(*lead, n_q, n_k)


def query_by_query(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    n_q, n_k = q.shape[-2], k.shape[-2]
    if mask is None:
        mask = torch.ones(n_q, n_k, dtype=torch.bool)
    mask = torch.broadcast_to(mask, (*q.shape[:-1], n_k))
    outputs, rows = [], []
    for i in range(n_q):
        scores = (q[..., i : i + 1, :] * k).sum(dim=-1) / math.sqrt(q.shape[-1])
        row = logsumexp(scores, mask[..., i, :])
        outputs.append((row.unsqueeze(-1) * v).sum(dim=-2))
        rows.append(row)
    return torch.stack(outputs, dim=-2), torch.stack(rows, dim=-2)


def with_single_root(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    """The root of d_k is held in float32, whatever the inputs are."""
    weights = mended(q @ k.mT / torch.sqrt(torch.tensor(q.shape[-1])), mask)
    return weights @ v, weights


VARIANTS: Versions = {
    "causal_mask": (
        compared_causal,
        looped_causal,
        last_rows_of_a_square,
        not_later,
        earlier_words_in_front,
        numpy_causal,
    ),
    "padding_mask": (
        looped_padding,
        listed_padding,
        counted_padding,
        lambda lengths, max_len: (
            (torch.arange(max_len).expand(len(lengths), max_len) < lengths.unsqueeze(1))
            .unsqueeze(1)
            .unsqueeze(2)
        ),
        lambda lengths, max_len: (
            ~(torch.arange(max_len).view(1, 1, 1, -1) >= lengths.view(-1, 1, 1, 1))
        ),
        lambda lengths, max_len: einops.rearrange(
            torch.arange(1, max_len + 1)[None] <= lengths[:, None], "b n -> b 1 1 n"
        ),
        lambda lengths, max_len: torch.tril(
            torch.ones(max_len + 1, max_len, dtype=torch.bool), diagonal=-1
        )[lengths.long()][:, None, None],
    ),
    "masked_softmax": (
        inside_out,
        mended,
        closed_again,
        additive,
        lowest,
        exponentials,
        clamped,
        renormalised_after_infinity,
        logsumexp,
        row_by_row,
    ),
    "masked_attention": (
        with_einsum,
        with_einops,
        masked_before_scaling,
        in_place_on_own_scores,
        folded,
        query_by_query,
        with_single_root,
    ),
}
