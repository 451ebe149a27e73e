"""What a function gave away stays as it was, whatever it is called with afterwards."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from autograder import judge
from course.attention import functional, one_head

Tensor = torch.Tensor
buffers: dict[Any, Any] = {}
earlier: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_from_before() -> None:
    buffers.clear()
    earlier.clear()


def one_array_for_all(scores: Any) -> Any:
    result = one_head.softmax(scores)
    buffer = buffers.setdefault((result.shape, result.dtype.str), np.empty_like(result))
    buffer[...] = result
    return buffer


def one_output_for_all(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    output, weights = functional.scaled_dot_product_attention(q, k, v)
    buffer = buffers.setdefault((weights.shape, weights.dtype), torch.empty_like(weights).detach())
    buffer.copy_(weights.detach())
    shown = weights.clone()
    shown.data = buffer
    return output, shown


def zeroes_the_caller_before(scores: Any) -> Any:
    for array in earlier:
        array[...] = 0
    earlier[:] = [scores]
    return one_head.softmax(scores)


def keeps_its_input(scores: Any) -> Any:
    buffers["all"] = scores
    return one_head.softmax(scores)


@pytest.mark.parametrize(
    ("exercise", "implementation"),
    [
        ("softmax", one_array_for_all),
        ("scaled_dot_product_attention", one_output_for_all),
        ("softmax", zeroes_the_caller_before),
    ],
)
def test_what_a_later_call_changes_is_wrong(exercise: str, implementation: Any) -> None:
    verdict = judge(exercise, implementation)
    assert (verdict.outcome, verdict.mistake) == ("wrong values", "changed-later"), verdict.message
    assert 0 < verdict.score < 1
    assert "a later call changes" in verdict.message


def test_what_is_kept_and_left_alone_is_right() -> None:
    assert judge("softmax", keeps_its_input).correct
    # The same object again, unchanged, is no fault: masks are often kept.
    kept: dict[Any, Tensor] = {}

    def cached(n_q: int, n_k: int | None = None) -> Tensor:
        if (n_q, n_k) not in kept:
            kept[n_q, n_k] = functional.causal_mask(n_q, n_k)
        return kept[n_q, n_k]

    assert judge("causal_mask", cached).correct


def test_a_mistake_is_named_before_a_later_change() -> None:
    def unscaled(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        weights = (q @ k.mT).softmax(-1)
        shown = weights.clone()
        buffer = buffers.setdefault((weights.shape, weights.dtype), weights.detach().clone())
        buffer.copy_(weights.detach())
        shown.data = buffer
        return weights @ v, shown

    verdict = judge("scaled_dot_product_attention", unscaled)
    assert verdict.mistake == "not-scaled", verdict.message
    assert not math.isnan(verdict.score)


def test_a_refusal_names_what_it_was_given() -> None:
    def always_the_same(x: Tensor, num_heads: int) -> Tensor:
        if x.shape[-1] % num_heads:
            raise ValueError("10 features for 4 heads; 5 features for 7 heads.")
        return functional.split_heads(x, num_heads)

    def everything(x: Tensor, num_heads: int) -> Tensor:
        if x.shape[-1] % num_heads:
            raise ValueError(" ".join(map(str, range(100))))
        return functional.split_heads(x, num_heads)

    assert not all(judge("split_heads", always_the_same, seed=seed).correct for seed in range(4))
    verdict = judge("split_heads", everything)
    assert verdict.mistake == "silent-value-error"
    assert "100 numbers" in verdict.message
