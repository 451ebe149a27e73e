"""Lesson 05, masking: what a word may not see. In every mask True means "may attend"."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from torch import Tensor

from autograder.declaring import Case, Exercise, Observation, Probe, Value
from autograder.exercises import purposes
from autograder.exercises.attention_inputs import queries_keys_values
from autograder.exercises.inputs import Array, normal, permuted, readable
from autograder.exercises.mask_inputs import (
    BOTH,
    EMPTY,
    EMPTY_SENTENCE,
    EQUAL_NO_MASK,
    EQUAL_PADDING,
    FAR_BELOW,
    FOR_ALL,
    HALF,
    NO_MASK,
    ORDER,
    PADDING,
    PER_HEAD,
    PER_SENTENCE_AND_HEAD,
    TEMPTING,
    Mask,
    far_below,
    far_below_inputs,
    looking_back,
    some,
    tempting_inputs,
    tempting_scores,
    with_an_empty_row,
    words,
)
from autograder.exercises.torch_inputs import ATTENTION_OF_PYTORCH, tensor
from autograder.observing import returns
from autograder.probing import differentiates

TITLE = "Masking: what a word may not see"

MAP = ("query", "key")


def left_out(probe: Probe) -> Probe:
    """The probe, calling without the last argument where that is None: it has a default."""

    def calling(implementation: Callable[..., Any], case: Case) -> Observation:
        def call(*arguments: Any) -> Any:
            return implementation(*(arguments[:-1] if arguments[-1] is None else arguments))

        return probe(call, case)

    return calling


def masks(probe: Probe) -> Probe:
    """The probe, recording beside the mask what kind of entries it has.

    A mask of the numbers 0 and 1 equals the right one as far as its values go; with the kind
    recorded, it is known as a mistake of its own.
    """

    def noting(implementation: Callable[..., Any], case: Case) -> Observation:
        observation = probe(implementation, case)
        (mask,) = observation.values.values()
        kind = "truth values" if mask.dtype == "bool" else "numbers"
        return replace(
            observation, values={**observation.values, "kind of entries": Value("text", kind)}
        )

    return noting


def hides(probe: Probe) -> Probe:
    """The probe, recording beside the weights whether those of hidden keys are exactly 0.

    A weight of 1e-9 equals 0 as far as rounding goes, and still lets a key through.
    """

    def noting(implementation: Callable[..., Any], case: Case) -> Observation:
        observation = probe(implementation, case)
        if "weights" not in observation.values:
            return observation
        leaks = _leaks(observation.values["weights"], case.arguments["mask"])
        said = Value("text", "not exactly 0" if leaks else "exactly 0")
        return replace(observation, values={**observation.values, "weights of hidden keys": said})

    return noting


def _leaks(weights: Value, mask: Tensor | None) -> bool:
    if mask is None or not isinstance(weights.data, np.ndarray):
        return False
    try:
        hidden = np.broadcast_to(~mask.numpy(), weights.data.shape)
    except ValueError:  # another shape than it should be: that is said elsewhere
        return False
    return bool((weights.data[hidden] != 0).any())


# causal_mask


def causal_mask_cases(rng: np.random.Generator) -> Sequence[Case]:
    def between(low: int, high: int) -> int:
        return int(rng.integers(low, high, endpoint=True))

    def case(name: str, purpose: str, n_q: int, n_k: int | None, *mentions: str) -> Case:
        return Case(name, purpose, {"n_q": n_q, "n_k": n_k}, mentions=mentions)

    few, middle, many = between(3, 5), between(4, 9), between(6, 20)
    n_q, new, again = between(3, 6), between(2, 7), between(3, 6)
    short, shorter, scarce = between(4, 7), between(11, 19), between(22, 29)
    return (
        case("a few words", "leaves n_k out: as many keys as queries.", few, None),
        case("more words", "leaves n_k out, and has more words.", many, None),
        case("one word", "has a single word, which may see itself.", 1, None),
        case("as many keys", "says n_k, and it equals n_q.", middle, middle),
        case("one earlier word", "has one key more than queries.", new, new + 1),
        case(
            "some earlier words",
            "has more keys than queries: the last query still sees every key.",
            n_q,
            n_q + between(2, 4),
        ),
        case(
            "many earlier words", "has over twice as many keys as queries.", again, 2 * again + few
        ),
        case("one new word", "has one query, the newest word, which sees every key.", 1, many),
        case("a long text", "has hundreds of words.", 590 + few, 600 + many),
        case("a longer text", "has over a thousand words.", 3, 1100 + many),
        case(
            "a key too few",
            "has fewer keys than queries, by one: the first query would see nothing.",
            short,
            short - 1,
            str(short),
            str(short - 1),
        ),
        case(
            "far too few keys",
            "has far fewer keys than queries: the first ones would see nothing.",
            10 * shorter,
            scarce,
            str(10 * shorter),
            str(scarce),
        ),
        case(
            "no key at all",
            "says n_k = 0, which is a number of keys, and too few; n_k is None only when it is "
            "left out.",
            short,
            0,
            str(short),
            "0",
        ),
    )


# padding_mask


def padding_mask_cases(rng: np.random.Generator) -> Sequence[Case]:
    def case(name: str, purpose: str, lengths: Sequence[int] | Array, max_len: int) -> Case:
        as_tensor = tensor(np.array(lengths, dtype=getattr(lengths, "dtype", np.int64)))
        return Case(name, purpose, {"lengths": as_tensor, "max_len": max_len})

    def drawn(batch: int, low: int, high: int, dtype: Any = np.int64) -> Array:
        return np.asarray(rng.integers(low, high, size=batch, endpoint=True), dtype=dtype)

    def shuffled(*lengths: int) -> Array:
        return rng.permutation(np.array(lengths))

    room = int(rng.integers(6, 9))
    return (
        case("three sentences", "has three sentences of different lengths.", shuffled(1, 2, 4), 5),
        case(
            "as many sentences as places",
            "has as many sentences as places, so that mixed-up axes do not show in the shape.",
            drawn(room, 1, room - 1),
            room,
        ),
        case("room to spare", "has no sentence that fills all places.", drawn(3, 1, 5), room),
        case(
            "an empty sentence",
            "has a sentence of no words at all, which is padding throughout.",
            np.append(drawn(3, 1, 6), 0),
            7,
        ),
        case(
            "a full sentence",
            "has a sentence that fills all places.",
            shuffled(room, *drawn(4, 1, room - 1)),
            room,
        ),
        case("all full", "has sentences that all fill their places.", [room] * 3, room),
        case("one sentence", "has a batch of one sentence.", drawn(1, 2, 7), 9),
        case("one place", "has room for one word, used or not.", shuffled(0, 1, 1), 1),
        case("int32", "has lengths in int32.", drawn(4, 0, 10, np.int32), 10),
        case("many sentences", "has many sentences.", drawn(12, 0, 11), 11),
        case(
            "long sentences",
            "has sentences of up to 300 words, more than a number of eight bits can count.",
            np.append(drawn(3, 130, 250), 290),
            300,
        ),
    )


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
        case("more leading axes", purposes.LEADING, normal(rng, 2, 2, 3, 4, 5), some(rng, 4, 5)),
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
    return Case(name, purpose, tensors, magnitude, scaled=True)


def masked_attention_cases(rng: np.random.Generator) -> Sequence[Case]:
    case = attention_case

    def drawn(*batch: int, **sizes: int) -> tuple[Array, Array, Array]:
        return queries_keys_values(rng, *batch, **sizes)

    def narrow(dtype: Any, *batch: int, **sizes: int) -> tuple[Array, Array, Array]:
        q, k, v = (array.astype(dtype) for array in drawn(*batch, **sizes))
        return q, k, v

    half = with_an_empty_row(some(rng, 3, 5), 1)
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
            "causal, with earlier words",
            "has a causal mask and more keys than queries.",
            *drawn(2, n_q=3, n_k=5, d_k=6, d_v=4),
            looking_back(3, 5),
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
            "more leading axes",
            purposes.LEADING,
            *drawn(2, 2, 2, n_q=3, n_k=4, d_k=5, d_v=6),
            some(rng, 3, 4),
        ),
        case(
            "a single query",
            purposes.ONE_QUERY,
            *drawn(2, 3, n_q=1, n_k=6, d_k=5, d_v=2),
            words((4, 3), 6),
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


def declare(name: str, **more: Any) -> Exercise:
    """An exercise of this lesson: what all four have in common is said here once."""
    return Exercise(
        name=name,
        lesson=5,
        reference=f"course.attention.functional.{name}",
        mistakes=f"autograder.mistakes.lesson_05:{name}",
        not_allowed=ATTENTION_OF_PYTORCH,
        **more,
    )


EXERCISES = (
    declare(
        "causal_mask",
        title="The causal mask: no looking ahead",
        points=1,
        signature="causal_mask(n_q, n_k=None)",
        returns=("mask",),
        axes={"mask": MAP},
        cases=causal_mask_cases,
        probe=left_out(masks(returns("mask"))),
        hints=(
            "Draw the mask for three words on paper: which cells does the first word get, which "
            "the last? What moves when two earlier words are put in front as keys?",
            "`torch.ones(n_q, n_k, dtype=torch.bool)` allows everything, and `.tril(...)` keeps "
            "what lies on a diagonal and below it. Which diagonal ends in the bottom right corner?",
            "Query i stands at position i + n_k − n_q among the keys, so the diagonal is "
            "n_k − n_q: `.tril(diagonal=n_k - n_q)`. Before that, fill in n_k if it is None, and "
            "raise a ValueError with both numbers if n_k < n_q.",
        ),
    ),
    declare(
        "padding_mask",
        title="The padding mask: only real words",
        points=1,
        signature="padding_mask(lengths, max_len)",
        returns=("mask",),
        axes={"mask": ("sentence", "head", "query", "key")},
        cases=padding_mask_cases,
        probe=masks(returns("mask")),
        hints=(
            "A sentence of length 3 has words at positions 0, 1 and 2. Which comparison of a "
            "position with the length says that?",
            "`torch.arange(max_len)` has the positions. Compared with `lengths[:, None]` they "
            "make one row for each sentence.",
            "`torch.arange(max_len) < lengths[:, None]` is (batch, max_len); "
            "`[:, None, None, :]` puts the axes for heads and queries between.",
        ),
    ),
    declare(
        "masked_softmax",
        title="A softmax that sees only what it may",
        points=3,
        signature="masked_softmax(scores, mask)",
        returns=("weights",),
        axes={"weights": MAP, "gradient of scores": MAP},
        cases=masked_softmax_cases,
        probe=hides(differentiates("weights", to=("scores",))),
        hints=(
            "Which score gives a weight of exactly 0, whatever the other scores are? And what "
            "should come back if mask is None?",
            "`scores.masked_fill(~mask, -math.inf)` is a new tensor, on which the softmax can "
            "work. Then look at a query that may attend to nothing: what does a row of −∞ give?",
            "`~mask.any(dim=-1, keepdim=True)` finds these rows. Fill their scores with 0 before "
            "the softmax, so that no NaN arises, and their weights with 0 after it.",
        ),
    ),
    declare(
        "masked_attention",
        title="Attention under a mask",
        points=2,
        signature="masked_attention(q, k, v, mask=None)",
        returns=("output", "weights"),
        axes={
            "output": ("query", "d_v"),
            "weights": MAP,
            "gradient of q": ("query", "d_k"),
            "gradient of k": ("key", "d_k"),
            "gradient of v": ("key", "d_v"),
        },
        cases=masked_attention_cases,
        probe=left_out(hides(differentiates("output", "weights", to=("q", "k", "v")))),
        uses=("masked_softmax",),
        hints=(
            "It is the attention of lesson 02, in which one step is another. Which one?",
            "Scores as before, divided by √d_k; then `masked_softmax(scores, mask)` in the place "
            "of torch.softmax. Nothing else knows of the mask.",
            "`scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])`, "
            "`weights = masked_softmax(scores, mask)`, then `weights @ v` and the weights.",
        ),
    ),
)
