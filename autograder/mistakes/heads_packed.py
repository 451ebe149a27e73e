"""Mistakes in attention with all heads at once."""

from dataclasses import replace

from autograder.mistakes import ways
from autograder.mistakes.attention_steps import lifted
from autograder.mistakes.heads_attending import ATTENDING
from autograder.mistakes.heads_joining import interleaved as joined_interleaved
from autograder.mistakes.heads_joining import reshaped as joined_reshaped
from autograder.mistakes.heads_joining import right_concat, transposed_view
from autograder.mistakes.heads_packed_steps import (
    attending,
    averaged_scores,
    averaged_weights,
    first_head,
    folded,
    input_sliced,
    joined_last,
    model_size_checked,
    over_heads,
    packed,
    residual,
    reversed_keys_split,
    scaled_by,
    size_from_model,
    some_first,
    split_first,
    split_for_some,
    unpacked_by_reshape,
    values_of_key_size,
    whole,
    whole_scaled,
)
from autograder.mistakes.heads_splitting import (
    NO_NUMBERS,
    SPLIT,
    heads_last,
    interleaved,
    reshaped,
    right_split,
)

REFUSALS = ("features-dropped", "indivisible-not-refused", "silent-value-error")

MULTI_HEAD = (
    *lifted(ATTENDING, attending),
    *(replace(m, implementation=packed(split=m.implementation)) for m in SPLIT if m.id in REFUSALS),
    *ways(
        "not-transposed",
        "queries, keys or values are cut up in the order in which their numbers come, word after "
        "word, so that a head gets pieces of different words.",
        "split with split_heads: reshape to (batch, n, num_heads, d_k), then .transpose(1, 2).",
        packed(split=reshaped),
        packed(split=reshaped, concat=joined_reshaped),
        split_for_some("v", reshaped),
        split_for_some("k", reshaped),
        split_for_some("q", reshaped),
        split_for_some("qk", reshaped),
    ),
    *ways(
        "not-transposed-back",
        "the heads are split well, but joined without bringing positions before heads again.",
        "join with concat_heads: .transpose(1, 2), then .flatten(start_dim=2).",
        packed(concat=joined_reshaped),
    ),
    *ways(
        "heads-attend-to-heads",
        "the heads' axis still stands after the positions, so that in every word its heads attend "
        "to each other, and no word looks at another.",
        "bring heads before positions, .transpose(1, 2), before you attend.",
        packed(split=heads_last, concat=joined_last),
        packed(split=heads_last),
        packed(split=heads_last, concat=joined_reshaped),
    ),
    *ways(
        "interleaved",
        "head i takes every num_heads-th number, or the results alternate; the numbers of one "
        "head have to stay neighbours, before and after.",
        "reshape to (…, num_heads, d_k), in this order, and join in this order.",
        packed(split=interleaved),
        packed(split=interleaved, concat=joined_interleaved),
        packed(concat=joined_interleaved),
    ),
    *ways(
        "keys-not-transposed",
        "other axes of the keys change places than the last two: heads and positions.",
        "swap their last two axes: k.transpose(-2, -1).",
        packed(attend=reversed_keys_split),
    ),
    *ways(
        "attention-not-unpacked",
        "scaled_dot_product_attention returns two things, output and weights, and both go on.",
        "write `output, weights = scaled_dot_product_attention(q, k, v)`, and join the output.",
        packed(concat=lambda heads: right_concat((heads, heads))),  # type: ignore[arg-type]
        packed(concat=lambda heads: (heads, heads).shape),  # type: ignore[attr-defined]
        packed(concat=lambda heads: (heads, heads).permute),  # type: ignore[attr-defined]
        packed(concat=lambda heads: (heads, heads).flatten),  # type: ignore[attr-defined]
    ),
    *ways(
        "split-before-projecting",
        "x is split into heads first, and then projected: a head has a part of a word's features "
        "only, and w_q has a row for every feature.",
        "project first, split then: split_heads(x @ w_q, num_heads).",
        split_first(right_split),
        split_first(heads_last),
    ),
    *ways(
        "view-after-transpose",
        "`view` needs axes that lie one after the other in memory, and after a transpose they do "
        "not.",
        "write .reshape where you have .view (or .contiguous() before it), after the transpose.",
        packed(concat=transposed_view),
    ),
    *ways(
        "not-split",
        "there is one large head: nothing is split.",
        "split queries, keys and values before you attend: split_heads(x @ w_q, num_heads).",
        whole,
        whole_scaled,
    ),
    *ways(
        "folded-and-unfolded-wrong",
        "heads and batch were folded into one axis, head after head, and come apart as if it were "
        "sentence after sentence.",
        "keep four axes, (batch, num_heads, n, d_k); attention does not mind leading axes.",
        folded(lambda o, h: o.reshape(len(o) // h, o.shape[1], -1)),
        folded(lambda o, h: right_concat(o.reshape(len(o) // h, h, *o.shape[1:]))),
    ),
    *ways(
        "model-size-checked",
        "d_model is checked, and need not be divisible by num_heads: what is shared out among the "
        "heads is what the projections make.",
        "check w_q.shape[-1] and w_v.shape[-1], or leave it to split_heads.",
        model_size_checked("", AssertionError),
        model_size_checked(NO_NUMBERS, AssertionError),
        model_size_checked(NO_NUMBERS, ValueError),
    ),
    *ways(
        "positions-joined",
        "the positions of a head are put side by side, not the heads of a position.",
        "end with concat_heads.",
        packed(concat=lambda heads: heads.flatten(2)),
    ),
    *ways(
        "scaled-by-other-size",
        "the scores are divided by the root of another size than d_k.",
        "d_k is the size of one head's queries and keys.",
        scaled_by(lambda x, w_q, h: h),
    ),
    *ways(
        "scaled-by-model-size",
        "the scores are divided by the root of d_model, or of the width of all heads together; "
        "d_k is the size of one head.",
        "d_k is w_q.shape[-1] // num_heads; scaled_dot_product_attention reads it off the heads.",
        scaled_by(lambda x, w_q, h: x.shape[-1]),
        scaled_by(lambda x, w_q, h: w_q.shape[-1]),
    ),
    *ways(
        "size-not-read-off",
        "the size of a head is computed as d_model // num_heads; here the projections say how "
        "large a head is.",
        "take d_k from w_q.shape[-1] // num_heads, and d_v from w_v in the same way.",
        size_from_model,
        scaled_by(lambda x, w_q, h: x.shape[-1] // h),
    ),
    *ways(
        "values-of-key-size",
        "values are taken to have d_k numbers per head; they have d_v.",
        "use split_heads for the values too, or take d_v from w_v.shape[-1] // num_heads.",
        values_of_key_size,
    ),
    *ways(
        "over-heads",
        "the softmax runs over the heads, so that they share each word's attention out among "
        "themselves.",
        "use dim=-1: every head has weights of its own, which sum to 1 over the keys.",
        packed(attend=over_heads),
    ),
    *ways(
        "weights-averaged",
        "the heads' weights are averaged before they mix, so that all heads look alike.",
        "let every head mix with its own weights.",
        packed(attend=averaged_weights),
        packed(attend=averaged_scores),
    ),
    *ways(
        "all-heads-are-head-0",
        "every head uses the numbers of head 0, at least in part.",
        "give each head its own part of queries, keys and values.",
        packed(split=first_head),
        some_first("qk"),
        some_first("v"),
        some_first("q"),
        some_first("k"),
        some_first("kv"),
        packed(concat=lambda heads: heads[:, 0]),
        packed(concat=lambda heads: heads[:, -1]),
    ),
    *ways(
        "input-sliced",
        "x is cut into heads as it is, so that each head sees a slice; every head sees all of x, "
        "through its projection.",
        "project first, split then: split_heads(x @ w_q, num_heads).",
        input_sliced,
        packed(project=lambda x, w_q, w_k, w_v: (x, x, x)),
    ),
    *ways(
        "unpacked-by-reshape",
        "the packed projections are taken apart with reshape alone, which mixes their columns.",
        "multiply with the packed projection, x @ w_q, and split the result.",
        unpacked_by_reshape,
    ),
    *ways(
        "not-merged",
        "heads and numbers still have an axis each.",
        "end with concat_heads.",
        packed(concat=lambda heads: heads),
        packed(concat=lambda heads: heads.transpose(1, 2)),
    ),
    *ways(
        "heads-added-up",
        "the heads are added up or averaged; they have to stand side by side.",
        "end with concat_heads.",
        packed(concat=lambda heads: heads.sum(dim=1)),
        packed(concat=lambda heads: heads.mean(dim=1)),
    ),
    *ways(
        "joined-along-positions",
        "the heads are laid one after the other along the positions; every word keeps one row.",
        "end with concat_heads.",
        packed(concat=lambda heads: heads.flatten(1, 2)),
    ),
    *ways(
        "weights-too",
        "more than the output is returned.",
        "return the joined heads alone.",
        packed(concat=lambda heads: (right_concat(heads), None)),
    ),
    *ways(
        "heads-reversed",
        "the heads come in reverse order.",
        "head 0 comes first.",
        packed(concat=lambda heads: right_concat(heads.flip(1))),
    ),
    *ways(
        "shared-query-and-key-projection",
        "queries and keys share one projection.",
        "make the queries with x @ w_q and the keys with x @ w_k.",
        packed(project=lambda x, w_q, w_k, w_v: (x @ w_q, x @ w_q, x @ w_v)),
        packed(project=lambda x, w_q, w_k, w_v: (x @ w_k, x @ w_k, x @ w_v)),
    ),
    *ways(
        "shared-value-projection",
        "the values are made with the projection of the queries or of the keys.",
        "make the values with x @ w_v.",
        packed(project=lambda x, w_q, w_k, w_v: (x @ w_q, x @ w_k, x @ w_k)),
        packed(project=lambda x, w_q, w_k, w_v: (x @ w_q, x @ w_k, x @ w_q)),
    ),
    *ways(
        "not-projected",
        "x itself is used where its projection should be.",
        "make queries, keys and values with x @ w_q, x @ w_k and x @ w_v.",
        packed(project=lambda x, w_q, w_k, w_v: (x @ w_q, x @ w_k, x)),
        packed(project=lambda x, w_q, w_k, w_v: (x, x @ w_k, x @ w_v)),
        packed(project=lambda x, w_q, w_k, w_v: (x @ w_q, x, x @ w_v)),
        packed(project=lambda x, w_q, w_k, w_v: (x, x, x @ w_v)),
    ),
    *ways(
        "queries-and-keys-swapped",
        "queries and keys have changed roles: w_k makes the queries, or the scores are turned.",
        "score x @ w_q against x @ w_k, in this order.",
        packed(project=lambda x, w_q, w_k, w_v: (x @ w_k, x @ w_q, x @ w_v)),
    ),
    *ways(
        "keys-and-values-swapped",
        "keys and values have changed roles.",
        "score against x @ w_k, and mix x @ w_v.",
        packed(project=lambda x, w_q, w_k, w_v: (x @ w_q, x @ w_v, x @ w_k)),
    ),
    *ways(
        "projection-transposed",
        "the projections are transposed before they multiply x; only square ones survive that.",
        "multiply from the right, as they are: x @ w_q.",
        packed(project=lambda x, w_q, w_k, w_v: (x @ w_q.T, x @ w_k.T, x @ w_v.T)),
        packed(project=lambda x, w_q, w_k, w_v: (x @ w_q, x @ w_k, x @ w_v.T)),
    ),
    *ways(
        "residual-added",
        "x is added to the output. That comes with the Transformer block, in lesson 08.",
        "return the joined heads alone.",
        residual,
    ),
    *ways(
        "size-one-squeezed",
        "an axis of length 1 was removed, and it was one of the result's.",
        "leave squeeze() out.",
        packed(concat=lambda heads: right_concat(heads).squeeze()),
    ),
)
