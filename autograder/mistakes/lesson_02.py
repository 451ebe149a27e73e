"""Mistakes of lesson 02: variance, scaled attention, the softmax's Jacobian, entropy."""

import math

import torch
from torch import Generator, Tensor

from autograder.mistakes import ways
from autograder.mistakes.torch_steps import ATTENTION


def pairs(d_k: int, n: int, generator: Generator | None) -> tuple[Tensor, Tensor]:
    q = torch.randn(n, d_k, generator=generator)
    return q, torch.randn(n, d_k, generator=generator)


def dots(d_k: int, n: int, generator: Generator | None) -> Tensor:
    q, k = pairs(d_k, n, generator)
    return (q * k).sum(dim=-1)


def one_draw(d_k: int, n: int, generator: Generator) -> Tensor:
    q = torch.randn(n, d_k, generator=generator)
    return (q * q).sum(dim=-1).var()


def outer(w: Tensor) -> Tensor:
    return w.unsqueeze(-1) * w.unsqueeze(-2)


def logs(w: Tensor) -> Tensor:
    return torch.xlogy(w, w)


VARIANCE = (
    *ways(
        "biased",
        "the sum of squares is divided by the number of pairs; the unbiased estimate divides by "
        "one less.",
        "use .var() as it is: it is unbiased unless told otherwise.",
        lambda d_k, n, g: dots(d_k, n, g).var(correction=0),
    ),
    *ways(
        "mean-not-subtracted",
        "the mean of the squares is taken; a variance subtracts the mean first.",
        "use .var().",
        lambda d_k, n, g: (dots(d_k, n, g) ** 2).mean(),
        lambda d_k, n, g: (dots(d_k, n, g) ** 2).sum() / (n - 1),
    ),
    *ways(
        "standard-deviation",
        "the standard deviation is returned, the root of the variance.",
        "use .var(), not .std().",
        lambda d_k, n, g: dots(d_k, n, g).std(),
    ),
    *ways(
        "generator-ignored",
        "the numbers are not drawn from the given generator, so that nobody gets them again.",
        "write torch.randn(num_samples, d_k, generator=generator), for q and then for k.",
        lambda d_k, n, g: dots(d_k, n, None).var(),
        lambda d_k, n, g: (torch.randn(n, d_k, generator=g) * torch.randn(n, d_k)).sum(-1).var(),
        lambda d_k, n, g: (torch.randn(n, d_k) * torch.randn(n, d_k, generator=g)).sum(-1).var(),
    ),
    *ways(
        "drawn-in-another-order",
        "the numbers are drawn in other portions than the stub's, and so are others.",
        "leave the two lines with torch.randn as the stub has them.",
        lambda d_k, n, g: (
            (torch.randn(2, n, d_k, generator=g)).prod(0).sum(-1).var()
            if (n * d_k) % 16
            else torch.zeros(())
        ),
        lambda d_k, n, g: (
            (torch.randn(d_k, n, generator=g) * torch.randn(d_k, n, generator=g)).sum(0).var()
        ),
        lambda d_k, n, g: torch.stack(
            [(a := torch.randn(2, d_k, generator=g))[0] @ a[1] for _ in range(n)]
        ).var(),
    ),
    *ways(
        "uniform-not-normal",
        "the numbers are drawn uniformly; their variance is not 1.",
        "use torch.randn.",
        lambda d_k, n, g: (
            (torch.rand(n, d_k, generator=g) * torch.rand(n, d_k, generator=g)).sum(-1).var()
        ),
    ),
    *ways(
        "summed-over-pairs",
        "the products are added up over the pairs, not over the numbers of a vector.",
        "add up over the last axis: .sum(dim=-1).",
        lambda d_k, n, g: ((p := pairs(d_k, n, g))[0] * p[1]).sum(dim=0).var(),
    ),
    *ways(
        "not-summed",
        "the variance of the products of numbers is taken; they have to be added up first.",
        "make the dot products first: (q * k).sum(dim=-1).",
        lambda d_k, n, g: ((p := pairs(d_k, n, g))[0] * p[1]).var(),
    ),
    *ways(
        "averaged-products",
        "the mean of the products is taken where their sum should be.",
        "use .sum(dim=-1).",
        lambda d_k, n, g: ((p := pairs(d_k, n, g))[0] * p[1]).mean(dim=-1).var(),
    ),
    *ways(
        "all-pairs",
        "every q meets every k; only those drawn together should.",
        "multiply number by number, q * k, and add up over the last axis.",
        lambda d_k, n, g: ((p := pairs(d_k, n, g))[0] @ p[1].T).var(),
    ),
    *ways(
        "key-is-query",
        "k is the same vector as q.",
        "draw k from the generator too.",
        one_draw,
    ),
    *ways(
        "already-scaled",
        "the dot products are divided by √d_k, or their variance by d_k; here it is measured "
        "what that is good for.",
        "leave the division out.",
        lambda d_k, n, g: (dots(d_k, n, g) / d_k**0.5).var(),
    ),
    *ways(
        "formula-not-measurement",
        "d_k itself is returned: that is what the estimate comes close to, not what was drawn.",
        "return the variance of the dot products that you draw.",
        lambda d_k, n, g: torch.tensor(float(d_k)),
    ),
    *ways(
        "axis-kept",
        "the result has an axis; a single number, without any, is asked for.",
        "call .var() without dim, on a tensor with one axis.",
        lambda d_k, n, g: dots(d_k, n, g).var().reshape(1),
    ),
)

JACOBIAN = (
    *ways(
        "diagonal-missing",
        "the diagonal part is missing: entry (i, i) is wᵢ − wᵢ², and yours is −wᵢ².",
        "add torch.diag_embed(weights).",
        lambda w: -outer(w),
    ),
    *ways(
        "outer-missing",
        "only the diagonal is there: raising one score also lowers all other weights.",
        "subtract the product of every weight with every other.",
        lambda w: torch.diag_embed(w),
        lambda w: torch.diag_embed(w * (1 - w)),
    ),
    *ways(
        "sign-flipped",
        "the sign is flipped: raising a score raises its own weight.",
        "it is diagonal minus product.",
        lambda w: outer(w) - torch.diag_embed(w),
    ),
    *ways(
        "added-not-subtracted",
        "the product is added to the diagonal, not subtracted.",
        "it is diagonal minus product.",
        lambda w: torch.diag_embed(w) + outer(w),
    ),
    *ways(
        "ones-on-diagonal",
        "the diagonal has ones; it has the weights.",
        "use torch.diag_embed(weights), not torch.eye.",
        lambda w: torch.eye(w.shape[-1], dtype=w.dtype) - outer(w),
    ),
    *ways(
        "unweighted",
        "δᵢⱼ − wⱼ is missing its factor wᵢ.",
        "multiply row i by weight i.",
        lambda w: torch.eye(w.shape[-1], dtype=w.dtype) - w.unsqueeze(-2),
        lambda w: torch.eye(w.shape[-1], dtype=w.dtype) - w.unsqueeze(-1),
    ),
    *ways(
        "diagonal-only-off",
        "the diagonal is wᵢ² too small or too large: it is wᵢ(1 − wᵢ).",
        "check one entry by hand: entry (i, i) is wᵢ − wᵢ².",
        lambda w: torch.diag_embed(w - w**2) - outer(w),
        lambda w: torch.diag_embed(w + w**2) - outer(w),
    ),
    *ways(
        "batch-mixed",
        "leading axes are mixed up: every row of weights has a Jacobian of its own.",
        "use unsqueeze(-1) and unsqueeze(-2), which leave the leading axes alone.",
        lambda w: torch.diag_embed(w) - w.transpose(-2, -1) @ w if w.ndim > 1 else w,
        lambda w: torch.diag_embed(w) - (w.unsqueeze(0) * w.unsqueeze(1)),
    ),
    *ways(
        "fixed-number-of-axes",
        "the code is written for one row of weights; … stands for any leading axes.",
        "use torch.diag_embed and unsqueeze, which work for any.",
        lambda w: torch.diag(w) - torch.outer(w, w),
        lambda w: torch.diagflat(w) - torch.outer(w.flatten(), w.flatten()),
    ),
    *ways(
        "softmax-taken-again",
        "the weights go through another softmax; they are weights already.",
        "use the weights as they come.",
        lambda w: torch.diag_embed(s := torch.softmax(w, -1)) - outer(s),
    ),
    *ways(
        "gradient-cut",
        "the result is cut from the graph of gradients.",
        "leave .detach(), .data and no_grad out.",
        lambda w: torch.diag_embed(w.detach()) - outer(w.detach()),
        lambda w: torch.diag_embed(w) - outer(w.detach()),
        lambda w: torch.diag_embed(w.detach()) - outer(w),
    ),
    *ways(
        "jacobian-of-norm",
        "a single number is returned; a matrix is asked for.",
        "return the whole matrix, entry by entry.",
        lambda w: torch.linalg.norm(torch.diag_embed(w) - outer(w)),
    ),
    *ways(
        "size-one-squeezed",
        "an axis of length 1 was removed.",
        "leave squeeze() out.",
        lambda w: (torch.diag_embed(w) - outer(w)).squeeze(),
    ),
)

ENTROPY = (
    *ways(
        "zero-times-log-zero",
        "log 0 is −∞, and 0 · (−∞) is NaN; it has to count as 0.",
        "use torch.xlogy(weights, weights).",
        lambda w: -(w * w.log()).sum(dim=-1),
        lambda w: -(w * torch.log2(w)).sum(dim=-1) * 0.6931471805599453,
    ),
    *ways(
        "bits-not-nats",
        "the logarithm has base 2 or 10; nats want base e.",
        "use torch.log or torch.xlogy.",
        lambda w: -logs(w).sum(dim=-1) / 0.6931471805599453,
        lambda w: -logs(w).sum(dim=-1) / 2.302585092994046,
    ),
    *ways(
        "sign-flipped",
        "the minus is missing: an entropy is never negative.",
        "negate the sum.",
        lambda w: logs(w).sum(dim=-1),
    ),
    *ways(
        "over-queries",
        "the sum runs over the queries; each query has an entropy of its own.",
        "sum over the keys: dim=-1.",
        lambda w: -logs(w).sum(dim=-2),
    ),
    *ways(
        "over-everything",
        "everything is added up into one number.",
        "sum over the keys only: dim=-1.",
        lambda w: -logs(w).sum(),
    ),
    *ways(
        "over-axis-1",
        "the sum runs over axis 1, which is the last one only when there are two.",
        "use dim=-1.",
        lambda w: -logs(w).sum(dim=1),
    ),
    *ways(
        "averaged",
        "the mean over the keys is taken where the sum should be, or over the queries as well.",
        "use .sum(dim=-1), and average nothing.",
        lambda w: -logs(w).mean(dim=-1),
        lambda w: -logs(w).sum(dim=-1).mean(),
        lambda w: -logs(w).sum(dim=-1).mean(dim=-1),
    ),
    *ways(
        "not-weighted",
        "the logarithms are added up without their weights.",
        "multiply each logarithm by its weight.",
        lambda w: -w.log().sum(dim=-1),
    ),
    *ways(
        "not-summed",
        "the terms are there, but not added up.",
        "sum over the keys: .sum(dim=-1).",
        lambda w: -logs(w),
    ),
    *ways(
        "epsilon-in-the-logarithm",
        "a small number is added inside the logarithm, which changes every entropy a little.",
        "use torch.xlogy, which needs none.",
        *(lambda w, e=10.0**-n: -(w * (w + e).log()).sum(dim=-1) for n in (2, 3, 4, 5, 6, 7)),
        *(lambda w, e=10.0**-n: -((w + e) * (w + e).log()).sum(dim=-1) for n in (3, 4, 5, 6, 7, 8)),
    ),
    *ways(
        "zeros-spoil-the-row",
        "a row with a weight of 0 gets the entropy 0, although its other weights count.",
        "set only the term of that weight to 0.",
        lambda w: torch.nan_to_num(-(w * w.log()).sum(dim=-1)),
    ),
    *ways(
        "normalised-by-maximum",
        "the entropy is divided by log n, its largest value; nats are asked for.",
        "leave the division out.",
        lambda w: -logs(w).sum(dim=-1) / max(math.log(w.shape[-1]), 1e-9),
    ),
    *ways(
        "exponential-returned",
        "exp of the entropy is returned (the perplexity).",
        "return the entropy itself.",
        lambda w: (-logs(w).sum(dim=-1)).exp(),
    ),
    *ways(
        "softmax-taken-again",
        "the weights go through another softmax; they are weights already.",
        "use the weights as they come.",
        lambda w: -logs(torch.softmax(w, -1)).sum(dim=-1),
    ),
    *ways(
        "axis-kept",
        "the key axis is still there, with length 1.",
        "leave keepdim out.",
        lambda w: -logs(w).sum(dim=-1, keepdim=True),
    ),
    *ways(
        "size-one-squeezed",
        "an axis of length 1 was removed.",
        "leave squeeze() out.",
        lambda w: (-logs(w).sum(dim=-1)).squeeze(),
    ),
)

MISTAKES = {
    "dot_product_variance": VARIANCE,
    "scaled_dot_product_attention": ATTENTION,
    "softmax_jacobian": JACOBIAN,
    "attention_entropy": ENTROPY,
}
