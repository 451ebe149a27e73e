"""Lesson 03, many heads: split, attend, concatenate."""

from collections.abc import Sequence
from typing import Any

from autograder.declaring import Exercise
from autograder.exercises.heads_cases import (
    concat_heads_cases,
    multi_head_attention_cases,
    pack_projections_cases,
    per_head_attention_cases,
    split_heads_cases,
)
from autograder.exercises.torch_inputs import ATTENTION_OF_PYTORCH
from autograder.probing import differentiates

TITLE = "Many heads: split, attend, concatenate"


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
