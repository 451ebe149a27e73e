"""Mistakes of lesson 05: making masks, the softmax under a mask, attention under a mask."""

from autograder.mistakes.mask_causal import CAUSAL
from autograder.mistakes.mask_padding import PADDING
from autograder.mistakes.masked_mixing import ATTENTION
from autograder.mistakes.masked_weights import WEIGHTS

MISTAKES = {
    "causal_mask": CAUSAL,
    "padding_mask": PADDING,
    "masked_softmax": WEIGHTS,
    "masked_attention": ATTENTION,
}
