"""Mistakes in attention under a mask: those of its softmax, and those of the steps around it."""

import math
from dataclasses import replace

import torch

from autograder.declaring import Mistake
from autograder.mistakes import ways
from autograder.mistakes.attention_steps import (
    SCORING,
    lifted,
    products,
    right_scores,
    root,
    turned,
)
from autograder.mistakes.masked_mixing_steps import (
    attending,
    causal_too,
    causal_without_mask,
    keys_masked,
    mask_turned_in_place,
    masked_attention,
    masked_scores_returned,
    mixing,
    output_repaired,
    padding_on_queries,
    query_scaled_in_place,
    right_mix,
    right_weights,
    scores_returned,
    scoring,
    value_zeroed_in_place,
    weights_of_all_returned,
    without_mask,
)
from autograder.mistakes.masked_steps import empty, masked, under
from autograder.mistakes.masked_weights import WEIGHTS

# How many ways of one mistake in the softmax are tried in attention as well.
SHOWN = {
    "constant-for-infinity": 10,
    "renormalised": 7,
    "zero-times-infinity": 4,
    "overflow": 5,
    "mask-none": 4,
    "epsilon-added": 1,
}
# Attention makes the scores itself, and may change these in place.
OF_THE_SOFTMAX_ALONE = ("changed-input", "scores-returned", "mask-without-effect")


def from_the_softmax() -> tuple[Mistake, ...]:
    """The softmax's mistakes, in attention that is right otherwise."""
    chosen: list[Mistake] = []
    for m in WEIGHTS:
        tried = sum(other.id == m.id for other in chosen)
        if m.id not in OF_THE_SOFTMAX_ALONE and tried < SHOWN.get(m.id, 2):
            chosen.append(replace(m, implementation=attending(weights=m.implementation)))
    return tuple(chosen)


ATTENTION = (
    *from_the_softmax(),
    *ways(
        "mask-without-effect",
        "the mask has no effect: it is not used, or not handed on to masked_softmax, or the result "
        "of masked_fill, which is a new tensor, is not assigned.",
        "hand it on: masked_softmax(scores, mask).",
        without_mask,
        attending(weights=masked(lambda s, m: torch.softmax(s, dim=-1).masked_fill(empty(m), 0))),
    ),
    *ways(
        "mask-needed",
        "the function cannot be called without a mask.",
        "give the argument a default: def masked_attention(q, k, v, mask=None).",
        masked_attention,
    ),
    *lifted(SCORING, lambda step: attending(scores=step)),
    *ways(
        "scaled-by-other-size",
        "the scores are divided by the root of another size than d_k.",
        "d_k is q.shape[-1], the last size of queries and keys.",
        *scoring(
            lambda q, k: products(q, k) / math.sqrt(k.shape[-2]),
            lambda q, k: products(q, k) / math.sqrt(q.shape[-2]),
            lambda q, k: products(q, k) / math.sqrt(q.shape[1]),
        ),
        lambda q, k, v, mask=None: right_mix(
            right_weights(products(q, k) / math.sqrt(v.shape[-1]), mask), q, k, v, mask
        ),
    ),
    *ways(
        "scaled-after-softmax",
        "the weights are divided by √d_k after the softmax, so that they do not sum to 1.",
        "divide the scores, before the softmax.",
        *mixing(
            lambda w, q, k, v, m: (
                (x := right_weights(products(q, k), m) / root(q)) @ v,
                x,
            ),
            lambda w, q, k, v, m: (w / root(q) @ v, w / root(q)),
            lambda w, q, k, v, m: (w @ v / root(q), w),
        ),
    ),
    *ways(
        "fixed-number-of-axes",
        "the code is written for a fixed number of axes, and … stands for any number.",
        "count axes from the end: -1 and -2.",
        *scoring(
            lambda q, k: q @ k.transpose(1, 2) / root(q),
            lambda q, k: q @ k.transpose(2, 3) / root(q),
            lambda q, k: torch.bmm(q, k.transpose(1, 2)) / root(q),
        ),
    ),
    *ways(
        "queries-with-themselves",
        "queries are scored against queries; k is not used.",
        "use k as the second factor.",
        *scoring(lambda q, k: right_scores(q, q)),
    ),
    *ways(
        "queries-and-keys-swapped",
        "queries and keys have changed roles.",
        "score q against k: rows are queries, columns keys.",
        *scoring(lambda q, k: right_scores(k, q)),
    ),
    *ways(
        "keys-and-values-swapped",
        "keys and values have changed roles: queries are scored against v, and k is mixed.",
        "score q against k, mix v.",
        lambda q, k, v, mask=None: attending()(q, v, k, mask),
    ),
    *ways(
        "keys-masked",
        "the keys themselves are set to 0. Their scores are 0 then, and e⁰ = 1 is a weight.",
        "mask the scores, with −∞.",
        keys_masked,
    ),
    *ways(
        "weights-before-mask-returned",
        "the weights that are returned know nothing of the mask.",
        "return the weights that mixed the values.",
        weights_of_all_returned,
    ),
    *ways(
        "scores-returned",
        "the scores are returned in the place of the weights.",
        "return what the softmax made of them.",
        scores_returned,
        masked_scores_returned,
    ),
    *ways(
        "output-repaired",
        "NaN is taken out of the output and stays in the weights, and NaN comes back through the "
        "gradients.",
        "keep it from arising, in the softmax: masked_softmax(scores, mask).",
        output_repaired,
    ),
    *ways(
        "causal-too",
        "later keys are hidden even where the mask allows them: attention is causal only if the "
        "mask says so.",
        "use the mask that you are given, and no other.",
        causal_too,
    ),
    *ways(
        "weights-transposed",
        "the transposed weights multiply v: each value collects from all queries.",
        "write weights @ v: row i of the weights belongs to query i.",
        *mixing(
            lambda w, q, k, v, m: (turned(w) @ v, w),
            lambda w, q, k, v, m: (w @ v, turned(w)),
        ),
    ),
    *ways(
        "keys-mixed",
        "the keys are mixed where the values should be.",
        "multiply the weights with v.",
        *mixing(lambda w, q, k, v, m: (w @ k, w)),
    ),
    *ways(
        "queries-mixed",
        "the queries are mixed where the values should be.",
        "multiply the weights with v.",
        *mixing(lambda w, q, k, v, m: (w @ q, w)),
    ),
    *ways(
        "weights-averaged",
        "the heads' weights are averaged: one map comes back, or all heads look alike.",
        "return the weights as they are, a map for each head.",
        *mixing(
            lambda w, q, k, v, m: (w @ v, w.mean(dim=1) if w.ndim == 4 else w),
            lambda w, q, k, v, m: (w @ v, w.mean(dim=-3) if w.ndim > 2 else w),
            lambda w, q, k, v, m: (w @ v, w.mean(dim=1)),
            lambda w, q, k, v, m: (
                (x := w.mean(dim=1, keepdim=True) if w.ndim == 4 else w) @ v,
                x,
            ),
        ),
    ),
    *ways(
        "causal-without-mask",
        "where no mask is given, a causal one is put in its place.",
        "let mask=None mean that every query may attend to every key.",
        causal_without_mask,
    ),
    *ways(
        "one-mask-for-all",
        "all heads get the mask of the first.",
        "use the mask as it is; it broadcasts to the scores.",
        attending(weights=masked(under(lambda m: m[:, :1] if m.ndim == 4 else m))),
    ),
    *ways(
        "mask-on-queries",
        "a padding mask is turned from the keys to the queries.",
        "use the mask as it is: it broadcasts to the scores.",
        padding_on_queries,
    ),
    *ways(
        "results-swapped",
        "weights and output are returned in the wrong order.",
        "return output, weights.",
        *mixing(lambda w, q, k, v, m: (w, w @ v)),
    ),
    *ways(
        "output-only",
        "only the output is returned.",
        "return both: output, weights.",
        *mixing(lambda w, q, k, v, m: w @ v),
    ),
    *ways(
        "gradient-cut",
        "the weights are cut from the graph of gradients, so that queries and keys cannot learn.",
        "leave .detach(), .data and no_grad out.",
        *mixing(
            lambda w, q, k, v, m: (w.detach() @ v, w),
            lambda w, q, k, v, m: (w.detach() @ v, w.detach()),
            lambda w, q, k, v, m: (w @ v, w.detach()),
            lambda w, q, k, v, m: (w @ v.detach(), w),
        ),
    ),
    *ways(
        "output-cut",
        "the output is cut from the graph of gradients, so that nothing can be learned through it.",
        "leave .detach(), .data and no_grad out.",
        *mixing(lambda w, q, k, v, m: ((w @ v).detach(), w)),
    ),
    *ways(
        "size-one-squeezed",
        "an axis of length 1 was removed, and it was one of the result's.",
        "leave squeeze() out.",
        *mixing(lambda w, q, k, v, m: ((w @ v).squeeze(), w.squeeze())),
    ),
    *ways(
        "changed-input",
        "an input is changed in place, and the caller still needs it.",
        "make a new tensor: q / 2 does, q /= 2 does not.",
        query_scaled_in_place,
        value_zeroed_in_place,
        mask_turned_in_place,
    ),
)
