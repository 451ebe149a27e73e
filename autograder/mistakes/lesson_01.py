"""Mistakes of lesson 01: scores, softmax, attention and self-attention in NumPy.

Attention and self-attention can go wrong in any of their steps. `pipeline` builds both
from replaceable steps, so that each mistake states only the step that it gets wrong.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.declaring import Mistake
from autograder.exercises.inputs import Array

Scores = Callable[[Array, Array], Array]
Weights = Callable[[Array], Array]
Mix = Callable[[Array, Array, Array, Array], Any]


def right_scores(q: Array, k: Array) -> Array:
    return q @ np.swapaxes(k, -1, -2)


def right_softmax(scores: Array) -> Array:
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def right_mix(weights: Array, q: Array, k: Array, v: Array) -> Any:
    return weights @ v, weights


def pipeline(
    scores: Scores = right_scores, weights: Weights = right_softmax, mix: Mix = right_mix
) -> Callable[[Array, Array, Array], Any]:
    """Attention from three steps, each of which may be wrong."""
    return lambda q, k, v: mix(weights(scores(q, k)), q, k, v)


def over_self(attention: Callable[[Array, Array, Array], Any]) -> Callable[..., Any]:
    """Self-attention that projects as it should and then calls this attention."""
    return lambda x, w_q, w_k, w_v: attention(x @ w_q, x @ w_k, x @ w_v)


def softmax_over(axis: int | None) -> Weights:
    def softmax(scores: Array) -> Array:
        e = np.exp(scores - scores.max(axis=axis, keepdims=True))
        return e / e.sum(axis=axis, keepdims=True)

    return softmax


def summed_over(axis: int) -> Weights:
    """The maximum of each row is right, the sum runs over another axis."""

    def softmax(scores: Array) -> Array:
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return e / e.sum(axis=axis, keepdims=True)

    return softmax


def overflowing_softmax(scores: Array) -> Array:
    e = np.exp(scores)
    return e / e.sum(axis=-1, keepdims=True)


def globally_shifted_softmax(scores: Array) -> Array:
    e = np.exp(scores - scores.max())
    return e / e.sum(axis=-1, keepdims=True)


def without_keepdims(scores: Array) -> Array:
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1)


def maximum_without_keepdims(scores: Array) -> Array:
    e = np.exp(scores - scores.max(axis=-1))
    return e / e.sum(axis=-1, keepdims=True)


def power_softmax(base: float) -> Weights:
    def softmax(scores: Array) -> Array:
        e = np.power(base, scores - scores.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    return softmax


def scaled_softmax(scores: Array) -> Array:
    return right_softmax(scores / np.sqrt(scores.shape[-1]))


def one_hot(scores: Array) -> Array:
    return (scores == scores.max(axis=-1, keepdims=True)).astype(scores.dtype)


def clipped_softmax(scores: Array) -> Array:
    return overflowing_softmax(np.clip(scores, -50, 50))


def summed_softmax(scores: Array) -> Array:
    return scores / scores.sum(axis=-1, keepdims=True)


def squared_softmax(scores: Array) -> Array:
    return scores**2 / (scores**2).sum(axis=-1, keepdims=True)


def sigmoid(scores: Array) -> Array:
    return 1 / (1 + np.exp(-scores))


def cosine(q: Array, k: Array) -> Array:
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    k = k / np.linalg.norm(k, axis=-1, keepdims=True)
    return right_scores(q, k)


def minus_distance(q: Array, k: Array) -> Array:
    return -np.linalg.norm(q[..., :, None, :] - k[..., None, :, :], axis=-1)


def reshaped_keys(q: Array, k: Array) -> Array:
    return q @ k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2])


SCORES: tuple[Mistake, ...] = (
    Mistake(
        "keys-reshaped",
        "k is reshaped, not transposed: reshape keeps the order of the numbers in memory, so "
        "the rows that come out are no keys.",
        "swap the last two axes with np.swapaxes(k, -1, -2).",
        reshaped_keys,
    ),
    Mistake(
        "all-axes-reversed",
        "`.T` reverses every axis of k, the leading ones too; it is right for two axes only.",
        "swap only the last two axes: np.swapaxes(k, -1, -2).",
        lambda q, k: q @ k.T,
    ),
    Mistake(
        "all-axes-reversed",
        "`.T` reverses every axis of k, the leading ones too; it is right for two axes only.",
        "swap only the last two axes with np.swapaxes(k, -1, -2), and multiply with `@`.",
        lambda q, k: np.dot(q, k.T),
    ),
    Mistake(
        "dot-for-batches",
        "np.dot pairs every leading index of q with every leading index of k; `@` keeps them "
        "together.",
        "multiply with `@` (np.matmul), which treats leading axes as a batch.",
        lambda q, k: np.dot(q, np.swapaxes(k, -1, -2)),
    ),
    Mistake(
        "fixed-number-of-axes",
        "the code is written for exactly two axes, and … stands for any number before them.",
        'use `...` in einsum ("...qd,...kd->...qk"), or `@` with np.swapaxes(k, -1, -2).',
        lambda q, k: np.einsum("qd,kd->qk", q, k),
    ),
    Mistake(
        "fixed-number-of-axes",
        "the code is written for exactly three axes, and … stands for any number of leading ones.",
        'use `...` in einsum ("...qd,...kd->...qk"), or `@` with np.swapaxes(k, -1, -2).',
        lambda q, k: np.einsum("bqd,bkd->bqk", q, k),
    ),
    Mistake(
        "keys-not-transposed",
        "q and k are multiplied as they are, so that the features of a query meet the "
        "positions of the keys.",
        "swap the last two axes of k first: np.swapaxes(k, -1, -2).",
        lambda q, k: q @ k,
    ),
    Mistake(
        "queries-and-keys-swapped",
        "rows belong to keys and columns to queries: the scores are transposed.",
        "put q on the left of the product and the transposed k on the right.",
        lambda q, k: right_scores(k, q),
    ),
    Mistake(
        "queries-with-themselves",
        "queries are scored against queries; k is not used.",
        "use k as the second factor.",
        lambda q, k: right_scores(q, q),
    ),
    Mistake(
        "keys-with-themselves",
        "keys are scored against keys; q is not used.",
        "use q as the first factor.",
        lambda q, k: right_scores(k, k),
    ),
    Mistake(
        "already-scaled",
        "the scores are divided by √d_k. That comes in lesson 02; here they stay as they are.",
        "leave the division out for now.",
        lambda q, k: right_scores(q, k) / np.sqrt(q.shape[-1]),
    ),
    Mistake(
        "divided-by-size",
        "the scores are divided by d_k: that is the mean of the products, not their sum.",
        "add the products up and do not divide.",
        lambda q, k: right_scores(q, k) / q.shape[-1],
    ),
    Mistake(
        "vectors-normalised",
        "the vectors are divided by their lengths, which gives cosines instead of dot products.",
        "leave the lengths in: a long key may well attract more.",
        cosine,
    ),
    Mistake(
        "distance-not-product",
        "the scores are negative distances, not dot products.",
        "multiply q and k number by number and add up: `@` does both.",
        minus_distance,
    ),
    Mistake(
        "distance-not-product",
        "the scores are distances, not dot products.",
        "multiply q and k number by number and add up: `@` does both.",
        lambda q, k: -minus_distance(q, k),
    ),
    Mistake(
        "summed-before-multiplying",
        "q and k are each summed over their features before they are multiplied.",
        "multiply first, then sum over the features that both share.",
        lambda q, k: q.sum(axis=-1)[..., :, None] * k.sum(axis=-1)[..., None, :],
    ),
    Mistake(
        "elementwise-product",
        "q and k are multiplied number by number, which pairs query i with key i only.",
        "use the matrix product `@`, which pairs every query with every key.",
        lambda q, k: q * k,
    ),
    Mistake(
        "elementwise-product",
        "query i is scored against key i only, so that each query has one score.",
        "use the matrix product `@`, which pairs every query with every key.",
        lambda q, k: (q * k).sum(axis=-1),
    ),
    Mistake(
        "batch-flattened",
        "the leading axes are flattened into one list, so that queries meet keys of other "
        "sentences.",
        "keep the leading axes: `@` multiplies the last two and leaves the others alone.",
        lambda q, k: q.reshape(-1, q.shape[-1]) @ k.reshape(-1, k.shape[-1]).T,
    ),
    Mistake(
        "sign-flipped",
        "the scores have the wrong sign, so that the worst match gets the largest score.",
        "leave the minus out.",
        lambda q, k: -right_scores(q, k),
    ),
)

SOFTMAX: tuple[Mistake, ...] = (
    Mistake(
        "over-queries",
        "the softmax runs over the queries: columns sum to 1 where rows should.",
        "use axis=-1 in max and sum.",
        softmax_over(-2),
    ),
    Mistake(
        "over-queries",
        "each row is divided by sums over the queries, so that the rows do not sum to 1.",
        "use axis=-1 in the sum, as in the maximum.",
        summed_over(-2),
    ),
    Mistake(
        "over-first-axis",
        "the softmax runs over axis 0, which is the last axis only for a single row.",
        "use axis=-1 in max and sum.",
        softmax_over(0),
    ),
    Mistake(
        "over-first-axis",
        "the sum runs over axis 0, which is the last axis only for a single row.",
        "use axis=-1 in the sum, as in the maximum.",
        summed_over(0),
    ),
    Mistake(
        "over-axis-1",
        "the softmax runs over axis 1, which is the last axis only when there are two.",
        "use axis=-1 in max and sum.",
        softmax_over(1),
    ),
    Mistake(
        "over-axis-1",
        "the sum runs over axis 1, which is the last axis only when there are two.",
        "use axis=-1 in the sum, as in the maximum.",
        summed_over(1),
    ),
    Mistake(
        "over-everything",
        "all weights together sum to 1, instead of each row.",
        "give max and sum an axis: axis=-1, keepdims=True.",
        softmax_over(None),
    ),
    Mistake(
        "sum-over-everything",
        "each row is shifted by its own maximum but divided by the sum over all rows.",
        "give the sum an axis as well: axis=-1, keepdims=True.",
        lambda scores: (e := np.exp(scores - scores.max(axis=-1, keepdims=True))) / e.sum(),
    ),
    Mistake(
        "overflow",
        "exp() of a large score is infinite, and infinity divided by infinity is NaN.",
        "subtract each row's largest score before exp(); the weights stay the same.",
        overflowing_softmax,
    ),
    Mistake(
        "overflow",
        "what is subtracted before exp() is not the row's largest score, so that exp() still "
        "overflows.",
        "subtract each row's maximum.",
        lambda scores: overflowing_softmax(scores - scores.mean(axis=-1, keepdims=True)),
    ),
    Mistake(
        "overflow",
        "what is subtracted before exp() is not the row's largest score, so that exp() still "
        "overflows.",
        "subtract each row's maximum.",
        lambda scores: overflowing_softmax(scores - scores.min(axis=-1, keepdims=True)),
    ),
    Mistake(
        "global-maximum",
        "the largest score of the whole array is subtracted; in a row far below it every "
        "exp() is 0, and 0/0 is NaN.",
        "subtract each row's own maximum: scores.max(axis=-1, keepdims=True).",
        globally_shifted_softmax,
    ),
    Mistake(
        "scores-clipped",
        "the scores are clipped, which changes the weights of large ones.",
        "subtract each row's maximum instead: that changes nothing and is safe.",
        clipped_softmax,
    ),
    Mistake(
        "no-keepdims",
        "without keepdims=True the sums are matched with the columns, not with their rows.",
        "write sum(axis=-1, keepdims=True).",
        without_keepdims,
    ),
    Mistake(
        "no-keepdims",
        "without keepdims=True the maxima are matched with the columns, not with their rows.",
        "write max(axis=-1, keepdims=True).",
        maximum_without_keepdims,
    ),
    Mistake(
        "no-keepdims",
        "without keepdims=True maxima and sums are matched with the columns, not with their rows.",
        "write max(axis=-1, keepdims=True), and the same for sum.",
        lambda scores: (e := np.exp(scores - scores.max(axis=-1))) / e.sum(axis=-1),
    ),
    Mistake(
        "not-normalised",
        "the exponentials are not divided by their sum, so that the rows do not sum to 1.",
        "divide each row by its own sum.",
        lambda scores: np.exp(scores - scores.max(axis=-1, keepdims=True)),
    ),
    Mistake(
        "not-normalised",
        "the exponentials are not divided by their sum, so that the rows do not sum to 1.",
        "divide each row by its own sum, after subtracting its maximum.",
        np.exp,
    ),
    Mistake(
        "divided-by-count",
        "each row is divided by the number of its keys, not by its sum.",
        "divide by sum(axis=-1, keepdims=True).",
        lambda scores: np.exp(scores - scores.max(axis=-1, keepdims=True)) / scores.shape[-1],
    ),
    Mistake(
        "divided-by-count",
        "each row is divided by the number of its keys, not by its sum.",
        "divide by sum(axis=-1, keepdims=True), after subtracting the maximum.",
        lambda scores: np.exp(scores) / scores.shape[-1],
    ),
    Mistake(
        "no-exponential",
        "the scores themselves are divided by their sum; exp() is missing.",
        "take exp() of the scores first: it makes every weight positive.",
        summed_softmax,
    ),
    Mistake(
        "squares-not-exponentials",
        "the scores are squared where they should go through exp().",
        "use np.exp.",
        squared_softmax,
    ),
    Mistake(
        "exponential-twice",
        "the softmax is taken twice; the second time it flattens the weights.",
        "apply it once.",
        lambda scores: right_softmax(right_softmax(scores)),
    ),
    Mistake(
        "sigmoid",
        "each score goes through a sigmoid by itself, so that the rows do not sum to 1.",
        "let the keys of a row compete: exp() divided by the row's sum.",
        sigmoid,
    ),
    Mistake(
        "sigmoid",
        "each score goes through a sigmoid, which flattens large scores before they are "
        "normalised.",
        "use exp() instead of the sigmoid.",
        lambda scores: (s := sigmoid(scores)) / s.sum(axis=-1, keepdims=True),
    ),
    Mistake(
        "wrong-base",
        "the exponential has base 2; the softmax wants base e.",
        "use np.exp.",
        power_softmax(2.0),
    ),
    Mistake(
        "wrong-base",
        "the exponential has base 10; the softmax wants base e.",
        "use np.exp.",
        power_softmax(10.0),
    ),
    Mistake(
        "sign-flipped",
        "the sign is flipped, so that the smallest score gets the largest weight.",
        "exponentiate scores − maximum, not maximum − scores.",
        lambda scores: right_softmax(-scores),
    ),
    Mistake(
        "scores-scaled",
        "the scores are divided by a square root inside the softmax; the softmax takes them "
        "as they are.",
        "leave the division out.",
        scaled_softmax,
    ),
    Mistake(
        "hard-maximum",
        "the largest score takes everything: that is an argmax, not a softmax.",
        "give every key its share: exp() divided by the row's sum.",
        one_hot,
    ),
    Mistake(
        "logarithm-returned",
        "the logarithms of the weights are returned.",
        "return the weights themselves: exp() of what you have.",
        lambda scores: np.log(right_softmax(scores)),
    ),
    Mistake(
        "logarithm-returned",
        "the logarithms of the weights are returned.",
        "return the weights themselves: exp() of what you have.",
        lambda scores: (
            (s := scores - scores.max(axis=-1, keepdims=True))
            - np.log(np.exp(s).sum(axis=-1, keepdims=True))
        ),
    ),
    Mistake(
        "epsilon-added",
        "a small number is added to the sum, so that the weights sum to a little less than 1.",
        "leave it out: once the maximum is subtracted, the sum is at least 1 and never 0.",
        lambda scores: (
            (e := np.exp(scores - scores.max(axis=-1, keepdims=True)))
            / (e.sum(axis=-1, keepdims=True) + 1e-6)
        ),
    ),
    Mistake(
        "epsilon-added",
        "a small number is added to the sum, so that the weights sum to a little less than 1.",
        "leave it out: once the maximum is subtracted, the sum is at least 1 and never 0.",
        lambda scores: (
            (e := np.exp(scores - scores.max(axis=-1, keepdims=True)))
            / (e.sum(axis=-1, keepdims=True) + 1e-8)
        ),
    ),
    Mistake(
        "size-one-squeezed",
        "squeeze() removes every axis of length 1, and one of them was an axis of the scores.",
        "leave squeeze() out; keepdims=True needs no repair.",
        lambda scores: np.squeeze(right_softmax(scores)),
    ),
)

MIX: tuple[tuple[str, str, str, Mix], ...] = (
    (
        "weights-transposed",
        "the transposed weights multiply v: each value collects from all queries.",
        "write weights @ v: row i of the weights belongs to query i.",
        lambda weights, q, k, v: (np.swapaxes(weights, -1, -2) @ v, weights),
    ),
    (
        "keys-mixed",
        "the keys are mixed where the values should be.",
        "multiply the weights with v.",
        lambda weights, q, k, v: (weights @ k, weights),
    ),
    (
        "queries-mixed",
        "the queries are mixed where the values should be.",
        "multiply the weights with v.",
        lambda weights, q, k, v: (weights @ q, weights),
    ),
    (
        "results-swapped",
        "weights and output are returned in the wrong order.",
        "return output, weights.",
        lambda weights, q, k, v: (weights, weights @ v),
    ),
    (
        "values-first",
        "v stands on the left of the product, where the weights belong.",
        "write weights @ v.",
        lambda weights, q, k, v: (v @ weights, weights),
    ),
    (
        "output-only",
        "only the output is returned.",
        "return both: output, weights.",
        lambda weights, q, k, v: weights @ v,
    ),
    (
        "weights-averaged",
        "the mix is divided by the number of keys, although the weights already sum to 1.",
        "leave the division out.",
        lambda weights, q, k, v: (weights @ v / v.shape[-2], weights),
    ),
    (
        "softmax-on-output",
        "the output goes through another softmax.",
        "the softmax belongs on the scores only.",
        lambda weights, q, k, v: (right_softmax(weights @ v), weights),
    ),
)

# Mistakes in a step that show in the result only as another way to write one of these.
SCORES_IN_ATTENTION = (
    "keys-reshaped",
    "all-axes-reversed",
    "already-scaled",
    "divided-by-size",
    "vectors-normalised",
    "distance-not-product",
    "queries-with-themselves",
    "keys-with-themselves",
    "summed-before-multiplying",
    "sign-flipped",
    "keys-not-transposed",
)
SOFTMAX_IN_ATTENTION = (
    "over-queries",
    "over-first-axis",
    "over-axis-1",
    "over-everything",
    "overflow",
    "global-maximum",
    "scores-clipped",
    "no-keepdims",
    "not-normalised",
    "divided-by-count",
    "no-exponential",
    "sigmoid",
    "exponential-twice",
    "hard-maximum",
)


def scores_returned(q: Array, k: Array, v: Array) -> Any:
    scores = right_scores(q, k)
    return right_softmax(scores) @ v, scores


def softmax_after_mixing(q: Array, k: Array, v: Array) -> Any:
    scores = right_scores(q, k)
    return right_softmax(scores @ v), right_softmax(scores)


ATTENTION: tuple[Mistake, ...] = (
    *(
        replace(mistake, implementation=pipeline(scores=mistake.implementation))
        for mistake in SCORES
        if mistake.id in SCORES_IN_ATTENTION
    ),
    *(
        replace(mistake, implementation=pipeline(weights=mistake.implementation))
        for mistake in SOFTMAX
        if mistake.id in SOFTMAX_IN_ATTENTION
    ),
    *(Mistake(id, happened, advice, pipeline(mix=mix)) for id, happened, advice, mix in MIX),
    Mistake(
        "no-softmax",
        "the scores mix the values as they are: the softmax is missing.",
        "turn the scores into weights with softmax first.",
        pipeline(weights=lambda scores: scores),
    ),
    Mistake(
        "scores-returned",
        "the scores are returned in the place of the weights.",
        "return what softmax made of them.",
        scores_returned,
    ),
    Mistake(
        "softmax-after-mixing",
        "the scores mix the values first, and the softmax comes after that.",
        "softmax turns scores into weights; only then are the values mixed.",
        softmax_after_mixing,
    ),
    Mistake(
        "keys-and-values-swapped",
        "keys and values have changed roles: queries are scored against v, and k is mixed.",
        "score q against k, mix v.",
        lambda q, k, v: pipeline()(q, v, k),
    ),
    Mistake(
        "queries-and-keys-swapped",
        "queries and keys have changed roles.",
        "score q against k, in this order: dot_product_scores(q, k).",
        lambda q, k, v: pipeline()(k, q, v),
    ),
)

# What these do in self-attention, a projection used twice does as well: the declarations
# below name both.
SAME_IN_SELF_ATTENTION = (
    "queries-with-themselves",
    "keys-with-themselves",
    "keys-mixed",
    "queries-mixed",
)

SELF_ATTENTION: tuple[Mistake, ...] = (
    *(
        replace(mistake, implementation=over_self(mistake.implementation))
        for mistake in ATTENTION
        if mistake.id not in SAME_IN_SELF_ATTENTION
    ),
    Mistake(
        "value-not-projected",
        "the values are x itself: w_v is not used.",
        "mix x @ w_v.",
        lambda x, w_q, w_k, w_v: pipeline()(x @ w_q, x @ w_k, x),
    ),
    Mistake(
        "nothing-projected",
        "x attends to itself without any projection.",
        "make queries, keys and values with x @ w_q, x @ w_k and x @ w_v.",
        lambda x, w_q, w_k, w_v: pipeline()(x, x, x),
    ),
    Mistake(
        "queries-not-projected",
        "the queries are x itself: w_q is not used.",
        "make the queries with x @ w_q.",
        lambda x, w_q, w_k, w_v: pipeline()(x, x @ w_k, x @ w_v),
    ),
    Mistake(
        "keys-not-projected",
        "the keys are x itself: w_k is not used.",
        "make the keys with x @ w_k.",
        lambda x, w_q, w_k, w_v: pipeline()(x @ w_q, x, x @ w_v),
    ),
    Mistake(
        "shared-query-and-key-projection",
        "queries and keys share one projection, w_q, or queries are scored against queries.",
        "make the keys with x @ w_k, and score queries against keys.",
        lambda x, w_q, w_k, w_v: pipeline()(x @ w_q, x @ w_q, x @ w_v),
    ),
    Mistake(
        "shared-query-and-key-projection",
        "queries and keys share one projection, w_k, or keys are scored against keys.",
        "make the queries with x @ w_q, and score queries against keys.",
        lambda x, w_q, w_k, w_v: pipeline()(x @ w_k, x @ w_k, x @ w_v),
    ),
    Mistake(
        "shared-key-and-value-projection",
        "keys and values share one projection, w_k, or the keys are mixed.",
        "make the values with x @ w_v, and mix those.",
        lambda x, w_q, w_k, w_v: pipeline()(x @ w_q, x @ w_k, x @ w_k),
    ),
    Mistake(
        "shared-query-and-value-projection",
        "queries and values share one projection, w_q, or the queries are mixed.",
        "make the values with x @ w_v, and mix those.",
        lambda x, w_q, w_k, w_v: pipeline()(x @ w_q, x @ w_k, x @ w_q),
    ),
    Mistake(
        "projection-transposed",
        "the projections are transposed before they multiply x; only square ones survive that.",
        "multiply from the right, as they are: x @ w_q.",
        lambda x, w_q, w_k, w_v: pipeline()(x @ w_q.T, x @ w_k.T, x @ w_v.T),
    ),
    Mistake(
        "projection-from-the-left",
        "the projections multiply x from the left.",
        "multiply from the right: x @ w_q.",
        lambda x, w_q, w_k, w_v: pipeline()(w_q @ x, w_k @ x, w_v @ x),
    ),
)

MISTAKES = {
    "dot_product_scores": SCORES,
    "softmax": SOFTMAX,
    "attention": ATTENTION,
    "self_attention": SELF_ATTENTION,
}
