"""Lesson 04, W^O: mixing the heads, what each of them writes, and counting parameters."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from autograder.declaring import Case, Exercise
from autograder.exercises import purposes
from autograder.exercises.counting_parameters import (
    count_parameters_cases,
    count_parameters_probe,
)
from autograder.exercises.inputs import (
    Array,
    alike,
    heads_of_refusals,
    indivisible,
    normal,
    permuted,
    readable,
    root_is_exact,
)
from autograder.exercises.torch_inputs import ATTENTION_OF_PYTORCH, tensor
from autograder.probing import differentiates

TITLE = "W^O: the heads report back"

EQUAL = "has heads with all sizes equal, and a square w_o, so that shapes hide a mix-up."
SQUARE = "has the usual sizes: d_model = num_heads · d_v, so that w_o is square."
DIFFERENT = "has sizes that are all different, and d_model is not num_heads · d_v."
AS_MANY_WORDS = "has as many words as heads, so that shapes hide a mix-up of the two."
ONE_WORD = "has one word only, so that its axis has length 1, and has to stay."
ONE_HEAD = "has one head only, so that its axis has length 1."
MANY_HEADS = "has eight heads of two numbers each."


def heads_cases(rng: np.random.Generator) -> Sequence[Case]:
    """Heads and the w_o that they meet: what both first exercises are tried on."""

    def case(name: str, purpose: str, heads: Array, w_o: Array) -> Case:
        magnitude = float(np.abs(heads).max() * np.abs(w_o).max())
        arguments = {"heads": tensor(heads), "w_o": tensor(w_o)}
        return Case(name, purpose, arguments, magnitude=magnitude)

    def drawn(name: str, purpose: str, *shape: int, d_model: int, dtype: type = np.float64) -> Case:
        w_o = normal(rng, shape[1] * shape[3], d_model, dtype=dtype)
        return case(name, purpose, normal(rng, *shape, dtype=dtype), w_o)

    different, w_o = normal(rng, 2, 3, 4, 5), normal(rng, 15, 6)
    return (
        case(
            "two heads, three words",
            "is small enough to do by hand: one sentence of three words, two heads of two numbers.",
            readable(rng, 1, 2, 3, 2),
            readable(rng, 4, 5),
        ),
        drawn("equal sizes", EQUAL, 3, 3, 3, 3, d_model=9),
        case("all sizes different", DIFFERENT, different, w_o),
        case(
            "the same heads again",
            "has the heads of an earlier case and another w_o: nothing may be kept between calls.",
            different,
            alike(rng, w_o),
        ),
        drawn("the usual sizes", SQUARE, 2, 3, 5, 2, d_model=6),
        drawn("as many words as heads", AS_MANY_WORDS, 2, 3, 3, 5, d_model=4),
        drawn(
            "as many heads as numbers",
            "has as many heads as each of them has numbers, so that shapes hide a mix-up.",
            2,
            3,
            5,
            3,
            d_model=4,
        ),
        drawn("a batch of one", purposes.BATCH_OF_ONE, 1, 3, 5, 2, d_model=4),
        drawn("one head", ONE_HEAD, 2, 1, 4, 3, d_model=5),
        drawn("one word", ONE_WORD, 2, 3, 1, 4, d_model=5),
        drawn("heads of one number", "has heads of one number each.", 3, 2, 4, 1, d_model=5),
        drawn(
            "a model of one number",
            "has d_model = 1, so that the last axis has length 1, and has to stay.",
            2,
            3,
            4,
            2,
            d_model=1,
        ),
        drawn("eight heads", MANY_HEADS, 2, 8, 3, 2, d_model=7),
        drawn("float32", purposes.FLOAT32, 2, 3, 4, 5, d_model=6, dtype=np.float32),
        case("not contiguous", purposes.PERMUTED, permuted(rng, 2, 3, 4, 5), permuted(rng, 15, 6)),
    )


def multi_head_attention_with_output_cases(rng: np.random.Generator) -> Sequence[Case]:
    def case(name: str, purpose: str, num_heads: int, *inputs: Array, mentions: Any = ()) -> Case:
        names = ("x", "w_q", "w_k", "w_v", "w_o")
        tensors = dict(zip(names, map(tensor, inputs), strict=True))
        arguments = {**tensors, "num_heads": num_heads}
        magnitude = largest(num_heads, *inputs) if not mentions else 1.0
        scaled = not root_is_exact(inputs[1].shape[-1] // num_heads)
        return Case(name, purpose, arguments, magnitude, scaled, mentions)

    def inputs(
        batch: int, n: int, d_model: int, keys: int, values: int, dtype: type = np.float64
    ) -> tuple[Array, ...]:
        """Inputs whose queries, keys, values and results have a variance of about 1."""
        return (
            normal(rng, batch, n, d_model, dtype=dtype),
            *(normal(rng, d_model, keys, dtype=dtype, scale=d_model**-0.5) for _ in "qk"),
            normal(rng, d_model, values, dtype=dtype, scale=d_model**-0.5),
            normal(rng, values, d_model, dtype=dtype, scale=values**-0.5),
        )

    def drawn(
        name: str,
        purpose: str,
        batch: int,
        n: int,
        d_model: int,
        num_heads: int,
        d_k: int,
        d_v: int,
        dtype: type = np.float64,
    ) -> Case:
        widths = num_heads * d_k, num_heads * d_v
        return case(name, purpose, num_heads, *inputs(batch, n, d_model, *widths, dtype=dtype))

    x, w_q, *others = inputs(2, 5, 6, 32, 6)
    exact = x, 5 * w_q, *others  # larger scores lose more when their digits are cut
    words, *projections = inputs(2, 4, 7, 15, 18)
    large = inputs(2, 4, 6, 10, 6)
    large[0][:, 1] /= 100  # one short word among long ones: rows of very different size
    heads, heads_of_values = heads_of_refusals(rng)
    width, width_of_values = indivisible(rng, heads), indivisible(rng, heads_of_values)
    return (
        case(
            "two heads, three words",
            "is small enough to follow: one sentence of three words, two heads of two numbers.",
            2,
            *(readable(rng, *shape) for shape in ((1, 3, 2), (2, 4), (2, 4), (2, 4), (4, 2))),
        ),
        drawn("the usual sizes", SQUARE, 2, 5, 6, 3, 2, 2),
        drawn("equal sizes", EQUAL, 3, 3, 9, 3, 3, 3),
        case(
            "all sizes different",
            "has sizes that are all different. num_heads does not divide d_model, and need not: it "
            "divides the projections' widths.",
            3,
            words,
            *projections,
        ),
        case(
            "the same words again",
            purposes.OTHER_WEIGHTS,
            3,
            words,
            *(alike(rng, w) for w in projections),
        ),
        drawn("a batch of one", purposes.BATCH_OF_ONE, 1, 5, 6, 2, 3, 2),
        drawn("one word", ONE_WORD, 2, 1, 6, 3, 2, 4),
        drawn("one head", ONE_HEAD, 2, 4, 6, 1, 5, 3),
        drawn("values of one number", "has values of one number in each head.", 2, 4, 5, 3, 2, 1),
        case("a root that is exact", purposes.EXACT_ROOT, 2, *exact),
        case(
            "scores in the thousands",
            purposes.LARGE,
            2,
            *(a * factor for a, factor in zip(large, (60, 1, 1, 1, 1), strict=True)),
        ),
        drawn("float32", purposes.FLOAT32, 2, 4, 7, 3, 5, 2, dtype=np.float32),
        case(
            "not contiguous",
            purposes.PERMUTED,
            3,
            permuted(rng, 2, 4, 6),
            *(permuted(rng, *shape) / 2 for shape in ((6, 15), (6, 15), (6, 6), (6, 6))),
        ),
        case(
            "indivisible queries and keys",
            "has queries and keys that cannot be cut into num_heads parts: a ValueError that names "
            "their width and num_heads.",
            heads,
            *inputs(2, 4, 2 * heads, width, 3 * heads),
            mentions=(str(width), str(heads)),
        ),
        case(
            "indivisible values",
            "has values that cannot be cut into num_heads parts: a ValueError that names their "
            "width and num_heads.",
            heads_of_values,
            *inputs(2, 4, 2 * heads_of_values, 3 * heads_of_values, width_of_values),
            mentions=(str(width_of_values), str(heads_of_values)),
        ),
    )


def largest(num_heads: int, x: Array, w_q: Array, w_k: Array, w_v: Array, w_o: Array) -> float:
    """The largest number that arises: of the scores, times those of the values and of w_o."""
    q, k = (np.stack(np.split(x @ w, num_heads, axis=-1)) for w in (w_q, w_k))
    scores = np.abs(q @ np.swapaxes(k, -1, -2)).max() / np.sqrt(q.shape[-1])
    values = float(np.abs(x @ w_v).max())
    return float(scores) * max(1.0, values) * max(1.0, float(np.abs(w_o).max()))


def declare(name: str, **more: Any) -> Exercise:
    """An exercise of this lesson: what all four have in common is said here once."""
    return Exercise(
        name=name,
        lesson=4,
        reference=f"course.attention.functional.{name}",
        mistakes=f"autograder.mistakes.lesson_04:{name}",
        not_allowed=ATTENTION_OF_PYTORCH,
        **more,
    )


GRADIENTS_OF_HEADS = {
    "gradient of heads": ("head", "word", "d_v"),
    "gradient of w_o": ("num_heads · d_v", "d_model"),
}

EXERCISES = (
    declare(
        "project_output",
        title="Mix the heads with W^O",
        points=1,
        signature="project_output(heads, w_o)",
        returns=("output",),
        axes={"output": ("batch", "word", "d_model"), **GRADIENTS_OF_HEADS},
        cases=heads_cases,
        probe=differentiates("output", to=("heads", "w_o")),
        hints=(
            "w_o has a row for every number of the concatenated heads. What has to happen to "
            "`heads` before it can be multiplied?",
            "Put the heads side by side first, (batch, n, num_heads · d_v): `concat_heads` is in "
            "the cell at the top.",
            "`concat_heads(heads) @ w_o`: matrices multiply from the right.",
        ),
    ),
    declare(
        "head_contributions",
        title="What each head writes",
        points=2,
        signature="head_contributions(heads, w_o)",
        returns=("contributions",),
        axes={"contributions": ("batch", "head", "word", "d_model"), **GRADIENTS_OF_HEADS},
        cases=heads_cases,
        probe=differentiates("contributions", to=("heads", "w_o")),
        hints=(
            "In the concatenation, head 0 fills the first d_v numbers. Which rows of w_o do these "
            "meet?",
            "Head i meets the rows from i · d_v up to (i + 1) · d_v. Its contribution is its "
            "output times that block.",
            "Cut w_o into its blocks, `w_o.unflatten(0, (num_heads, d_v))`, which is (num_heads, "
            "d_v, d_model), and multiply: `heads @ blocks` pairs head i with block i.",
        ),
    ),
    declare(
        "count_parameters",
        title="Count the parameters",
        points=2,
        signature="count_parameters(d_model, num_heads, d_k=None, d_v=None, bias=False)",
        returns=("count",),
        axes={},
        cases=count_parameters_cases,
        probe=count_parameters_probe,
        hints=(
            "Four matrices. What is the shape of each one, with all heads packed side by side?",
            "w_q and w_k are (d_model, num_heads · d_k), w_v is (d_model, num_heads · d_v), w_o is "
            "(num_heads · d_v, d_model). A bias has as many numbers as its matrix has columns.",
            "Fill in d_k and d_v first, each in an `if` of its own: `if d_k is None:`, divide with "
            "`//`, and raise ValueError when `d_model % num_heads` is not 0.",
        ),
    ),
    declare(
        "multi_head_attention_with_output",
        title="Multi-head attention with W^O",
        points=2,
        signature="multi_head_attention_with_output(x, w_q, w_k, w_v, w_o, num_heads)",
        returns=("output",),
        axes={
            "output": ("batch", "word", "d_model"),
            "gradient of x": ("batch", "word", "d_model"),
            "gradient of w_q": ("d_model", "num_heads · d_k"),
            "gradient of w_k": ("d_model", "num_heads · d_k"),
            "gradient of w_v": ("d_model", "num_heads · d_v"),
            "gradient of w_o": ("num_heads · d_v", "d_model"),
        },
        cases=multi_head_attention_with_output_cases,
        probe=differentiates("output", to=("x", "w_q", "w_k", "w_v", "w_o")),
        uses=("project_output", "head_contributions"),
        hints=(
            "It is the multi-head attention of lesson 03 with one more step. Which one, and where?",
            "Five steps: project x three times, split each into heads, attend, concatenate, and "
            "multiply with w_o.",
            "`q = split_heads(x @ w_q, num_heads)`, likewise k and v; attend; then "
            "`project_output(heads, w_o)`.",
        ),
    ),
)
