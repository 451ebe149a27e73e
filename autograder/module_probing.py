"""Observing modules: a class is built, filled with given numbers, called, and looked at.

Imported only by exercises that use torch; it runs beside student code and decides nothing. What
is no array is recorded in words, such as "W_q.weight (6, 6)", one line for each parameter.
"""

import contextlib
import copy
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from autograder.declaring import NO_MODULE, Value
from autograder.refusing import BY_NAME
from autograder.watching import watched

PROJECTIONS = ("W_q", "W_k", "W_v", "W_o")
LIST_LIMIT = 2000  # characters kept of such a list


def words(text: str) -> Value:
    """Something that a probe found, said in words."""
    return Value("text", data=text[:LIST_LIMIT], description="a str")


def build(implementation: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """A module, built with the arguments that are given."""
    with watched():
        return call(implementation, implementation, arguments, required=2)


def run(module: Any, arguments: Mapping[str, Any]) -> Any:
    """Call a module with the arguments that are given."""
    with watched():
        return call(module, type(module).forward, arguments, required=1, skip=1)


def call(
    function: Callable[..., Any],
    declared: Any,
    arguments: Mapping[str, Any],
    required: int,
    skip: int = 0,
) -> Any:
    """Call by position, apart from what people give by name, such as mask=….

    Where that does not fit, all but the first few are given by name. declared: what has the
    signature; skip: how many arguments stand there before those given (self).
    """
    named = {name: value for name, value in arguments.items() if name in BY_NAME}
    values = [value for name, value in arguments.items() if name not in BY_NAME]
    if by_position(declared, len(values) + skip, tuple(named)):
        return function(*values, **named)
    return function(*values[:required], **dict(list(arguments.items())[required:]))


@functools.lru_cache(maxsize=64)
def by_position(declared: Any, count: int, names: Sequence[str] = ()) -> bool:
    """Whether a function takes so many arguments by position, and these by name."""
    try:
        inspect.signature(declared).bind(*range(count), **dict.fromkeys(names))
    except TypeError:
        return False
    except Exception:  # no signature; calling it will tell
        return True
    return True


def list_parameters(module: Any) -> Value:
    """Names and shapes of all parameters, line by line, or that it is no module at all."""
    if not issubclass(type(module), nn.Module):
        return words(NO_MODULE)
    lines = []
    first: dict[int, str] = {}
    for name, parameter in named_parameters(module).items():
        line = f"{name} {tuple(parameter.shape)}"
        if id(parameter) in first:
            line += f", the same as {first[id(parameter)]}"
        if not parameter.requires_grad:
            line += ", frozen"
        first.setdefault(id(parameter), name)
        lines.append(line)
    return words("\n".join(sorted(lines)))


def named_parameters(module: Any) -> dict[str, nn.Parameter]:
    """All parameters by name; a projection that is kept in a list as well is named once."""
    named = dict(nn.Module.named_parameters(module, remove_duplicate=False))
    own = {id(p) for name, p in named.items() if name.partition(".")[0] in PROJECTIONS}
    return {
        name: parameter
        for name, parameter in named.items()
        if name.partition(".")[0] in PROJECTIONS or id(parameter) not in own
    }


def has_its_projections(module: Any, d_model: int, bias: bool) -> bool:
    """Whether the module's parameters are those of four nn.Linear(d_model, d_model), no others."""
    if not issubclass(type(module), nn.Module):
        return False
    sizes = {"weight": (d_model, d_model), **({"bias": (d_model,)} if bias else {})}
    wanted = {f"{each}.{kind}": size for each in PROJECTIONS for kind, size in sizes.items()}
    own = named_parameters(module)
    single = len({id(parameter) for parameter in own.values()}) == len(own)
    return single and {name: tuple(p.shape) for name, p in own.items()} == wanted


def projections_of(module: Any) -> dict[str, nn.Parameter]:
    """The parameters of the four projections, by name, as far as they are there."""
    own = dict(nn.Module.named_parameters(module, remove_duplicate=False))
    names = [f"{each}.{kind}" for each in PROJECTIONS for kind in ("weight", "bias")]
    return {name: own[name] for name in names if name in own}


def fill(module: Any, seed: int) -> None:
    """Give the projections numbers that depend on the seed alone, in a fixed order.

    The exercise notebook has the same function, so that a learner can make what is judged.
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in projections_of(module).values():
            numbers = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.copy_(numbers / parameter.shape[-1] ** 0.5)


def start_of(module: Any, second: Any) -> Value:
    """What the numbers of a module that was just built look like, beside a second one's."""
    found = []
    others = projections_of(second)
    before: dict[str, Tensor] = {}
    for name, parameter in projections_of(module).items():
        if parameter.device.type == "meta":
            return words(f"{name} is on the meta device, without numbers")
        numbers = parameter.detach().cpu().numpy()
        if not np.isfinite(numbers).all():
            found.append(f"{name} is not finite")
        elif name.endswith("weight") and numbers.size > 1 and (numbers == numbers.flat[0]).all():
            found.append(f"all numbers of {name} are the same")
        elif others.get(name) is parameter:
            found.append(f"{name} is one and the same object in two modules")
        elif name.endswith("weight") and numbers.size > 1 and _equal(parameter, others.get(name)):
            found.append(f"{name} is the same in every module that is built")
        elif name.endswith("weight") and numbers.size > 1:
            same = [other for other, weight in before.items() if _equal(parameter, weight)]
            if same:
                found.append(f"{name} starts with the numbers of {same[0]}")
        before[name] = parameter
    return words(", ".join(found) or "finite, and not all the same")


def _equal(one: Tensor, other: Tensor | None) -> bool:
    return other is not None and one.shape == other.shape and bool((one == other).all())


# What a call leaves behind.


@contextlib.contextmanager
def left_alone(module: Any, seen: list[str]) -> Iterator[None]:
    """Add to `seen`, in words, what a call in the block changes in the module itself."""
    before = projections_of(module)
    modes = {name: part.training for name, part in nn.Module.named_modules(module)}
    yield
    after = projections_of(module)
    seen += [f"{name} is another object" for name in before if after.get(name) is not before[name]]
    for name, part in nn.Module.named_modules(module):
        if part.training != modes.get(name, part.training):
            mode = "training" if part.training else "evaluation"
            seen.append(f"{name or 'the module'} is in {mode} mode")
            if not name:
                break  # and with it what it is made of


def chance_of(call: Callable[[], Any]) -> tuple[str, Any]:
    """Whether a call sets torch's generator to a seed of its own, in words, and its result.

    Called twice, from two states of the generator, after which it may not be in the same one.
    """
    states = []
    for seed in (1, 2):
        torch.default_generator.manual_seed(seed)
        result = call()
        states.append(torch.default_generator.get_state())
    same = torch.equal(*states)
    return "set to the same seed by each call" if same else "not set by a call", result


# What is done with a module before it is called: each takes the class's maker, the module and
# the seed, and returns the module to call.


def saved_and_loaded(make: Callable[[], Any], module: Any, seed: int) -> Any:
    """Another module that was given the state of the first."""
    other = make()
    fill(other, seed + 1)
    other.load_state_dict(module.state_dict())
    fill(module, seed + 2)
    return other


def copied(make: Callable[[], Any], module: Any, seed: int) -> Any:
    """A deep copy, after which the original and a third module are given other numbers."""
    other = make()
    fill(other, seed + 1)
    copy_of_it = copy.deepcopy(module)
    fill(module, seed + 2)
    return copy_of_it


# Dropout. The values of the case are such that every weight can be read off the output: value j
# is 1 in the features j and n_k + j of each head, and W_v and W_o change nothing. What is left
# out of the weights is then missing in both places, and what is left out elsewhere is not.


def let_weights_through(module: Any) -> None:
    """Make W_v and W_o the identity, and all their biases 0."""
    with torch.no_grad():
        for name, parameter in projections_of(module).items():
            if name.startswith(("W_v", "W_o")):
                identity = name.endswith("weight")
                parameter.copy_(torch.eye(len(parameter)) if identity else torch.zeros(()))


def values_to_read_off(n_k: int, num_heads: int, d_k: int, batch: int, like: Tensor) -> Tensor:
    """The values of such a case: (batch, n_k, num_heads · d_k), with d_k ≥ 2 n_k."""
    value = torch.zeros(n_k, num_heads, d_k, dtype=like.dtype)
    for j in range(n_k):
        value[j, :, [j, n_k + j]] = 1
    return value.flatten(1).expand(batch, -1, -1).contiguous()
