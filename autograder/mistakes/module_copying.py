"""Mistakes in copying the weights of PyTorch's module into ours."""

import copy
import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from autograder.declaring import Mistake
from autograder.mistakes import ways

Place = Callable[[nn.Linear, str, Tensor], Any]


def refuse(mine: Any, theirs: Any, *, ignoring: Sequence[str] = ()) -> None:
    weight = theirs.in_proj_weight
    if "kdim" not in ignoring and weight is None:
        raise ValueError("kdim or vdim")
    if "bias_k" not in ignoring and theirs.bias_k is not None:
        raise ValueError("bias_k")
    biases = mine.W_q.bias is None, theirs.in_proj_bias is None
    if "mine" not in ignoring and biases == (False, True):
        raise ValueError("biases")
    if "theirs" not in ignoring and biases == (True, False):
        raise ValueError("biases")
    if "sizes" not in ignoring and mine.W_q.weight.shape != theirs.out_proj.weight.shape:
        raise ValueError("sizes")


def in_place(layer: nn.Linear, kind: str, numbers: Tensor) -> None:
    getattr(layer, kind).data.copy_(numbers)


def new_parameter(layer: nn.Linear, kind: str, numbers: Tensor) -> None:
    setattr(layer, kind, nn.Parameter(numbers.detach().clone()))


def new_shared_parameter(layer: nn.Linear, kind: str, numbers: Tensor) -> None:
    setattr(layer, kind, nn.Parameter(numbers.detach()))


def shared_data(layer: nn.Linear, kind: str, numbers: Tensor) -> None:
    getattr(layer, kind).data = numbers.detach()


def plain_copy(layer: nn.Linear, kind: str, numbers: Tensor) -> None:
    getattr(layer, kind).copy_(numbers)


def copying(
    order: Sequence[int] = (0, 1, 2),
    place: Place = in_place,
    chunk: Callable[[Tensor], Sequence[Tensor]] = lambda packed: packed.chunk(3),
    weight: Callable[[Tensor], Tensor] = lambda w: w,
    out: Callable[[Tensor], Tensor] = lambda w: w,
    biases: Sequence[str] = ("in", "out"),
    parts: Sequence[str] = ("in", "out"),
    ignoring: Sequence[str] = (),
    returned: Callable[[Any, Any], Any] = lambda mine, theirs: None,
    chunk_bias: Callable[[Tensor], Sequence[Tensor]] = lambda packed: packed.chunk(3),
    order_of_biases: Sequence[int] | None = None,
    out_weight: bool = True,
) -> Callable[[Any, Any], Any]:
    """The right copying, with some of its steps replaced."""

    def copy_from_torch(mine: Any, theirs: Any) -> Any:
        refuse(mine, theirs, ignoring=ignoring)
        layers = (mine.W_q, mine.W_k, mine.W_v)
        if "in" in parts:
            pieces = chunk(theirs.in_proj_weight)
            for layer, i in zip(layers, order, strict=True):
                place(layer, "weight", weight(pieces[i]))
        if "out" in parts and out_weight:
            place(mine.W_o, "weight", out(theirs.out_proj.weight))
        if theirs.in_proj_bias is not None and (
            mine.W_q.bias is not None or "theirs" not in ignoring
        ):
            if "in" in biases and "in" in parts:
                pieces = chunk_bias(theirs.in_proj_bias)
                for layer, i in zip(layers, order_of_biases or order, strict=True):
                    place(layer, "bias", pieces[i])
            if "out" in biases and "out" in parts:
                place(mine.W_o, "bias", theirs.out_proj.bias)
        return returned(mine, theirs)

    return copy_from_torch


def as_square(packed: Tensor) -> Sequence[Tensor]:
    return packed.reshape(packed.shape[1], 3, -1).unbind(1)


def along_columns(packed: Tensor) -> Sequence[Tensor]:
    return packed.chunk(3, dim=1)


def columns_of_transposed(packed: Tensor) -> Sequence[Tensor]:
    return packed.T.chunk(3, dim=1)


def every_third_row(packed: Tensor) -> Sequence[Tensor]:
    return packed[0::3], packed[1::3], packed[2::3]


def copies_a_copy(mine: Any, theirs: Any) -> Any:
    return copying(returned=lambda m, t: m)(copy.deepcopy(mine), theirs)


def the_other_way(mine: Any, theirs: Any, parts: Sequence[str] = ("in", "out", "bias")) -> None:
    refuse(mine, theirs)
    packed = theirs.in_proj_weight.data
    for layer, piece in zip((mine.W_q, mine.W_k, mine.W_v), packed.chunk(3), strict=True):
        piece.copy_(layer.weight)
    if "out" in parts:
        theirs.out_proj.weight.data.copy_(mine.W_o.weight)
    if theirs.in_proj_bias is not None and "bias" in parts:
        for layer, piece in zip(
            (mine.W_q, mine.W_k, mine.W_v), theirs.in_proj_bias.data.chunk(3), strict=True
        ):
            piece.copy_(layer.bias)
        if "out" in parts:
            theirs.out_proj.bias.data.copy_(mine.W_o.bias)


def first_doing(change: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """The right copying, after theirs was changed."""

    def copy_from_torch(mine: Any, theirs: Any) -> Any:
        change(theirs)
        return copying()(mine, theirs)

    return copy_from_torch


def assigned_to_names(mine: Any, theirs: Any) -> None:
    refuse(mine, theirs)
    w_q, w_k, w_v = mine.W_q.weight, mine.W_k.weight, mine.W_v.weight
    for w, theirs_w in zip((w_q, w_k, w_v), theirs.in_proj_weight.chunk(3), strict=True):
        w = theirs_w
        del w


def frozen_afterwards(layer: nn.Linear, kind: str, numbers: Tensor) -> None:
    in_place(layer, kind, numbers)
    getattr(layer, kind).requires_grad_(False)


def added(layer: nn.Linear, kind: str, numbers: Tensor) -> None:
    getattr(layer, kind).data.add_(numbers)


def refusing(exception: type[Exception]) -> Callable[[Any, Any], Any]:
    def copy_from_torch(mine: Any, theirs: Any) -> None:
        try:
            refuse(mine, theirs)
        except ValueError as error:
            raise exception(str(error)) from None
        copying()(mine, theirs)

    return copy_from_torch


def returns_silently(mine: Any, theirs: Any) -> None:
    try:
        refuse(mine, theirs)
    except ValueError:
        return
    copying()(mine, theirs)


ORDERS = ((1, 0, 2), (0, 2, 1), (2, 1, 0), (1, 2, 0), (2, 0, 1))

COPYING: tuple[Mistake, ...] = (
    *ways(
        "wrong-order",
        "the packed weight holds query, key and value in this order, and they ended up elsewhere.",
        "w_q, w_k, w_v = theirs.in_proj_weight.chunk(3).",
        *(copying(order=o) for o in ORDERS),
        *(copying(order=o, order_of_biases=(0, 1, 2)) for o in ORDERS),
        *(copying(order_of_biases=o) for o in ORDERS),
    ),
    *ways(
        "one-for-all",
        "one third of the packed weight is copied into all three projections.",
        "each gets its own third.",
        copying(order=(0, 0, 0)),
        copying(order=(0, 1, 1)),
        copying(order=(0, 0, 2)),
    ),
    *ways(
        "transposed",
        "weights are transposed on the way. Both sides keep them as (out, in), so nothing has to "
        "be turned.",
        "copy them as they are, without .T.",
        copying(weight=lambda w: w.T, out=lambda w: w.T),
        copying(weight=lambda w: w.T),
        copying(out=lambda w: w.T),
        copying(chunk=columns_of_transposed),
    ),
    *ways(
        "cut-along-the-wrong-axis",
        "the packed weight is cut along its columns, or between other rows than the thirds.",
        "cut its rows into three: theirs.in_proj_weight.chunk(3) is (W_q, W_k, W_v).",
        copying(chunk=along_columns),
        copying(chunk=every_third_row),
        copying(chunk=every_third_row, chunk_bias=every_third_row),
        copying(chunk_bias=every_third_row),
        copying(chunk=every_third_row, parts=("in",)),
        copying(chunk=as_square),
    ),
    *ways(
        "biases-forgotten",
        "the weights are copied, and biases are not.",
        "copy theirs.in_proj_bias.chunk(3) and theirs.out_proj.bias too.",
        copying(biases=()),
        copying(biases=("in",)),
        copying(biases=("out",)),
    ),
    *ways(
        "output-projection-forgotten",
        "W_o is left as it was.",
        "copy theirs.out_proj.weight, and its bias, into mine.W_o.",
        copying(parts=("in",)),
        copying(parts=("in",), biases=()),
        copying(out_weight=False),
    ),
    *ways(
        "only-the-output-projection",
        "only W_o is copied.",
        "copy the three thirds of theirs.in_proj_weight too.",
        copying(parts=("out",)),
    ),
    *ways(
        "nothing-copied",
        "mine is as it was before. `w = …` gives a name to a tensor, and changes no parameter.",
        "copy into the parameter: mine.W_q.weight.copy_(…) inside torch.no_grad().",
        copying(parts=()),
        assigned_to_names,
        copies_a_copy,
    ),
    *ways(
        "the-other-way-round",
        "theirs is changed; mine is to be.",
        "copy from theirs into mine.",
        the_other_way,
        functools.partial(the_other_way, parts=("in", "bias")),
        functools.partial(the_other_way, parts=("in", "out")),
        functools.partial(the_other_way, parts=("in",)),
    ),
    *ways(
        "theirs-changed",
        "theirs is switched to evaluation, or its parameters do not require gradients any more.",
        "only read from theirs.",
        first_doing(lambda theirs: theirs.requires_grad_(False)),
        first_doing(lambda theirs: theirs.eval()),
        first_doing(lambda theirs: theirs.eval().requires_grad_(False)),
    ),
    *ways(
        "added-not-copied",
        "the numbers are added to those of mine.",
        "use .copy_(…).",
        copying(place=added),
    ),
    *ways(
        "parameters-replaced",
        "mine gets new nn.Parameter objects; an optimizer would still hold the old ones.",
        "copy into those that are there: mine.W_q.weight.copy_(…) inside torch.no_grad().",
        copying(place=new_parameter),
    ),
    *ways(
        "memory-shared",
        "mine and theirs share their numbers: whoever trains one changes the other.",
        "copy: mine.W_q.weight.copy_(…) inside torch.no_grad().",
        copying(place=shared_data),
        copying(place=new_shared_parameter),
    ),
    *ways(
        "frozen",
        "the parameters of mine do not require gradients any more.",
        "leave requires_grad as it is; only the copying stands inside torch.no_grad().",
        copying(place=frozen_afterwards),
    ),
    *ways(
        "without-no-grad",
        "a parameter is changed in place while autograd watches, which it forbids.",
        "put the copying inside `with torch.no_grad():`.",
        copying(place=plain_copy),
    ),
    *ways(
        "module-returned",
        "all is copied as it should be; only, something is returned. What works in place returns "
        "None, so that nobody takes the result for a copy.",
        "leave the return line out.",
        copying(returned=lambda mine, theirs: mine),
        copying(returned=lambda mine, theirs: theirs),
        copying(returned=lambda mine, theirs: True),
    ),
    *ways(
        "sizes-not-refused",
        "modules of different sizes are not refused with a ValueError.",
        "compare the shapes before copying, and raise ValueError if they differ.",
        copying(ignoring=("sizes",)),
    ),
    *ways(
        "kdim-not-refused",
        "in_proj_weight is None if theirs has kdim or vdim of its own, and this is not refused.",
        "raise ValueError if theirs.in_proj_weight is None.",
        copying(ignoring=("kdim",)),
        copying(ignoring=("kdim",), chunk=lambda p: (p[: p.shape[1]], p[p.shape[1] :], p)),
        copying(ignoring=("kdim",), chunk=lambda p: torch.chunk(p, 3)),
    ),
    *ways(
        "bias-k-not-refused",
        "theirs has bias_k and bias_v, which mine has no place for, and is copied all the same.",
        "raise ValueError if theirs.bias_k is not None.",
        copying(ignoring=("bias_k",)),
    ),
    *ways(
        "biases-not-compared",
        "one module has biases and the other has none, and this is not refused.",
        "raise ValueError if (mine.W_q.bias is None) differs from (theirs.in_proj_bias is None).",
        copying(ignoring=("mine",)),
        copying(ignoring=("theirs",)),
        copying(ignoring=("mine", "theirs")),
    ),
    *ways(
        "nothing-refused",
        "modules that do not fit are not refused with a ValueError.",
        "look at sizes, biases, in_proj_weight and bias_k first, and raise ValueError.",
        copying(ignoring=("sizes", "kdim", "bias_k", "mine", "theirs")),
    ),
    *ways(
        "refused-in-silence",
        "modules that do not fit are left alone without a word.",
        "raise ValueError, so that nobody believes they were copied.",
        returns_silently,
    ),
    *ways(
        "another-exception",
        "what does not fit is refused with another exception than ValueError.",
        "raise ValueError.",
        refusing(RuntimeError),
        refusing(TypeError),
        refusing(NotImplementedError),
    ),
)
