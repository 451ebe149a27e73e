"""Probes for torch: like `observing.returns`, and gradients beside the results; fixed chance.

Imported only by exercises that use torch; it runs beside student code.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.declaring import Case, Observation, Probe, Value
from autograder.keeping import keep
from autograder.observing import items_of, name_parts
from autograder.recording import changed, fresh, is_tensor, record
from autograder.watching import watched


def differentiates(*parts: str, to: Sequence[str]) -> Probe:
    """Call, record what is returned, and the gradients of one fixed number made of it.

    parts: a name for each returned object. to: the arguments whose gradients are recorded, as
    "gradient of q"; one that does not arise is recorded as None.
    """

    def probe(implementation: Callable[..., Any], case: Case) -> Observation:
        arguments = {name: fresh(value) for name, value in case.arguments.items()}
        leaves = {name: arguments[name].requires_grad_() for name in to}
        # Copies, because autograd forbids to change a leaf in place, and a learner who does
        # shall read that an input was changed.
        arguments.update({name: leaf.clone() for name, leaf in leaves.items()})
        with watched():  # also what is recorded: to look at a result may run code of its class
            returned = implementation(*arguments.values())
            values = name_parts(returned, parts)
        after = {name: _plain(value) for name, value in arguments.items()}
        keep(case, lambda: name_parts(returned, parts), values, after)
        modified = changed(case.arguments, after)
        try:
            values.update(gradients(returned, leaves))
        except RuntimeError:
            if not modified:
                raise
            # An input that was changed in place may be one that autograd needs as it was. That it
            # was changed says more than autograd's error.
            values.update({f"gradient of {name}": record(None) for name in leaves})
        return Observation(values=values, changed=modified)

    return probe


def _plain(value: Any) -> Any:
    return value.detach() if is_tensor(value) else value


def gradients(returned: Any, leaves: Mapping[str, Tensor]) -> dict[str, Value]:
    """The gradients of `scalar(returned)` by each leaf, under the names of the leaves."""
    total = scalar(returned)
    found: Sequence[Tensor | None] = [None] * len(leaves)
    if total is not None and total.requires_grad:
        found = torch.autograd.grad(total, list(leaves.values()), allow_unused=True)
    return {f"gradient of {name}": record(g) for name, g in zip(leaves, found, strict=True)}


def scalar(returned: Any) -> Tensor | None:
    """A number that depends on every returned float tensor, each entry with a weight of its own.

    Equal weights would hide mistakes: the rows of a softmax sum to 1 whatever the scores are.
    """
    tensors = items_of(returned) or [returned]
    total = None
    for tensor in tensors:
        if is_tensor(tensor) and tensor.is_floating_point():
            steps = torch.arange(1, tensor.numel() + 1, device=tensor.device, dtype=torch.float64)
            part = (tensor * torch.sin(steps).to(tensor.dtype).reshape(tensor.shape)).sum()
            total = part if total is None else total + part
    return total


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Fix torch's own generator, so that chance is the same each time, and put it back after."""
    state = torch.default_generator.get_state()
    torch.default_generator.manual_seed(seed)
    try:
        yield
    finally:
        torch.default_generator.set_state(state)
