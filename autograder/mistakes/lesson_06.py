"""Mistakes of lesson 06: modules of multi-head attention, and the way to PyTorch's own."""

from collections.abc import Callable, Sequence
from typing import Any

from autograder.declaring import Mistake
from autograder.mistakes import ways
from autograder.mistakes.module_around import AROUND
from autograder.mistakes.module_attending import ATTENDING, ROLES
from autograder.mistakes.module_calls import CALLS, SMALLEST
from autograder.mistakes.module_copying import COPYING
from autograder.mistakes.module_dropping import DROPOUT
from autograder.mistakes.module_heads import HEADS
from autograder.mistakes.module_masks import MASKS
from autograder.mistakes.module_parameters import PARAMETERS
from autograder.mistakes.module_steps import Module, Told, full, small
from autograder.mistakes.module_turning import TURNING

Make = Callable[..., Module]


def told(make: Make, listed: Sequence[Told]) -> tuple[Mistake, ...]:
    """Mistakes of these steps, as modules that `make` makes of them."""
    found: list[Mistake] = []
    for id, happened, advice, versions in listed:
        implementations: list[Any] = [make(**steps) for steps in versions]
        found += ways(id, happened, advice, *implementations)
    return tuple(found)


SHARED = (*PARAMETERS, *HEADS, *ATTENDING, *AROUND)

MISTAKES = {
    "MultiHeadSelfAttention": told(small, (*SHARED, *SMALLEST)),
    "MultiHeadAttention": told(full, (*SHARED, *ROLES, *CALLS, *DROPOUT, *MASKS)),
    "copy_from_torch": COPYING,
    "to_torch_mask": TURNING,
}
