"""The probe for multi-head attention as a module: it follows the recipes of `attention_modules`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from autograder.declaring import PARAMETERS, Case, Observation, Value
from autograder.exercises.dropout import (
    DRAWN,
    DRAWN_BEFORE,
    DRAWN_ONE,
    DRAWN_WEIGHTS,
    DRAWS,
    DROPOUT,
    EVALUATED,
    EVALUATED_WEIGHTS,
    LEARNING,
    REPEATED,
    SOME,
)
from autograder.module_moving import describe_move
from autograder.module_probing import (
    build,
    chance_of,
    copied,
    fill,
    has_its_projections,
    left_alone,
    let_weights_through,
    list_parameters,
    projections_of,
    run,
    saved_and_loaded,
    start_of,
    values_to_read_off,
    words,
)
from autograder.observing import items_of, name_parts
from autograder.probing import gradients, seeded
from autograder.recording import changed, fresh, is_tensor, record
from autograder.watching import watched

BUILDING = ("d_model", "num_heads", "dropout", "bias")
CALLING = ("query", "key", "value", "mask", "need_weights")
ATTENDING = ("W_q", "W_k")  # what is learned through the weights alone
UNGIVEN = {"dropout": 0.0, "need_weights": False}  # else None
SAVED, COPIED = "saved, and loaded into another module", "copied, and the original changed"
AGAIN = (
    "called before, with a longer text, and with other numbers, keys and a mask; since then the "
    "parameters have got other numbers"
)
EVALUATION = "evaluation"
MOVED = "moved to another device"


def lives(case: Callable[..., Case], first: str, draw: Callable[..., Any]) -> tuple[Case, ...]:
    """Cases on what becomes of a module; `first` is the name of what it is called with."""

    def life(name: str, purpose: str, num_heads: int, then: str, n: int) -> Case:
        return case(name, purpose, 6, num_heads, then=then, **{first: draw(2, n, 6)})

    return (
        life(
            "called again",
            "calls the module again, after a longer text, after other numbers of these sizes, and "
            "after its parameters were changed in place, as an optimiser does; nothing may be kept "
            "between calls. A module of another size was built meanwhile.",
            3,
            AGAIN,
            4,
        ),
        life(
            "saved and loaded",
            "calls a module that was given the state_dict of another.",
            2,
            SAVED,
            3,
        ),
        life(
            "copied",
            "calls a deep copy, while the original and a third module get other numbers.",
            2,
            COPIED,
            3,
        ),
        life(
            "another device",
            'moves the module and its inputs, to "meta" for example: a device where tensors have '
            "a shape and no numbers.",
            2,
            MOVED,
            3,
        ),
    )


def probe_module(implementation: Callable[..., Any], case: Case) -> Observation:
    """Builds a module as the case says, and records what it is, what it returns, and gradients."""
    with seeded(0):
        return _probe(implementation, case.arguments)


def _probe(implementation: Callable[..., Any], wanted: Mapping[str, Any]) -> Observation:
    built = _up_to_last(wanted, BUILDING)

    def make() -> Any:
        return build(implementation, built)

    module = make()
    if wanted.get("then") == AGAIN:  # nothing of a module may be kept in its class
        build(implementation, {**built, "d_model": wanted["d_model"] + 1, "num_heads": 1})
    listed = list_parameters(module)
    values = {PARAMETERS: listed}
    inputs = {name: value for name, value in wanted.items() if name in ("x", *CALLING)}
    as_asked = has_its_projections(module, wanted["d_model"], wanted.get("bias", True))
    if not inputs or not as_asked:
        return Observation(values)  # that says it all; what is called may only fail
    then = wanted.get("then")
    if then == COPIED:
        values["numbers at the start"] = start_of(module, make())
    fill(module, wanted["seed"])
    module = module.to(next(v.dtype for v in inputs.values() if is_tensor(v)))
    if then == DROPOUT:
        return Observation({**values, **_dropout(module, inputs, wanted["num_heads"])})
    if then == MOVED:
        values["place"] = _place(module, inputs)
        return Observation(values)
    if then in (SAVED, COPIED):
        same_dtype = next(module.parameters()).dtype
        act = saved_and_loaded if then == SAVED else copied
        module = act(lambda: make().to(same_dtype), module, wanted["seed"])
    if then == AGAIN:
        module.eval()  # most other cases are in training
        fill(module, wanted["seed"] + 1)
        values["torch's generator"] = words(_called_before(module, inputs))
        fill(module, wanted["seed"])  # in place, as an optimiser's step changes them
        module.eval()  # whatever those calls made of it
    if wanted.get("mode") == EVALUATION:
        module.eval()
    return _call_and_record(module, inputs, values)


def _up_to_last(wanted: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The arguments as they are given, and what stands before the last of them."""
    last = max(i for i, name in enumerate(names) if name in wanted)
    return {name: wanted.get(name, UNGIVEN.get(name)) for name in names[: last + 1]}


def _run(module: Any, inputs: Mapping[str, Any]) -> Any:
    """Call a module with those inputs that are given: key and value by position."""
    if "x" in inputs:
        return run(module, dict(inputs))
    places = ("query", "key", "value")
    given = _up_to_last({name: inputs[name] for name in places if name in inputs}, places)
    return run(module, given | {name: v for name, v in inputs.items() if name not in places})


def _called_before(module: Any, inputs: Mapping[str, Any]) -> str:
    """Call with a longer text, and with as many other numbers, a key, a value and a mask.

    Returns what became of torch's generator, in words.
    """
    name, first = next(iter(inputs.items()))
    longer = torch.ones(first.shape[0] + 1, first.shape[1] + 3, first.shape[2])
    _run(module, {name: longer.to(first.dtype)})
    others = {name: first.flip(0) + 1}
    if name == "query":
        seen = torch.ones(first.shape[1], first.shape[1], dtype=torch.bool).tril()
        others.update(key=first.flip(1) - 1, value=first * 2, mask=seen)
    return chance_of(lambda: _run(module, {n: fresh(v) for n, v in others.items()}))[0]


def _call_and_record(
    module: Any, inputs: Mapping[str, Any], values: Mapping[str, Value]
) -> Observation:
    given = {name: fresh(value) for name, value in inputs.items()}
    leaves = {
        name: value.requires_grad_()
        for name, value in given.items()
        if is_tensor(value) and value.is_floating_point()
    }
    given.update({name: leaf.clone() for name, leaf in leaves.items()})
    parameters = projections_of(module)
    left: list[str] = []
    torch.default_generator.manual_seed(0)  # so that layers made in the call are the same for all
    with left_alone(module, left):
        returned = _run(module, given)
    parts = ("output", "weights") if inputs.get("need_weights") else ("output",)
    with watched():  # to look at a result may run code of its class
        named = name_parts(returned, parts)
    found = {**values, "after the call": _left(left), **named}
    # Gradients of the output alone: whoever returns detached weights has done nothing wrong.
    output = (items_of(returned) or [returned])[0] if len(parts) == 2 else returned
    found.update(gradients(output, {**parameters, **leaves}))
    after = {name: v.detach() if is_tensor(v) else v for name, v in given.items()}
    return Observation(found, changed=changed(inputs, after))


def _left(seen: Sequence[str]) -> Value:
    return words(", ".join(seen) or "the module's parameters and its mode are as they were before")


def _place(module: Any, inputs: Mapping[str, Any]) -> Value:
    # float32, because not every device has more.
    plain = {name: value.float() for name, value in inputs.items()}

    def on(moved: Any, device: str) -> Sequence[Any]:
        there = {name: value.to(device) for name, value in plain.items()}
        results = [_run(moved, there)]
        if "query" in there:
            n = there["query"].shape[1]
            mask = torch.ones(n, n, dtype=torch.bool).tril().to(device)
            returned = _run(moved, {**there, "mask": mask, "need_weights": True})
            results += items_of(returned) or [returned]
        return results

    return words(describe_move(module.float(), on))


def _dropout(module: Any, inputs: Mapping[str, Any], num_heads: int) -> dict[str, Value]:
    """What came of calls in evaluation and in training; `dropout` tells what that shows."""
    let_weights_through(module)
    query = inputs["query"].expand(DRAWS, -1, -1).contiguous()
    key = inputs["key"].expand(DRAWS, -1, -1).contiguous() if "key" in inputs else query
    n_k, d_k = key.shape[1], query.shape[2] // num_heads
    given = {"query": query, "key": key}
    if "key" not in inputs:
        del given["key"]
    given["value"] = values_to_read_off(n_k, num_heads, d_k, DRAWS, query)
    given.update({name: inputs[name] for name in ("mask", "need_weights") if name in inputs})
    found = {}
    left: list[str] = []
    with left_alone(module.eval(), left):
        evaluated, weights = _two(_run(module, given), given)
    found["after the call in evaluation"] = _left(left)
    found[EVALUATED] = record(_some(evaluated))
    if found[EVALUATED].kind != "tensor" or evaluated.shape != query.shape:
        return found
    left = []
    draws = []
    with left_alone(module.train(), left):
        chance, _ = chance_of(lambda: draws.append(_two(_run(module, given), given)))
    (before, _), (drawn, drawn_weights) = draws
    found["after the call in training"] = _left(left)
    found["torch's generator"] = words(chance)
    found.update({DRAWN_BEFORE: record(_some(before)), DRAWN: record(drawn)})
    found.update(_one_text(module, inputs, given))
    if inputs.get("need_weights"):
        found[EVALUATED_WEIGHTS] = record(_some(weights))
        found[DRAWN_WEIGHTS] = record(_some(drawn_weights))
    return found


def _one_text(module: Any, inputs: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Value]:
    """What dropout does in a batch of one, whose many queries show as much as many texts do."""
    n_q = inputs["query"].shape[1]
    one = {name: given.get(name, given["query"])[:1] for name in ("query", "key", "value")}
    one["query"] = one["query"].repeat(1, REPEATED, 1)
    one.update({name: given[name] for name in ("mask", "need_weights") if name in given})
    mask = one.get("mask")
    if mask is not None and mask.shape[-2] == n_q:
        one["mask"] = mask.repeat(*[1] * (mask.ndim - 2), REPEATED, 1)
    output, _ = _two(_run(module, one), one)
    learning = {f"{each}.weight": projections_of(module)[f"{each}.weight"] for each in ATTENDING}
    reached = gradients(output, learning)
    missing = [
        name.removeprefix("gradient of ")
        for name, value in reached.items()
        if value.kind != "tensor" or not np.any(value.data)
    ]
    said = f"none reaches {' and '.join(missing)}" if missing else "they reach W_q and W_k"
    return {DRAWN_ONE: record(output), LEARNING: words(said)}


def _some(returned: Any) -> Any:
    """The first texts of a batch that is as large as it should be; anything else as it is."""
    whole = is_tensor(returned) and returned.ndim and len(returned) == DRAWS
    return returned[:SOME] if whole else returned


def _two(returned: Any, given: Mapping[str, Any]) -> tuple[Any, Any]:
    """Output and weights, where both were asked for."""
    items = items_of(returned) if "need_weights" in given else None
    return (items[0], items[1]) if items is not None and len(items) == 2 else (returned, None)
