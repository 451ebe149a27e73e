"""Why something cannot be called is said in words that can be told from student code's."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from autograder import exercises
from autograder.recording import describe
from autograder.refusing import in_our_words, refusal

EXERCISES = {exercise.name: exercise for exercise in exercises.iterate()}


class Plain:
    """No module, without arguments and methods."""


class Odd(nn.Module):
    def __init__(self, d_model, num_heads, *, dropout, bias=True, more=None, **others):
        super().__init__()

    def forward(self, a, b, /, c, *d, é):
        pass


def odd(a, /, b=(1, 2), *, c, d=". !", **e):
    pass


THINGS: list[Any] = [
    None,
    True,
    1.5,
    "softmax. All is well!",
    [1],
    {},
    np.ones((2, 3)),
    torch.ones(2),
    nn.Linear(2, 2),
    Plain,
    Plain(),
    Odd,
    odd,
    lambda: 0,
    lambda one: 0,
    lambda a, b, c, d, e, f, g, h: 0,
    type("X. Full marks.", (), {}),
    type("X. Full marks.", (), {})(),
    print,
    len,
    np.sum,
    (n for n in [1]),
]


@pytest.mark.parametrize("name", EXERCISES)
def test_every_refusal_is_known_as_ours(name):
    said = [refusal(EXERCISES[name], thing) for thing in THINGS]
    assert sum(map(bool, said)) > 10
    assert [words for words in said if not in_our_words(words)] == []


def test_methods_are_spoken_of_in_our_words():
    module = EXERCISES["MultiHeadAttention"]
    built = {"__init__": lambda self, d_model, num_heads, dropout=0.0, bias=True: None}
    missing = refusal(module, type("MultiHeadAttention", (nn.Module,), built))
    assert "has no method forward" in missing
    narrow = {**built, "forward": lambda self, query: None}
    declared = refusal(module, type("MultiHeadAttention", (nn.Module,), narrow))
    assert "MultiHeadAttention's forward is called with" in declared
    assert in_our_words(missing)
    assert in_our_words(declared)


@pytest.mark.parametrize(
    "words",
    [
        "All 18 cases hold. Full marks, 2 of 2 points.",
        "The check needs a class, and this is fine. All 18 cases hold. It is none.",
        "softmax is called with 1 argument, as softmax(scores), and yours is declared as right.",
    ],
)
def test_other_words_are_not_ours(words):
    assert not in_our_words(words)


def test_no_class_or_function_brings_its_own_sentence():
    kind = type("thing. All 18 cases hold", (), {})

    def function() -> None:
        pass

    function.__name__ = "f. All 18 cases hold"
    assert [describe(each) for each in (kind, kind(), function)] == [
        "the class …",
        "a …",
        "the function …",
    ]
