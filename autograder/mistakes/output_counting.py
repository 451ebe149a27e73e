"""Mistakes in counting the parameters of the four projections.

`total` puts the count together from its parts, so that each mistake states only the part that it
gets wrong. Every one of them is also made with a float for a result: whoever divides with `/` makes
the same mistakes as others.
"""

import torch

from autograder.declaring import Mistake
from autograder.mistakes import ways
from autograder.mistakes.output_counting_steps import (
    FLOAT,
    NO_FLOAT,
    always_biased,
    biased,
    biases,
    counted,
    divided,
    floored,
    given,
    keys_first,
    matrices,
    nothing,
    refusing,
    sized,
    total,
    unsized,
    values_first,
    whole,
)

MATRICES = (
    *ways(
        "multiplied-by-heads",
        "the count is multiplied by the number of heads once too often: num_heads · d_k "
        "counts all heads already.",
        "count four matrices whose columns hold all heads; none of them is repeated.",
        *counted(
            lambda d, h, k, v: h * matrices(d, h, k, v),
            lambda d, h, k, v: h * (2 * d * h * k + d * h * v) + h * v * d,
        ),
        total(lambda *s: s[1] * matrices(*s), lambda *s: s[1] * biases(*s)),
    ),
    *ways(
        "d-model-in-every-head",
        "every head is given d_model numbers; without d_k and d_v, they are divided among "
        "the heads.",
        "None means d_model // num_heads.",
        *sized(
            lambda d, h, k, v: (d if k is None else k, d if v is None else v),
            lambda d, h, k, v: (
                divided(d, h) and d if k is None else k,
                divided(d, h) and d if v is None else v,
            ),
        ),
    ),
    *ways(
        "one-head-only",
        "one head is counted, not num_heads of them.",
        "w_q has num_heads · d_k columns, and w_v num_heads · d_v.",
        *counted(
            lambda d, h, k, v: 2 * d * k + 2 * d * v,
            lambda d, h, k, v: 2 * d * k + d * v + h * v * d,
        ),
        total(lambda d, h, k, v: 2 * d * k + 2 * d * v, lambda d, h, k, v: 2 * k + v + d),
    ),
    *ways(
        "slice-for-each-head",
        "each head is given a slice of the embedding; it projects the whole of it.",
        "w_q has d_model rows, whatever the number of heads.",
        *counted(
            lambda d, h, k, v: (d // h) * h * (2 * k + v) // h + d * h * v,
            lambda d, h, k, v: (d // h) * h * (2 * k + 2 * v) // h,
        ),
    ),
    *ways(
        "output-projection-forgotten",
        "w_o is not counted.",
        "add its num_heads · d_v · d_model numbers.",
        *counted(lambda d, h, k, v: 2 * d * h * k + d * h * v),
        total(lambda d, h, k, v: 2 * d * h * k + d * h * v, lambda *s: biases(*s) - s[0]),
        total(lambda d, h, k, v: 2 * d * h * k + d * h * v, nothing),
        total(lambda d, h, k, v: 2 * d * h * k + d * h * v, nothing, floored),
    ),
    *ways(
        "projection-forgotten",
        "one of the projections of queries, keys and values is not counted.",
        "there are four matrices: w_q, w_k, w_v and w_o.",
        *counted(lambda d, h, k, v: d * h * k + 2 * d * h * v),
        total(
            lambda d, h, k, v: d * h * k + 2 * d * h * v,
            lambda d, h, k, v: h * k + h * v + d,
        ),
    ),
    *ways(
        "output-projection-square",
        "w_o is counted as d_model · d_model; it has num_heads · d_v rows.",
        "count num_heads · d_v · d_model.",
        *counted(lambda d, h, k, v: 2 * d * h * k + d * h * v + d * d),
    ),
    *ways(
        "values-with-d-k",
        "w_v or w_o is counted with d_k; both have to do with the values, of size d_v.",
        "w_v is (d_model, num_heads · d_v), and w_o is (num_heads · d_v, d_model).",
        *counted(lambda d, h, k, v: 3 * d * h * k + d * h * v),
        total(lambda d, h, k, v: 3 * d * h * k + d * h * v, lambda d, h, k, v: 3 * h * k + d),
    ),
    *ways(
        "keys-with-d-v",
        "the keys, or queries, are counted with d_v.",
        "w_q and w_k have num_heads · d_k columns each.",
        *counted(lambda d, h, k, v: d * h * k + 3 * d * h * v),
    ),
    *ways(
        "counted-twice",
        "everything is counted twice; that is right for FLOPs, where a product and a sum "
        "are two operations.",
        "count the numbers in the matrices.",
        total(lambda *s: 2 * matrices(*s), lambda *s: 2 * biases(*s)),
        total(lambda *s: 2 * matrices(*s)),
    ),
)

BIASES = (
    *ways(
        "biases-forgotten",
        "biases are not counted when bias is True.",
        "add a number for every column of the four matrices: num_heads · d_k twice, "
        "num_heads · d_v, and d_model.",
        total(biases=nothing),
    ),
    *ways(
        "bias-read-inverted",
        "biases are counted when bias is False, and left out when it is True.",
        "add them `if bias:`.",
        lambda d, h, k=None, v=None, bias=False: float(total()(d, h, k, v, not bias)),
    ),
    *ways(
        "biases-always-counted",
        "biases are counted although bias is False.",
        "add them only `if bias:`.",
        always_biased,
    ),
    *ways(
        "output-bias-forgotten",
        "the bias of w_o is not counted.",
        "it has d_model numbers.",
        *biased(lambda d, h, k, v: 2 * h * k + h * v),
    ),
    *ways(
        "output-bias-of-wrong-size",
        "the bias of w_o is counted with the wrong size.",
        "it has as many numbers as w_o has columns: d_model.",
        *biased(
            lambda d, h, k, v: 2 * h * k + 2 * h * v,
            lambda d, h, k, v: 3 * h * k + h * v,
            lambda d, h, k, v: 2 * h * k + h * v + h * d,
        ),
    ),
    *ways(
        "bias-of-output-only",
        "only the bias of w_o is counted.",
        "w_q, w_k and w_v have biases too.",
        *biased(lambda d, h, k, v: d),
    ),
    *ways(
        "bias-missing",
        "the bias of one of the projections is not counted.",
        "there are four: num_heads · d_k twice, num_heads · d_v, and d_model.",
        *biased(
            lambda d, h, k, v: h * k + h * v + d,
            lambda d, h, k, v: 2 * h * k + d,
        ),
    ),
    *ways(
        "biases-of-one-head",
        "the biases are counted for one head, not for all.",
        "multiply those of queries, keys and values by num_heads.",
        *biased(lambda d, h, k, v: 2 * k + v + d),
    ),
    *ways(
        "biases-of-d-model",
        "every bias is counted with d_model numbers; a bias has as many as its matrix has columns.",
        "they have num_heads · d_k twice, num_heads · d_v, and d_model.",
        *biased(lambda d, h, k, v: 4 * d),
    ),
    *ways(
        "value-bias-with-d-k",
        "the bias of the values is counted with d_k.",
        "it has num_heads · d_v numbers.",
        *biased(lambda d, h, k, v: 3 * h * k + d),
    ),
    *ways(
        "one-bias-each",
        "each projection is given one number for a bias; it has one for every column.",
        "count num_heads · d_k twice, num_heads · d_v, and d_model.",
        *biased(
            lambda d, h, k, v: 4,
            lambda d, h, k, v: 1,
            lambda d, h, k, v: 3 * h + 1,
            lambda d, h, k, v: 4 * h,
        ),
    ),
)

SIZES = (
    *ways(
        "d-v-ignored",
        "everything is counted with d_k; the values have a size of their own.",
        "count w_v and w_o with d_v.",
        *sized(lambda d, h, k, v: (given(d, h, k, v)[0],) * 2),
        total(
            lambda d, h, k, v: 4 * d * h * k,
            lambda d, h, k, v: 3 * h * k + d,
            lambda d, h, k, v: (given(d, h, k, 0)[0], 0),
        ),
    ),
    *ways(
        "d-k-ignored",
        "everything is counted with d_v; queries and keys have a size of their own.",
        "count w_q and w_k with d_k.",
        *sized(lambda d, h, k, v: (given(d, h, k, v)[1],) * 2),
        total(
            lambda d, h, k, v: 4 * d * h * v,
            lambda d, h, k, v: 3 * h * v + d,
            lambda d, h, k, v: (0, given(d, h, 0, v)[1]),
        ),
    ),
    *ways(
        "d-v-follows-d-k",
        "without d_v, d_k is taken for it; each None on its own means d_model // num_heads.",
        "write two `if`s, one for d_k and one for d_v.",
        *sized(keys_first),
    ),
    *ways(
        "d-k-follows-d-v",
        "without d_k, d_v is taken for it; each None on its own means d_model // num_heads.",
        "write two `if`s, one for d_k and one for d_v.",
        *sized(values_first),
    ),
    *ways(
        "given-sizes-ignored",
        "d_k and d_v are not used: they are d_model // num_heads only when they are None.",
        "set d_k inside `if d_k is None:`, and d_v likewise.",
        *sized(
            lambda d, h, k, v: (divided(d, h), divided(d, h)),
            lambda d, h, k, v: (d // h, d // h),
        ),
        total(lambda d, h, k, v: 4 * d * d, lambda d, h, k, v: 4 * d, unsized),
        *counted(lambda d, h, k, v: 4 * d * d, lambda d, h, k, v: 4 * h * d * d),
        total(lambda d, h, k, v: 4 * d * d, lambda d, h, k, v: 4 * d),
        total(lambda d, h, k, v: 4 * d * d, nothing),
        total(lambda d, h, k, v: 4 * d * d, nothing, unsized),
        total(lambda d, h, k, v: 4 * h * d * d, nothing, unsized),
        total(lambda d, h, k, v: 4 * h * d * d, lambda d, h, k, v: 4 * d, unsized),
    ),
    *ways(
        "given-size-overwritten",
        "when one of d_k and d_v is None, both are replaced.",
        "write two `if`s, one for d_k and one for d_v.",
        *sized(
            lambda d, h, k, v: (divided(d, h), divided(d, h)) if k is None or v is None else (k, v)
        ),
    ),
    *ways(
        "remainder-dropped",
        "a division that leaves a rest is not refused: // drops the rest without a word.",
        "raise a ValueError with both numbers in it when d_model % num_heads is not 0.",
        *sized(floored),
    ),
    *ways(
        "fraction-of-a-number",
        "d_model / num_heads is used although it is no whole number.",
        "raise a ValueError with both numbers in it when d_model % num_heads is not 0.",
        *sized(lambda d, h, k, v: (d / h if k is None else k, d / h if v is None else v)),
    ),
)

COUNT_PARAMETERS: tuple[Mistake, ...] = (
    *whole(MATRICES),
    *whole(BIASES),
    *whole(SIZES),
    *ways(
        "none-left-over",
        "d_k or d_v is None when it is left out, and is reckoned with as it is.",
        "write two `if`s, one for d_k and one for d_v.",
        *sized(
            lambda d, h, k, v: (divided(d, h),) * 2 if k is None and v is None else (k, v),
            lambda d, h, k, v: (divided(d, h) if k is None else k, v),
            lambda d, h, k, v: (k, divided(d, h) if v is None else v),
            lambda d, h, k, v: (k, v),
        ),
        lambda d, h, k=None, v=None, bias=False: 2 * h * d * (k + v),
    ),
    *ways(
        "refused-needlessly",
        "sizes are refused although d_k and d_v are both given, and nothing has to be divided.",
        "divide, and refuse, only where d_k or d_v is None.",
        *refusing(
            ValueError("d_model must be divisible by num_heads"),
            ValueError("d_model must be divisible by num_heads."),
            AssertionError("d_model must be divisible by num_heads"),
            AssertionError(),
        ),
    ),
    *ways(
        "float-not-int",
        FLOAT,
        NO_FLOAT,
        lambda *sizes: float(total()(*sizes)),
    ),
    *ways(
        "tensor-not-int",
        "the count is a tensor; a plain int is asked for.",
        "count with Python's numbers, or call .item().",
        lambda *sizes: torch.tensor(total()(*sizes)),
        lambda *sizes: torch.tensor([total()(*sizes)]),
    ),
)
