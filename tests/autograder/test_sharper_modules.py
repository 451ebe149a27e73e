"""Modules that are right in most calls, and wrong in some that people make."""

import copy
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from autograder import exercises
from autograder.expecting import concluded, expected_observations, make_cases
from autograder.judging import compare
from autograder.observing import observe
from autograder.packing import pack_observations, unpack_observations
from autograder.verdicts import Verdict
from tests.autograder.variants.lesson_06 import by_rows
from tests.autograder.variants.module_versions import COMPLETE, EinopsSelf

Right: Any = COMPLETE[0]
dropout = nn.functional.dropout
SEEDS = (3, 4)


def verdict(name: str, implementation: Any, seed: int) -> Verdict:
    """As `judge` gives it, without watching calls and without a name for the mistake."""
    exercise = exercises.find(name)
    cases = make_cases(exercise, seed)
    seen = observe(replace(exercise, not_allowed=()), implementation, cases)
    seen = concluded(exercise, cases, seen)
    return compare(exercise, cases, seen, expected_observations(exercise, seed))


class Stale(nn.Linear):
    """A layer that copies its weight at the first call, and learns nothing from then on."""

    def forward(self, x: Any) -> Any:
        if "kept" not in self.__dict__:
            self.__dict__["kept"] = self.weight.clone()
        return nn.functional.linear(x, self.__dict__["kept"], self.bias)

    def __deepcopy__(self, memo: Any) -> Any:
        other = Stale(self.in_features, self.out_features, self.bias is not None)
        other.to(self.weight.dtype).load_state_dict(self.state_dict())
        return other


class PackedOnce(Right):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0, bias: bool = True):
        super().__init__(d_model, num_heads, dropout, bias)
        self.W_v = Stale(d_model, d_model, bias)


class SelfPackedOnce(EinopsSelf):
    def __init__(self, d_model: Any, num_heads: Any) -> None:
        super().__init__(d_model, num_heads)
        self.W_q = Stale(d_model, d_model)


class BlindInEvaluation(EinopsSelf):
    """In evaluation no gradient reaches a longer text."""

    def forward(self, x: Any) -> Any:
        return super().forward(x if self.training or x.shape[1] < 5 else x.detach())


class StartsAlike(Right):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0, bias: bool = True):
        super().__init__(d_model, num_heads, dropout, bias)
        self.W_k = copy.deepcopy(self.W_q)


def ignoring(when: Any) -> Any:
    """A module that ignores masks when when(self, query, key, value, mask)."""

    class Ignoring(Right):
        def forward(
            self,
            query: Any,
            key: Any = None,
            value: Any = None,
            mask: Any = None,
            need_weights: bool = False,
        ) -> Any:
            if mask is not None and when(self, query, key, value, mask):
                mask = None
            return super().forward(query, key, value, mask, need_weights)

    return Ignoring


class ValueFromQuery(Right):
    """With a mask, and a key of the query's length, the values are the query's."""

    def forward(
        self, query: Any, key: Any = None, value: Any = None, mask: Any = None, **more: Any
    ) -> Any:
        if key is not None and value is None and mask is not None and key.shape == query.shape:
            value = query
        return super().forward(query, key, value, mask, **more)


class Drop(nn.Module):
    def __init__(self, drop: Any, rate: float, bias: bool) -> None:
        super().__init__()
        self.drop, self.p, self.bias = drop, rate, bias

    def forward(self, weights: Any) -> Any:
        if not (self.training and self.p):
            return weights
        return self.drop(weights, self.p, self.bias)


def dropping(drop: Any) -> Any:
    """A module with its own dropout: drop(weights, rate, bias)."""

    class Dropping(Right):
        def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0, bias: bool = True):
            super().__init__(d_model, num_heads, dropout, bias)
            self.dropout = Drop(drop, dropout, bias)

    return Dropping


MODULES = {
    "packed once": PackedOnce,
    **{
        f"masks of {axes} axes in evaluation": ignoring(
            lambda m, q, k, v, mask, axes=axes: (
                mask.ndim == axes and not (m.training or m.dropout.p)
            )
        )
        for axes in (2, 3, 4)
    },
    "masks of one axis": ignoring(lambda m, q, k, v, mask: mask.ndim == 1),
    "one mask for all": ignoring(lambda m, q, k, v, mask: mask.ndim == 4 and mask.shape[0] == 1),
    "masks for queries": ignoring(lambda m, q, k, v, mask: mask.shape[-1] == 1),
    "masks with key and value": ignoring(lambda m, q, k, v, mask: k is not None and v is not None),
    "masks with a value": ignoring(lambda m, q, k, v, mask: k is None and v is not None),
    "masks without biases": ignoring(lambda m, q, k, v, mask: m.W_q.bias is None),
    "value from query": ValueFromQuery,
    "rates of quarters": dropping(lambda w, rate, bias: dropout(w, round(rate * 4) / 4)),
    "dropout without biases": dropping(lambda w, rate, bias: dropout(w, rate, bias)),
    "dropout in large batches": dropping(lambda w, rate, bias: dropout(w, rate, len(w) > 99)),
    "dropout without gradients": dropping(lambda w, rate, bias: dropout(w.detach(), rate)),
    "starts alike": StartsAlike,
}


@pytest.mark.parametrize("kind", MODULES)
def test_what_is_wrong_in_some_calls_fails(kind: str) -> None:
    for seed in SEEDS:
        found = verdict("MultiHeadAttention", MODULES[kind], seed)
        assert found.outcome == "wrong values", (seed, found.message)


@pytest.mark.parametrize("module", [SelfPackedOnce, BlindInEvaluation])
def test_the_smallest_module_is_called_in_evaluation_and_after_a_change(module: Any) -> None:
    for seed in SEEDS:
        found = verdict("MultiHeadSelfAttention", module, seed)
        assert found.outcome == "wrong values", (seed, found.message)


def test_the_right_ones_on_which_these_build_pass() -> None:
    never = ignoring(lambda *_: False)
    as_it_should = dropping(lambda w, rate, bias: dropout(w, rate))
    for right in (Right, never, as_it_should):
        assert verdict("MultiHeadAttention", right, SEEDS[0]).correct
    assert verdict("MultiHeadSelfAttention", EinopsSelf, SEEDS[0]).correct


def refuses_late(mine: Any, theirs: Any) -> None:
    """Copies the weights before it looks at the biases."""
    if mine.W_q.weight.shape == theirs.out_proj.weight.shape and theirs.in_proj_weight is not None:
        with torch.no_grad():
            mine.W_q.weight.copy_(theirs.in_proj_weight.chunk(3)[0])
    by_rows(mine, theirs)


def clears_when_refusing(mine: Any, theirs: Any) -> None:
    try:
        by_rows(mine, theirs)
    except ValueError:
        with torch.no_grad():
            theirs.out_proj.weight.zero_()
        raise


@pytest.mark.parametrize("function", [refuses_late, clears_when_refusing])
def test_a_refusal_changes_nothing(function: Any) -> None:
    found = verdict("copy_from_torch", function, SEEDS[0])
    assert "before ValueError was raised" in found.message


def small_masks_only(mask: Any) -> Any:
    return ~mask if mask.numel() <= 64 else mask.clone()


def test_large_masks_are_turned_too() -> None:
    assert not verdict("to_torch_mask", small_masks_only, SEEDS[0]).correct


@pytest.mark.parametrize("name", ["MultiHeadAttention", "copy_from_torch"])
def test_what_is_observed_bears_names_that_are_let_through(name: str) -> None:
    exercise = exercises.find(name)
    right = Right if exercise.is_class else by_rows
    seen = observe(replace(exercise, not_allowed=()), right, make_cases(exercise, SEEDS[0]))
    assert unpack_observations(pack_observations(seen)).by_case.keys() == seen.by_case.keys()
