"""Mistakes in the softmax under a mask."""

import torch

from autograder.mistakes import ways
from autograder.mistakes.masked_steps import (
    FIRST_STEPS,
    NOTHING,
    added,
    as_condition,
    below_the_lowest,
    changing_mask,
    changing_scores,
    changing_scores_behind_autograd,
    constant_denominator,
    divided,
    divided_or_left,
    divided_where_possible,
    empty,
    exponentials,
    filled,
    filled_under_empty,
    filled_without_gradients,
    finished,
    integer_inverse,
    lowest,
    masking,
    one_maximum,
    opening_empty_rows,
    over,
    over_everything,
    products,
    renormalised,
    repaired_in_place,
    right,
    shifted_exponentials,
    softmax,
    starting,
    then_masked,
    under,
    under_empty,
    with_epsilon,
    with_mask,
    zeroed,
    zeroed_in_place,
)

WEIGHTS = (
    *ways(
        "inverted",
        "the mask is read the other way round: True means that a query may attend, here as in "
        "F.scaled_dot_product_attention. nn.MultiheadAttention's masks say True for what it may "
        "not.",
        "fill −∞ where the mask is False: scores.masked_fill(~mask, -math.inf).",
        *with_mask(torch.logical_not),
        *masking(
            lambda s, m: zeroed(filled(NOTHING))(s, ~m),
            lambda s, m: right(s, ~m).masked_fill(empty(m), 0),
            lambda s, m: filled(NOTHING)(s, ~m).masked_fill(empty(m), 0),
            lambda s, m: softmax(s) * ~m,
        ),
    ),
    *ways(
        "filled-with-zero",
        "hidden scores become 0, by filling in 0 or by multiplying with the mask. But e⁰ is 1: a "
        "score of 0 gets a weight like any other.",
        "fill in −∞ before the softmax: scores.masked_fill(~mask, -math.inf).",
        *masking(
            products,
            zeroed(products),
            finished(products),
            lambda s, m: softmax(torch.where(m, s, 0)),
        ),
    ),
    *ways(
        "mask-without-effect",
        "the mask has no effect: it is not used, or the result of masked_fill, which is a new "
        "tensor, is not assigned.",
        "assign it: scores = scores.masked_fill(~mask, -math.inf), and use that.",
        *masking(lambda s, m: softmax(s), zeroed(lambda s, m: softmax(s))),
    ),
    *ways(
        "mask-added",
        "the mask is added to the scores (or its opposite subtracted): as a number True is 1, and "
        "1 more or less does not hide anything.",
        "fill in −∞ where the mask is False: scores.masked_fill(~mask, -math.inf).",
        *masking(
            lambda s, m: softmax(s + m),
            zeroed(lambda s, m: softmax(s + m)),
            lambda s, m: softmax(s + ~m),
            lambda s, m: softmax(s - m.to(s.dtype)),
        ),
    ),
    *ways(
        "after-softmax",
        "the mask comes after the softmax, which has given weight to hidden keys already: what is "
        "left does not sum to 1.",
        "put −∞ into the scores, before the softmax.",
        *masking(
            then_masked(lambda s, m: softmax(s)),
            lambda s, m: softmax(s).masked_fill(~m, NOTHING),
        ),
    ),
    *ways(
        "renormalised",
        "the mask comes after exp(), and the rest is divided by its sum. Where a hidden score is "
        "far above the allowed ones, all of these have underflowed to 0 by then, and 0/0 is left.",
        "put −∞ into the scores first, so that the largest one that counts is an allowed one.",
        *masking(
            renormalised,
            lambda s, m: renormalised(s, m, 1e-9),
            zeroed(renormalised),
            finished(renormalised),
            lambda s, m: with_epsilon(softmax(s) * m),
            lambda s, m: with_epsilon(softmax(s) * m, 1e-9),
            lambda s, m: with_epsilon(softmax(s) * m, 1e-12),
            lambda s, m: divided_or_left(softmax(s) * m),
            lambda s, m: divided_or_left((s - s.amax(dim=-1, keepdim=True)).exp() * m),
            lambda s, m: with_epsilon((s - s.amax(dim=-1, keepdim=True)).exp() * m, 1e-9),
            lambda s, m: with_epsilon((s - s.amax(dim=-1, keepdim=True)).exp() * m, 1e-12),
            lambda s, m: with_epsilon((s - s.amax(dim=-1, keepdim=True)).exp() * m),
            lambda s, m: torch.nn.functional.normalize(softmax(s) * m, p=1, dim=-1),
        ),
    ),
    *ways(
        "overflow",
        "exp() of a large score is infinite, and of one far below zero it is 0: ∞/∞ and 0/0 are "
        "NaN.",
        "use torch.softmax, which subtracts each row's largest score first.",
        *masking(
            exponentials,
            zeroed(exponentials),
            lambda s, m: exponentials(s, m, 1e-9),
            lambda s, m: with_epsilon(s.exp() * m),
            lambda s, m: divided(s.masked_fill(~m, NOTHING).exp()),
        ),
    ),
    *ways(
        "overflow-hidden",
        "exp() of a large score is infinite, and of one far below zero it is 0: ∞/∞ and 0/0 are "
        "NaN. The number that is put in its place is no weight.",
        "use torch.softmax, which subtracts each row's largest score first.",
        *masking(
            finished(exponentials),
            finished(lambda s, m: divided(s.masked_fill(~m, NOTHING).exp())),
        ),
    ),
    *ways(
        "float32-in-between",
        "a step is done in float32 whatever the inputs are, which loses half of their digits.",
        "stay in the dtype of the inputs: no .float(), no dtype=torch.float32.",
        *masking(lambda s, m: right(s.float(), m).to(s.dtype)),
    ),
    *ways(
        "global-maximum",
        "the largest score of all rows is subtracted; in a row far below it every exp() is 0, and "
        "0/0 is NaN.",
        "use torch.softmax, or subtract each row's own maximum.",
        *masking(one_maximum, finished(one_maximum), lambda s, m: one_maximum(s, m, 1e-9)),
    ),
    *ways(
        "constant-for-infinity",
        "a large negative number stands where −∞ should. It is larger than some allowed scores, "
        "half precision has no such number, and a query without any key attends to all alike.",
        "fill in -math.inf, and take care of the empty rows.",
        *masking(
            filled(-1e9),
            zeroed(filled(-1e9)),
            then_masked(added(-1e4)),
            zeroed(filled(-1e4)),
            filled(-1e4),
            zeroed(filled(-1e30)),
            added(-1e9),
            then_masked(added(-1e9)),
            lambda s, m: softmax(s + (~m) * -1e9),
            then_masked(lambda s, m: softmax(s + (~m) * -1e9)),
            lambda s, m: softmax(torch.where(m, s, -1e9)),
            zeroed(lambda s, m: softmax(torch.where(m, s, -1e9))),
            lambda s, m: softmax(torch.where(m, s, torch.tensor(-1e9).to(s))),
            lambda s, m: softmax(s * m + (~m) * -1e9),
            zeroed(below_the_lowest),
            below_the_lowest,
        ),
    ),
    *ways(
        "empty-row-not-zero",
        "a query that may attend to nothing still gets weights that sum to 1; they should be 0.",
        "find such rows with ~mask.any(dim=-1, keepdim=True), and fill their weights with 0.",
        *masking(
            lowest,
            lambda s, m: softmax(s.masked_fill(~m, NOTHING).masked_fill(empty(m), 0)),
            lambda s, m: filled(NOTHING)(s, m | empty(m)),
            lambda s, m: filled(NOTHING)(s, m | (empty(m) & (torch.arange(s.shape[-1]) == 0))),
        ),
    ),
    *ways(
        "empty-row-nan",
        "a query that may attend to nothing has a row of −∞, of which the softmax makes 0/0, "
        "which is NaN.",
        "find such rows with ~mask.any(dim=-1, keepdim=True): fill their scores with 0 before the "
        "softmax, and their weights with 0 after it.",
        *masking(filled(NOTHING), added(NOTHING), then_masked(filled(NOTHING))),
    ),
    *ways(
        "nan-in-gradients",
        "the weights of an empty row are mended after the softmax, but NaN has arisen on the way, "
        "and comes back through the gradients.",
        "keep it from arising: fill the scores of such rows with 0 before the softmax.",
        *masking(
            finished(added(NOTHING)),
            zeroed(added(NOTHING)),
            lambda s, m: torch.where(empty(m), 0.0, added(NOTHING)(s, m)),
            divided_where_possible,
        ),
    ),
    *ways(
        "changed-in-place",
        "what the softmax returned is changed in place, and autograd still needs it as it was.",
        "make a new tensor: weights = weights.masked_fill(...), without an underscore at the end.",
        *masking(repaired_in_place, zeroed_in_place),
    ),
    *ways(
        "changed-input",
        "an input is changed in place, and the caller still needs it.",
        "make a new tensor: masked_fill and ~ do, masked_fill_ and scores[...] = do not.",
        changing_scores,
        changing_scores_behind_autograd,
        changing_mask,
        opening_empty_rows,
    ),
    *ways(
        "gradient-cut",
        "the result is cut from the graph of gradients, or a part of it, so that nothing right can "
        "be learned through it.",
        "leave .detach(), .data and no_grad out.",
        *masking(
            filled_without_gradients,
            lambda s, m: right(s.detach(), m),
            constant_denominator,
        ),
        lambda scores, mask: (
            softmax(scores.detach()) if mask is None else right(scores.detach(), mask)
        ),
    ),
    *ways(
        "not-of-an-integer",
        "~ on whole numbers turns 1 into −2 and 0 into −1, neither of which is 0 or False.",
        "turn the mask while it is boolean: ~mask.",
        *masking(
            lambda s, m: s.masked_fill(~m.int(), NOTHING),
            lambda s, m: s.masked_fill(~m.long(), NOTHING),
            lambda s, m: filled(NOTHING)(s, ~(~m.int()).bool()),
            integer_inverse,
            lambda s, m: softmax(s + (~m.int()) * -1e9),
        ),
    ),
    *ways(
        "boolean-subtracted",
        "PyTorch does not subtract truth values, nor turn their sign.",
        "write ~mask for the opposite of a mask.",
        *masking(lambda s, m: s.masked_fill((1 - m).bool(), NOTHING), lambda s, m: s * -m),
    ),
    *ways(
        "zero-times-infinity",
        "0 · ∞ is NaN: a mask of numbers multiplied by −∞ is NaN wherever it is 0.",
        "put −∞ in with masked_fill or torch.where, which multiply nothing.",
        *masking(
            lambda s, m: softmax(s + (1 - m.to(s.dtype)) * NOTHING),
            lambda s, m: softmax(s + (~m) * NOTHING),
            finished(lambda s, m: softmax(s + (~m) * NOTHING)),
            zeroed(lambda s, m: softmax(s + (~m) * NOTHING)),
        ),
    ),
    *ways(
        "mask-as-condition",
        "the mask is used as one truth value, with `if` or `not`, and it has many of them.",
        "ask `if mask is None`, and turn a mask with ~mask.",
        *masking(as_condition),
    ),
    *ways(
        "epsilon-added",
        "a small number is added to the denominator, so that the weights sum to a little less "
        "than 1; in half precision, 1e-8 is 0, and 0/0 is NaN in an empty row.",
        "leave it out, and give empty rows a denominator of 1.",
        *masking(
            lambda s, m: with_epsilon(shifted_exponentials(s, m), 1e-6),
            lambda s, m: with_epsilon(shifted_exponentials(s, m), 1e-7),
            lambda s, m: with_epsilon(shifted_exponentials(s, m)),
        ),
    ),
    *ways(
        "over-queries",
        "the softmax runs over the queries: columns sum to 1 where rows should.",
        "use dim=-1.",
        *masking(over(-2), lambda s, m: torch.softmax(s.masked_fill(~m, NOTHING), dim=-2)),
    ),
    *ways(
        "over-other-axis",
        "the softmax runs over an axis counted from the front.",
        "use dim=-1, which is the last axis however many there are.",
        *masking(over(0), over(1)),
    ),
    *ways(
        "over-everything",
        "all weights together sum to 1, instead of each row.",
        "use dim=-1.",
        *masking(over_everything, finished(over_everything)),
    ),
    *ways(
        "no-keepdim",
        "without keepdim=True, any() drops the axis of the keys, and what is left meets other axes "
        "of the scores.",
        "write ~mask.any(dim=-1, keepdim=True).",
        *masking(
            under_empty(lambda m: ~m.any(dim=-1)),
            filled_under_empty(lambda m: ~m.any(dim=-1)),
        ),
    ),
    *ways(
        "all-for-any",
        "`~mask.all(...)` finds the queries that may not attend to every key; empty rows are those "
        "that may attend to none.",
        "write ~mask.any(dim=-1, keepdim=True).",
        *masking(
            under_empty(lambda m: ~m.all(dim=-1, keepdim=True)),
            filled_under_empty(lambda m: ~m.all(dim=-1, keepdim=True)),
        ),
    ),
    *ways(
        "any-over-queries",
        "any() runs over the queries, or over too much: it finds keys that nobody attends to, "
        "where queries that attend to nothing are asked for.",
        "write ~mask.any(dim=-1, keepdim=True): over the keys.",
        *masking(
            under_empty(lambda m: ~m.any(dim=-2, keepdim=True)),
            under_empty(lambda m: ~m.any(dim=-2).any(dim=-1)[..., None, None]),
        ),
    ),
    *ways(
        "mask-transposed",
        "the mask is transposed: the rows of a mask are queries, its columns keys.",
        "use the mask as it is; it broadcasts to the scores.",
        *with_mask(lambda m: m.transpose(-2, -1)),
    ),
    *ways(
        "axes-put-in",
        "axes are put into the mask, or taken out of it, so that it meets other axes of the scores "
        "than it is made for.",
        "use the mask as it is: it broadcasts to the scores by itself.",
        *masking(under(lambda m: m.unsqueeze(1))),
        *masking(under(lambda m: m.unsqueeze(0).unsqueeze(0))),
        *masking(under(lambda m: m.unsqueeze(1) if m.ndim == 3 else m)),
        *masking(under(lambda m: m.unsqueeze(1).unsqueeze(2))),
        *masking(under(torch.squeeze)),
    ),
    *ways(
        "one-mask-for-all",
        "all sentences, heads or queries get the mask of the first.",
        "use the mask as it is; it broadcasts to the scores.",
        *masking(under(lambda m: m.reshape(-1, *m.shape[-2:])[0])),
        *masking(under(lambda m: m[:1])),
        *masking(under(lambda m: m[..., :1, :])),
    ),
    *ways(
        "causal-instead",
        "later keys are hidden, whatever the mask says: it is the mask that says what is hidden.",
        "use the mask that you are given.",
        *masking(
            lambda s, m: right(s, torch.ones_like(s, dtype=torch.bool).tril()),
            lambda s, m: right(s, m & torch.ones_like(s, dtype=torch.bool).tril()),
        ),
    ),
    *ways(
        "mask-none",
        "mask is None in this call, which stands for no mask at all.",
        "begin with `if mask is None: return torch.softmax(scores, dim=-1)`.",
        *(starting(step) for step in FIRST_STEPS),
    ),
    *ways(
        "sigmoid",
        "each score goes through a sigmoid by itself, so that the rows do not sum to 1.",
        "use torch.softmax.",
        lambda s, m: torch.sigmoid(s) if m is None else torch.sigmoid(s.masked_fill(~m, NOTHING)),
    ),
    *ways(
        "logarithm-returned",
        "the logarithms of the weights are returned.",
        "use torch.softmax, not log_softmax.",
        lambda s, m: torch.log_softmax(s if m is None else s.masked_fill(~m, NOTHING), dim=-1),
        lambda s, m: softmax(s).log() if m is None else right(s, m).log(),
    ),
    *ways(
        "scores-returned",
        "the masked scores are returned, without a softmax.",
        "turn them into weights with torch.softmax(scores, dim=-1).",
        lambda s, m: s if m is None else s.masked_fill(~m, NOTHING),
        lambda s, m: s if m is None else s * m,
    ),
)
