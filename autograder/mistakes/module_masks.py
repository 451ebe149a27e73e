"""Mistakes with the mask of a module of multi-head attention."""

import torch

from autograder.mistakes.module_mask_steps import (
    INF,
    added,
    added_infinity,
    after,
    all_heads,
    always_causal,
    any_head,
    causal_by_default,
    clamped,
    filling,
    finished,
    first_head_only,
    first_mask_only,
    first_text_only,
    fixed_buffer,
    ignored,
    mask_kept_for_mixing,
    mask_on_the_cpu,
    masked_when_mixing,
    masking,
    masking_with,
    nan_replaced,
    nan_to_zero,
    padding_meets_heads,
    query_rows,
    remembering_empty,
    renormalised,
    renormalised_clamped,
    renormalised_safely,
    shifted,
    three_axes_are_batch,
    through_buffer,
    too_high,
    transforming,
    turned,
    unsqueezed_always,
    untracked,
    zero_where_empty,
)
from autograder.mistakes.module_steps import ELSEWHERE, MADE_ON_THE_CPU, MAKE_IT_THERE, Told

MASKS: tuple[Told, ...] = (
    (
        "mask-ignored",
        "the mask changes nothing. `masked_fill` without an underscore returns a new tensor.",
        "write scores = scores.masked_fill(~mask, -math.inf), or use masked_softmax.",
        ({"weigh": ignored},),
    ),
    (
        "mask-inverted",
        "the mask is read the other way round, as nn.MultiheadAttention reads its own.",
        "True means that a query may attend: hide where ~mask.",
        (
            transforming(lambda self, s, mask: None if mask is None else ~mask),
            masking(lambda s, mask: s.masked_fill(mask, -INF)),
            masking(lambda s, mask: s.masked_fill(mask, -1e9)),
        ),
    ),
    (
        "empty-row-not-a-number",
        "a query that may attend to nothing has −∞ everywhere, and its softmax is 0/0.",
        "use masked_softmax, which gives such a query zero weights.",
        (
            filling(-INF),
            masking(lambda s, mask: torch.where(mask, s, -INF)),
            masking(added_infinity),
            masking(lambda s, mask: s + mask.log()),
        ),
    ),
    (
        "empty-row-spoils-gradients",
        "NaN weights are replaced by 0, which mends the output, but the gradients still pass "
        "through 0/0.",
        "keep NaN from arising: use masked_softmax.",
        ({"weigh": nan_to_zero}, {"weigh": nan_replaced}),
    ),
    (
        "large-negative-number",
        "hidden scores become a large negative number. A query that may attend to nothing then "
        "attends to everything alike, and float16 ends at −65504.",
        "use masked_softmax, or fill with -math.inf and give empty rows zero weights.",
        (
            filling(-1e9),
            filling(-1e20),
            filling(-1e4),
            filling(-65504.0),
            masking(lambda s, mask: s.masked_fill(~mask, torch.finfo(s.dtype).min)),
            masking(lambda s, mask: s + (~mask) * -1e9),
            masking(lambda s, mask: s + (1.0 - mask.to(s.dtype)) * -1e9),
        ),
    ),
    (
        "zero-times-infinity",
        "0 · ∞ is NaN: a mask of numbers multiplied by −∞ is NaN wherever it is 0.",
        "use masked_softmax, or put −∞ in with masked_fill, which multiplies nothing.",
        (
            masking(lambda s, mask: s + (~mask) * -INF),
            masking_with(
                lambda self, s, mask: self.normalise(s + (~mask) * -INF).nan_to_num(nan=0.0)
            ),
        ),
    ),
    (
        "filled-with-zero",
        "hidden scores become 0, and e⁰ = 1: they still get weight. Multiplying by the mask does "
        "the same.",
        "use masked_softmax, or fill with -math.inf before the softmax.",
        (
            filling(0.0),
            masking(lambda s, mask: s * mask),
        ),
    ),
    (
        "mask-added",
        "the boolean mask is added to the scores, which adds 1 where attending is allowed.",
        "use masked_softmax, or masked_fill(~mask, -math.inf).",
        (masking(added),),
    ),
    (
        "masked-after-softmax",
        "the mask is applied to the weights, and what is left does not sum to 1.",
        "mask the scores before the softmax; masked_softmax does it.",
        (
            after(lambda w, mask: w * mask),
            after(lambda w, mask: w.masked_fill(~mask, 0.0)),
            {"weigh": mask_kept_for_mixing, "drop": masked_when_mixing},
        ),
    ),
    (
        "renormalised-after-softmax",
        "the weights are masked after the softmax and divided by their sum. If those that are left "
        "are very small, that is 0/0.",
        "mask the scores before the softmax; masked_softmax does it.",
        (
            after(renormalised),
            after(renormalised_safely),
            after(renormalised_clamped),
            after(finished(renormalised)),
            masking_with(lambda self, s, mask: shifted(s, mask)),
        ),
    ),
    (
        "fill-not-low-enough",
        "hidden scores become a number that other scores can be below, and take all the weight.",
        "fill with -math.inf, or use masked_softmax.",
        (too_high(-1e4), too_high(-1e3), too_high(-100.0)),
    ),
    (
        "scores-clamped",
        "the scores are cut off at some number, so that large ones become equal.",
        "leave the scores as they are: torch.softmax copes with large ones.",
        (clamped(5e3), clamped(1e4), clamped(100.0), clamped(50.0), clamped(30.0)),
    ),
    (
        "empty-row-output-zeroed",
        "the output of a query that may attend to nothing is set to 0; its heads are 0, and W_o "
        "still adds its bias.",
        "give such a query zero weights, and let W_o do the rest.",
        ({"weigh": remembering_empty, "leave": zero_where_empty},),
    ),
    (
        "three-axes-taken-for-a-batch",
        "a mask of three axes is read as (batch, query, key); here it means (head, query, key).",
        "let it broadcast as it is; add no axis.",
        (transforming(three_axes_are_batch),),
    ),
    (
        "axis-added-to-the-mask",
        "the mask gets an axis that it has already, or does not need.",
        "let it broadcast as it is: it fits the scores (batch, heads, n_q, n_k).",
        (transforming(unsqueezed_always),),
    ),
    (
        "batch-meets-heads",
        "the mask loses an axis, so that its batch axis meets the heads.",
        "leave it (batch, 1, …): the axis of length 1 stands for the heads.",
        (transforming(padding_meets_heads),),
    ),
    (
        "first-mask-for-all",
        "the mask of the first text, or of the first head, serves all of them.",
        "let the whole mask broadcast.",
        (
            transforming(first_mask_only),
            transforming(first_head_only),
            transforming(first_text_only),
            transforming(any_head),
            transforming(all_heads),
        ),
    ),
    (
        "always-causal",
        "later words are hidden from earlier ones, although nobody asked.",
        "hide what the mask hides, and nothing else; without a mask hide nothing.",
        (transforming(always_causal), transforming(causal_by_default)),
    ),
    (
        MADE_ON_THE_CPU,
        ELSEWHERE,
        MAKE_IT_THERE,
        (transforming(mask_on_the_cpu),),
    ),
    (
        "mask-of-fixed-size",
        "a mask is made once, for texts of one length.",
        "cut it to the sizes at hand, or make it in forward.",
        ({"build": fixed_buffer, **transforming(through_buffer)},),
    ),
    (
        "queries-masked",
        "a mask for the keys is applied to the queries too, so that padding gets empty rows.",
        "hide keys alone: the mask broadcasts over the queries.",
        (transforming(query_rows),),
    ),
    (
        "mask-transposed",
        "queries and keys of the mask have changed places.",
        "use the mask as it is: (…, query, key).",
        (transforming(turned),),
    ),
    (
        "masked-without-gradients",
        "the masking is kept from autograd, so that nothing is learned through the scores.",
        "leave no_grad and .data out.",
        (masking(untracked),),
    ),
)
