"""Which mistake a verdict names, where several come close, and where it names none."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from autograder import judge
from autograder.mistakes.module_steps import SelfSteps


def states_its_shape(name: str) -> Any:
    """Multi-head attention that mixes another thing than v, and names the shape it wants last."""

    def multi_head_attention(x: Any, w_q: Any, w_k: Any, w_v: Any, num_heads: int) -> Tensor:
        batch, n, _ = x.shape
        for w in (w_q, w_v):
            if w.shape[-1] % num_heads:
                raise ValueError(f"{w.shape[-1]} and {num_heads}")
        parts = {
            each: (x @ w).reshape(batch, n, num_heads, -1).transpose(1, 2)
            for each, w in (("q", w_q), ("k", w_k), ("v", w_v))
        }
        scores = parts["q"] @ parts["k"].transpose(-2, -1) / math.sqrt(parts["q"].shape[-1])
        heads = torch.softmax(scores, dim=-1) @ parts[name]
        return heads.transpose(1, 2).reshape(batch, n, w_v.shape[-1])

    return multi_head_attention


@pytest.mark.parametrize("name", ["q", "k"])
def test_a_wrong_shape_may_end_in_an_error(name: str) -> None:
    verdict = judge("multi_head_attention", states_its_shape(name))
    assert verdict.mistake == "shared-value-projection", verdict.message
    assert judge("multi_head_attention", states_its_shape("v")).correct


def test_errors_that_have_nothing_to_do_with_shapes_name_nothing() -> None:
    def misspelt(x: Any, w_q: Any, w_k: Any, w_v: Any, num_heads: int) -> Any:
        if w_q.shape == w_v.shape:
            return states_its_shape("v")(x, w_q, w_k, w_v, num_heads)
        return scaled_dot_product_atention(x, w_q, w_k)  # type: ignore[name-defined] # noqa: F821

    verdict = judge("multi_head_attention", misspelt)
    assert (verdict.outcome, verdict.mistake) == ("error", None), verdict.message


def test_agreement_on_half_of_the_cases_is_not_enough() -> None:
    class HeldByAFunction(SelfSteps):
        """A copy still calls the layer of the original: wrong when copied, and when moved."""

        def __init__(self, d_model: int, num_heads: int) -> None:
            super().__init__(d_model, num_heads)
            layer: nn.Module = self.W_q  # type: ignore[assignment]
            self.queries = lambda x: layer(x)

        def project(self, query: Tensor, key: Tensor, value: Tensor) -> Any:
            own: Any = self
            return self.queries(query), own.W_k(key), own.W_v(value)

    verdict = judge("MultiHeadSelfAttention", HeldByAFunction)
    failing = [name for name, holds in verdict.cases if not holds]
    assert failing == ["copied", "another device"]
    assert verdict.mistake is None, verdict.why


def test_an_input_that_autograd_needs_and_that_is_changed() -> None:
    def pack_projections(w: Any) -> Any:
        w /= w.norm()
        return w.transpose(0, 1).flatten(1)

    verdict = judge("pack_projections", pack_projections)
    assert verdict.mistake == "changed-input", verdict.message
    assert "inplace operation" not in verdict.message


def test_a_star_is_shown() -> None:
    def count_parameters(
        d_model: int, num_heads: int, d_k: Any = None, d_v: Any = None, *, bias: bool = False
    ) -> int:
        return 0

    verdict = judge("count_parameters", count_parameters)
    assert "d_v=…, *, bias=…)" in verdict.message
    assert "leave the star out" in verdict.message
