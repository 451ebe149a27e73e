"""One attention head in NumPy, unscaled: the four steps of lesson 01.

Scores say how well each query matches each key, a softmax turns them into
weights, and the weights mix the values. Lesson 02 adds the division by √d_k.

Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.1, without
the scaling.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


def weighted_average(values: Array, weights: Array) -> Array:
    """Average numbers, each counted as much as its weight says.

    Shapes: values (…, n), weights (…, n), summing to 1 over the last axis → (…).
    """
    return (values * weights).sum(axis=-1)


def dot_product_scores(q: Array, k: Array) -> Array:
    """Score every query against every key by their dot product.

    Shapes: q (…, n_q, d_k), k (…, n_k, d_k) → (…, n_q, n_k).
    """
    return q @ np.swapaxes(k, -1, -2)  # (…, n_q, d_k) @ (…, d_k, n_k)


def softmax(scores: Array) -> Array:
    """Turn scores into weights: positive, and summing to 1 over the last axis.

    Shapes: (…, n) → (…, n). Subtracting the largest score leaves the result as it
    is and keeps exp() from overflowing, so scores in the thousands are safe.
    """
    largest = scores.max(axis=-1, keepdims=True)
    exponentials = np.exp(scores - largest)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def attention(q: Array, k: Array, v: Array) -> tuple[Array, Array]:
    """Mix the values, weighted by how well each key matches the query.

    Shapes: q (…, n_q, d_k), k (…, n_k, d_k), v (…, n_k, d_v)
    → output (…, n_q, d_v), weights (…, n_q, n_k).
    """
    weights = softmax(dot_product_scores(q, k))
    return weights @ v, weights


def self_attention(x: Array, w_q: Array, w_k: Array, w_v: Array) -> tuple[Array, Array]:
    """Let every word of one sentence attend to every word of the same sentence.

    Shapes: x (…, n, d_model), w_q and w_k (d_model, d_k), w_v (d_model, d_v)
    → output (…, n, d_v), weights (…, n, n).
    """
    return attention(x @ w_q, x @ w_k, x @ w_v)
