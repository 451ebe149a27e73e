"""Cases for multi-head attention as a module; `module_observing` follows them.

A case is a recipe: how the module is built (d_model, num_heads, dropout, bias), the seed that its
projections are filled with, what is done with it (`then`), and what it is called with. What a
case does not mention is not given either, so that the defaults are tried too.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from autograder.declaring import Case
from autograder.exercises import purposes
from autograder.exercises.dropout import dropout_cases
from autograder.exercises.inputs import indivisible, normal, permuted, readable
from autograder.exercises.module_observing import EVALUATION, lives
from autograder.exercises.torch_inputs import tensor

RNG = np.random.Generator

# Of each of these one case, which a seed draws, is in evaluation mode. Masks of each number of
# axes are among them, and texts of five words or more.
SELF_IN_EVALUATION = (("a batch", "not contiguous"),)
IN_EVALUATION = (
    ("cross-attention", "not contiguous"),
    ("causal mask", "float32", "nothing to attend to, output only"),
    ("a mask for each head", "without biases"),
    ("three inputs", "value without key", "padding mask", "causal and padding", "large scores"),
)


def _case(rng: RNG, name: str, purpose: str, d_model: int, num_heads: int, **more: Any) -> Case:
    mentions = more.pop("mentions", ())
    magnitude = more.pop("magnitude", 10.0)
    scaled = more.pop("scaled", True)
    built: dict[str, Any] = {k: more.pop(k) for k in ("dropout", "bias") if k in more}
    arguments: dict[str, Any] = {"d_model": d_model, "num_heads": num_heads, **built}
    if more:
        arguments["seed"] = int(rng.integers(2**31))
    arguments.update({k: tensor(v) if isinstance(v, np.ndarray) else v for k, v in more.items()})
    return Case(name, purpose, arguments, magnitude, scaled=scaled, mentions=mentions)


def _indivisible_case(rng: RNG) -> Case:
    heads = int(rng.integers(2, 6))
    width = indivisible(rng, heads)
    purpose = f"has {width} features for {heads} heads."
    return _case(rng, "indivisible", purpose, width, heads, mentions=(str(width), str(heads)))


def _some_in_evaluation(
    rng: RNG, cases: Sequence[Case], groups: Sequence[Sequence[str]]
) -> Sequence[Case]:
    drawn = {str(rng.choice(group)) for group in groups}
    return tuple(_in_evaluation(case) if case.name in drawn else case for case in cases)


def _in_evaluation(case: Case) -> Case:
    purpose = f"{case.purpose} The module is in evaluation mode."
    return replace(case, purpose=purpose, arguments={**case.arguments, "mode": EVALUATION})


def self_cases(rng: RNG) -> Sequence[Case]:
    """Cases for a module that is called with x alone."""
    case = partial(_case, rng)
    cases = (
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
        *lives(case, "x", lambda *shape: normal(rng, *shape)),
        _indivisible_case(rng),
    )
    return _some_in_evaluation(rng, cases, SELF_IN_EVALUATION)


def module_cases(rng: RNG) -> Sequence[Case]:
    """Cases for the complete module."""
    case = partial(_case, rng)

    def draw(*shape: int, **more: Any) -> np.ndarray:
        return normal(rng, *shape, **more)

    four = {"query": draw(2, 4, 10), "key": draw(2, 6, 10), "value": draw(2, 6, 10)}
    equal = {name: draw(3, 3, 9) for name in ("query", "key", "value")}
    large = {"query": draw(2, 5, 12, scale=200.0), "key": draw(2, 6, 12, scale=200.0)}
    half = {name: draw(2, n, 6).astype(np.float16) for name, n in (("query", 3), ("key", 5))}
    cases = (
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
        case(
            "three inputs",
            "has query, key and value all different, and one mask for all, (1, 1, query, key).",
            10,
            5,
            **four,
            mask=per_head(rng, 1, 1, 4, 6),
            need_weights=True,
        ),
        case("three inputs of one size", purposes.EQUAL, 9, 3, **equal, need_weights=True),
        case(
            "value without key",
            "has a value of its own and no key; then the key is the query. The mask lets the last "
            "queries see nothing, (batch, 1, query, 1).",
            6,
            2,
            query=draw(2, 4, 6),
            value=draw(2, 4, 6),
            mask=padding(4, 3, 2).swapaxes(-2, -1),
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
        case(
            "without biases",
            "is built with bias=False, and has a mask of three axes, (head, query, key).",
            6,
            2,
            bias=False,
            query=draw(2, 4, 6),
            mask=per_head(rng, 2, 4, 4),
        ),
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
            f"{purposes.PERMUTED} A mask of one axis, (key), hides a word from all.",
            12,
            2,
            query=permuted(rng, 3, 5, 12),
            key=permuted(rng, 3, 5, 12),
            mask=np.arange(5) != rng.integers(5),
            need_weights=True,
        ),
        *lives(case, "query", draw),
        *dropout_cases(rng, case),
        _indivisible_case(rng),
    )
    return _some_in_evaluation(rng, cases, IN_EVALUATION)


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
