"""Counting the parameters of a layer from its parts, each of which may be left out or wrong."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from autograder.declaring import Mistake

Size = int | None
Part = Callable[[int, int, int, int], float]

FLOAT = (
    "the count is a float, which `/` makes even where it leaves no rest. Nobody has half a "
    "parameter."
)
NO_FLOAT = "divide with //, which makes an int."


def divided(d_model: int, num_heads: int) -> int:
    if d_model % num_heads:
        raise ValueError(f"{num_heads} heads do not divide {d_model}.")
    return d_model // num_heads


def given(d_model: int, num_heads: int, d_k: Size, d_v: Size) -> tuple[int, int]:
    """The right sizes of a head."""
    return (
        divided(d_model, num_heads) if d_k is None else d_k,
        divided(d_model, num_heads) if d_v is None else d_v,
    )


def matrices(d: int, h: int, k: int, v: int) -> float:
    return 2 * d * h * k + 2 * d * h * v


def biases(d: int, h: int, k: int, v: int) -> float:
    return 2 * h * k + h * v + d


def nothing(d: int, h: int, k: int, v: int) -> float:
    return 0


def total(
    matrices: Part = matrices,
    biases: Part = biases,
    sizes: Callable[[int, int, Size, Size], tuple[int, int]] = given,
) -> Callable[..., Any]:
    """A count from its parts, each of which may be wrong."""

    def count(
        d_model: int, num_heads: int, d_k: Size = None, d_v: Size = None, bias: bool = False
    ) -> float:
        k, v = sizes(d_model, num_heads, d_k, d_v)
        added = biases(d_model, num_heads, k, v) if bias else 0
        return matrices(d_model, num_heads, k, v) + added

    return count


def counted(*parts: Part) -> list[Callable[..., Any]]:
    """Wrong counts of the matrices, with right biases."""
    return [total(matrices=part) for part in parts]


def biased(*parts: Part) -> list[Callable[..., Any]]:
    """Wrong counts of the biases, with right matrices."""
    return [total(biases=part) for part in parts]


def sized(*sizes: Callable[[int, int, Size, Size], tuple[Any, Any]]) -> list[Callable[..., Any]]:
    """Right counts of heads of the wrong size."""
    return [total(sizes=each) for each in sizes]


def keys_first(d: int, h: int, k: Size, v: Size) -> tuple[int, int]:
    k = divided(d, h) if k is None else k
    return k, k if v is None else v


def values_first(d: int, h: int, k: Size, v: Size) -> tuple[int, int]:
    v = divided(d, h) if v is None else v
    return v if k is None else k, v


def floored(d: int, h: int, k: Size, v: Size) -> tuple[int, int]:
    """Nothing is refused."""
    return d // h if k is None else k, d // h if v is None else v


def unsized(d: int, h: int, k: Size, v: Size) -> tuple[int, int]:
    return 0, 0


def refusing(*errors: Exception) -> list[Callable[..., Any]]:
    """Counts that refuse whatever num_heads does not divide, even where both sizes are given."""

    def refuse(error: Exception) -> Callable[..., Any]:
        def count(d: int, h: int, k: Size = None, v: Size = None, bias: bool = False) -> float:
            if d % h:
                raise error
            return float(total()(d, h, k, v, bias))

        return count

    return [refuse(error) for error in errors]


def always_biased(d: int, h: int, k: Size = None, v: Size = None, bias: bool = False) -> float:
    return float(total()(d, h, k, v, True))


def whole(mistakes: tuple[Mistake, ...]) -> tuple[Mistake, ...]:
    """The same mistakes, each with a whole number for a result, and with a float.

    Of a float that is wrong besides, it is said first that it is one.
    """

    def into(kind: Callable[[float], Any], count: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *sizes: kind(count(*sizes))

    return tuple(
        made
        for m in mistakes
        for made in (
            replace(m, implementation=into(int, m.implementation)),
            m
            if m.id == "fraction-of-a-number"
            else Mistake("float-not-int", FLOAT, NO_FLOAT, into(float, m.implementation)),
        )
    )
