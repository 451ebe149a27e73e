"""Mistakes of lesson 01: scores, softmax, attention and self-attention in NumPy.

Attention and self-attention can go wrong in any of their steps. `pipeline` builds both from
replaceable steps, so that each mistake states only the step that it gets wrong.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.declaring import Mistake
from autograder.exercises.inputs import Array
from autograder.mistakes import ways
from autograder.mistakes.numpy_scores import SCORES, right_scores
from autograder.mistakes.numpy_softmax import SOFTMAX, exponentials, right_softmax

Scores = Callable[[Array, Array], Array]
Weights = Callable[[Array], Array]
Mix = Callable[[Array, Array, Array, Array], Any]
Attention = Callable[[Array, Array, Array], Any]


def right_mix(weights: Array, q: Array, k: Array, v: Array) -> Any:
    return weights @ v, weights


def pipeline(
    scores: Scores = right_scores, weights: Weights = right_softmax, mix: Mix = right_mix
) -> Attention:
    """Attention from three steps, each of which may be wrong."""
    return lambda q, k, v: mix(weights(scores(q, k)), q, k, v)


def mixing(mix: Mix) -> Attention:
    """Attention that is right up to the last step."""
    return pipeline(mix=mix)


def lifted(
    mistakes: Sequence[Mistake], but: Sequence[str], into: Callable[[Any], Any], more: str = ""
) -> tuple[Mistake, ...]:
    """The same mistakes one step later; `but` are ids that cannot be told apart there."""
    return tuple(
        replace(m, happened=m.happened + more, implementation=into(m.implementation))
        for m in mistakes
        if m.id not in but
    )


def swap(x: Array) -> Array:
    return np.swapaxes(x, -1, -2)


def excluding_itself(scores: Array) -> Array:
    if scores.shape[-1] == 1 or scores.shape[-1] != scores.shape[-2]:
        return scores
    return np.where(np.eye(scores.shape[-1], dtype=bool), -np.inf, scores)


def with_residual(weights: Array, q: Array, k: Array, v: Array) -> Any:
    output = weights @ v
    return output + q if output.shape == q.shape else output, weights


# In attention these do what another declared mistake does, or nothing at all.
SAME_SCORES = (
    "queries-and-keys-swapped",
    "elementwise-product",
    "not-summed",
    "size-one-squeezed",
    "scaled-by-number-of-keys",
)
SAME_SOFTMAX = (
    "scores-scaled",
    "sign-flipped",
    "logarithm-returned",
    "squares-not-exponentials",
    "size-one-squeezed",
    "equal-scores-forgotten",
    "loop-over-first-axis",
)

ATTENTION = (
    *lifted(SCORES, SAME_SCORES, lambda scores: pipeline(scores=scores)),
    *lifted(SOFTMAX, SAME_SOFTMAX, lambda softmax: pipeline(weights=softmax)),
    *ways(
        "weights-transposed",
        "the transposed weights multiply v: each value collects from all queries.",
        "write weights @ v: row i of the weights belongs to query i.",
        mixing(lambda weights, q, k, v: (swap(weights) @ v, weights)),
        mixing(lambda weights, q, k, v: (weights @ v, swap(weights))),
    ),
    *ways(
        "all-axes-reversed-in-mix",
        "`.T` reverses every axis, the leading ones too; it is right for two axes only.",
        "write weights @ v, without turning anything.",
        mixing(lambda weights, q, k, v: ((v.T @ weights.T).T, weights)),
    ),
    *ways(
        "keys-mixed",
        "the keys are mixed where the values should be.",
        "multiply the weights with v.",
        mixing(lambda weights, q, k, v: (weights @ k, weights)),
    ),
    *ways(
        "queries-mixed",
        "the queries are mixed where the values should be.",
        "multiply the weights with v.",
        mixing(lambda weights, q, k, v: (weights @ q, weights)),
    ),
    *ways(
        "results-swapped",
        "weights and output are returned in the wrong order.",
        "return output, weights.",
        mixing(lambda weights, q, k, v: (weights, weights @ v)),
    ),
    *ways(
        "values-first",
        "v stands on the left of the product, where the weights belong.",
        "write weights @ v.",
        mixing(lambda weights, q, k, v: (v @ weights, weights)),
    ),
    *ways(
        "dot-for-batches",
        "np.dot pairs every leading index of the weights with every one of v; `@` keeps them "
        "together.",
        "multiply with `@` (np.matmul), which treats leading axes as a batch.",
        mixing(lambda weights, q, k, v: (np.dot(weights, v), weights)),
    ),
    *ways(
        "elementwise-mix",
        "weights and v are multiplied number by number.",
        "use the matrix product: weights @ v.",
        mixing(lambda weights, q, k, v: (weights * v, weights)),
    ),
    *ways(
        "output-only",
        "only the output is returned.",
        "return both: output, weights.",
        mixing(lambda weights, q, k, v: weights @ v),
    ),
    *ways(
        "output-divided",
        "the mix is divided by the number of keys, although the weights already sum to 1.",
        "leave the division out.",
        mixing(lambda weights, q, k, v: (weights @ v / v.shape[-2], weights)),
    ),
    *ways(
        "output-not-normalised",
        "the values are mixed with the exponentials; the division by their sum is missing there, "
        "or in the weights that are returned.",
        "make the weights first, then use the same weights for both.",
        lambda q, k, v: (exponentials(s := right_scores(q, k)) @ v, right_softmax(s)),
        lambda q, k, v: (right_softmax(s := right_scores(q, k)) @ v, exponentials(s)),
    ),
    *ways(
        "output-transposed",
        "rows and columns of the output have changed places.",
        "return weights @ v as it is: one row for each query.",
        mixing(lambda weights, q, k, v: (swap(weights @ v), weights)),
        mixing(
            lambda weights, q, k, v: (
                (o := weights @ v).reshape(*o.shape[:-2], o.shape[-1], o.shape[-2]),
                weights,
            )
        ),
    ),
    *ways(
        "output-reshaped-by-key-length",
        "the output is reshaped with the number of keys; it has one row for each query.",
        "leave the reshape out: weights @ v has the right shape already.",
        mixing(lambda w, q, k, v: ((w @ v).reshape(*v.shape[:-2], -1, k.shape[-2]), w)),
        mixing(lambda w, q, k, v: ((w @ v).reshape(*v.shape[:-2], k.shape[-2], -1), w)),
    ),
    *ways(
        "softmax-on-output",
        "the output goes through another softmax.",
        "the softmax belongs on the scores only.",
        mixing(lambda weights, q, k, v: (right_softmax(weights @ v), weights)),
    ),
    *ways(
        "scaled-after-softmax",
        "the weights are divided by √d_k after the softmax, so that they do not sum to 1. Scaling "
        "comes in lesson 02, and before the softmax.",
        "leave the division out for now.",
        mixing(lambda w, q, k, v: ((s := w / np.sqrt(q.shape[-1])) @ v, s)),
        mixing(lambda w, q, k, v: (w @ v / np.sqrt(q.shape[-1]), w)),
    ),
    *ways(
        "scaled-by-other-size",
        "the scores are divided by a root, and not even by that of d_k. Here they stay as they "
        "are.",
        "leave the division out for now.",
        lambda q, k, v: pipeline()(q / np.sqrt(v.shape[-1]), k, v),
        lambda q, k, v: pipeline()(q / np.sqrt(k.shape[-2]), k, v),
    ),
    *ways(
        "residual-added",
        "the queries are added to the output. That comes with the Transformer block, in lesson 08.",
        "return weights @ v alone.",
        mixing(with_residual),
    ),
    *ways(
        "no-softmax",
        "the scores mix the values as they are: the softmax is missing.",
        "turn the scores into weights with softmax first, and use those for both results.",
        pipeline(weights=lambda scores: scores),
        lambda q, k, v: ((s := right_scores(q, k)) @ v, right_softmax(s)),
    ),
    *ways(
        "scores-returned",
        "the scores are returned in the place of the weights.",
        "return what softmax made of them.",
        lambda q, k, v: (right_softmax(s := right_scores(q, k)) @ v, s),
    ),
    *ways(
        "softmax-after-mixing",
        "the scores mix the values first, and the softmax comes after that.",
        "softmax turns scores into weights; only then are the values mixed.",
        lambda q, k, v: (right_softmax((s := right_scores(q, k)) @ v), right_softmax(s)),
    ),
    *ways(
        "weights-averaged-over-heads",
        "the weights that are returned are averaged over an axis.",
        "return them as they are.",
        mixing(lambda w, q, k, v: (w @ v, w.mean(axis=1) if w.ndim == 4 else w)),
    ),
    *ways(
        "keys-and-values-swapped",
        "keys and values have changed roles: queries are scored against v, and k is mixed.",
        "score q against k, mix v.",
        lambda q, k, v: pipeline()(q, v, k),
    ),
    *ways(
        "queries-and-keys-swapped",
        "queries and keys have changed roles.",
        "score q against k, in this order: dot_product_scores(q, k).",
        lambda q, k, v: pipeline()(k, q, v),
    ),
    *ways(
        "size-one-squeezed",
        "an axis of length 1 was removed, and it was one of the result's.",
        "leave squeeze() out.",
        mixing(lambda weights, q, k, v: (np.squeeze(weights @ v), np.squeeze(weights))),
        mixing(lambda weights, q, k, v: (np.squeeze(weights @ v), weights)),
        mixing(lambda weights, q, k, v: (weights @ v, np.squeeze(weights))),
    ),
)

# What these do in self-attention, a projection used twice does as well: the declarations below
# name both.
SAME_IN_SELF_ATTENTION = (
    "queries-with-themselves",
    "keys-with-themselves",
    "keys-mixed",
    "queries-mixed",
    "query-length-for-keys",
    "scaled-by-number-of-keys",
    "output-reshaped-by-key-length",
    "residual-added",
    "keys-and-values-swapped",
    "queries-and-keys-swapped",
    "scaled-by-other-size",
)


def over_self(attention: Attention) -> Callable[..., Any]:
    """Self-attention that projects as it should and then calls this attention."""
    return lambda x, w_q, w_k, w_v: attention(x @ w_q, x @ w_k, x @ w_v)


def projected(
    make: Callable[[Array, Array, Array, Array], tuple[Array, Array, Array]],
) -> Callable[..., Any]:
    """Self-attention whose queries, keys and values are made in this way."""
    return lambda x, w_q, w_k, w_v: pipeline()(*make(x, w_q, w_k, w_v))


def output_plus_input(x: Array, w_q: Array, w_k: Array, w_v: Array) -> Any:
    output, weights = pipeline()(x @ w_q, x @ w_k, x @ w_v)
    return output + x if output.shape == x.shape else output, weights


SELF_ATTENTION = (
    *lifted(ATTENTION, SAME_IN_SELF_ATTENTION, over_self),
    *ways(
        "value-not-projected",
        "the values are x itself: w_v is not used.",
        "mix x @ w_v.",
        projected(lambda x, w_q, w_k, w_v: (x @ w_q, x @ w_k, x)),
    ),
    *ways(
        "nothing-projected",
        "x attends to itself without any projection.",
        "make queries, keys and values with x @ w_q, x @ w_k and x @ w_v.",
        projected(lambda x, w_q, w_k, w_v: (x, x, x)),
    ),
    *ways(
        "queries-not-projected",
        "the queries are x itself: w_q is not used.",
        "make the queries with x @ w_q.",
        projected(lambda x, w_q, w_k, w_v: (x, x @ w_k, x @ w_v)),
    ),
    *ways(
        "keys-not-projected",
        "the keys are x itself: w_k is not used.",
        "make the keys with x @ w_k.",
        projected(lambda x, w_q, w_k, w_v: (x @ w_q, x, x @ w_v)),
    ),
    *ways(
        "keys-and-values-not-projected",
        "keys and values are x itself: w_k and w_v are not used.",
        "make them with x @ w_k and x @ w_v.",
        projected(lambda x, w_q, w_k, w_v: (x @ w_q, x, x)),
    ),
    *ways(
        "shared-query-and-key-projection",
        "queries and keys share one projection, or one of them is scored against itself.",
        "make the queries with x @ w_q, the keys with x @ w_k, and score them against each other.",
        projected(lambda x, w_q, w_k, w_v: (x @ w_q, x @ w_q, x @ w_v)),
        projected(lambda x, w_q, w_k, w_v: (x @ w_k, x @ w_k, x @ w_v)),
    ),
    *ways(
        "shared-key-and-value-projection",
        "keys and values share one projection, w_k, or the keys are mixed.",
        "make the values with x @ w_v, and mix those.",
        projected(lambda x, w_q, w_k, w_v: (x @ w_q, x @ w_k, x @ w_k)),
    ),
    *ways(
        "shared-query-and-value-projection",
        "queries and values share one projection, w_q, or the queries are mixed.",
        "make the values with x @ w_v, and mix those.",
        projected(lambda x, w_q, w_k, w_v: (x @ w_q, x @ w_k, x @ w_q)),
    ),
    *ways(
        "queries-and-keys-swapped",
        "queries and keys have changed roles: w_k makes the queries, or the scores are turned.",
        "score x @ w_q against x @ w_k, in this order.",
        projected(lambda x, w_q, w_k, w_v: (x @ w_k, x @ w_q, x @ w_v)),
    ),
    *ways(
        "keys-and-values-swapped",
        "keys and values have changed roles.",
        "score against x @ w_k, and mix x @ w_v.",
        projected(lambda x, w_q, w_k, w_v: (x @ w_q, x @ w_v, x @ w_k)),
    ),
    *ways(
        "projection-transposed",
        "the projections are transposed before they multiply x; only square ones survive that.",
        "multiply from the right, as they are: x @ w_q.",
        projected(lambda x, w_q, w_k, w_v: (x @ w_q.T, x @ w_k.T, x @ w_v.T)),
        projected(lambda x, w_q, w_k, w_v: (x @ w_q.T, x @ w_k, x @ w_v)),
        projected(lambda x, w_q, w_k, w_v: (x @ w_q, x @ w_k.T, x @ w_v)),
        projected(lambda x, w_q, w_k, w_v: (x @ w_q, x @ w_k, x @ w_v.T)),
    ),
    *ways(
        "projection-from-the-left",
        "the projections multiply x from the left.",
        "multiply from the right: x @ w_q.",
        projected(lambda x, w_q, w_k, w_v: (w_q @ x, w_k @ x, w_v @ x)),
    ),
    *ways(
        "already-scaled",
        "the scores are divided by √d_model. Scaling comes in lesson 02, and with √d_k.",
        "leave the division out for now.",
        projected(lambda x, w_q, w_k, w_v: (x @ w_q / np.sqrt(x.shape[-1]), x @ w_k, x @ w_v)),
    ),
    *ways(
        "residual-added",
        "x is added to the output. That comes with the Transformer block, in lesson 08.",
        "return the mix alone.",
        output_plus_input,
    ),
    *ways(
        "itself-excluded",
        "a word may not attend to itself; here it may.",
        "leave the mask out: every word sees every word.",
        over_self(
            lambda q, k, v: right_mix(right_softmax(excluding_itself(right_scores(q, k))), q, k, v)
        ),
    ),
)

MISTAKES = {
    "dot_product_scores": SCORES,
    "softmax": SOFTMAX,
    "attention": ATTENTION,
    "self_attention": SELF_ATTENTION,
}
