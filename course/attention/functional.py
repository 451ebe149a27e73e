"""Multi-head attention in PyTorch, function by function: lessons 02 to 05.

Axes come in the order (batch, heads, query, key) and (batch, heads, position, d_k); `…` stands
for any leading axes. Masks are boolean, True means "may attend", and a query that may attend to
nothing gets zero weights. Nothing changes its inputs; results have the inputs' dtype and device.

Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.
"""

import math

import torch
from torch import Tensor

# Lesson 02: why divide by √d_k


def dot_product_variance(d_k: int, num_samples: int, generator: torch.Generator) -> Tensor:
    """Estimate the variance of q·k for entries of variance 1; it is d_k.

    Returns a 0-d tensor: the unbiased variance over `num_samples` pairs of vectors.
    """
    q = torch.randn(num_samples, d_k, generator=generator)
    k = torch.randn(num_samples, d_k, generator=generator)
    return (q * k).sum(dim=-1).var()


def scaled_dot_product_attention(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """Attend from queries to keys, with scores divided by √d_k (equation 1 of the paper).

    Shapes: q (…, n_q, d_k), k (…, n_k, d_k), v (…, n_k, d_v)
    → output (…, n_q, d_v), weights (…, n_q, n_k).
    """
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (…, n_q, n_k)
    weights = torch.softmax(scores, dim=-1)
    return weights @ v, weights


def softmax_jacobian(weights: Tensor) -> Tensor:
    """The derivative of each weight by each score: J[i, j] = wᵢ (δᵢⱼ − wⱼ).

    Shapes: weights (…, n) → (…, n, n).
    """
    outer = weights.unsqueeze(-1) * weights.unsqueeze(-2)  # (…, n, n)
    return torch.diag_embed(weights) - outer


def attention_entropy(weights: Tensor) -> Tensor:
    """How widely each query spreads its attention, in nats: −Σ w log w, with 0 log 0 = 0.

    Shapes: weights (…, n_q, n_k) → (…, n_q). From 0 (one key) to log n_k (all alike).
    """
    return -torch.xlogy(weights, weights).sum(dim=-1)


# Lesson 03: many heads


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """Cut the features of every position into heads.

    Shapes: x (batch, n, d_model) → (batch, num_heads, n, d_k), d_k = d_model // num_heads.
    Raises ValueError when num_heads does not divide d_model.
    """
    batch, n, d_model = x.shape
    d_k = head_size(d_model, num_heads)
    heads_last = x.reshape(batch, n, num_heads, d_k)  # (batch, n, num_heads, d_k)
    return heads_last.transpose(1, 2)  # (batch, num_heads, n, d_k)


def head_size(d_model: int, num_heads: int) -> int:
    """d_k when d_model features are divided among the heads; ValueError if they cannot be."""
    if num_heads < 1 or d_model % num_heads:
        raise ValueError(
            f"{d_model} features cannot be split evenly into {num_heads} heads; "
            f"choose a number of heads that divides {d_model}."
        )
    return d_model // num_heads


def concat_heads(heads: Tensor) -> Tensor:
    """Put the heads of every position side by side again.

    Shapes: heads (batch, num_heads, n, d_v) → (batch, n, num_heads · d_v).
    """
    heads_last = heads.transpose(1, 2)  # (batch, n, num_heads, d_v)
    return heads_last.flatten(start_dim=2)  # (batch, n, num_heads · d_v)


def per_head_attention(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    """Self-attention with several heads, one after the other.

    Shapes: x (batch, n, d_model), w_q and w_k (num_heads, d_model, d_k),
    w_v (num_heads, d_model, d_v) → (batch, num_heads, n, d_v).
    """
    heads = []
    for head_q, head_k, head_v in zip(w_q, w_k, w_v, strict=True):
        output, _ = scaled_dot_product_attention(x @ head_q, x @ head_k, x @ head_v)
        heads.append(output)  # (batch, n, d_v)
    return torch.stack(heads, dim=1)


def pack_projections(w: Tensor) -> Tensor:
    """Put the projections of all heads side by side, so that one product serves them all.

    Shapes: w (num_heads, d_model, d_k) → (d_model, num_heads · d_k), such that
    split_heads(x @ pack_projections(w), num_heads)[:, i] equals x @ w[i].
    """
    return w.transpose(0, 1).flatten(start_dim=1)  # (d_model, num_heads, d_k) → packed


def multi_head_attention(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, num_heads: int
) -> Tensor:
    """Self-attention with all heads at once, concatenated, without an output projection.

    Shapes: x (batch, n, d_model), w_q and w_k (d_model, num_heads · d_k),
    w_v (d_model, num_heads · d_v) → (batch, n, num_heads · d_v).
    Raises ValueError when num_heads does not divide the width of a projection.
    """
    q, k, v = (split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    heads, _ = scaled_dot_product_attention(q, k, v)  # (batch, num_heads, n, d_v)
    return concat_heads(heads)


# Lesson 04: the output projection


def project_output(heads: Tensor, w_o: Tensor) -> Tensor:
    """Concatenate the heads and mix them with W^O.

    Shapes: heads (batch, num_heads, n, d_v), w_o (num_heads · d_v, d_model)
    → (batch, n, d_model).
    """
    return concat_heads(heads) @ w_o


def head_contributions(heads: Tensor, w_o: Tensor) -> Tensor:
    """What each head alone writes into the output; summed over heads it is `project_output`.

    Shapes: heads (batch, num_heads, n, d_v), w_o (num_heads · d_v, d_model)
    → (batch, num_heads, n, d_model).
    """
    per_head = w_o.unflatten(0, (heads.shape[1], heads.shape[-1]))  # (num_heads, d_v, d_model)
    return heads @ per_head


def count_parameters(
    d_model: int,
    num_heads: int,
    d_k: int | None = None,
    d_v: int | None = None,
    bias: bool = False,
) -> int:
    """The number of parameters of the four projections Q, K, V and O.

    d_k, d_v: the sizes of one head; None means d_model // num_heads.
    """
    if d_k is None:
        d_k = head_size(d_model, num_heads)
    if d_v is None:
        d_v = head_size(d_model, num_heads)
    queries_and_keys = 2 * d_model * num_heads * d_k
    values_and_output = 2 * d_model * num_heads * d_v
    biases = 2 * num_heads * d_k + num_heads * d_v + d_model if bias else 0
    return queries_and_keys + values_and_output + biases


def multi_head_attention_with_output(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, num_heads: int
) -> Tensor:
    """Multi-head self-attention as in the paper: heads, concatenation, W^O.

    Shapes: as `multi_head_attention`, and w_o (num_heads · d_v, d_model) → (batch, n, d_model).
    """
    return multi_head_attention(x, w_q, w_k, w_v, num_heads) @ w_o


# Lesson 05: masks


def causal_mask(n_q: int, n_k: int | None = None) -> Tensor:
    """Which keys each query may see when it must not look ahead: bool (n_q, n_k).

    Aligned at the bottom right: the last query sees every key, as when n_q new words follow
    n_k − n_q earlier ones. Raises ValueError when there are fewer keys than queries.
    """
    n_k = n_q if n_k is None else n_k
    if n_k < n_q:
        raise ValueError(
            f"{n_q} queries cannot look back on {n_k} keys: the first ones would see nothing."
        )
    return torch.ones(n_q, n_k, dtype=torch.bool).tril(diagonal=n_k - n_q)


def padding_mask(lengths: Tensor, max_len: int) -> Tensor:
    """Which keys are words and not padding.

    Shapes: lengths (batch,), integers from 0 to max_len → bool (batch, 1, 1, max_len), which
    broadcasts over heads and queries.
    """
    positions = torch.arange(max_len, device=lengths.device)
    return (positions < lengths.unsqueeze(-1))[:, None, None, :]


def masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """The softmax over the keys that each query may attend to.

    scores (…, n_q, n_k), mask bool and broadcastable to it, or None. A query that may attend to
    nothing gets zero weights, and no NaN comes back through it either.
    """
    if mask is None:
        return torch.softmax(scores, dim=-1)
    allowed = scores.masked_fill(~mask, -math.inf)
    empty = ~mask.any(dim=-1, keepdim=True)
    # A row of −∞ alone would be 0/0. Its scores become 0, and then its weights do.
    weights = torch.softmax(allowed.masked_fill(empty, 0.0), dim=-1)
    return weights.masked_fill(empty, 0.0)


def masked_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Scaled dot-product attention under a mask.

    Shapes: q (…, n_q, d_k), k (…, n_k, d_k), v (…, n_k, d_v), mask bool and broadcastable to
    (…, n_q, n_k) → output (…, n_q, d_v), weights (…, n_q, n_k).
    """
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    weights = masked_softmax(scores, mask)
    return weights @ v, weights
