"""Mistakes of lesson 03: heads split, joined, packed, and attending."""

from autograder.mistakes.heads_joining import CONCAT
from autograder.mistakes.heads_looping import PER_HEAD
from autograder.mistakes.heads_packed import MULTI_HEAD
from autograder.mistakes.heads_packing import PACK
from autograder.mistakes.heads_splitting import SPLIT

MISTAKES = {
    "split_heads": SPLIT,
    "concat_heads": CONCAT,
    "per_head_attention": PER_HEAD,
    "pack_projections": PACK,
    "multi_head_attention": MULTI_HEAD,
}
