"""Multi-head attention as a PyTorch module: lesson 06, and where the staircase ends.

Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.2. With the same weights it
equals `torch.nn.MultiheadAttention(batch_first=True)` wherever a query may attend to something.
"""

import torch.nn.functional as F
from torch import Tensor, nn

from course.attention.functional import (
    concat_heads,
    head_size,
    masked_attention,
    scaled_dot_product_attention,
    split_heads,
)


class MultiHeadSelfAttention(nn.Module):
    """The smallest module: self-attention of a sequence, without masks and dropout.

    d_model: features of the input and of the output. num_heads: must divide d_model.

    Raises ValueError when num_heads does not divide d_model.
    """

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        head_size(d_model, num_heads)
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Let every position attend to every position: x (batch, n, d_model) → same shape."""
        q = split_heads(self.W_q(x), self.num_heads)  # (batch, heads, n, d_k)
        k = split_heads(self.W_k(x), self.num_heads)  # (batch, heads, n, d_k)
        v = split_heads(self.W_v(x), self.num_heads)  # (batch, heads, n, d_k)
        heads, _ = scaled_dot_product_attention(q, k, v)  # (batch, heads, n, d_k)
        return self.W_o(concat_heads(heads))


class MultiHeadAttention(nn.Module):
    """Attend with several heads at once; self-attention and cross-attention in one signature.

    d_model: features of the inputs and of the output. num_heads: must divide d_model.
    dropout: share of the weights that is dropped, in training only. bias: whether the four
    projections have one.

    Raises ValueError when num_heads does not divide d_model.
    """

    def __init__(
        self, d_model: int, num_heads: int, dropout: float = 0.0, bias: bool = True
    ) -> None:
        super().__init__()
        head_size(d_model, num_heads)
        self.num_heads = num_heads
        self.dropout = dropout
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        mask: Tensor | None = None,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend from query to key, and mix value.

        Shapes: query (batch, n_q, d_model), key and value (batch, n_k, d_model); key=None means
        query, value=None means key. mask: bool, True means "may attend", broadcastable to
        (batch, heads, n_q, n_k); a 3-D mask means (heads, n_q, n_k).

        Returns the output (batch, n_q, d_model), and with need_weights also the weights
        (batch, heads, n_q, n_k), per head and before dropout. A query that may attend to nothing
        gets zero weights and the output projection's bias.
        """
        key = query if key is None else key
        value = key if value is None else value
        q = split_heads(self.W_q(query), self.num_heads)  # (batch, heads, n_q, d_k)
        k = split_heads(self.W_k(key), self.num_heads)  # (batch, heads, n_k, d_k)
        v = split_heads(self.W_v(value), self.num_heads)  # (batch, heads, n_k, d_k)
        if need_weights:
            heads, weights = masked_attention(q, k, v, mask)
            if self.training and self.dropout:
                heads = F.dropout(weights, self.dropout) @ v
            return self.W_o(concat_heads(heads)), weights
        return self.W_o(concat_heads(self._attend(q, k, v, mask)))

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        """PyTorch's fused attention, with zero heads for queries that may attend to nothing."""
        dropout = self.dropout if self.training else 0.0
        if mask is None:
            return F.scaled_dot_product_attention(q, k, v, dropout_p=dropout)
        # Some of PyTorch's ways give NaN for an empty row, forward or backward. Such a row is
        # let see everything, and its result is thrown away.
        mask = mask if mask.ndim > 1 else mask[None]  # PyTorch takes no mask of one axis, (n_k,)
        empty = ~mask.any(dim=-1, keepdim=True)  # (…, n_q, 1)
        heads = F.scaled_dot_product_attention(q, k, v, attn_mask=mask | empty, dropout_p=dropout)
        return heads.masked_fill(empty, 0.0)

    def extra_repr(self) -> str:
        """What `print` shows beside the four projections."""
        return f"num_heads={self.num_heads}, dropout={self.dropout}"
