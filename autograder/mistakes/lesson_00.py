"""Mistakes of lesson 00: the warm-up."""

import numpy as np

from autograder.declaring import Mistake

MISTAKES = {
    "weighted_average": (
        Mistake(
            "weights-ignored",
            "every number counts the same: the weights are not used.",
            "multiply each number by its weight before you add up.",
            lambda values, weights: values.mean(axis=-1),
        ),
        Mistake(
            "divided-again",
            "the sum of the products is divided by their number, although the weights "
            "already sum to 1.",
            "add up instead of averaging: use sum, not mean.",
            lambda values, weights: (values * weights).mean(axis=-1),
        ),
        Mistake(
            "not-added-up",
            "the products are returned as they are, not added up.",
            "add up over the last axis: one number is left for each row.",
            lambda values, weights: values * weights,
        ),
        Mistake(
            "summed-over-everything",
            "all rows are added into one number.",
            "give sum an axis: axis=-1 adds up the last axis only.",
            lambda values, weights: np.sum(values * weights),
        ),
        Mistake(
            "summed-over-first-axis",
            "the sum runs over the first axis, not the last.",
            "write .sum(axis=-1), the last axis; Python's own sum() has no axis.",
            lambda values, weights: (values * weights).sum(axis=0),
        ),
        Mistake(
            "summed-over-second-axis",
            "the sum runs over axis 1, which is the last one only when there are two.",
            "use axis=-1, which is the last axis however many there are.",
            lambda values, weights: (values * weights).sum(axis=1),
        ),
        Mistake(
            "weights-added",
            "values and weights are added, not multiplied.",
            "multiply each number by its weight.",
            lambda values, weights: (values + weights).sum(axis=-1),
        ),
        Mistake(
            "axis-kept",
            "the last axis is still there, with length 1.",
            "leave keepdims out: one number is left for each row.",
            lambda values, weights: (values * weights).sum(axis=-1, keepdims=True),
        ),
        Mistake(
            "matrix-product",
            "`@` and np.dot combine every row with every other row's weights.",
            "multiply number by number with `*`, then add up over the last axis.",
            lambda values, weights: np.dot(values, weights),
        ),
        Mistake(
            "size-one-squeezed",
            "squeeze() removes every axis of length 1, and one of them was a row's.",
            "leave squeeze() out.",
            lambda values, weights: np.squeeze((values * weights).sum(axis=-1)),
        ),
        Mistake(
            "last-number-forgotten",
            "one number of each row is left out.",
            "range(n) runs over all n numbers, from 0 to n − 1.",
            lambda values, weights: (values * weights)[..., :-1].sum(axis=-1),
        ),
        Mistake(
            "sign-lost",
            "negative numbers count as positive ones.",
            "leave abs() out.",
            lambda values, weights: (np.abs(values) * weights).sum(axis=-1),
        ),
        Mistake(
            "weights-not-used-in-sum",
            "the numbers are added up without their weights.",
            "multiply each number by its weight before you add up.",
            lambda values, weights: values.sum(axis=-1),
        ),
        Mistake(
            "matrix-product",
            "every row is combined with every other row's weights: that is what `@` and np.dot do.",
            "multiply number by number with `*`, then add up over the last axis.",
            lambda values, weights: (
                values @ np.swapaxes(weights, -1, -2) if values.ndim > 1 else values @ weights
            ),
        ),
    ),
}
