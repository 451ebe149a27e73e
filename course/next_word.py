"""A tiny language for lesson 05, small enough that all of it is known.

Its 72 sentences are equally likely. So one can say which words may follow a beginning, and how
well the best possible guesser does: whoever guesses each word from the words before it, and from
nothing else, cannot get below `best_loss()` on average. In a long sentence the pronoun has to
agree with a noun that stands seven words before it.
"""

import math
from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor

NOUNS = {"cat": "it was", "dog": "it was", "cats": "they were", "dogs": "they were"}
PLACES = ("street", "river", "field", "bridge")
REASONS = ("tired", "wet", "slow", "afraid")
DEEDS = ("slept", "waited")

SENTENCES = tuple(
    [
        f"the {noun} did not cross the {place} because {pronoun} too {reason} .".split()
        for noun, pronoun in NOUNS.items()
        for place in PLACES
        for reason in REASONS
    ]
    + [f"the {noun} {deed} .".split() for noun in NOUNS for deed in DEEDS]
)
"""All sentences of the language, each a list of words; they have 4 or 13 words."""

PAD, START, END = "·", "<s>", "."
VOCABULARY = (PAD, START, *sorted({word for sentence in SENTENCES for word in sentence}))
"""Every word once; a word's number is its place here, and 0 is the padding."""

MAX_LEN = max(len(sentence) for sentence in SENTENCES)


def encode(sentences: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor, Tensor]:
    """Sentences as numbers: what a model reads, what it has to guess, and how long each is.

    Returns inputs (batch, n), which begin with <s>; targets (batch, n), at each place the next
    word of the sentence, and padding (0) where there is none; lengths (batch,). n is the length
    of the longest sentence.
    """
    number = {word: index for index, word in enumerate(VOCABULARY)}
    lengths = torch.tensor([len(sentence) for sentence in sentences])
    inputs = torch.zeros(len(sentences), int(lengths.max()), dtype=torch.long)
    targets = torch.zeros_like(inputs)
    for row, sentence in enumerate(sentences):
        numbers = torch.tensor([number[word] for word in (START, *sentence)])
        inputs[row, : len(sentence)] = numbers[:-1]
        targets[row, : len(sentence)] = numbers[1:]
    return inputs, targets, lengths


def best_loss() -> float:
    """The smallest possible mean loss per word, in nats, for a guesser that knows the language.

    The probability of a word, given the words before it, is the share of the sentences with this
    beginning that go on with it.
    """
    beginnings = Counter(
        tuple(sentence[:end]) for sentence in SENTENCES for end in range(len(sentence) + 1)
    )
    total = sum(
        -math.log(beginnings[tuple(sentence[: end + 1])] / beginnings[tuple(sentence[:end])])
        for sentence in SENTENCES
        for end in range(len(sentence))
    )
    return total / sum(len(sentence) for sentence in SENTENCES)
