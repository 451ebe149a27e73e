"""The running sentence in two languages, with two-dimensional vectors chosen by hand.

Nothing here was learned. A key says what its word offers, on two made-up scales: does
it name a thing (right), or is it a word of grammar (left); is it about something alive
(up), or lifeless (down)? The query of "it" asks for a living thing, as "too tired"
suggests, and so finds "cat". Drag it down, to a lifeless thing, and it finds "street",
as it should have if the sentence had ended in "too wide". Values are what a word hands
over: they are spread out so that one can see where a mix of them lands.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Pair = tuple[float, float]
SCALES = ("names a thing", "alive")
"""What the two numbers of a key mean here, from small to large."""


@dataclass(frozen=True, eq=False)
class Sentence:
    """n words, each with a query, a key and a value of two numbers; arrays are (n, 2)."""

    words: tuple[str, ...]
    queries: NDArray[np.float64]
    keys: NDArray[np.float64]
    values: NDArray[np.float64]
    asks: int
    """Index of the word whose query is shown first: the pronoun."""


def _sentence(asks: str, *rows: tuple[str, Pair, Pair, Pair]) -> Sentence:
    words, queries, keys, values = zip(*rows, strict=True)
    return Sentence(words, np.array(queries), np.array(keys), np.array(values), words.index(asks))


#   word          query         key           value
ENGLISH = _sentence(
    "it",
    ("The", (0.9, 0.3), (-0.8, 0.3), (-0.5, 0.6)),
    ("cat", (-0.3, 1.0), (1.6, 1.3), (1.8, 1.5)),
    ("did", (0.5, 0.8), (-1.2, 0.9), (-1.2, 1.0)),
    ("not", (-1.0, 0.5), (-1.7, 0.2), (-2.0, -0.3)),
    ("cross", (1.2, -0.8), (0.3, 1.0), (0.3, 1.9)),
    ("the", (0.9, -0.5), (-0.6, -0.4), (-0.3, -0.7)),
    ("street", (0.2, 1.0), (1.7, -1.4), (1.6, -1.7)),
    ("because", (0.3, 1.1), (-1.3, -0.9), (-1.4, -1.3)),
    ("it", (1.3, 1.2), (0.9, 0.2), (0.8, 0.2)),
    ("was", (0.8, 0.8), (-1.5, -0.4), (-1.1, -0.3)),
    ("too", (0.2, 1.3), (-0.5, -1.4), (-0.2, -1.8)),
    ("tired", (1.1, 1.0), (-0.2, 1.7), (-0.6, 1.7)),
)

CHINESE = _sentence(
    "它",
    ("小猫", (-0.3, 1.0), (1.6, 1.3), (1.8, 1.5)),
    ("没", (-1.0, 0.5), (-1.7, 0.2), (-2.0, -0.3)),
    ("穿过", (1.2, -0.8), (0.3, 1.0), (0.3, 1.9)),
    ("马路", (0.2, 1.0), (1.7, -1.4), (1.6, -1.7)),
    ("因为", (0.3, 1.1), (-1.3, -0.9), (-1.4, -1.3)),
    ("它", (1.3, 1.2), (0.9, 0.2), (0.8, 0.2)),
    ("太", (0.2, 1.3), (-0.5, -1.4), (-0.2, -1.8)),
    ("累", (1.1, 1.0), (-0.2, 1.7), (-0.6, 1.7)),
    ("了", (0.4, 0.4), (-0.8, -0.4), (-0.9, 0.4)),
)
