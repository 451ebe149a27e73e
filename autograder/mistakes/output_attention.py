"""Mistakes in multi-head attention with W^O, each in the step that it gets wrong."""

import math

import torch
from torch import Tensor

from autograder.declaring import Mistake
from autograder.mistakes import ways
from autograder.mistakes.output_projection import (
    PROJECT_OUTPUT,
    interleaved,
    not_turned,
    side_by_side,
)
from autograder.mistakes.output_steps import (
    causal,
    cut,
    finished,
    finished_as_far_as_there_is,
    finishing,
    head_size,
    joined_by_keys,
    joined_by_model,
    mixing,
    naive,
    one_wide_head,
    over_more,
    pipeline,
    products,
    projecting,
    projections,
    refusing_d_model,
    right,
    same_for_all,
    scaled_by,
    scaled_by_values,
    scoring,
    sized_by_keys,
    sized_by_model,
    softmax,
    split_by_floor,
    split_first,
    split_interleaved,
    split_unturned,
    splitting,
    unrefusing,
    weighing,
    with_residual,
    with_weights,
    without_graph,
    without_keepdim,
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


def at_the_end() -> tuple[Mistake, ...]:
    first = {m.id: m for m in reversed(PROJECT_OUTPUT)}
    return tuple(
        Mistake(m.id, m.happened, m.advice, pipeline(finish=m.implementation))
        for m in map(first.__getitem__, AT_THE_END)
    )


MULTI_HEAD_ATTENTION_WITH_OUTPUT: tuple[Mistake, ...] = (
    *at_the_end(),
    *ways(
        "not-transposed",
        "the heads are cut by a reshape alone, so that a head holds pieces of several words.",
        "reshape to (batch, n, num_heads, d_k) first, then .transpose(1, 2).",
        *splitting(split_unturned),
    ),
    *ways(
        "split-and-concat-without-transpose",
        "the heads are cut and put together by reshapes alone. That round trip gives back what "
        "went in, and still each head mixed pieces of several words.",
        "transpose after cutting, and transpose back before putting together.",
        pipeline(split=split_unturned, finish=lambda heads, w_o: not_turned(heads) @ w_o),
    ),
    *ways(
        "split-interleaved",
        "the heads take turns in the projection's columns; head 0 has the first d_k of them.",
        "cut into (num_heads, d_k), in this order.",
        *splitting(split_interleaved),
        pipeline(split=split_interleaved, finish=lambda heads, w_o: interleaved(heads) @ w_o),
    ),
    *ways(
        "size-not-read-off",
        "a head is given d_model // num_heads numbers; the projections' widths say how many it "
        "has.",
        "d_k is w_q.shape[-1] // num_heads, and d_v is w_v.shape[-1] // num_heads.",
        sized_by_model,
        joined_by_model,
    ),
    *ways(
        "values-of-key-size",
        "values are cut, or put together, with the size of the keys; they have one of their own.",
        "d_v is w_v.shape[-1] // num_heads.",
        sized_by_keys(lambda w, h: w.shape[1] // h),
        sized_by_keys(head_size),
        joined_by_keys,
    ),
    *ways(
        "not-split",
        "there is one head as wide as all, instead of num_heads heads.",
        "cut q, k and v with split_heads.",
        one_wide_head,
        lambda x, w_q, w_k, w_v, w_o, h: right(x, w_q, w_k, w_v, w_o, 1),
    ),
    *ways(
        "all-heads-are-one",
        "all heads use the same columns of the projections: they are one head.",
        "head i has the columns from i · d_k to (i + 1) · d_k.",
        *(same_for_all(head) for head in (0, -1)),
    ),
    *ways(
        "features-dropped",
        "widths that num_heads does not divide are not refused: the features that are left over "
        "are dropped.",
        "cut with split_heads, or raise a ValueError with both numbers in it.",
        pipeline(split=split_by_floor, finish=finished_as_far_as_there_is),
        pipeline(split=split_by_floor),
    ),
    *ways(
        "other-error",
        "widths that num_heads does not divide end in an error of PyTorch's, which tells nobody "
        "what is wrong.",
        "cut with split_heads, or raise a ValueError with both numbers in it.",
        unrefusing(lambda w, h: w.shape[1] // h),
        unrefusing(lambda w, h: -1),
    ),
    *ways(
        "refused-needlessly",
        "sizes are refused because num_heads does not divide d_model; what it has to divide is the "
        "width of each projection.",
        "test w_q.shape[-1] and w_v.shape[-1].",
        *map(
            refusing_d_model,
            (
                ValueError("d_model must be divisible by num_heads"),
                ValueError("d_model must be divisible by num_heads."),
                AssertionError("d_model must be divisible by num_heads"),
                AssertionError(),
            ),
        ),
    ),
    *ways(
        "not-scaled",
        "the scores are not divided by √d_k.",
        "use scaled_dot_product_attention, or divide by math.sqrt(d_k).",
        *scoring(products),
    ),
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
        "divided-by-size",
        "the scores are divided by d_k, not by its root.",
        "divide by math.sqrt(q.shape[-1]).",
        *scoring(lambda q, k: products(q, k) / q.shape[-1]),
    ),
    *ways(
        "half-size-for-root",
        "`d_k ** 1/2` is d_k/2, because ** comes before /; it is the root at d_k = 4 only. And "
        "after a division, `/ d_k ** 1/2` divides by d_k and then by 2.",
        "write math.sqrt(d_k), or d_k ** 0.5.",
        *scoring(
            lambda q, k: products(q, k) / (q.shape[-1] ** 1 / 2),
            lambda q, k: products(q, k) / q.shape[-1] ** 1 / 2,
        ),
    ),
    *ways(
        "scaled-up",
        "the scores are multiplied by √d_k, not divided.",
        "divide.",
        *scoring(lambda q, k: products(q, k) * math.sqrt(q.shape[-1])),
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
        "keys-reshaped",
        "k is reshaped, not transposed: the rows that come out are no keys.",
        "swap the last two axes with k.transpose(-2, -1).",
        *scoring(lambda q, k: q @ k.reshape(*k.shape[:2], k.shape[3], -1) / math.sqrt(q.shape[-1])),
    ),
    *ways(
        "keys-not-transposed",
        "k has to be turned before it is multiplied.",
        "swap its last two axes: k.transpose(-2, -1).",
        *scoring(
            lambda q, k: q @ k / math.sqrt(q.shape[-1]),
            lambda q, k: q @ k.transpose(1, 2) / math.sqrt(q.shape[-1]),
            lambda q, k: q @ k.permute(3, 2, 1, 0) / math.sqrt(q.shape[-1]),
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
    *ways(
        "over-queries",
        "the softmax runs over the queries: columns sum to 1 where rows should.",
        "use dim=-1.",
        *weighing(lambda scores: torch.softmax(scores, dim=-2)),
    ),
    *ways(
        "weights-averaged",
        "the weights are averaged over the heads before they mix: all heads look the same way.",
        "keep the weights of each head apart.",
        *weighing(lambda scores: softmax(scores).mean(dim=1, keepdim=True)),
    ),
    *ways(
        "heads-before-batch",
        "heads that were folded into the batch are unfolded in the other order, so that sentences "
        "are mixed.",
        "what was folded as (batch, num_heads) has to be unfolded as (batch, num_heads).",
        *finishing(lambda heads, w_o: finished(unfolded(heads), w_o)),
    ),
    *ways(
        "no-softmax",
        "the scores mix the values as they are: the softmax is missing.",
        "turn the scores into weights with torch.softmax(scores, dim=-1) first.",
        *weighing(lambda scores: scores),
    ),
    *ways(
        "overflow",
        "exp() of a large score is infinite, and infinity divided by infinity is NaN.",
        "use torch.softmax, which subtracts each row's largest score first.",
        *weighing(naive),
    ),
    *ways(
        "no-keepdims",
        "without keepdim=True the sums are matched with the columns, not with their rows.",
        "use torch.softmax, or sum(dim=-1, keepdim=True).",
        *weighing(without_keepdim),
    ),
    *ways(
        "epsilon-added",
        "a small number is added to the denominator, so that the weights sum to a little less "
        "than 1.",
        "leave it out, or use torch.softmax.",
        *weighing(over_more(1e-6), lambda s: softmax(s) / (1 + 1e-6)),
    ),
    *ways(
        "sigmoid",
        "each score goes through a sigmoid by itself, so that the rows do not sum to 1.",
        "use torch.softmax.",
        *weighing(torch.sigmoid),
    ),
    *ways(
        "masked-too-early",
        "later words are hidden from earlier ones. Masks come in lesson 05.",
        "leave the mask out.",
        *weighing(causal),
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
        *weighing(lambda scores: softmax(scores).detach(), lambda scores: softmax(scores.detach())),
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
