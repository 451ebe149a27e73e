"""Attention with a projection for each head, one after the other, from replaceable steps."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from autograder.mistakes.attention_steps import products, right_scores, right_softmax
from autograder.mistakes.heads_attending import Attention, right_attention

PerHead = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
Project = Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]


def right_projections(x: Tensor, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return x @ q, x @ k, x @ v


def heads_of(
    x: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    project: Project = right_projections,
    attend: Attention = right_attention,
) -> list[Tensor]:
    """The output of each head, (batch, n, d_v)."""
    return [attend(*project(x, q, k, v)) for q, k, v in zip(w_q, w_k, w_v, strict=True)]


def attending(attend: Attention) -> PerHead:
    """Right, but every head attends like this."""
    return lambda x, w_q, w_k, w_v: torch.stack(heads_of(x, w_q, w_k, w_v, attend=attend), dim=1)


def projecting(project: Project) -> PerHead:
    """Right, but every head makes its queries, keys and values like this."""
    return lambda x, w_q, w_k, w_v: torch.stack(heads_of(x, w_q, w_k, w_v, project), dim=1)


def joining(join: Callable[[list[Tensor]], object]) -> Callable[..., object]:
    """Right, but the heads are put together like this."""
    return lambda x, w_q, w_k, w_v: join(heads_of(x, w_q, w_k, w_v))


def choosing(q: Sequence[int] | None, k: Sequence[int] | None, v: Sequence[int] | None) -> PerHead:
    """Right, but for these projections only these heads are used, again and again."""

    def some(w: Tensor, which: Sequence[int] | None) -> Tensor:
        if which is None:
            return w
        return torch.stack([w[which[i % len(which)]] for i in range(len(w))])

    right = projecting(right_projections)
    return lambda x, w_q, w_k, w_v: right(x, some(w_q, q), some(w_k, k), some(w_v, v))


def chained(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    heads = []
    for q, k, v in zip(w_q, w_k, w_v, strict=True):
        x = right_attention(x @ q, x @ k, x @ v)
        heads.append(x)
    return torch.stack(heads, dim=1)


def sliced(
    rows: Callable[[Tensor, int, int], Tensor],
) -> PerHead:
    """Head i sees the i-th slice of x, projected by some rows of its projections."""

    def attend(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
        size = x.shape[-1] // len(w_q)
        heads = []
        for i in range(len(w_q)):
            part = x[..., i * size : (i + 1) * size]
            w = (rows(each[i], i, size) for each in (w_q, w_k, w_v))
            heads.append(right_attention(*(part @ each for each in w)))
        return torch.stack(heads, dim=1)

    return attend


def batch_for_heads(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    pairs = range(len(x))
    return torch.stack(
        [right_attention(x[i] @ w_q[i], x[i] @ w_k[i], x[i] @ w_v[i]) for i in pairs]
    )


def counted(count: Callable[[Tensor], int]) -> PerHead:
    """Every head is right; how many there are is read off x."""

    def attend(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
        every = range(count(x))
        return torch.stack(
            [right_attention(x @ w_q[i], x @ w_k[i], x @ w_v[i]) for i in every], dim=1
        )

    return attend


as_many_as_sentences = counted(len)
as_many_as_words = counted(lambda x: x.shape[1])


def zipped_batch(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    parts = zip(x, w_q, w_k, w_v, strict=False)
    return torch.stack([right_attention(s @ q, s @ k, s @ v) for s, q, k, v in parts])


def broadcast(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    return right_attention(x @ w_q, x @ w_k, x @ w_v)


def room_for_keys(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    heads = x.new_zeros(len(x), len(w_q), x.shape[1], w_q.shape[-1])
    for i, head in enumerate(heads_of(x, w_q, w_k, w_v)):
        heads[:, i] = head
    return heads


def over_heads_of_words(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    q, k, v = (torch.einsum("bnm,hmd->bnhd", x, w) for w in (w_q, w_k, w_v))
    return right_attention(q, k, v)  # (batch, n, heads, d_v)


def stacked_shape(heads: Sequence[Tensor]) -> tuple[int, ...]:
    batch, n, d_v = heads[0].shape
    return batch, len(heads), n, d_v


def over_heads(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    q, k, v = (x.unsqueeze(1) @ w for w in (w_q, w_k, w_v))
    return torch.softmax(right_scores(q, k), dim=1) @ v


def averaged_weights(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    q, k, v = (x.unsqueeze(1) @ w for w in (w_q, w_k, w_v))
    return right_softmax(right_scores(q, k)).mean(dim=1, keepdim=True) @ v


def scaled_by_model_size(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    q, k, v = (x.unsqueeze(1) @ w for w in (w_q, w_k, w_v))
    return right_softmax(products(q, k) / math.sqrt(x.shape[-1])) @ v


def scaled_by_all_heads(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    q, k, v = (x.unsqueeze(1) @ w for w in (w_q, w_k, w_v))
    return right_softmax(products(q, k) / math.sqrt(len(w_q) * w_q.shape[-1])) @ v


def scaled_by_shared_size(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    q, k, v = (x.unsqueeze(1) @ w for w in (w_q, w_k, w_v))
    size = max(x.shape[-1] // len(w_q), 1)
    return right_softmax(products(q, k) / math.sqrt(size)) @ v


def residual(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    heads = torch.stack(heads_of(x, w_q, w_k, w_v), dim=1)
    return heads + x.unsqueeze(1) if heads.shape[-1] == x.shape[-1] else heads
