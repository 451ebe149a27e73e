"""Mistakes in a softmax over the last axis, in NumPy; the same function for every lesson."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from autograder.exercises.inputs import Array
from autograder.mistakes import ways

Weights = Callable[[Array], Array]
Axis = int | tuple[int, ...] | None


def right_softmax(scores: Array) -> Array:
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def softmax_over(largest: Axis, total: Axis) -> Weights:
    """A softmax whose maximum and sum run over these axes."""

    def softmax(scores: Array) -> Array:
        e = np.exp(scores - scores.max(axis=largest, keepdims=True))
        return e / e.sum(axis=total, keepdims=True)

    return softmax


def softmax_over_all_but_first(scores: Array) -> Array:
    axes = tuple(range(1, scores.ndim)) or None
    return softmax_over(axes, axes)(scores)


def shifted_by(shift: Callable[[Array], Any]) -> Weights:
    """A softmax that subtracts something else than each row's maximum."""

    def softmax(scores: Array) -> Array:
        e = np.exp(scores - shift(scores))
        return e / e.sum(axis=-1, keepdims=True)

    return softmax


def row(reduce: Callable[..., Any]) -> Callable[[Array], Any]:
    return lambda scores: reduce(scores, axis=-1, keepdims=True)


def overflowing_loop(scores: Array) -> Array:
    def one_row(s: Array) -> Array:
        e = [math.exp(x) for x in s]
        return np.array(e) / sum(e)

    return np.apply_along_axis(one_row, -1, scores)


def exponentials(scores: Array) -> Array:
    return np.exp(scores - scores.max(axis=-1, keepdims=True))


def with_epsilon(epsilon: float) -> Weights:
    return lambda s: (e := exponentials(s)) / (e.sum(axis=-1, keepdims=True) + epsilon)


def with_base(base: float) -> Weights:
    def softmax(scores: Array) -> Array:
        e = np.power(base, scores - scores.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    return softmax


def clipped(limit: float) -> Weights:
    return lambda scores: shifted_by(lambda s: 0)(np.clip(scores, -limit, limit))


def cut_exponent(limit: float) -> Weights:
    def softmax(scores: Array) -> Array:
        e = np.exp(np.maximum(scores - scores.max(axis=-1, keepdims=True), -limit))
        return e / e.sum(axis=-1, keepdims=True)

    return softmax


def sigmoid(scores: Array) -> Array:
    return 0.5 + 0.5 * np.tanh(scores / 2)


SOFTMAX = (
    *ways(
        "over-queries",
        "the softmax runs over the queries: columns sum to 1 where rows should.",
        "use axis=-1 in max and sum.",
        softmax_over(-2, -2),
        softmax_over(-1, -2),
    ),
    *ways(
        "over-first-axis",
        "the softmax runs over axis 0, which is the last axis only for a single row.",
        "use .max(axis=-1) and .sum(axis=-1), with keepdims=True; Python's own sum() has no axis.",
        softmax_over(0, 0),
        softmax_over(-1, 0),
        lambda s: (e := np.exp(s)) / sum(e),
        lambda s: (e := np.exp(s - s.max())) / sum(e),
        lambda s: (e := exponentials(s)) / sum(e),
    ),
    *ways(
        "over-axis-1",
        "the softmax runs over axis 1, which is the last axis only when there are two.",
        "use axis=-1 in max and sum.",
        softmax_over(1, 1),
        softmax_over(-1, 1),
    ),
    *ways(
        "loop-over-first-axis",
        "the loop runs over the first axis and takes whatever it finds there for one row.",
        "do without the loop: axis=-1 and keepdims=True treat every row, however many axes there "
        "are.",
        lambda scores: np.stack([(e := np.exp(s - s.max())) / e.sum() for s in scores]),
        lambda scores: np.stack([(e := np.exp(s)) / e.sum() for s in scores]),
    ),
    *ways(
        "over-everything",
        "the weights of several rows sum to 1 together, instead of each row by itself.",
        "give max and sum the last axis only: axis=-1, keepdims=True.",
        softmax_over(None, None),
        softmax_over(-1, None),
        softmax_over((-2, -1), (-2, -1)),
        softmax_over(-1, (-2, -1)),
        softmax_over_all_but_first,
    ),
    *ways(
        "overflow",
        "exp() of a large score is infinite, and infinity divided by infinity is NaN.",
        "subtract each row's largest score before exp(); the weights stay the same.",
        shifted_by(lambda scores: 0),
        shifted_by(lambda scores: 100),
        overflowing_loop,
        lambda s: np.nan_to_num((e := np.exp(s)) / e.sum(axis=-1, keepdims=True)),
        lambda s: np.exp(s) / exponentials(s).sum(axis=-1, keepdims=True),
    ),
    *ways(
        "not-the-maximum",
        "what is subtracted before exp() is not the row's largest score, so that exp() still "
        "overflows, or every exp() of a row is 0.",
        "subtract each row's maximum: scores.max(axis=-1, keepdims=True).",
        shifted_by(row(np.mean)),
        shifted_by(row(np.median)),
        shifted_by(row(np.min)),
        shifted_by(lambda s: np.abs(s).max(axis=-1, keepdims=True)),
        shifted_by(lambda s: np.maximum(s.max(axis=-1, keepdims=True), 0)),
    ),
    *ways(
        "global-maximum",
        "the largest score of several rows is subtracted; in a row far below it every exp() is 0, "
        "and 0/0 is NaN.",
        "subtract each row's own maximum: scores.max(axis=-1, keepdims=True).",
        shifted_by(np.max),
        shifted_by(lambda s: s.max(axis=tuple(range(1, s.ndim)) or None, keepdims=True)),
        shifted_by(lambda s: s.max(axis=(-2, -1) if s.ndim > 1 else -1, keepdims=True)),
    ),
    *ways(
        "divided-by-maximum",
        "the scores are divided by their maximum, which changes the weights; it has to be "
        "subtracted.",
        "subtract it: scores - scores.max(axis=-1, keepdims=True).",
        lambda s: shifted_by(row(np.max))(s / s.max(axis=-1, keepdims=True)),
    ),
    *ways(
        "scores-clipped",
        "the scores are cut off at some size, which changes the weights of those beyond.",
        "subtract each row's maximum instead: that changes nothing and is safe.",
        *(clipped(limit) for limit in (10, 20, 30, 50, 80, 88, 100, 500, 700, 709)),
        *(cut_exponent(limit) for limit in (2, 5, 10)),
    ),
    *ways(
        "small-weights-dropped",
        "small weights are set to 0; every key has to keep its share, however small.",
        "leave the threshold out.",
        lambda s: np.where((w := right_softmax(s)) < 1e-3, 0, w),
        lambda s: np.where((w := right_softmax(s)) < 1e-2, 0, w),
        lambda s: right_softmax(np.where(exponentials(s) < 1e-2, -np.inf, s)),
    ),
    *ways(
        "rounded",
        "the weights are rounded.",
        "return them with all their digits.",
        *(lambda s, n=n: right_softmax(s).round(n) for n in (2, 3, 4)),
    ),
    *ways(
        "no-keepdims",
        "without keepdims=True sums or maxima are matched with the columns, not with their rows.",
        "write max(axis=-1, keepdims=True), and the same for sum.",
        lambda s: (e := exponentials(s)) / e.sum(axis=-1),
        lambda s: (e := np.exp(s - s.max(axis=-1))) / e.sum(axis=-1, keepdims=True),
        lambda s: (e := np.exp(s - s.max(axis=-1))) / e.sum(axis=-1),
        lambda s: (e := np.exp(s)) / e.sum(axis=-1),
    ),
    *ways(
        "not-normalised",
        "the exponentials are not divided by their sum, so that the rows do not sum to 1.",
        "divide each row by its own sum, after subtracting its maximum.",
        exponentials,
        np.exp,
    ),
    *ways(
        "divided-by-count",
        "the number of keys comes in: each row is divided by it, or by its mean instead of its "
        "sum.",
        "divide by sum(axis=-1, keepdims=True), and by nothing else.",
        lambda s: exponentials(s) / s.shape[-1],
        lambda s: np.exp(s) / s.shape[-1],
        lambda s: right_softmax(s) / s.shape[-1],
        lambda s: (e := exponentials(s)) / e.mean(axis=-1, keepdims=True),
    ),
    *ways(
        "divided-by-length",
        "each row is divided by its Euclidean length, not by its sum.",
        "divide by sum(axis=-1, keepdims=True).",
        lambda s: (e := exponentials(s)) / np.linalg.norm(e, axis=-1, keepdims=True),
    ),
    *ways(
        "no-exponential",
        "the scores themselves are divided by their sum; exp() is missing.",
        "take exp() of the scores first: it makes every weight positive.",
        lambda s: s / s.sum(axis=-1, keepdims=True),
        lambda s: np.abs(s) / np.abs(s).sum(axis=-1, keepdims=True),
    ),
    *ways(
        "squares-not-exponentials",
        "the scores are squared where they should go through exp().",
        "use np.exp.",
        lambda s: s**2 / (s**2).sum(axis=-1, keepdims=True),
    ),
    *ways(
        "exponential-twice",
        "the softmax is taken twice; the second time it flattens the weights.",
        "apply it once.",
        lambda s: right_softmax(right_softmax(s)),
    ),
    *ways(
        "sigmoid",
        "each score goes through a sigmoid or tanh by itself, where the keys of a row should "
        "compete.",
        "use exp(), divided by the row's sum.",
        sigmoid,
        lambda s: 1 / (1 + np.exp(-s)),
        lambda s: (w := sigmoid(s)) / w.sum(axis=-1, keepdims=True),
        np.tanh,
    ),
    *ways(
        "wrong-base",
        "the exponential has base 2 or 10; the softmax wants base e.",
        "use np.exp.",
        with_base(2.0),
        with_base(10.0),
    ),
    *ways(
        "sign-flipped",
        "the sign is flipped, so that the smallest score gets the largest weight.",
        "exponentiate scores − maximum, not maximum − scores.",
        lambda s: right_softmax(-s),
    ),
    *ways(
        "scores-scaled",
        "the scores are divided by a square root inside the softmax; the softmax takes them "
        "as they are.",
        "leave the division out.",
        lambda s: right_softmax(s / np.sqrt(s.shape[-1])),
    ),
    *ways(
        "hard-maximum",
        "the largest score takes everything: that is an argmax, not a softmax.",
        "give every key its share: exp() divided by the row's sum.",
        lambda s: (s == s.max(axis=-1, keepdims=True)).astype(s.dtype),
        lambda s: np.eye(s.shape[-1], dtype=s.dtype)[s.argmax(axis=-1)],
    ),
    *ways(
        "logarithm-returned",
        "the logarithms of the weights are returned.",
        "return the weights themselves: exp() of what you have.",
        lambda s: np.log(right_softmax(s)),
        lambda s: (
            (z := s - s.max(axis=-1, keepdims=True)) - np.log(np.exp(z).sum(axis=-1, keepdims=True))
        ),
    ),
    *ways(
        "epsilon-added",
        "a number is added to the sum, so that the weights sum to less than 1.",
        "leave it out: once the maximum is subtracted, the sum is at least 1 and never 0.",
        *(with_epsilon(10.0**-n) for n in (1, 2, 3, 4, 5, 6, 7)),
        with_epsilon(1.0),
    ),
    *ways(
        "equal-scores-forgotten",
        "a row of equal scores is not treated like any other; each of its keys gets an equal "
        "share.",
        "do not divide by the spread of the scores.",
        lambda s: np.where(np.ptp(s, axis=-1, keepdims=True) == 0, 0.0, right_softmax(s)),
    ),
    *ways(
        "size-one-squeezed",
        "squeeze() removes every axis of length 1, and one of them was an axis of the scores.",
        "leave squeeze() out; keepdims=True needs no repair.",
        lambda s: np.squeeze(right_softmax(s)),
    ),
)
