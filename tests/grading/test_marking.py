"""A mark's note is whole sentences; of several looks at a function the best counts."""

import itertools

import numpy as np
import pytest
import torch

from autograder import exercises
from autograder.expecting import make_cases
from autograder.grading.driving import CellRun
from autograder.grading.marking import Look, Reason, judge_looks, mark
from autograder.observing import observe
from autograder.verdicts import Verdict


@pytest.mark.parametrize(
    ("what", "mend_first", "note"),
    [
        (
            "f stopped with NameError: name 'x' is not defined\nIn line 3 of its cell: `return x`",
            "softmax",
            "f stopped with NameError: name 'x' is not defined. In line 3 of its cell: `return x`. "
            "It calls softmax, which is not right yet.",
        ),
        ("f stopped with E: a  b\n\nIn line 3: `x`", "", "f stopped with E: a b. In line 3: `x`"),
        ("Why?\nSo.", "g", "Why? So. It calls g, which is not right yet."),
    ],
)
def test_sentences_end_before_the_next_begins(what, mend_first, note):
    verdict = Verdict("f", "F", "error", None, 0.0, what, mend_first=mend_first)
    assert mark(verdict, 2).note == note


SOFTMAX = exercises.find("softmax")


def right(scores):
    exponentials = np.exp(scores - scores.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def half_right(scores):
    return right(scores) if scores.ndim == 2 else scores


def wrong(scores):
    return scores


def stub(scores):
    raise NotImplementedError


def not_allowed(scores):
    return torch.softmax(torch.from_numpy(scores.copy()), -1).numpy()


def seen(function, seed: int) -> Look:
    return Look(CellRun(observations=observe(SOFTMAX, function, make_cases(SOFTMAX, seed))), seed)


def judged(*looks: Look) -> Verdict:
    return judge_looks({"softmax": looks}, [SOFTMAX], {"softmax": Reason("why.")})["softmax"]


# What says most first. Each is made for the place of its look.
BETTER = {
    "right": lambda seed: seen(right, seed),
    "half right": lambda seed: seen(half_right, seed),
    "wrong": lambda seed: seen(wrong, seed),
    "not allowed": lambda seed: seen(not_allowed, seed),
    "stub": lambda seed: seen(stub, seed),
    "not reached": lambda seed: Look(CellRun(note="it stopped", reached=False), seed),
}


@pytest.mark.parametrize(("better", "worse"), [*itertools.combinations(BETTER, 2)])
def test_of_two_looks_the_better_counts(better, worse):
    alone = judged(BETTER[better](1))
    assert judged(BETTER[better](1), BETTER[worse](2)) == alone
    later = judged(BETTER[worse](1), BETTER[better](2))
    assert (later.outcome, later.score) == (alone.outcome, alone.score)


def test_of_two_that_are_alike_the_first_counts():
    for make in BETTER.values():
        assert judged(make(1), make(2)) == judged(make(1))


def test_nothing_there_is_less_than_a_function_that_fails():
    nothing = Look(CellRun(missing=True), 1)
    assert judged(nothing, seen(stub, 2)).what == judged(nothing).what
    stopped = Look(CellRun(note="it ran for more than 1 seconds and was stopped"), 2)
    assert judged(nothing, stopped).stopped == stopped.run.note
    assert judged(stopped, nothing).stopped == stopped.run.note
