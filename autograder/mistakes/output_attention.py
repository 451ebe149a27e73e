"""Mistakes in multi-head attention with W^O, each in the step that it gets wrong."""

import math

import torch
from torch import Tensor

from autograder.declaring import Mistake
from autograder.mistakes import ways
from autograder.mistakes.attention_steps import (
    SCORING,
    WEIGHING,
    causal,
    lifted,
    products,
    right_softmax,
    root,
)
from autograder.mistakes.output_cutting import CUTTING
from autograder.mistakes.output_projection import (
    PROJECT_OUTPUT,
    side_by_side,
)
from autograder.mistakes.output_steps import (
    cut,
    finished,
    finishing,
    mixing,
    pipeline,
    projecting,
    projections,
    right,
    scaled_by,
    scaled_by_values,
    scoring,
    split_first,
    weighing,
    with_residual,
    with_weights,
    without_graph,
)

# Of what goes wrong with `project_output`, what people write here too, in the first way of each.
AT_THE_END = (
    "output-projection-missing",
    "second-output-projection",
    "w-o-transposed",
    "w-o-from-the-left",
    "not-transposed-back",
    "view-after-transpose",
    "interleaved",
    "other-axes-swapped",
    "heads-before-batch",
    "whole-w-o-for-each-head",
    "one-block-for-all-heads",
    "one-head-only",
    "averaged-over-heads",
    "scaled-again",
    "not-summed-over-heads",
    "heads-reversed",
    "output-transposed",
)


def unfolded(heads: Tensor) -> Tensor:
    batch, num_heads, *rest = heads.shape
    return heads.reshape(num_heads, batch, *rest).transpose(0, 1)


def refolded(heads: Tensor) -> Tensor:
    batch, num_heads, *rest = heads.shape
    return heads.transpose(0, 1).reshape(batch, num_heads, *rest)


def at_the_end() -> tuple[Mistake, ...]:
    first = {m.id: m for m in reversed(PROJECT_OUTPUT)}
    return tuple(
        Mistake(m.id, m.happened, m.advice, pipeline(finish=m.implementation))
        for m in map(first.__getitem__, AT_THE_END)
    )


MULTI_HEAD_ATTENTION_WITH_OUTPUT: tuple[Mistake, ...] = (
    *at_the_end(),
    *CUTTING,
    *lifted(SCORING, lambda step: pipeline(scores=step)),
    *ways(
        "scaled-by-all-heads",
        "the scores are divided by the root of the width of all heads together.",
        "d_k is the size of one head: cut into heads first.",
        scaled_by(lambda x, w_q, h: w_q.shape[1]),
    ),
    *ways(
        "scaled-by-model-size",
        "the scores are divided by √d_model, not by √d_k.",
        "d_k is the size of one head: q.shape[-1] after cutting.",
        scaled_by(lambda x, w_q, h: x.shape[-1]),
    ),
    *ways(
        "scaled-by-other-size",
        "the scores are divided by the root of another size than d_k.",
        "d_k is the size of one head: q.shape[-1] after cutting.",
        scaled_by(lambda x, w_q, h: max(x.shape[-1] // h, 1)),
        scaled_by(lambda x, w_q, h: h),
        scaled_by(lambda x, w_q, h: x.shape[1]),
        scaled_by_values,
    ),
    *ways(
        "scaled-after-softmax",
        "the weights are divided by √d_k after the softmax, so that they do not sum to 1.",
        "divide the scores, before the softmax.",
        lambda x, w_q, w_k, w_v, w_o, h: (
            pipeline(scores=products)(x, w_q, w_k, w_v, w_o, h) / math.sqrt(w_q.shape[1] // h)
        ),
        lambda x, w_q, w_k, w_v, w_o, h: (
            right(x, w_q, w_k, w_v, w_o, h) / math.sqrt(w_q.shape[1] // h)
        ),
    ),
    *ways(
        "queries-and-keys-swapped",
        "queries and keys have changed roles.",
        "score q against k: rows are queries, columns keys.",
        *projecting(lambda x, w_q, w_k, w_v: (x @ w_k, x @ w_q, x @ w_v)),
    ),
    *ways(
        "shared-query-and-key-projection",
        "queries and keys share one projection.",
        "q is x @ w_q, and k is x @ w_k.",
        *projecting(
            lambda x, w_q, w_k, w_v: (x @ w_q, x @ w_q, x @ w_v),
            lambda x, w_q, w_k, w_v: (x @ w_k, x @ w_k, x @ w_v),
        ),
    ),
    *ways(
        "keys-and-values-swapped",
        "keys and values have changed roles: queries are scored against the values, and the keys "
        "are mixed.",
        "score against x @ w_k, mix x @ w_v.",
        *projecting(lambda x, w_q, w_k, w_v: (x @ w_q, x @ w_v, x @ w_k)),
    ),
    *ways(
        "keys-mixed",
        "the keys are mixed where the values should be.",
        "multiply the weights with v.",
        *projecting(lambda x, w_q, w_k, w_v: (x @ w_q, x @ w_k, x @ w_k)),
    ),
    *ways(
        "queries-mixed",
        "the queries are mixed where the values should be.",
        "multiply the weights with v.",
        *projecting(lambda x, w_q, w_k, w_v: (x @ w_q, x @ w_k, x @ w_q)),
    ),
    *ways(
        "values-not-projected",
        "x itself is mixed: w_v is not used.",
        "v is x @ w_v.",
        *projecting(lambda x, w_q, w_k, w_v: (x @ w_q, x @ w_k, x)),
    ),
    *ways(
        "nothing-projected",
        "x itself is cut into heads: w_q, w_k and w_v are not used.",
        "cut x @ w_q, x @ w_k and x @ w_v.",
        *projecting(lambda x, w_q, w_k, w_v: (x, x, x)),
    ),
    *ways(
        "projection-transposed",
        "projections are turned before they multiply x, as nn.Linear does with its weight; only "
        "square ones survive that.",
        "multiply from the right, as they are: x @ w_q.",
        *projecting(
            lambda x, w_q, w_k, w_v: (x @ w_q.T, x @ w_k.T, x @ w_v.T),
            lambda x, w_q, w_k, w_v: (x @ w_q.T, x @ w_k, x @ w_v),
            lambda x, w_q, w_k, w_v: (x @ w_q, x @ w_k.T, x @ w_v),
            lambda x, w_q, w_k, w_v: (x @ w_q, x @ w_k, x @ w_v.T),
        ),
        lambda x, w_q, w_k, w_v, w_o, h: right(x, w_q.T, w_k.T, w_v.T, w_o.T, h),
    ),
    *ways(
        "split-before-projecting",
        "x is split into heads first, and then projected: a head has a part of a word's features "
        "only, and w_q has a row for every feature.",
        "project first, split then: split_heads(x @ w_q, num_heads).",
        split_first,
    ),
    *ways(
        "output-projection-per-head",
        "w_o meets the heads before they stand side by side, one by one or one below the other, "
        "and it has a row for every number of all heads together.",
        "concatenate first: concat_heads(heads) @ w_o.",
        *finishing(
            lambda heads, w_o: side_by_side(heads @ w_o),
            lambda heads, w_o: (heads @ w_o).sum(dim=1),
            lambda heads, w_o: torch.cat(heads.unbind(1), dim=1) @ w_o,
        ),
    ),
    *ways(
        "keys-not-transposed",
        "k has to be turned before it is multiplied.",
        "swap its last two axes: k.transpose(-2, -1).",
        *scoring(
            lambda q, k: q @ k.transpose(1, 2) / root(q),
        ),
    ),
    *ways(
        "heads-attend-to-heads",
        "each word scores the heads of its own, and not the other words: heads and words have to "
        "change places first.",
        "transpose to (batch, num_heads, n, d_k) before the scores.",
        pipeline(
            split=lambda x, h: cut(x, h).transpose(1, 2),
            finish=lambda heads, w_o: heads.flatten(2) @ w_o,
        ),
    ),
    *ways(
        "over-heads",
        "the softmax runs over the heads, or over the batch.",
        "use dim=-1: over the keys.",
        *weighing(
            lambda scores: torch.softmax(scores, dim=1),
            lambda scores: torch.softmax(scores, dim=0),
        ),
    ),
    *lifted(WEIGHING, lambda step: pipeline(weights=step), "over-first-axis"),
    *ways(
        "weights-averaged",
        "the weights are averaged over the heads before they mix: all heads look the same way.",
        "keep the weights of each head apart.",
        *weighing(lambda scores: right_softmax(scores).mean(dim=1, keepdim=True)),
    ),
    *ways(
        "heads-before-batch",
        "heads that were folded into the batch are unfolded in the other order, so that sentences "
        "are mixed.",
        "what was folded as (batch, num_heads) has to be unfolded as (batch, num_heads).",
        *finishing(lambda heads, w_o: finished(unfolded(heads), w_o)),
        pipeline(split=lambda x, h: refolded(cut(x, h))),
    ),
    *ways(
        "masked-too-early",
        "later words are hidden from earlier ones. Masks come in lesson 05.",
        "leave the mask out.",
        *scoring(causal),
    ),
    *ways(
        "weights-transposed",
        "the transposed weights multiply v: each value collects from all queries.",
        "write weights @ v: row i of the weights belongs to query i.",
        *mixing(lambda weights, v: weights.mT @ v),
    ),
    *ways(
        "residual-added",
        "x is added to the output. That comes with the Transformer block, in lesson 08.",
        "return the product with w_o alone.",
        with_residual,
    ),
    *ways(
        "weights-too",
        "the weights are returned beside the output.",
        "return the output alone.",
        with_weights,
    ),
    *ways(
        "attention-not-unpacked",
        "scaled_dot_product_attention returns two things, output and weights, and both go on.",
        "write `heads, _ = scaled_dot_product_attention(q, k, v)`.",
        *finishing(lambda heads, w_o: (heads, heads).transpose(1, 2)),  # type: ignore[attr-defined]
    ),
    *ways(
        "gradient-cut",
        "the result is cut from the graph of gradients, so that nothing can be learned through it.",
        "leave .detach(), .data, .item() and no_grad out.",
        without_graph,
        *weighing(
            lambda scores: right_softmax(scores).detach(),
            lambda scores: right_softmax(scores.detach()),
        ),
        *mixing(lambda weights, v: (weights @ v).detach(), lambda weights, v: weights @ v.detach()),
        *finishing(lambda heads, w_o: finished(heads, w_o.detach())),
        *projecting(
            lambda x, w_q, w_k, w_v: projections(x.detach(), w_q, w_k, w_v),
            lambda x, w_q, w_k, w_v: projections(x, w_q.detach(), w_k.detach(), w_v.detach()),
        ),
    ),
    *ways(
        "size-one-squeezed",
        "an axis of length 1 was removed, and it was one of the result's.",
        "leave squeeze() out.",
        *finishing(
            lambda heads, w_o: finished(heads, w_o).squeeze(),
            lambda heads, w_o: finished(heads, w_o).squeeze(0),
            lambda heads, w_o: finished(heads, w_o).squeeze(1),
        ),
    ),
)
