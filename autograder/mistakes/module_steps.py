"""A right multi-head attention in small steps, each of which a mistake may replace."""

import math
from typing import Any

import torch
from torch import Tensor, nn

Module = type[nn.Module]


class Steps(nn.Module):
    """Multi-head attention whose steps are methods; subclasses replace some of them."""

    attribute_names = ("W_q", "W_k", "W_v", "W_o")

    def __init__(
        self, d_model: int, num_heads: int, dropout: float = 0.0, bias: bool = True
    ) -> None:
        super().__init__()
        self.check(d_model, num_heads)
        self.d_model, self.num_heads, self.d_k = d_model, num_heads, d_model // num_heads
        self.rate = dropout
        self.build(d_model, bias)

    def check(self, d_model: int, num_heads: int) -> None:
        if d_model % num_heads:
            raise ValueError(f"{num_heads} heads do not divide {d_model} features.")

    def build(self, d_model: int, bias: bool) -> None:
        for name in self.attribute_names:
            setattr(self, name, nn.Linear(d_model, d_model, bias=bias))

    def forward(
        self,
        query: Tensor,
        key: Any = None,
        value: Any = None,
        mask: Any = None,
        need_weights: bool = False,
    ) -> Any:
        key, value = self.defaults(query, key, value)
        q, k, v = self.project(query, key, value)
        q, k, v = self.split(q), self.split(k), self.split(v)  # (batch, heads, n, d_k)
        weights = self.weigh(self.score(q, k), mask)
        heads = self.mix(weights, q, k, v)
        output = self.leave(self.concat(heads))
        return self.answer(output, weights, need_weights)

    def defaults(self, query: Tensor, key: Any, value: Any) -> tuple[Tensor, Tensor]:
        key = query if key is None else key
        return key, key if value is None else value

    def project(self, query: Tensor, key: Tensor, value: Tensor) -> Any:
        own: Any = self
        return own.W_q(query), own.W_k(key), own.W_v(value)

    def split(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[0], x.shape[1], self.num_heads, self.d_k).transpose(1, 2)

    def concat(self, heads: Tensor) -> Tensor:
        return heads.transpose(1, 2).reshape(heads.shape[0], heads.shape[2], -1)

    def scale(self, scores: Tensor) -> Tensor:
        return scores / math.sqrt(self.d_k)

    def product(self, q: Tensor, k: Tensor) -> Tensor:
        return q @ k.transpose(-2, -1)

    def score(self, q: Tensor, k: Tensor) -> Tensor:
        return self.scale(self.product(q, k))

    def weigh(self, scores: Tensor, mask: Any) -> Tensor:
        if mask is None:
            return self.normalise(scores)
        empty = ~mask.any(dim=-1, keepdim=True)
        hidden = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
        return self.normalise(hidden).masked_fill(empty, 0.0)

    def normalise(self, scores: Tensor) -> Tensor:
        return torch.softmax(scores, dim=-1)

    def drop(self, weights: Tensor) -> Tensor:
        return nn.functional.dropout(weights, self.rate, self.training)

    def mix(self, weights: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return self.drop(weights) @ v

    def leave(self, joined: Tensor) -> Tensor:
        own: Any = self
        return own.W_o(joined)

    def answer(self, output: Tensor, weights: Tensor, need_weights: bool) -> Any:
        return (output, weights) if need_weights else output


class SelfSteps(Steps):
    """The same for self-attention alone: `forward(x)`, no masks, no dropout."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__(d_model, num_heads)

    def forward(self, x: Tensor) -> Any:  # type: ignore[override]
        return super().forward(x)


def full(**steps: Any) -> Module:
    """The complete module with some steps, or attributes, replaced."""
    return type("MultiHeadAttention", (Steps,), steps)


def small(**steps: Any) -> Module:
    """The smallest module with some steps, or attributes, replaced."""
    return type("MultiHeadSelfAttention", (SelfSteps,), steps)


def building(**layers: Any) -> dict[str, Any]:
    """Steps that build other layers.

    layers: for each name a function of (d_model, num_heads, bias), or None to leave it out.
    """

    def build(self: Any, d_model: int, bias: bool) -> None:
        Steps.build(self, d_model, bias)
        for name, make in layers.items():
            if make is None:
                delattr(self, name)
            else:
                setattr(self, name, make(d_model, self.num_heads, bias))

    return {"build": build}


# id, what happened, what to try, and the steps of each way.
Told = tuple[str, str, str, tuple[dict[str, Any], ...]]

MADE_ON_THE_CPU = "made-on-the-cpu"
ELSEWHERE = (
    "a tensor, such as a mask, is made on the CPU, or moved to a device that the code names, and "
    "meets others that may lie elsewhere."
)
MAKE_IT_THERE = (
    "make it where the inputs are, device=x.device, and move nothing in forward; for √d_k a plain "
    "number will do."
)
