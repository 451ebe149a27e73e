"""Lesson 02, why divide by √d_k: in PyTorch from here on, and scaled."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from autograder.declaring import Case, Exercise, Observation
from autograder.exercises import purposes
from autograder.exercises.attention_inputs import attention_inputs
from autograder.exercises.inputs import root_is_exact, shares
from autograder.exercises.torch_inputs import ATTENTION_OF_PYTORCH, tensor
from autograder.observing import returns
from autograder.probing import differentiates, seeded

TITLE = "Why divide by √d_k"

MAP = ("query", "key")


def dot_product_variance_cases(rng: np.random.Generator) -> Sequence[Case]:
    def case(name: str, purpose: str, d_k: int, num_samples: int) -> Case:
        arguments = {"d_k": d_k, "num_samples": num_samples, "generator": int(rng.integers(2**31))}
        return Case(name, purpose, arguments, magnitude=float(d_k))

    return (
        case("five pairs", "draws five pairs of three numbers, few enough to follow.", 3, 5),
        case("many pairs", "draws many pairs, so that the variance comes close to d_k.", 7, 2000),
        case("one number", "draws vectors of one number.", 1, 100),
        case("many numbers", "draws fewer pairs than a vector has numbers.", 64, 9),
        case("two pairs", "draws the least number of pairs that has a variance.", 5, 2),
        case("as many pairs as numbers", "draws as many pairs as a vector has numbers.", 6, 6),
    )


def dot_product_variance_probe(implementation: Callable[..., Any], case: Case) -> Observation:
    """Calls with a generator made from the seed that the case carries.

    The state of torch's own generator is fixed too, so that drawing from it by mistake is wrong in
    the same way each time, and it is put back afterwards.
    """
    generator = torch.Generator().manual_seed(case.arguments["generator"])
    with seeded(0):
        sizes = {name: case.arguments[name] for name in ("d_k", "num_samples")}
        drawing = Case(case.name, case.purpose, {**sizes, "generator": generator})
        return returns("variance")(implementation, drawing)


def scaled_dot_product_attention_cases(rng: np.random.Generator) -> Sequence[Case]:
    return tuple(
        Case(
            inputs.name,
            inputs.purpose,
            {"q": tensor(inputs.q), "k": tensor(inputs.k), "v": tensor(inputs.v)},
            magnitude=inputs.magnitude(divisor=math.sqrt(inputs.q.shape[-1])),
            scaled=not root_is_exact(inputs.q.shape[-1]),
        )
        for inputs in attention_inputs(rng)
    )


def weights_case(name: str, purpose: str, weights: np.ndarray) -> Case:
    return Case(name, purpose, {"weights": tensor(weights)})


def softmax_jacobian_cases(rng: np.random.Generator) -> Sequence[Case]:
    case = weights_case
    certain = np.eye(4)[[2, 0]]
    return (
        case("three keys", "has the weights of one query for three keys.", shares(rng, 3)),
        case("a batch", purposes.ONE_LEADING, shares(rng, 2, 5)),
        case("a square", purposes.EQUAL, shares(rng, 4, 4)),
        case("a batch with heads", purposes.LEADING, shares(rng, 2, 3, 5, 6)),
        case("a batch of one", purposes.BATCH_OF_ONE, shares(rng, 1, 5)),
        case("a single key", "has one key only, whose weight cannot change.", shares(rng, 3, 1)),
        case("certain", "has weights of exactly 0 and 1.", certain),
        case("float32", purposes.FLOAT32, shares(rng, 3, 6, dtype=np.float32)),
        case("not contiguous", purposes.PERMUTED, np.ascontiguousarray(shares(rng, 2, 5, 3).T).T),
    )


def attention_entropy_cases(rng: np.random.Generator) -> Sequence[Case]:
    case = weights_case
    partly = shares(rng, 3, 5)
    partly[0, 1:3], partly[1] = 0, np.eye(5)[3]
    partly /= partly.sum(axis=-1, keepdims=True)
    return (
        case("two queries, three keys", "has two queries and three keys.", shares(rng, 2, 3)),
        case("a square map", purposes.EQUAL, shares(rng, 4, 4)),
        case("square maps, in a batch", purposes.EQUAL_BATCH, shares(rng, 2, 5, 5)),
        case("a batch with heads", purposes.LEADING, shares(rng, 2, 3, 5, 6)),
        case("a batch of one", purposes.BATCH_OF_ONE, shares(rng, 1, 4, 6)),
        case("a single query", purposes.ONE_QUERY, shares(rng, 2, 1, 5)),
        case("a single key", "has one key only: all weights are 1.", shares(rng, 2, 3, 1)),
        case("weights of zero", "has weights of exactly 0, and 0 · log 0 counts as 0.", partly),
        case("float32", purposes.FLOAT32, shares(rng, 3, 6, dtype=np.float32)),
        case("not contiguous", purposes.PERMUTED, np.ascontiguousarray(shares(rng, 2, 5, 3).T).T),
    )


def declare(name: str, **more: Any) -> Exercise:
    """An exercise of this lesson: what all four have in common is said here once."""
    return Exercise(
        name=name,
        lesson=2,
        reference=f"course.attention.functional.{name}",
        mistakes=f"autograder.mistakes.lesson_02:{name}",
        not_allowed=ATTENTION_OF_PYTORCH,
        **more,
    )


EXERCISES = (
    declare(
        "dot_product_variance",
        title="Measure the variance of q · k",
        points=1,
        signature="dot_product_variance(d_k, num_samples, generator)",
        returns=("variance",),
        axes={},
        cases=dot_product_variance_cases,
        probe=dot_product_variance_probe,
        hints=(
            "Each pair gives one dot product. How many of them are there, and over which axis do "
            "you add up to get them?",
            "`(q * k).sum(dim=-1)` has one number for each pair; its variance is the answer.",
            "`.var()` subtracts the mean and divides by one less than the number of pairs: that is "
            "the unbiased estimate.",
        ),
    ),
    declare(
        "scaled_dot_product_attention",
        title="Scaled dot-product attention",
        points=2,
        signature="scaled_dot_product_attention(q, k, v)",
        returns=("output", "weights"),
        axes={
            "output": ("query", "d_v"),
            "weights": MAP,
            "gradient of q": ("query", "d_k"),
            "gradient of k": ("key", "d_k"),
            "gradient of v": ("key", "d_v"),
        },
        cases=scaled_dot_product_attention_cases,
        probe=differentiates("output", "weights", to=("q", "k", "v")),
        hints=(
            "It is the attention of lesson 01 with one more division. Where must it stand: before "
            "or after the softmax?",
            "d_k is the last size of q: `q.shape[-1]`. `k.transpose(-2, -1)` turns k.",
            "`scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])`, then "
            "`torch.softmax(scores, dim=-1)`, then the mix.",
        ),
    ),
    declare(
        "softmax_jacobian",
        title="The softmax's Jacobian",
        points=2,
        signature="softmax_jacobian(weights)",
        returns=("jacobian",),
        axes={"jacobian": ("weight", "score")},
        cases=softmax_jacobian_cases,
        probe=differentiates("jacobian", to=("weights",)),
        hints=(
            "Entry (i, j) says how weight i changes with score j. It has one form for i = j and "
            "another for i ≠ j.",
            "For i ≠ j it is −wᵢ wⱼ; for i = j it is wᵢ − wᵢ². So it is a diagonal matrix minus a "
            "product of w with itself.",
            "`torch.diag_embed(weights)` is the diagonal part for any leading axes; "
            "`weights.unsqueeze(-1) * weights.unsqueeze(-2)` is the other.",
        ),
    ),
    declare(
        "attention_entropy",
        title="Entropy: how widely attention is spread",
        points=2,
        signature="attention_entropy(weights)",
        returns=("entropy",),
        axes={"entropy": ("query",)},
        cases=attention_entropy_cases,
        probe=returns("entropy"),
        hints=(
            "−Σ w log w over the keys of each query. What is log 0, and what is 0 · log 0 then?",
            "`torch.xlogy(w, w)` is w log w, and 0 where w is 0.",
            "`-torch.xlogy(weights, weights).sum(dim=-1)`: natural logarithm, so nats.",
        ),
    ),
)
