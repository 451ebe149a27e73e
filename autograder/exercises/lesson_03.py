"""Lesson 03, many heads: split, attend, concatenate."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from autograder.declaring import Case, Exercise
from autograder.exercises import purposes
from autograder.exercises.heads_inputs import (
    AS_MANY_NUMBERS,
    AS_MANY_SENTENCES,
    AS_MANY_WORDS,
    EQUAL,
    ONE_HEAD,
    ONE_NUMBER,
    ONE_SENTENCE,
    ONE_WORD,
    SHARED_OUT,
    SQUARE,
    heads_inputs,
)
from autograder.exercises.inputs import Array, indivisible, normal, permuted, readable
from autograder.exercises.torch_inputs import ATTENTION_OF_PYTORCH, tensor
from autograder.probing import differentiates

TITLE = "Many heads: split, attend, concatenate"


def split_heads_cases(rng: np.random.Generator) -> Sequence[Case]:
    def case(name: str, purpose: str, x: Array, num_heads: int, *mentions: str) -> Case:
        arguments = {"x": tensor(x), "num_heads": num_heads}
        return Case(name, purpose, arguments, mentions=mentions)

    def refused(name: str, features: int, num_heads: int) -> Case:
        purpose = (
            f"has {features} features for {num_heads} heads: that does not come out even, and has "
            f"to be refused with a ValueError that names {features} and {num_heads}."
        )
        x = normal(rng, 2, 3, features)
        return case(name, purpose, x, num_heads, str(features), str(num_heads))

    return (
        case(
            "three words, two heads",
            "is small enough to do by hand: three words of four numbers, for two heads.",
            readable(rng, 1, 3, 4),
            2,
        ),
        case("all sizes different", "has four sentences of five words.", normal(rng, 4, 5, 6), 2),
        case("the same sizes again", purposes.AGAIN, normal(rng, 4, 5, 6), 2),
        case("equal sizes", EQUAL, normal(rng, 3, 3, 9), 3),
        case("as many words as heads", AS_MANY_WORDS, normal(rng, 2, 3, 15), 3),
        case("as many heads as numbers", AS_MANY_NUMBERS, normal(rng, 2, 5, 9), 3),
        case("as many words as numbers", SQUARE, normal(rng, 3, 5, 10), 2),
        case("as many sentences as heads", AS_MANY_SENTENCES, normal(rng, 3, 2, 15), 3),
        case("a batch of one", ONE_SENTENCE, normal(rng, 1, 5, 6), 3),
        case("a single word", ONE_WORD, normal(rng, 3, 1, 10), 2),
        case("a single head", ONE_HEAD, normal(rng, 2, 5, 3), 1),
        case("heads of one number", ONE_NUMBER, normal(rng, 2, 3, 5), 5),
        case("float32", purposes.FLOAT32, normal(rng, 3, 2, 10, dtype=np.float32), 5),
        case("not contiguous", purposes.PERMUTED, permuted(rng, 2, 5, 6), 3),
        refused("features left over", indivisible(rng, 4), 4),
        refused("more heads than features", *rng.choice(((5, 7), (5, 8), (6, 7), (3, 8))).tolist()),
    )


def concat_heads_cases(rng: np.random.Generator) -> Sequence[Case]:
    def case(name: str, purpose: str, heads: Array) -> Case:
        return Case(name, purpose, {"heads": tensor(heads)})

    as_split = normal(rng, 2, 5, 3, 6).swapaxes(1, 2)
    return (
        case(
            "two heads, three words",
            "is small enough to do by hand: two heads, each with two numbers for three words.",
            readable(rng, 1, 2, 3, 2),
        ),
        case("all sizes different", "has four sentences of five words.", normal(rng, 4, 2, 5, 3)),
        case("the same sizes again", purposes.AGAIN, normal(rng, 4, 2, 5, 3)),
        case("equal sizes", EQUAL, normal(rng, 3, 3, 3, 3)),
        case("as many words as heads", AS_MANY_WORDS, normal(rng, 2, 3, 3, 5)),
        case("as many heads as numbers", AS_MANY_NUMBERS, normal(rng, 2, 3, 5, 3)),
        case("as many words as numbers", SQUARE, normal(rng, 3, 2, 5, 5)),
        case("as many sentences as heads", AS_MANY_SENTENCES, normal(rng, 3, 3, 2, 5)),
        case("a batch of one", ONE_SENTENCE, normal(rng, 1, 3, 5, 2)),
        case("a single word", ONE_WORD, normal(rng, 3, 2, 1, 5)),
        case("a single head", ONE_HEAD, normal(rng, 2, 1, 5, 3)),
        case("heads of one number", ONE_NUMBER, normal(rng, 2, 3, 5, 1)),
        case("float32", purposes.FLOAT32, normal(rng, 2, 5, 3, 4, dtype=np.float32)),
        case("not contiguous", purposes.PERMUTED, permuted(rng, 2, 3, 5, 4)),
        case(
            "as split_heads leaves them",
            "has heads that lie in memory as split_heads leaves them.",
            as_split,
        ),
    )


def per_head_attention_cases(rng: np.random.Generator) -> Sequence[Case]:
    return tuple(
        Case(inputs.name, inputs.purpose, inputs.stacked(), inputs.magnitude, inputs.scaled)
        for inputs in heads_inputs(rng)
    )


def multi_head_attention_cases(rng: np.random.Generator) -> Sequence[Case]:
    def refused(name: str, whose: str, left: int, w_q: Array, w_v: Array) -> Case:
        purpose = (
            f"has {left} numbers in {whose}, for 4 heads: that does not come out even, and has to "
            f"be refused with a ValueError that names {left} and 4."
        )
        x, w_k = normal(rng, 2, 3, 8), normal(rng, *w_q.shape)
        arguments = {"x": tensor(x), "w_q": tensor(w_q), "w_k": tensor(w_k), "w_v": tensor(w_v)}
        return Case(name, purpose, {**arguments, "num_heads": 4}, mentions=(str(left), "4"))

    width, width_of_values = indivisible(rng, 4), indivisible(rng, 4)
    return (
        *(
            Case(inputs.name, inputs.purpose, inputs.packed(), inputs.magnitude, inputs.scaled)
            for inputs in heads_inputs(rng)
        ),
        refused(
            "numbers left over",
            "every projection",
            width,
            normal(rng, 8, width),
            normal(rng, 8, width),
        ),
        refused(
            "numbers left over in the values",
            "w_v",
            width_of_values,
            normal(rng, 8, 8),
            normal(rng, 8, width_of_values),
        ),
    )


def pack_projections_cases(rng: np.random.Generator) -> Sequence[Case]:
    def case(name: str, purpose: str, w: Array) -> Case:
        return Case(name, purpose, {"w": tensor(w)})

    as_packed = normal(rng, 5, 3, 4).swapaxes(0, 1)
    return (
        case(
            "two heads of two numbers",
            "is small enough to do by hand: two heads, each from three numbers to two.",
            readable(rng, 2, 3, 2),
        ),
        case("all sizes different", "has sizes that are all different.", normal(rng, 3, 5, 7)),
        case("the same sizes again", purposes.AGAIN, normal(rng, 3, 5, 7)),
        case("equal sizes", "has all sizes equal.", normal(rng, 3, 3, 3)),
        case(
            "numbers shared out among the heads",
            SHARED_OUT,
            normal(rng, 2, 6, 3),
        ),
        case(
            "square projections",
            "has a square projection for each head.",
            normal(rng, 3, 5, 5),
        ),
        case(
            "as many heads as features",
            "has as many heads as a word has features, so that swapped axes keep the shape.",
            normal(rng, 5, 5, 2),
        ),
        case("as many heads as numbers", AS_MANY_NUMBERS, normal(rng, 3, 5, 3)),
        case("a single head", ONE_HEAD, normal(rng, 1, 5, 3)),
        case("heads of one number", ONE_NUMBER, normal(rng, 3, 5, 1)),
        case(
            "words of one number",
            "has words of one number only, d_model = 1; its axis has to stay.",
            normal(rng, 3, 1, 5),
        ),
        case("float32", purposes.FLOAT32, normal(rng, 4, 3, 2, dtype=np.float32)),
        case("not contiguous", purposes.PERMUTED, permuted(rng, 3, 5, 4)),
        case(
            "packed already",
            "has projections that lie in memory side by side already.",
            as_packed,
        ),
    )


def declare(name: str, *, differentiated: Sequence[str], **more: Any) -> Exercise:
    """An exercise of this lesson: what all five have in common is said here once."""
    return Exercise(
        name=name,
        lesson=3,
        reference=f"course.attention.functional.{name}",
        mistakes=f"autograder.mistakes.lesson_03:{name}",
        not_allowed=ATTENTION_OF_PYTORCH,
        probe=differentiates(*more["returns"], to=differentiated),
        **more,
    )


HEADS = ("batch", "head", "position", "feature")
SENTENCES = ("batch", "position", "feature")
PER_HEAD = ("head", "input feature", "output feature")
PACKED = ("input feature", "output feature")

EXERCISES = (
    declare(
        "split_heads",
        title="Split the features into heads",
        points=2,
        signature="split_heads(x, num_heads)",
        returns=("heads",),
        axes={"heads": HEADS, "gradient of x": SENTENCES},
        cases=split_heads_cases,
        differentiated=("x",),
        hints=(
            "Every word's features are cut into num_heads pieces of d_k neighbours. First give "
            "the pieces an axis of their own; then move that axis to its place.",
            "`reshape(batch, n, num_heads, d_k)` cuts the last axis and leaves all the others "
            "alone. Which two axes of the result have to change places?",
            "`x.reshape(batch, n, num_heads, d_k).transpose(1, 2)`; and before it, "
            "`if d_model % num_heads: raise ValueError(...)` with both numbers in the message.",
        ),
    ),
    declare(
        "concat_heads",
        title="Put the heads side by side again",
        points=1,
        signature="concat_heads(heads)",
        returns=("output",),
        axes={"output": SENTENCES, "gradient of heads": HEADS},
        cases=concat_heads_cases,
        differentiated=("heads",),
        hints=(
            "It is split_heads backwards, so its two steps come in the opposite order.",
            "The numbers of all heads for one word have to lie side by side before they can "
            "become one row: position before head, and then merge the last two axes.",
            "`heads.transpose(1, 2)` has the shape (batch, n, num_heads, d_v); "
            "`.flatten(start_dim=2)` or `.reshape(batch, n, -1)` merges its last two axes.",
        ),
    ),
    declare(
        "per_head_attention",
        title="Several heads, one after the other",
        points=2,
        signature="per_head_attention(x, w_q, w_k, w_v)",
        returns=("heads",),
        axes={
            "heads": HEADS,
            "gradient of x": SENTENCES,
            "gradient of w_q": PER_HEAD,
            "gradient of w_k": PER_HEAD,
            "gradient of w_v": PER_HEAD,
        },
        cases=per_head_attention_cases,
        differentiated=("x", "w_q", "w_k", "w_v"),
        uses=("scaled_dot_product_attention",),
        hints=(
            "Head i is ordinary self-attention with the projections w_q[i], w_k[i] and w_v[i]. "
            "What does it see of x: a slice, or all of it?",
            "`output, weights = scaled_dot_product_attention(x @ w_q[i], x @ w_k[i], x @ w_v[i])` "
            "is head i. Collect the outputs in a list.",
            "`torch.stack(outputs, dim=1)` puts the new axis of the heads after the batch.",
        ),
    ),
    declare(
        "pack_projections",
        title="All projections in one matrix",
        points=2,
        signature="pack_projections(w)",
        returns=("packed",),
        axes={"packed": PACKED, "gradient of w": PER_HEAD},
        cases=pack_projections_cases,
        differentiated=("w",),
        hints=(
            "x @ packed makes the numbers of all heads at once, head 0 first. So which columns "
            "of packed belong to head 0?",
            "The matrices w[0], w[1], … stand side by side, each with d_model rows. "
            "A reshape alone reads w row by row and never puts two matrices side by side.",
            "`w.transpose(0, 1)` has the shape (d_model, num_heads, d_k); its last two axes merge "
            "with `.flatten(start_dim=1)`. `torch.cat(list(w), dim=-1)` does the same.",
        ),
    ),
    declare(
        "multi_head_attention",
        title="All heads at once",
        points=3,
        signature="multi_head_attention(x, w_q, w_k, w_v, num_heads)",
        returns=("output",),
        axes={
            "output": SENTENCES,
            "gradient of x": SENTENCES,
            "gradient of w_q": PACKED,
            "gradient of w_k": PACKED,
            "gradient of w_v": PACKED,
        },
        cases=multi_head_attention_cases,
        differentiated=("x", "w_q", "w_k", "w_v"),
        uses=("split_heads", "concat_heads", "scaled_dot_product_attention"),
        hints=(
            "Project, split, attend, concatenate. Three of these four are functions that you "
            "have already.",
            "Project first: `split_heads(x @ w_q, num_heads)`. The heads take the place of a "
            "leading axis, and attention does not mind leading axes.",
            "Do the same for keys and values, hand all three to scaled_dot_product_attention, "
            "keep its output, and return `concat_heads(output)`.",
        ),
    ),
)
