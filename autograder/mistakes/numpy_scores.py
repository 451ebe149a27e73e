"""Mistakes in scoring queries against keys, in NumPy; wrong whenever they occur."""

import numpy as np

from autograder.exercises.inputs import Array
from autograder.mistakes import ways


def right_scores(q: Array, k: Array) -> Array:
    return q @ np.swapaxes(k, -1, -2)


def reshaped_keys(q: Array, k: Array) -> Array:
    return q @ k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2])


def cosine(q: Array, k: Array) -> Array:
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    k = k / np.linalg.norm(k, axis=-1, keepdims=True)
    return right_scores(q, k)


def distance(q: Array, k: Array) -> Array:
    return np.linalg.norm(q[..., :, None, :] - k[..., None, :, :], axis=-1)


def as_many_keys_as_queries(q: Array, k: Array) -> Array:
    n = q.shape[-2]
    scores = np.zeros((*q.shape[:-1], n))
    for i in range(n):
        for j in range(n):
            scores[..., i, j] = (q[..., i, :] * k[..., j, :]).sum(axis=-1)
    return scores


def swapped_only_if_needed(q: Array, k: Array) -> Array:
    return q @ k if q.shape[-1] == k.shape[-2] else right_scores(q, k)


def causal(q: Array, k: Array) -> Array:
    scores = right_scores(q, k)
    return np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)


def scaled_in_place(q: Array, k: Array) -> Array:
    q /= np.sqrt(q.shape[-1])
    return right_scores(q, k)


SCORES = (
    *ways(
        "keys-reshaped",
        "k is reshaped, not transposed: reshape keeps the order of the numbers in memory, so "
        "the rows that come out are no keys.",
        "swap the last two axes with np.swapaxes(k, -1, -2).",
        reshaped_keys,
    ),
    *ways(
        "all-axes-reversed",
        "`.T` reverses every axis of k, the leading ones too; it is right for two axes only.",
        "swap only the last two axes with np.swapaxes(k, -1, -2), and multiply with `@`.",
        lambda q, k: q @ k.T,
        lambda q, k: np.dot(q, k.T),
        lambda q, k: np.einsum("...qd,...dk->...qk", q, k.T),
    ),
    *ways(
        "other-axes-swapped",
        "axes of k change places, but not only the last two.",
        "swap the last two, counted from the end: np.swapaxes(k, -1, -2).",
        lambda q, k: q @ np.swapaxes(k, 0, 1),
        lambda q, k: q @ np.moveaxis(k, -1, 0),
        lambda q, k: q @ np.swapaxes(k, 0, -1),
    ),
    *ways(
        "dot-for-batches",
        "every leading index of q is paired with every leading index of k; `@` keeps them "
        "together.",
        "multiply with `@` (np.matmul), which treats leading axes as a batch.",
        lambda q, k: np.dot(q, np.swapaxes(k, -1, -2)),
        lambda q, k: np.tensordot(q, k, axes=(-1, -1)),
    ),
    *ways(
        "fixed-number-of-axes",
        "the code is written for a fixed number of axes, and … stands for any number of leading "
        "ones.",
        'use `...` in einsum ("...qd,...kd->...qk"), or `@` with np.swapaxes(k, -1, -2).',
        lambda q, k: np.einsum("qd,kd->qk", q, k),
        lambda q, k: np.einsum("bqd,bkd->bqk", q, k),
        lambda q, k: np.einsum("bhqd,bhkd->bhqk", q, k),
        lambda q, k: q @ k.transpose(1, 0),
        lambda q, k: q @ k.transpose(0, 2, 1),
        lambda q, k: q @ k.transpose(0, 1, 3, 2),
        lambda q, k: np.array([[float(np.dot(a, b)) for b in k] for a in q]),
    ),
    *ways(
        "keys-not-transposed",
        "k has to be turned before it is multiplied: `q @ k` needs (d_k, n_k), and k has the "
        "shape (n_k, d_k).",
        "swap the last two axes of k first: np.swapaxes(k, -1, -2).",
        lambda q, k: q @ k,
        swapped_only_if_needed,
    ),
    *ways(
        "queries-and-keys-swapped",
        "rows belong to keys and columns to queries: the scores are transposed.",
        "put q on the left of the product and the transposed k on the right.",
        lambda q, k: right_scores(k, q),
    ),
    *ways(
        "queries-with-themselves",
        "queries are scored against queries; k is not used.",
        "use k as the second factor.",
        lambda q, k: right_scores(q, q),
    ),
    *ways(
        "keys-with-themselves",
        "keys are scored against keys; q is not used.",
        "use q as the first factor.",
        lambda q, k: right_scores(k, k),
    ),
    *ways(
        "query-length-for-keys",
        "the number of queries is used for the keys as well.",
        "there are k.shape[-2] keys and q.shape[-2] queries; they may differ.",
        as_many_keys_as_queries,
    ),
    *ways(
        "already-scaled",
        "the scores are divided by √d_k. That comes in lesson 02; here they stay as they are.",
        "leave the division out for now.",
        lambda q, k: right_scores(q, k) / np.sqrt(q.shape[-1]),
        scaled_in_place,
    ),
    *ways(
        "scaled-up",
        "the scores are multiplied by √d_k; here they stay as they are.",
        "leave the factor out.",
        lambda q, k: right_scores(q, k) * np.sqrt(q.shape[-1]),
    ),
    *ways(
        "divided-by-size",
        "the scores are divided by d_k: that is the mean of the products, not their sum.",
        "add the products up and do not divide.",
        lambda q, k: right_scores(q, k) / q.shape[-1],
    ),
    *ways(
        "half-size-for-root",
        "the scores are divided by d_k/2: that is what `d_k ** 1/2` means. And nothing is divided "
        "yet in this lesson.",
        "leave the division out for now (a root is `d_k ** 0.5`).",
        lambda q, k: right_scores(q, k) / (q.shape[-1] ** 1 / 2),
    ),
    *ways(
        "scaled-by-number-of-keys",
        "the scores are divided by the number of keys or its root.",
        "leave the division out.",
        lambda q, k: right_scores(q, k) / np.sqrt(k.shape[-2]),
        lambda q, k: right_scores(q, k) / k.shape[-2],
    ),
    *ways(
        "vectors-normalised",
        "the vectors are divided by their lengths, which gives cosines instead of dot products.",
        "leave the lengths in: a long key may well attract more.",
        cosine,
    ),
    *ways(
        "distance-not-product",
        "the scores are made of distances, not of dot products.",
        "multiply q and k number by number and add up: `@` does both.",
        distance,
        lambda q, k: -distance(q, k),
        lambda q, k: -(distance(q, k) ** 2),
        lambda q, k: distance(q, k) ** 2,
    ),
    *ways(
        "sign-lost",
        "the scores have no sign any more: a key that points the other way counts as a match.",
        "keep negative scores negative.",
        lambda q, k: np.abs(right_scores(q, k)),
        lambda q, k: right_scores(q, k) ** 2,
    ),
    *ways(
        "sign-flipped",
        "the scores have the wrong sign, so that the worst match gets the largest score.",
        "leave the minus out.",
        lambda q, k: -right_scores(q, k),
    ),
    *ways(
        "summed-before-multiplying",
        "q and k are each summed over their features before they are multiplied.",
        "multiply first, then sum over the features that both share.",
        lambda q, k: q.sum(axis=-1)[..., :, None] * k.sum(axis=-1)[..., None, :],
    ),
    *ways(
        "not-summed",
        "the products of numbers are there, but they are not added up over the features.",
        "sum over the last axis: .sum(axis=-1).",
        lambda q, k: q[..., :, None, :] * k[..., None, :, :],
    ),
    *ways(
        "elementwise-product",
        "query i is paired with key i only, number by number.",
        "use the matrix product `@`, which pairs every query with every key.",
        lambda q, k: q * k,
        lambda q, k: (q * k).sum(axis=-1),
    ),
    *ways(
        "batch-flattened",
        "the leading axes are flattened into one list, so that queries meet keys of other "
        "sentences.",
        "keep the leading axes: `@` multiplies the last two and leaves the others alone.",
        lambda q, k: q.reshape(-1, q.shape[-1]) @ k.reshape(-1, k.shape[-1]).T,
    ),
    *ways(
        "batch-summed",
        "the sum runs over the leading axes too, so that all sentences become one.",
        "keep the leading axes: `@` multiplies the last two and leaves the others alone.",
        lambda q, k: np.einsum("...qd,...kd->qk", q, k),
    ),
    *ways(
        "first-of-batch",
        "the keys of the first sentence serve all the others as well.",
        "keep the leading axes of k: `@` pairs them with those of q.",
        lambda q, k: q @ k.reshape(-1, *k.shape[-2:])[0].T,
    ),
    *ways(
        "masked-too-early",
        "later keys are hidden from earlier queries. Masks come in lesson 05; here every query "
        "sees every key.",
        "leave the mask out.",
        causal,
        lambda q, k: np.where(np.isinf(causal(q, k)), -1e9, causal(q, k)),
        lambda q, k: np.tril(right_scores(q, k)),
    ),
    *ways(
        "size-one-squeezed",
        "squeeze() removes every axis of length 1, and one of them was an axis of the scores.",
        "leave squeeze() out.",
        lambda q, k: np.squeeze(right_scores(q, k)),
    ),
)
