"""Mistakes in attention with a projection for each head, one head after the other."""

import torch

from autograder.mistakes import ways
from autograder.mistakes.attention_steps import lifted
from autograder.mistakes.heads_attending import ATTENDING
from autograder.mistakes.heads_looping_steps import (
    as_many_as_sentences,
    as_many_as_words,
    attending,
    averaged_weights,
    batch_for_heads,
    broadcast,
    chained,
    choosing,
    joining,
    over_heads,
    over_heads_of_words,
    projecting,
    residual,
    room_for_keys,
    scaled_by_all_heads,
    scaled_by_model_size,
    scaled_by_shared_size,
    sliced,
    stacked_shape,
    zipped_batch,
)

PER_HEAD = (
    *lifted(ATTENDING, attending),
    *ways(
        "scaled-by-model-size",
        "the scores are divided by the root of d_model, or of all heads' sizes together; d_k is "
        "the size of one head.",
        "divide by math.sqrt(w_q.shape[-1]), or let scaled_dot_product_attention do it.",
        scaled_by_model_size,
        scaled_by_all_heads,
    ),
    *ways(
        "size-not-read-off",
        "d_k is computed as d_model // num_heads; here the projections say how large a head is.",
        "take d_k from w_q.shape[-1].",
        scaled_by_shared_size,
    ),
    *ways(
        "over-heads",
        "the softmax runs over the heads, so that they share each word's attention out among "
        "themselves.",
        "use dim=-1: every head has weights of its own, which sum to 1 over the keys.",
        over_heads,
    ),
    *ways(
        "weights-averaged",
        "the heads' weights are averaged before they mix, so that all heads look alike.",
        "let every head mix with its own weights.",
        averaged_weights,
    ),
    *ways(
        "all-heads-are-head-0",
        "some or all projections are those of one head for every head.",
        "use w_q[i], w_k[i] and w_v[i] for head i.",
        choosing([0], [0], [0]),
        choosing([0], [0], None),
        choosing(None, None, [0]),
        choosing([0], None, None),
        choosing(None, [0], None),
        choosing(None, [0], [0]),
        choosing([-1], [-1], [-1]),
    ),
    *ways(
        "one-head-only",
        "only one head is returned: a return line inside the loop ends it at once, and a variable "
        "that every turn overwrites keeps the last head.",
        "collect the heads in a list, and stack them after the loop: torch.stack(heads, dim=1).",
        joining(lambda heads: heads[0]),
        joining(lambda heads: heads[-1]),
        joining(lambda heads: heads[0].unsqueeze(1)),
        joining(lambda heads: heads[-1].unsqueeze(1)),
    ),
    *ways(
        "heads-before-batch",
        "the heads come before the batch.",
        "stack along axis 1: torch.stack(heads, dim=1).",
        joining(lambda heads: torch.stack(heads)),
    ),
    *ways(
        "heads-after-positions",
        "the heads' axis stands after the positions.",
        "stack along axis 1: torch.stack(heads, dim=1).",
        joining(lambda heads: torch.stack(heads, dim=2)),
        joining(lambda heads: torch.stack(heads, dim=-1)),
    ),
    *ways(
        "reshaped-into-place",
        "the heads are brought into the right shape with reshape, which keeps the order of the "
        "numbers, so that words, heads and sentences get mixed.",
        "let torch.stack(heads, dim=1) make the axis where it belongs.",
        joining(lambda heads: torch.cat(heads, dim=-1).reshape(stacked_shape(heads))),
        joining(lambda heads: torch.stack(heads).reshape(stacked_shape(heads))),
        joining(lambda heads: torch.stack(heads, dim=2).reshape(stacked_shape(heads))),
    ),
    *ways(
        "heads-attend-to-heads",
        "the heads' axis stands after the positions, so that in every word its heads attend to "
        "each other, and no word looks at another.",
        "bring heads before positions before you attend.",
        over_heads_of_words,
        lambda x, w_q, w_k, w_v: over_heads_of_words(x, w_q, w_k, w_v).transpose(1, 2),
    ),
    *ways(
        "pairs-collected",
        "scaled_dot_product_attention returns two things, and both are collected.",
        "keep the first: `output, weights = scaled_dot_product_attention(...)`.",
        joining(lambda heads: torch.stack([(head, head) for head in heads], dim=1)),  # type: ignore[misc]
        joining(lambda heads: torch.stack([(head, head) for head in heads])),  # type: ignore[misc]
    ),
    *ways(
        "heads-joined",
        "the heads are joined along an axis that is there already.",
        "give them an axis of their own: torch.stack(heads, dim=1), not torch.cat.",
        joining(lambda heads: torch.cat(heads, dim=-1)),
        joining(lambda heads: torch.cat(heads, dim=1)),
        joining(lambda heads: torch.cat(heads, dim=0)),
    ),
    *ways(
        "heads-added-up",
        "the heads are added up or averaged; each has to be there by itself.",
        "stack them along axis 1: torch.stack(heads, dim=1).",
        joining(lambda heads: torch.stack(heads).sum(dim=0)),
        joining(lambda heads: torch.stack(heads).mean(dim=0)),
    ),
    *ways(
        "tuple-of-heads",
        "the heads are returned one by one.",
        "put them into one tensor: torch.stack(heads, dim=1).",
        joining(lambda heads: heads),
        joining(lambda heads: tuple(heads)),
    ),
    *ways(
        "weights-too",
        "more than the heads is returned.",
        "return the heads alone.",
        joining(lambda heads: (torch.stack(heads, dim=1), None)),
    ),
    *ways(
        "heads-reversed",
        "the heads come in reverse order.",
        "head 0 comes first.",
        joining(lambda heads: torch.stack(heads[::-1], dim=1)),
    ),
    *ways(
        "head-missing",
        "the first or the last head is missing.",
        "loop over all of them: range(len(w_q)) ends with the last.",
        joining(lambda heads: torch.stack(heads[:-1] or heads, dim=1)),
        joining(lambda heads: torch.stack(heads[1:] or heads, dim=1)),
    ),
    *ways(
        "heads-chained",
        "each head works on what the head before it made: x is overwritten in the loop.",
        "give the output of a head another name than x. All heads see the same x.",
        chained,
    ),
    *ways(
        "input-sliced",
        "head i sees a slice of x; every head sees all of x, through a projection of its own.",
        "project the whole of x: x @ w_q[i].",
        sliced(lambda w, i, size: w[i * size : (i + 1) * size]),
        sliced(lambda w, i, size: w[:size]),
        sliced(lambda w, i, size: w),
    ),
    *ways(
        "batch-for-heads",
        "the loop runs over sentences, or pairs them with the heads; every head sees every "
        "sentence.",
        "loop over the heads, range(len(w_q)), and leave the batch to the product: x @ w_q[i].",
        batch_for_heads,
        zipped_batch,
        broadcast,
        as_many_as_sentences,
        as_many_as_words,
    ),
    *ways(
        "room-of-another-size",
        "the tensor for the results has d_k numbers per head, and the values have d_v.",
        "collect the heads in a list and stack them, or take d_v from w_v.shape[-1].",
        room_for_keys,
    ),
    *ways(
        "shared-query-and-key-projection",
        "queries and keys share one projection.",
        "make the queries with w_q[i] and the keys with w_k[i].",
        projecting(lambda x, q, k, v: (x @ q, x @ q, x @ v)),
        projecting(lambda x, q, k, v: (x @ k, x @ k, x @ v)),
    ),
    *ways(
        "shared-value-projection",
        "the values are made with the projection of the queries or of the keys.",
        "make the values with w_v[i].",
        projecting(lambda x, q, k, v: (x @ q, x @ k, x @ k)),
        projecting(lambda x, q, k, v: (x @ q, x @ k, x @ q)),
    ),
    *ways(
        "not-projected",
        "x itself is used where its projection should be.",
        "make queries, keys and values with x @ w_q[i], x @ w_k[i] and x @ w_v[i].",
        projecting(lambda x, q, k, v: (x @ q, x @ k, x)),
        projecting(lambda x, q, k, v: (x, x @ k, x @ v)),
        projecting(lambda x, q, k, v: (x @ q, x, x @ v)),
        projecting(lambda x, q, k, v: (x, x, x @ v)),
        projecting(lambda x, q, k, v: (x @ q, x, x)),
        projecting(lambda x, q, k, v: (x, x, x)),
    ),
    *ways(
        "queries-and-keys-swapped",
        "queries and keys have changed roles: w_k makes the queries, or the scores are turned.",
        "score x @ w_q[i] against x @ w_k[i], in this order.",
        projecting(lambda x, q, k, v: (x @ k, x @ q, x @ v)),
    ),
    *ways(
        "keys-and-values-swapped",
        "keys and values have changed roles.",
        "score against x @ w_k[i], and mix x @ w_v[i].",
        projecting(lambda x, q, k, v: (x @ q, x @ v, x @ k)),
    ),
    *ways(
        "projection-transposed",
        "the projections are transposed before they multiply x; only square ones survive that.",
        "multiply from the right, as they are: x @ w_q[i].",
        projecting(lambda x, q, k, v: (x @ q.T, x @ k.T, x @ v.T)),
        projecting(lambda x, q, k, v: (x @ q, x @ k, x @ v.T)),
    ),
    *ways(
        "projection-from-the-left",
        "the projections multiply x from the left.",
        "multiply from the right: x @ w_q[i].",
        projecting(lambda x, q, k, v: (q @ x, k @ x, v @ x)),
    ),
    *ways(
        "residual-added",
        "x is added to the output. That comes with the Transformer block, in lesson 08.",
        "return the heads alone.",
        residual,
    ),
    *ways(
        "size-one-squeezed",
        "an axis of length 1 was removed, and it was one of the result's.",
        "leave squeeze() out.",
        joining(lambda heads: torch.stack(heads, dim=1).squeeze()),
    ),
)
