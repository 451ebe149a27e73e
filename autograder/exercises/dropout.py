"""Dropout: its cases, and what it does, concluded from many draws that a probe recorded.

Done where judging happens, so that student code cannot say what its draws show. The values of
such a case let every weight be read off the output (see `module_probing`).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograder.declaring import Case, Observation, Value
from autograder.exercises.inputs import normal

DROPOUT = "called often, in training and in evaluation"
RATES = (0.1, 0.2, 0.3, 0.4, 0.6)  # no quarters and no halves, to which code might round
DRAWS = 200  # texts in the batch on which dropout is watched: 6000 weights
SOME = 20  # of them are recorded where all should be alike
EVALUATED, EVALUATED_WEIGHTS = "drawn in evaluation", "weights drawn in evaluation"
DRAWN, DRAWN_WEIGHTS = "drawn in training", "weights drawn in training"
DRAWN_BEFORE = "drawn before in training"
DRAWN_ONE = "drawn in training with one text"
RECORDED = (EVALUATED, EVALUATED_WEIGHTS, DRAWN, DRAWN_WEIGHTS, DRAWN_BEFORE, DRAWN_ONE)
LEARNING = "gradients with dropout"
REPEATED = 40  # times that the queries stand in that one text, after one another
QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)
NOTHING_DROPPED = "nothing is dropped"


def dropout_cases(rng: np.random.Generator, case: Callable[..., Case]) -> tuple[Case, ...]:
    """Two cases with two rates; one of the modules, which a seed draws, has no biases."""
    rate, other = (float(each) for each in rng.choice(RATES, 2, replace=False))
    biases: list[dict[str, bool]] = [{}, {"bias": False}]
    first = int(rng.integers(2))
    lead = ((), (1,), (2,), (1, 1))[int(rng.integers(4))]  # the axes before (query, key)
    return (
        case(
            "dropout",
            f"is built with dropout={rate}, and called often, in training and in evaluation.",
            12,
            2,
            dropout=rate,
            **biases[first],
            then=DROPOUT,
            query=normal(rng, 1, 5, 12),
            key=normal(rng, 1, 3, 12),
        ),
        case(
            "dropout, with the weights",
            f"is built with dropout={other}, and asks for the weights, which are those before "
            "dropout. A mask hides the last key.",
            12,
            2,
            dropout=other,
            **biases[1 - first],
            then=DROPOUT,
            query=normal(rng, 1, 3, 12),
            mask=np.tile([True, True, False], (*lead, 3, 1)),
            need_weights=True,
        ),
    )


def conclude_dropout(case: Case, observation: Observation) -> Observation:
    """Say in words what the recorded draws show, and keep of the numbers one text."""
    values = dict(observation.values)
    if EVALUATED not in values:
        return observation
    recorded = {name: values.pop(name, Value("none")) for name in RECORDED}
    learning = {LEARNING: values.pop(LEARNING)} if LEARNING in values else {}
    values.update(_found(case.arguments, recorded) | learning)  # last, as it follows from the rest
    return replace(observation, values=values)


def _found(wanted: Mapping[str, Any], recorded: Mapping[str, Value]) -> dict[str, Value]:
    query = wanted["query"]
    n_k = wanted["key"].shape[1] if "key" in wanted else query.shape[1]
    shape = tuple(query.shape[1:])  # (n_q, d_model)
    evaluated = _numbers(recorded[EVALUATED], (SOME, *shape))
    if evaluated is None:
        return {"in evaluation": _no_output(recorded[EVALUATED])}
    found = {"in evaluation": _words(describe_evaluation(evaluated))}
    found["output"] = _first(recorded[EVALUATED])  # before what training is said to change of it
    drawn = _numbers(recorded[DRAWN], (DRAWS, *shape))
    before = _numbers(recorded[DRAWN_BEFORE], (SOME, *shape))
    if drawn is None or before is None:
        found["in training"] = _no_output(recorded[DRAWN_BEFORE if before is None else DRAWN])
        return found
    if found["in evaluation"].data == NOTHING_DROPPED:
        heads, rate = wanted["num_heads"], wanted["dropout"]
        plain = read_off(evaluated, n_k, heads)[0]
        said = describe_dropout(read_off(drawn, n_k, heads), plain, rate)
        same = torch.equal(drawn[:SOME], before) and "no weight is dropped" not in said
        found["in training"] = _words(said + (", and the same ones in each call" if same else ""))
        one = _numbers(recorded[DRAWN_ONE], (1, REPEATED * shape[0], shape[1]))
        found["in training with one text and a key"] = (
            _no_output(recorded[DRAWN_ONE])
            if one is None
            else _words(describe_dropout(_as_texts(one, n_k, heads), plain, rate))
        )
    if wanted.get("need_weights"):
        found["weights"] = _first(recorded[EVALUATED_WEIGHTS])
        found["weights in training"] = _words(
            "as in evaluation" if _alike(recorded) else "others than in evaluation"
        )
    return found


def _words(text: str) -> Value:
    return Value("text", data=text, description="a str")


def _no_output(value: Value) -> Value:
    return _words(f"the output is {value.description}")


def _numbers(value: Value, shape: tuple[int, ...]) -> Tensor | None:
    """The numbers of a recorded tensor of this shape, else None."""
    if value.kind != "tensor" or not isinstance(value.data, np.ndarray):
        return None
    return torch.tensor(value.data) if value.data.shape == shape else None


def _first(value: Value) -> Value:
    """A recorded tensor, of which the first text is kept."""
    if value.kind == "tensor" and isinstance(value.data, np.ndarray) and value.data.ndim:
        return replace(value, data=value.data[:1])
    return value


def _alike(recorded: Mapping[str, Value]) -> bool:
    one, other = recorded[EVALUATED_WEIGHTS].data, recorded[DRAWN_WEIGHTS].data
    if not (isinstance(one, np.ndarray) and isinstance(other, np.ndarray)):
        return False
    with np.errstate(invalid="ignore"):  # ∞ − ∞, where weights are no numbers
        return one.shape == other.shape and bool((np.abs(one - other) < 1e-6).all())


def _as_texts(output: Tensor, n_k: int, num_heads: int) -> Tensor:
    """What `read_off` gives, with each repetition of the queries taken for a text."""
    return read_off(output.unflatten(1, (REPEATED, -1))[0], n_k, num_heads)


def read_off(output: Tensor, n_k: int, num_heads: int) -> Tensor:
    """The weights that the output shows, twice: (batch, n_q, num_heads, 2, n_k)."""
    heads = output.unflatten(-1, (num_heads, -1))  # (batch, n_q, num_heads, d_k)
    return heads[..., : 2 * n_k].unflatten(-1, (2, n_k))


def describe_evaluation(outputs: Tensor) -> str:
    """Whether the same inputs, again and again along the batch, give the same in evaluation."""
    apart = (outputs - outputs[:1]).abs().max()
    return NOTHING_DROPPED if apart < 1e-6 else "something is dropped"


def describe_dropout(draws: Tensor, plain: Tensor, rate: float = 0.25) -> str:
    """What happened to the weights in many draws, in words that do not depend on chance.

    draws: as `read_off` gives them, one draw for each entry of the batch. plain: the same
    without dropout, (n_q, num_heads, 2, n_k). rate: the share that should be dropped.
    """
    if not torch.isfinite(draws).all():
        return "the output is not finite"
    seen = (plain != 0).flatten(0, -2).any(0)  # the keys that no mask hides
    if not seen.any() or draws[..., ~seen].any():
        return "the weights are not those of evaluation, with some of them dropped"
    draws, plain = draws[..., seen], plain[..., seen]
    ratio = draws / plain
    if not torch.isfinite(ratio).all():
        return "the weights are not those of evaluation, with some of them dropped"
    if (ratio[..., 0, :] - ratio[..., 1, :]).abs().max() > 1e-3:
        return "numbers are left out elsewhere than in the weights"
    dropped = ratio.abs() < 1e-6
    kept = ratio[~dropped]
    if not len(kept):
        return "all weights are dropped"
    if kept.max() - kept.min() > 1e-3 * kept.max().abs():
        sums = (draws.sum(-1) / plain.sum(-1))[~dropped.all(-1)]
        ones = ", and the others sum to 1 again" if (sums - 1).abs().max() < 1e-3 else ""
        if dropped.any():
            return f"weights are dropped{ones or ', and the others change by several factors'}"
        return f"no weight is dropped; weights change by several factors{ones and ', and sum to 1'}"
    factor = f"{float(kept.mean()):.2f} times what they are without dropout"
    if not dropped.any():
        return f"no weight is dropped; the weights are {factor}"
    missing = dropped[..., 0, :].double()  # (draw, n_q, num_heads, n_k)
    together = _together(missing)
    if together:
        return f"weights are dropped {together}, not each by itself; the others are {factor}"
    share = _share(missing, rate)
    return f"about {share} of the weights are dropped, each by itself; the others are {factor}"


def _share(missing: Tensor, rate: float) -> float:
    """The share that is missing: the one that should be, if chance explains the difference.

    Else another that code may have in its place, such as 1 − rate or a multiple of a quarter, so
    that the same mistake is said in the same words whatever the draws are.
    """
    share = float(missing.mean())
    others = sorted((1 - rate, 1 - (1 - rate) ** 2, *QUARTERS), key=lambda each: abs(each - share))
    for likely in (rate, *others):
        deviation = math.sqrt(likely * (1 - likely) / missing.numel())
        if abs(share - likely) <= 5 * deviation:
            return round(likely, 4)
    return round(share, 2)


def _together(missing: Tensor) -> str:
    """Along which axis weights are dropped together, or ""."""
    mean = missing.mean()
    for axis, said in enumerate(("in every text", "for all queries", "in all heads", "by rows")):
        both = (missing * missing.roll(1, axis)).mean()
        if (both - mean**2) / (mean - mean**2) > 0.5:  # the correlation of neighbours
            return f"{said} alike"
    return ""
