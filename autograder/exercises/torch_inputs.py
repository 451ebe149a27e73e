"""What exercises in PyTorch share: their inputs as tensors, and what they may not call."""

import numpy as np
import torch
from torch import Tensor

ATTENTION_OF_PYTORCH = (
    "torch.nn.functional.scaled_dot_product_attention",
    "torch.nn.MultiheadAttention",
    "torch.nn.functional.multi_head_attention_forward",
    "torch.nn.attention.flex_attention",
)


def tensor(array: np.ndarray) -> Tensor:
    """The same numbers, shape and order in memory, as a torch tensor."""
    return torch.from_numpy(array)
