"""Lesson 05, masking: what a word may not see. In every mask True means "may attend"."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from autograder.declaring import Case, Exercise
from autograder.exercises.inputs import Array
from autograder.exercises.mask_observing import hidden_weights, kind_of_entries, left_out
from autograder.exercises.masked_cases import (
    masked_attention_cases,
    masked_softmax_cases,
)
from autograder.exercises.torch_inputs import ATTENTION_OF_PYTORCH, tensor
from autograder.observing import returns
from autograder.probing import differentiates

TITLE = "Masking: what a word may not see"

MAP = ("query", "key")


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
        case("a longer text", "has thousands of words before the last two.", 2, 5000 + many),
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
            np.append(drawn(3, 130, 250), 289),
            300,
        ),
        case(
            "a whole chapter",
            "has room for more than a thousand words.",
            np.append(drawn(1, 300, 900), drawn(1, 1000, 1200)),
            1200 + room,
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
        probe=left_out(returns("mask")),
        conclude=kind_of_entries,
        unwatched=("a long text", "a longer text"),
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
        probe=returns("mask"),
        conclude=kind_of_entries,
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
        probe=differentiates("weights", to=("scores",)),
        conclude=hidden_weights,
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
        probe=left_out(differentiates("output", "weights", to=("q", "k", "v"))),
        conclude=hidden_weights,
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
