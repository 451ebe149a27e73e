"""Calls that would skip an exercise are noticed, whatever they are called."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from autograder import judge
from course.attention import one_head

alias = torch.softmax


def through(function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Any], Any]:
    return lambda scores: function(torch.from_numpy(np.ascontiguousarray(scores))).numpy()


def in_a_thread(scores: Any) -> Any:
    result: list[Any] = []
    work = threading.Thread(target=lambda: result.append(through(alias_call)(scores)))
    work.start()
    work.join()
    return result[0]


def alias_call(scores: torch.Tensor) -> torch.Tensor:
    return alias(scores, -1)


SKIPS: dict[str, Callable[..., Any]] = {
    "torch.softmax": through(lambda s: torch.softmax(s, -1)),
    "alias": through(alias_call),
    "functional": through(lambda s: functional.softmax(s, dim=-1)),
    "method": through(lambda s: s.softmax(-1)),
    "getattr": through(lambda s: getattr(torch, "soft" + "max")(s, -1)),
    "module": through(torch.nn.Softmax(dim=-1)),
    "operator": through(lambda s: torch.ops.aten._softmax.default(s, -1, False)),
    "log": through(lambda s: torch.log_softmax(s, -1).exp()),
    "traced": through(torch.jit.trace(alias_call, torch.ones(2, 3), check_trace=False)),
    "thread": in_a_thread,
    "attention": through(
        lambda s: (
            functional.scaled_dot_product_attention(
                s,
                torch.eye(s.shape[-1], dtype=s.dtype),
                torch.eye(s.shape[-1], dtype=s.dtype),
                scale=1,
            )
            if s.ndim > 1
            else s
        )
    ),
}


@pytest.mark.parametrize("way", SKIPS)
def test_a_library_softmax_is_noticed(way: str) -> None:
    verdict = judge("softmax", SKIPS[way])
    assert verdict.outcome == "not allowed", verdict.message
    assert verdict.score == 0.0 or way == "attention"


def softmax(scores: Any) -> Any:
    """Bears the forbidden name itself, and mentions torch.softmax."""
    return one_head.softmax(scores)


def test_honest_code_is_not_accused() -> None:
    assert judge("softmax", softmax).correct
    assert judge("softmax", through(lambda s: s.exp() / s.exp().sum(-1, keepdim=True))).outcome in (
        "wrong values",
        "error",
    )
    torch.softmax(torch.ones(3), -1)  # comparing elsewhere is fine
    assert judge("softmax", softmax).correct
