"""Classes where functions are expected and the other way round, and modules that lack something."""

import json
import math
from typing import Any

import pytest
import torch
from torch import nn

from autograder import judge
from autograder.exercises.dropout import DRAWS, describe_dropout
from autograder.module_probing import fill
from autograder.rendering import to_html, to_text
from course.attention.module import MultiHeadAttention as Reference
from tests.autograder.variants.module_versions import COMPLETE
from tests.repository import read_committed

Right: Any = COMPLETE[0]
NAME = "MultiHeadAttention"


class NoModule:
    def __init__(self, d_model: Any, num_heads: Any, dropout: Any = 0.0, bias: Any = True) -> None:
        self.W_q = nn.Linear(d_model, d_model)

    def forward(
        self,
        query: Any,
        key: Any = None,
        value: Any = None,
        mask: Any = None,
        need_weights: Any = False,
    ) -> Any:
        return query


class ForgotSuper(Right):
    def __init__(self, d_model: Any, num_heads: Any, dropout: Any = 0.0, bias: Any = True) -> None:
        self.W_q = nn.Linear(d_model, d_model)


class NoForward(nn.Module):
    def __init__(self, d_model: Any, num_heads: Any, dropout: Any = 0.0, bias: Any = True) -> None:
        super().__init__()


class TooFew(Right):
    def __init__(self, d_model: Any, num_heads: Any) -> None:
        super().__init__(d_model, num_heads)


class NoDefaults(Right):
    def __init__(self, d_model: Any, num_heads: Any, dropout: Any, bias: Any) -> None:
        super().__init__(d_model, num_heads, dropout, bias)


class OneInput(Right):
    def forward(self, x: Any) -> Any:
        return super().forward(x)


class OtherMask(Right):
    def forward(
        self,
        query: Any,
        key: Any = None,
        value: Any = None,
        attn_mask: Any = None,
        need_weights: Any = False,
    ) -> Any:
        return super().forward(query, key, value, attn_mask, need_weights)


class Helper(nn.Module):
    def foward(self, x: Any) -> Any:
        return x


class HelperMisspelt(Right):
    def forward(self, *inputs: Any, **more: Any) -> Any:
        return Helper()(super().forward(*inputs, **more))


class OtherInTraining(Right):
    """In training with dropout, something else than the output is returned."""

    other: Any = None

    def forward(self, *inputs: Any, **more: Any) -> Any:
        output = super().forward(*inputs, **more)
        return self.other if self.training and self.dropout.p else output


class ShorterInTraining(OtherInTraining):
    other = torch.ones(2, 3)


class OnMeta(Right):
    def __init__(self, d_model: Any, num_heads: Any, dropout: Any = 0.0, bias: Any = True) -> None:
        super().__init__(d_model, num_heads, dropout, bias)
        self.to("meta")


class OtherName(Right):
    def __init__(self, d_model: Any, num_heads: Any, dropout: Any = 0.0, bias: Any = True) -> None:
        super().__init__(d_model, num_heads, dropout, bias)
        self.W_val = self.W_v
        del self.W_v


class OneMore(Right):
    def __init__(self, d_model: Any, num_heads: Any, dropout: Any = 0.0, bias: Any = True) -> None:
        super().__init__(d_model, num_heads, dropout, bias)
        self.extra = nn.Linear(2, 2)


class Stub(Right):
    def __init__(self, d_model: Any, num_heads: Any, dropout: Any = 0.0, bias: Any = True) -> None:
        raise NotImplementedError


class HalfStub(Right):
    def forward(
        self,
        query: Any,
        key: Any = None,
        value: Any = None,
        mask: Any = None,
        need_weights: Any = False,
    ) -> Any:
        raise NotImplementedError


def a_function(d_model: Any, num_heads: Any, dropout: Any = 0.0, bias: Any = True) -> Any:
    return Right(d_model, num_heads, dropout, bias)


CASES = [
    (Right, "correct", None, "cases hold"),
    (Right(8, 2), "wrong type", "not-callable", "needs the class itself"),
    (a_function, "wrong type", "not-callable", "needs a class, and the function a_function is"),
    (3, "wrong type", "not-callable", "It received an int"),
    (TooFew, "wrong type", "not-callable", "is built with 4 arguments"),
    (NoDefaults, "wrong type", "not-callable", "needs one in yours"),
    (OneInput, "wrong type", "not-callable", "'s forward is called with 5 arguments"),
    (NoForward, "wrong type", "not-callable", "has no method forward"),
    (NoModule, "wrong values", "not-a-module", "(nn.Module)"),
    (ForgotSuper, "error", None, "super().__init__()"),
    (OtherName, "wrong values", "missing-parameter", "has no W_v among its parameters"),
    (OneMore, "wrong values", "extra-parameter", "extra.bias and extra.weight"),
    (Stub, "not attempted", None, "as the stub does"),
    (HalfStub, "not attempted", None, "as the stub does"),
    (OtherMask, "wrong type", "not-callable", "called with mask=… and need_weights=…, by name"),
    (HelperMisspelt, "error", None, 'the required "forward" function'),
    (OtherInTraining, "wrong values", None, "the output is None"),
    (ShorterInTraining, "wrong values", None, "the output is a tensor of shape (2, 3)"),
    (OnMeta, "error", None, "device meta"),
    (Reference, "not allowed", "not-allowed", "scaled_dot_product_attention"),
]


@pytest.mark.parametrize(("implementation", "outcome", "mistake", "words"), CASES)
def test_outcome(implementation: object, outcome: str, mistake: str | None, words: str) -> None:
    verdict = judge(NAME, implementation)
    assert (verdict.outcome, verdict.mistake) == (outcome, mistake), verdict.message
    assert words in verdict.message
    for text in (to_text(verdict), to_html(verdict)):
        assert "Traceback" not in text and "site-packages" not in text


def test_building_is_watched_too() -> None:
    class Warm(Right):
        def __init__(
            self, d_model: Any, num_heads: Any, dropout: Any = 0.0, bias: Any = True
        ) -> None:
            super().__init__(d_model, num_heads, dropout, bias)
            x = torch.ones(1, 2, 4)
            nn.functional.scaled_dot_product_attention(x, x, x)

    assert judge(NAME, Warm).outcome == "not allowed"


def test_chance_is_put_back() -> None:
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    judge(NAME, Right)
    assert torch.equal(torch.rand(2), expected)


def test_defaults_of_the_notebook_do_not_matter_and_stay() -> None:
    class Meddling(Right):
        def forward(self, *inputs: Any, **more: Any) -> Any:
            torch.set_default_dtype(torch.float16)
            torch.use_deterministic_algorithms(True)
            return super().forward(*inputs, **more)

    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad():
            verdict = judge(NAME, Right)
            judge(NAME, Meddling)
            assert not torch.is_grad_enabled()
        assert verdict.correct, verdict.message
        assert torch.get_default_dtype() == torch.float64
        assert not torch.are_deterministic_algorithms_enabled()
    finally:
        torch.set_default_dtype(torch.float32)


def test_the_notebook_fills_modules_as_the_checks_do() -> None:
    notebook = json.loads(read_committed("solutions/06-your-own-module/06-exercises.ipynb"))
    setup = next(cell for cell in notebook["cells"] if cell["id"] == "setup")
    space: dict[str, Any] = {}
    exec("".join(setup["source"]), space)
    for bias in (True, False):
        one, other = Right(6, 2, bias=bias), Right(6, 2, bias=bias)
        fill(one, 7)
        assert space["fill"](other, 7) is other
        for a, b in zip(one.parameters(), other.parameters(), strict=True):
            assert torch.equal(a, b)


class BlindBehindAMask(Right):
    """Forgets everything in training where a mask hides something."""

    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0, bias: bool = True):
        super().__init__(d_model, num_heads, dropout, bias)
        self.some = dropout > 0

    def forward(self, query: Any, *more: Any, mask: Any = None, **named: Any) -> Any:
        result = super().forward(query, *more, mask=mask, **named)
        if not (self.training and self.some and mask is not None and not mask.all()):
            return result
        return tuple(0 * each for each in result) if type(result) is tuple else 0 * result


def test_dropout_is_watched_behind_a_mask_too() -> None:
    verdict = judge(NAME, BlindBehindAMask)
    assert verdict.outcome == "wrong values", verdict.message


@pytest.mark.parametrize(("dropped", "said"), [(0.25, "0.25"), (0.3, "0."), (0.5, "0.5")])
def test_the_share_that_is_dropped_is_looked_at_closely(dropped: float, said: str) -> None:
    generator = torch.Generator().manual_seed(1)
    plain = torch.rand(5, 2, 1, 3, generator=generator).expand(-1, -1, 2, -1) + 0.1
    for _ in range(50):
        missing = torch.rand(DRAWS, 5, 2, 1, 3, generator=generator) < dropped
        told = describe_dropout(plain * ~missing / 0.75, plain)
        assert told.startswith(f"about {said}")
        assert ("about 0.25 " in told) == (dropped == 0.25)


MASKED = """
def masked_softmax(scores, mask):
    if mask is None:
        return torch.softmax(scores, -1)
    return torch.softmax(scores.masked_fill(~mask, -math.inf), -1).nan_to_num(0)
"""


def test_help_for_debugging_that_is_still_on_costs_nothing() -> None:
    names: dict[str, Any] = {"torch": torch, "math": math}
    exec(MASKED, names)
    on = []

    def masked_softmax(scores: Any, mask: Any) -> Any:
        # What is expected is computed in the same process here, and might be cast as well.
        on.append(torch.is_autocast_enabled("cpu"))
        return names["masked_softmax"](scores, mask)

    with torch.autograd.detect_anomaly(check_nan=True), torch.autocast("cpu"):
        verdict = judge("masked_softmax", masked_softmax)
        assert torch.is_anomaly_enabled()
        assert torch.is_autocast_enabled("cpu")
    assert verdict.correct, verdict.message
    assert on
    assert not any(on)
