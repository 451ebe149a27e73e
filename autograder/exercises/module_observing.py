"""The probe for multi-head attention as a module: it follows the recipes of `attention_modules`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from autograder.declaring import PARAMETERS, Case, Observation, Value
from autograder.module_probing import (
    build,
    copied,
    describe_dropout,
    describe_evaluation,
    describe_move,
    fill,
    has_its_projections,
    let_weights_through,
    list_parameters,
    projections_of,
    read_off,
    run,
    saved_and_loaded,
    seeded,
    start_of,
    values_to_read_off,
    words,
)
from autograder.observing import name_parts
from autograder.probing import gradients
from autograder.recording import changed, fresh, is_tensor, record

BUILDING = ("d_model", "num_heads", "dropout", "bias")
CALLING = ("query", "key", "value", "mask", "need_weights")
UNGIVEN = {"dropout": 0.0, "need_weights": False}  # else None
SAVED, COPIED = "saved, and loaded into another module", "copied, and the original changed"
AGAIN = "called before, with a longer text"
MOVED, DROPOUT = "moved to another device", "called often, in training and in evaluation"
DRAWS = 200  # texts in the batch on which dropout is watched: 6000 weights


def probe_module(implementation: Callable[..., Any], case: Case) -> Observation:
    """Builds a module as the case says, and records what it is, what it returns, and gradients."""
    with seeded(0):
        return _probe(implementation, case.arguments)


def _probe(implementation: Callable[..., Any], wanted: Mapping[str, Any]) -> Observation:
    built = _up_to_last(wanted, BUILDING)

    def make() -> Any:
        return build(implementation, built)

    module = make()
    listed = list_parameters(module)
    values = {PARAMETERS: listed}
    inputs = {name: value for name, value in wanted.items() if name in ("x", *CALLING)}
    as_asked = has_its_projections(module, wanted["d_model"], wanted.get("bias", True))
    if not inputs or not as_asked:
        return Observation(values)  # that says it all; what is called may only fail
    values["numbers at the start"] = start_of(module)
    fill(module, wanted["seed"])
    module = module.to(next(v.dtype for v in inputs.values() if is_tensor(v)))
    then = wanted.get("then")
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
        name, first = next(iter(inputs.items()))
        longer = torch.ones(first.shape[0] + 1, first.shape[1] + 3, first.shape[2])
        _run(module, {name: longer.to(first.dtype)})
    return _call_and_record(module, inputs, values)


def _up_to_last(wanted: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The arguments as they are given, and what stands before the last of them."""
    last = max(i for i, name in enumerate(names) if name in wanted)
    return {name: wanted.get(name, UNGIVEN.get(name)) for name in names[: last + 1]}


def _run(module: Any, inputs: Mapping[str, Any]) -> Any:
    """Call a module with those inputs that are given."""
    return run(module, dict(inputs) if "x" in inputs else _up_to_last(inputs, CALLING))


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
    returned = _run(module, given)
    parts = ("output", "weights") if inputs.get("need_weights") else ("output",)
    found = {**values, **name_parts(returned, parts)}
    # Gradients of the output alone: whoever returns detached weights has done nothing wrong.
    output = returned[0] if len(parts) == 2 and isinstance(returned, tuple | list) else returned
    found.update(gradients(output, {**projections_of(module), **leaves}))
    after = {name: v.detach() if is_tensor(v) else v for name, v in given.items()}
    return Observation(found, changed=changed(inputs, after))


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
            results += returned if isinstance(returned, tuple | list) else [returned]
        return results

    return words(describe_move(module.float(), on))


def _dropout(module: Any, inputs: Mapping[str, Any], num_heads: int) -> dict[str, Value]:
    """What dropout does, read off the output (see `module_probing`)."""
    let_weights_through(module)
    query, key = (inputs[name].expand(DRAWS, -1, -1).contiguous() for name in ("query", "key"))
    n_k, d_k = key.shape[1], query.shape[2] // num_heads
    given = {"query": query, "key": key}
    given["value"] = values_to_read_off(n_k, num_heads, d_k, DRAWS, query)
    if inputs.get("need_weights"):
        given["need_weights"] = True
    evaluated, weights = _two(_run(module.eval(), given))
    found = {"in evaluation": words("no output of the right shape")}
    if not is_tensor(evaluated) or evaluated.shape != query.shape:
        return found
    found["in evaluation"] = words(describe_evaluation(evaluated))
    drawn, drawn_weights = _two(_run(module.train(), given))
    if describe_evaluation(evaluated) == "nothing is dropped" and drawn.shape == query.shape:
        plain = read_off(evaluated, n_k, num_heads)[0]
        found["in training"] = words(describe_dropout(read_off(drawn, n_k, num_heads), plain))
    if is_tensor(weights) and is_tensor(drawn_weights) and weights.shape == drawn_weights.shape:
        same = bool((weights - drawn_weights).abs().max() < 1e-6)
        found["weights"] = record(weights[0])
        found["weights in training"] = words(
            "as in evaluation" if same else "others than in evaluation"
        )
    return found


def _two(returned: Any) -> tuple[Any, Any]:
    pair = isinstance(returned, tuple | list) and len(returned) == 2
    return (returned[0], returned[1]) if pair else (returned, None)
