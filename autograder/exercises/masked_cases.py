"""The cases of attention under a mask, and of its softmax."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from autograder.declaring import Case
from autograder.exercises import purposes
from autograder.exercises.attention_inputs import queries_keys_values
from autograder.exercises.inputs import Array, normal, permuted, readable, root_is_exact
from autograder.exercises.mask_inputs import (
    BOTH,
    EMPTY,
    EMPTY_SENTENCE,
    EQUAL_NO_MASK,
    EQUAL_PADDING,
    FAR_BELOW,
    FOR_ALL,
    FOR_ALL_QUERIES,
    FOR_ALL_SENTENCES,
    HALF,
    NO_MASK,
    ORDER,
    PADDING,
    PER_HEAD,
    PER_SENTENCE_AND_HEAD,
    QUERIES,
    TEMPTING,
    Mask,
    far_below,
    far_below_inputs,
    looking_back,
    some,
    some_queries,
    tempting_inputs,
    tempting_scores,
    with_an_empty_row,
    words,
)
from autograder.exercises.torch_inputs import tensor

# masked_softmax


def scores_and_mask(name: str, purpose: str, scores: Array, mask: Mask | None) -> Case:
    tensors = {"scores": tensor(scores), "mask": None if mask is None else tensor(mask)}
    return Case(name, purpose, tensors, magnitude=float(np.abs(scores).max()))


def masked_softmax_cases(rng: np.random.Generator) -> Sequence[Case]:
    case = scores_and_mask
    half = some(rng, 2, 4, 6)
    half[0, 1] = False
    return (
        case(
            "two queries, three keys",
            "has two queries, three keys, and a mask of the same shape.",
            readable(rng, 2, 3),
            some(rng, 2, 3),
        ),
        case("no mask", NO_MASK, normal(rng, 2, 3, 5), None),
        case(
            "a query without keys",
            EMPTY,
            readable(rng, 3, 4),
            with_an_empty_row(some(rng, 3, 4), 1),
        ),
        case("a mask for all", FOR_ALL, normal(rng, 2, 3, 4, 5), some(rng, 4, 5)),
        case("padding", PADDING, normal(rng, 3, 2, 4, 6), words((2, 6, 3), 6)),
        case(
            "a sentence without words", EMPTY_SENTENCE, normal(rng, 3, 2, 4, 5), words((3, 0, 4), 5)
        ),
        case("a mask per head", PER_HEAD, normal(rng, 3, 3, 4, 5), some(rng, 3, 4, 5)),
        case(
            "a mask per sentence and head",
            "has a mask of the shape of the scores.",
            normal(rng, 2, 3, 4, 5),
            with_an_empty_row(some(rng, 2, 3, 4, 5), 2),
        ),
        case(
            "causal and padding",
            BOTH,
            normal(rng, 3, 2, 5, 5),
            looking_back(5, 5) & words((2, 5, 4), 5),
        ),
        case(
            "equal sizes",
            "has as many sentences as heads, queries and keys, and a padding mask.",
            normal(rng, 4, 4, 4, 4),
            words(rng.permutation([1, 2, 3, 4]).tolist(), 4),
        ),
        case("one mask for all queries", FOR_ALL_QUERIES, normal(rng, 2, 2, 3, 4, 5), some(rng, 5)),
        case(
            "one mask for all sentences",
            FOR_ALL_SENTENCES,
            normal(rng, 3, 2, 4, 6),
            looking_back(4, 6)[None, None],
        ),
        case("a mask of queries", QUERIES, normal(rng, 3, 2, 4, 5), some_queries(rng, 3, 4)),
        case(
            "a single key",
            purposes.ONE_KEY,
            normal(rng, 4, 6, 1),
            rng.permutation([[True], [True], [True], [False], [False], [True]]),
        ),
        case("tempting scores", TEMPTING, *tempting_scores(rng)),
        case("far below zero", FAR_BELOW, *far_below(rng, 3, 6)),
        case("float32", purposes.FLOAT32, normal(rng, 3, 6, dtype=np.float32), some(rng, 3, 6)),
        case("float16", HALF, normal(rng, 2, 4, 6, dtype=np.float16), half),
        case(
            "not contiguous", ORDER, permuted(rng, 2, 3, 5), np.asfortranarray(some(rng, 2, 3, 5))
        ),
    )


# masked_attention


def attention_case(
    name: str, purpose: str, q: Array, k: Array, v: Array, mask: Mask | None
) -> Case:
    tensors: dict[str, Tensor | None] = {"q": tensor(q), "k": tensor(k), "v": tensor(v)}
    tensors["mask"] = None if mask is None else tensor(mask)
    scores = float(np.abs(q.astype(np.float64) @ np.swapaxes(k, -1, -2)).max())
    largest_value = max(1.0, float(np.abs(v).max()))
    magnitude = scores / math.sqrt(q.shape[-1]) * largest_value
    return Case(name, purpose, tensors, magnitude, scaled=not root_is_exact(q.shape[-1]))


def masked_attention_cases(rng: np.random.Generator) -> Sequence[Case]:
    case = attention_case

    def drawn(*batch: int, **sizes: int) -> tuple[Array, Array, Array]:
        return queries_keys_values(rng, *batch, **sizes)

    def narrow(dtype: Any, *batch: int, **sizes: int) -> tuple[Array, Array, Array]:
        q, k, v = (array.astype(dtype) for array in drawn(*batch, **sizes))
        return q, k, v

    half = with_an_empty_row(some(rng, 3, 5), 1)
    q, k, v = drawn(2, n_q=5, n_k=6, d_k=16, d_v=3)
    return (
        case(
            "two queries, three keys",
            "is small enough to do by hand: two queries, three keys, and values of two numbers.",
            readable(rng, 2, 5),
            readable(rng, 3, 5),
            readable(rng, 3, 2),
            some(rng, 2, 3),
        ),
        case("no mask", NO_MASK, *drawn(2, n_q=4, n_k=3, d_k=5, d_v=7), None),
        case("no mask, equal sizes", EQUAL_NO_MASK, *drawn(3, 3, n_q=3, n_k=3, d_k=3, d_v=3), None),
        case(
            "a query without keys",
            EMPTY,
            *drawn(n_q=3, n_k=5, d_k=6, d_v=2),
            with_an_empty_row(some(rng, 3, 5), 1),
        ),
        case("a mask for all", FOR_ALL, *drawn(2, 3, n_q=4, n_k=5, d_k=6, d_v=7), some(rng, 4, 5)),
        case(
            "one mask for all sentences",
            FOR_ALL_SENTENCES,
            *drawn(3, 2, n_q=4, n_k=5, d_k=6, d_v=7),
            looking_back(4, 5)[None, None],
        ),
        case(
            "a mask of queries",
            QUERIES,
            *drawn(3, 2, n_q=4, n_k=5, d_k=6, d_v=7),
            some_queries(rng, 3, 4),
        ),
        case("padding", PADDING, *drawn(3, 2, n_q=4, n_k=6, d_k=5, d_v=7), words((2, 6, 3), 6)),
        case(
            "a sentence without words",
            EMPTY_SENTENCE,
            *drawn(3, 2, n_q=4, n_k=5, d_k=6, d_v=2),
            words((3, 0, 4), 5),
        ),
        case(
            "a mask per head",
            PER_HEAD,
            *drawn(3, 3, n_q=2, n_k=5, d_k=6, d_v=4),
            some(rng, 3, 2, 5),
        ),
        case(
            "a mask per sentence and head",
            PER_SENTENCE_AND_HEAD,
            *drawn(2, 3, n_q=4, n_k=5, d_k=6, d_v=2),
            some(rng, 2, 3, 4, 5),
        ),
        case(
            "padding, equal sizes",
            EQUAL_PADDING,
            *drawn(4, 4, n_q=4, n_k=4, d_k=4, d_v=4),
            words(rng.permutation([1, 2, 3, 4]).tolist(), 4),
        ),
        case(
            "causal and padding",
            BOTH,
            *drawn(3, 2, n_q=5, n_k=5, d_k=5, d_v=5),
            looking_back(5, 5) & words((2, 5, 4), 5),
        ),
        case("equal sizes", purposes.EQUAL, *drawn(n_q=5, n_k=5, d_k=5, d_v=5), some(rng, 5, 5)),
        case(
            "one mask for all queries",
            FOR_ALL_QUERIES,
            *drawn(2, 2, 2, n_q=3, n_k=4, d_k=5, d_v=6),
            some(rng, 4),
        ),
        case(
            "a single query",
            purposes.ONE_QUERY,
            *drawn(2, 3, n_q=1, n_k=6, d_k=5, d_v=2),
            words((4, 3), 6),
        ),
        case(
            "a root that is exact",
            purposes.EXACT_ROOT,
            *(5 * q, k, v),
            some(rng, 5, 6),
        ),
        case("tempting scores", TEMPTING, *tempting_inputs(rng)),
        case("far below zero", FAR_BELOW, *far_below_inputs(rng)),
        case(
            "float32",
            purposes.FLOAT32,
            *narrow(np.float32, n_q=3, n_k=6, d_k=5, d_v=2),
            some(rng, 3, 6),
        ),
        case("float16", HALF, *narrow(np.float16, 2, n_q=3, n_k=5, d_k=6, d_v=2), half),
        case(
            "not contiguous",
            ORDER,
            permuted(rng, 2, 3, 6),
            permuted(rng, 2, 5, 6),
            permuted(rng, 2, 5, 7),
            np.asfortranarray(some(rng, 2, 3, 5)),
        ),
    )
