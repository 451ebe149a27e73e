"""Mistakes in multi-head attention with W^O: cutting into heads, and the sizes of heads."""

from autograder.declaring import Mistake
from autograder.mistakes import ways
from autograder.mistakes.output_projection import (
    interleaved,
    not_turned,
)
from autograder.mistakes.output_steps import (
    finished_as_far_as_there_is,
    head_size,
    joined_by_keys,
    joined_by_model,
    one_wide_head,
    pipeline,
    refusing_d_model,
    right,
    same_for_all,
    sized_by_keys,
    sized_by_model,
    split_by_floor,
    split_interleaved,
    split_unturned,
    splitting,
    unrefusing,
)

CUTTING: tuple[Mistake, ...] = (
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
)
