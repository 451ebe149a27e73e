"""The cases of lesson 03: heads split, attending and concatenated."""

from collections.abc import Sequence

import numpy as np

from autograder.declaring import Case
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
from autograder.exercises.inputs import (
    Array,
    alike,
    heads_of_refusals,
    indivisible,
    normal,
    permuted,
    readable,
)
from autograder.exercises.torch_inputs import tensor


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

    words = normal(rng, 4, 5, 6)
    few, some = heads_of_refusals(rng)
    # The numbers of a pair share no digit, so that a message has to name both.
    scarce = ((5, 7), (5, 8), (6, 7), (3, 8), (7, 12), (9, 14), (8, 10), (5, 16))
    return (
        case(
            "three words, two heads",
            "is small enough to do by hand: three words of four numbers, for two heads.",
            readable(rng, 1, 3, 4),
            2,
        ),
        case("all sizes different", "has four sentences of five words.", words, 2),
        case("the same sizes again", purposes.AGAIN, alike(rng, words), 2),
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
        case("float16", purposes.HALF, normal(rng, 3, 2, 10, dtype=np.float16, scale=300), 5),
        case("not contiguous", purposes.PERMUTED, permuted(rng, 2, 5, 6), 3),
        refused("features left over", indivisible(rng, few), few),
        refused("features left over again", indivisible(rng, some), some),
        refused("more heads than features", *rng.choice(scarce).tolist()),
    )


def concat_heads_cases(rng: np.random.Generator) -> Sequence[Case]:
    def case(name: str, purpose: str, heads: Array) -> Case:
        return Case(name, purpose, {"heads": tensor(heads)})

    heads = normal(rng, 4, 2, 5, 3)
    as_split = normal(rng, 2, 5, 3, 6).swapaxes(1, 2)
    return (
        case(
            "two heads, three words",
            "is small enough to do by hand: two heads, each with two numbers for three words.",
            readable(rng, 1, 2, 3, 2),
        ),
        case("all sizes different", "has four sentences of five words.", heads),
        case("the same sizes again", purposes.AGAIN, alike(rng, heads)),
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
        case("float16", purposes.HALF, normal(rng, 2, 5, 3, 4, dtype=np.float16, scale=300)),
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
    def refused(name: str, whose: str, num_heads: int, *, values_only: bool) -> Case:
        left = indivisible(rng, num_heads)
        purpose = (
            f"has {left} numbers in {whose}, for {num_heads} heads: that does not come out even, "
            f"and has to be refused with a ValueError that names {left} and {num_heads}."
        )
        # The heads divide d_model: a look at x alone finds nothing to refuse.
        d_model = 2 * num_heads
        keys = d_model if values_only else left
        arguments = {
            "x": tensor(normal(rng, 2, 3, d_model)),
            "w_q": tensor(normal(rng, d_model, keys)),
            "w_k": tensor(normal(rng, d_model, keys)),
            "w_v": tensor(normal(rng, d_model, left)),
        }
        mentions = (str(left), str(num_heads))
        return Case(name, purpose, {**arguments, "num_heads": num_heads}, mentions=mentions)

    heads, heads_of_values = heads_of_refusals(rng)
    return (
        *(
            Case(inputs.name, inputs.purpose, inputs.packed(), inputs.magnitude, inputs.scaled)
            for inputs in heads_inputs(rng)
        ),
        refused("numbers left over", "every projection", heads, values_only=False),
        refused("numbers left over in the values", "w_v", heads_of_values, values_only=True),
    )


def pack_projections_cases(rng: np.random.Generator) -> Sequence[Case]:
    def case(name: str, purpose: str, w: Array) -> Case:
        return Case(name, purpose, {"w": tensor(w)})

    different = normal(rng, 3, 5, 7)
    as_packed = normal(rng, 5, 3, 4).swapaxes(0, 1)
    return (
        case(
            "two heads of two numbers",
            "is small enough to do by hand: two heads, each from three numbers to two.",
            readable(rng, 2, 3, 2),
        ),
        case("all sizes different", "has sizes that are all different.", different),
        case("the same sizes again", purposes.AGAIN, alike(rng, different)),
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
        case("float16", purposes.HALF, normal(rng, 4, 3, 2, dtype=np.float16, scale=300)),
        case("not contiguous", purposes.PERMUTED, permuted(rng, 3, 5, 4)),
        case(
            "packed already",
            "has projections that lie in memory side by side already.",
            as_packed,
        ),
    )
