"""Cases for multi-head attention as a module; `module_observing` follows them.

A case is a recipe: how the module is built (d_model, num_heads, dropout, bias), the seed that its
projections are filled with, what is done with it (`then`), and what it is called with. What a
case does not mention is not given either, so that the defaults are tried too.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autograder.declaring import Case
from autograder.exercises import purposes
from autograder.exercises.inputs import indivisible, normal, permuted, readable
from autograder.exercises.module_observing import AGAIN, COPIED, DROPOUT, MOVED, SAVED
from autograder.exercises.torch_inputs import tensor

RNG = np.random.Generator


def _case(rng: RNG, name: str, purpose: str, d_model: int, num_heads: int, **more: Any) -> Case:
    mentions = more.pop("mentions", ())
    magnitude = more.pop("magnitude", 10.0)
    scaled = more.pop("scaled", True)
    built: dict[str, Any] = {k: more.pop(k) for k in ("dropout", "bias") if k in more}
    arguments: dict[str, Any] = {"d_model": d_model, "num_heads": num_heads, **built}
    if more:
        arguments["seed"] = int(rng.integers(2**31))
    arguments.update(
        {key: tensor(v) if isinstance(v, np.ndarray) else v for key, v in more.items()}
    )
    return Case(name, purpose, arguments, magnitude, scaled=scaled, mentions=mentions)


def self_cases(rng: RNG) -> Sequence[Case]:
    """Cases for a module that is called with x alone."""

    def case(name: str, purpose: str, d_model: int, num_heads: int, **more: Any) -> Case:
        return _case(rng, name, purpose, d_model, num_heads, **more)

    left_over = indivisible(rng, 4)
    return (
        case("two words", "has one text of two words.", 6, 2, x=readable(rng, 1, 2, 6)),
        # The root of four is exact in every dtype, so that other losses of digits stand out.
        case(
            "a batch", "has two texts of five words.", 12, 3, scaled=False, x=normal(rng, 2, 5, 12)
        ),
        case("equal sizes", "has as many texts as heads and words.", 9, 3, x=normal(rng, 3, 3, 9)),
        case("many heads", "has five heads of two numbers.", 10, 5, x=normal(rng, 3, 4, 10)),
        case("one head", "has one head only.", 5, 1, x=normal(rng, 2, 3, 5)),
        case("one word", "has two texts of a single word each.", 10, 5, x=normal(rng, 2, 1, 10)),
        case(
            "scores in the thousands",
            purposes.LARGE,
            12,
            3,
            magnitude=1e4,
            scaled=False,
            x=normal(rng, 2, 5, 12, scale=60.0),
        ),
        case("float32", "is in float32.", 6, 2, x=normal(rng, 2, 4, 6, dtype=np.float32)),
        case("not contiguous", purposes.PERMUTED, 12, 2, x=permuted(rng, 3, 5, 12)),
        *_lives(case, "x", lambda *shape: normal(rng, *shape)),
        case(
            "indivisible",
            f"has {left_over} features for 4 heads.",
            left_over,
            4,
            mentions=(str(left_over), "4"),
        ),
    )


def _lives(case: Callable[..., Case], first: str, draw: Callable[..., Any]) -> tuple[Case, ...]:
    """Cases on what becomes of a module; `first` is the name of what it is called with."""
    return (
        case(
            "called again",
            "calls the module again, after a longer text and after other numbers of these sizes; "
            "nothing may be kept between calls. A module of another size was built meanwhile.",
            6,
            3,
            then=AGAIN,
            **{first: draw(2, 4, 6)},
        ),
        case(
            "saved and loaded",
            "calls a module that was given the state_dict of another.",
            6,
            2,
            then=SAVED,
            **{first: draw(2, 3, 6)},
        ),
        case(
            "copied",
            "calls a deep copy, while the original and a third module get other numbers.",
            6,
            2,
            then=COPIED,
            **{first: draw(2, 3, 6)},
        ),
        case(
            "another device",
            'moves the module and its inputs, to "meta" for example: a device where tensors have '
            "a shape and no numbers.",
            6,
            2,
            then=MOVED,
            **{first: draw(2, 3, 6)},
        ),
    )


def module_cases(rng: RNG) -> Sequence[Case]:
    """Cases for the complete module."""

    def case(name: str, purpose: str, d_model: int, num_heads: int, **more: Any) -> Case:
        return _case(rng, name, purpose, d_model, num_heads, **more)

    def draw(*shape: int, **more: Any) -> np.ndarray:
        return normal(rng, *shape, **more)

    four = {"query": draw(2, 4, 10), "key": draw(2, 6, 10), "value": draw(2, 6, 10)}
    equal = {name: draw(3, 3, 9) for name in ("query", "key", "value")}
    large = {"query": draw(2, 5, 12, scale=200.0), "key": draw(2, 6, 12, scale=200.0)}
    half = {name: draw(2, n, 6).astype(np.float16) for name, n in (("query", 3), ("key", 5))}
    left_over = indivisible(rng, 4)
    return (
        case(
            "two words",
            "has one text of two words, and no mask.",
            6,
            2,
            query=readable(rng, 1, 2, 6),
        ),
        case(
            "with its weights",
            "asks for the weights as well.",
            6,
            3,
            query=draw(2, 4, 6),
            need_weights=True,
        ),
        case(
            "cross-attention",
            "has queries from one text, and keys and values from another, shorter one.",
            15,
            3,
            query=draw(2, 6, 15),
            key=draw(2, 4, 15),
            need_weights=True,
        ),
        case("three inputs", "has query, key and value all different.", 10, 5, **four),
        case("three inputs of one size", purposes.EQUAL, 9, 3, **equal, need_weights=True),
        case(
            "value without key",
            "has a value of its own and no key; then the key is the query.",
            6,
            2,
            query=draw(2, 3, 6),
            value=draw(2, 3, 6),
        ),
        case(
            "causal mask",
            "has a causal mask, (query, key).",
            10,
            2,
            query=draw(3, 4, 10),
            mask=np.tri(4, dtype=bool),
        ),
        case(
            "padding mask",
            "has a padding mask, (batch, 1, 1, key).",
            6,
            2,
            query=draw(2, 5, 6),
            mask=padding(5, 3, 5),
            need_weights=True,
        ),
        case(
            "causal and padding",
            "has a mask that is causal and hides padding, (batch, 1, query, key).",
            12,
            3,
            scaled=False,
            query=draw(2, 4, 12),
            mask=np.tri(4, dtype=bool) & padding(4, 2, 4),
            need_weights=True,
        ),
        case(
            "a mask for each head",
            "has a mask of three axes, (head, query, key), and as many texts as heads.",
            6,
            2,
            query=draw(2, 3, 6),
            key=draw(2, 4, 6),
            mask=per_head(rng, 2, 3, 4),
            need_weights=True,
        ),
        case(
            "nothing to attend to",
            "has a query that may attend to nothing, and a text that is padding alone.",
            6,
            3,
            query=draw(2, 4, 6),
            mask=np.tri(4, k=-1, dtype=bool) & padding(4, 4, 0),
            need_weights=True,
        ),
        case(
            "nothing to attend to, output only",
            "has a query that may attend to nothing.",
            6,
            2,
            query=draw(2, 3, 6),
            mask=np.tri(3, k=-1, dtype=bool),
        ),
        case(
            "large scores",
            "has scores of tens of thousands, above and below zero, and a mask of four axes, "
            "(batch, head, query, key).",
            12,
            3,
            magnitude=1e5,
            scaled=False,  # the root of four is exact in every dtype
            **large,
            mask=one_of_six(rng, 2, 3, 5),
            need_weights=True,
        ),
        case("one head", "has one head only.", 5, 1, query=draw(3, 4, 5), need_weights=True),
        case(
            "one word",
            "has two texts of a single word each.",
            10,
            5,
            query=draw(2, 1, 10),
            need_weights=True,
        ),
        case("without biases", "is built with bias=False.", 6, 2, bias=False, query=draw(2, 3, 6)),
        case(
            "float32",
            "is in float32.",
            6,
            2,
            query=draw(2, 4, 6, dtype=np.float32),
            mask=np.tri(4, dtype=bool),
            need_weights=True,
        ),
        case(
            "float16",
            "is in float16, which ends at 65504, and has a padding mask.",
            6,
            2,
            **half,
            mask=padding(5, 2, 5),
            need_weights=True,
        ),
        case(
            "not contiguous",
            purposes.PERMUTED,
            12,
            2,
            query=permuted(rng, 3, 5, 12),
            key=permuted(rng, 3, 5, 12),
        ),
        *_lives(case, "query", draw),
        case(
            "dropout",
            "is built with dropout=0.25, and called often, in training and in evaluation.",
            12,
            2,
            dropout=0.25,
            then=DROPOUT,
            query=draw(1, 5, 12),
            key=draw(1, 3, 12),
        ),
        case(
            "dropout, with the weights",
            "is built with dropout=0.5, and asks for the weights, which are those before dropout. "
            "A mask hides the last key.",
            12,
            2,
            dropout=0.5,
            then=DROPOUT,
            query=draw(1, 3, 12),
            mask=np.tile([True, True, False], (3, 1)),
            need_weights=True,
        ),
        case(
            "indivisible",
            f"has {left_over} features for 4 heads.",
            left_over,
            4,
            mentions=(str(left_over), "4"),
        ),
    )


def padding(n: int, *lengths: int) -> np.ndarray:
    """Which of n keys are words, for texts of these lengths: (batch, 1, 1, n)."""
    return (np.arange(n) < np.array(lengths)[:, None])[:, None, None, :]


def one_of_six(rng: RNG, *shape: int) -> np.ndarray:
    """A random mask for six keys. The first three queries see one key each, and no other.

    Of so many single scores some lie far below zero, and a number that hidden scores are set to
    has to be lower still.
    """
    mask = per_head(rng, *shape, 6)
    mask[..., :3, :] = np.arange(6) == rng.integers(6, size=(*shape[:-1], 3, 1))
    return mask


def per_head(rng: RNG, *shape: int) -> np.ndarray:
    """A random mask in which every query sees a key, and none sees all."""
    mask = rng.random(shape) < 0.5
    mask[..., 0], mask[..., -1] = True, False
    mask[:1] = np.flip(mask[:1], -1)
    return mask
