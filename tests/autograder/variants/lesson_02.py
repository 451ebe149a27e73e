"""Right versions of lesson 02."""

import math
from typing import Any

import einops
import numpy as np
import torch

from tests.autograder.variants.versions import Versions


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


VARIANTS: Versions = {
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
