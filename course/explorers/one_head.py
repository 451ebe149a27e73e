"""Lesson 01: one query, dragged in the plane; scores, weights and the mix follow."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from course.attention.one_head import attention as reference_attention
from course.attention.one_head import dot_product_scores
from course.explorers.accessibility import button, dropdown, number_field, toggles
from course.explorers.canvas import Canvas, Grid, Pane, Plane, as_numpy
from course.explorers.geometry import outline_of
from course.explorers.panel import Panel, row
from course.explorers.sentences import CHINESE, ENGLISH, SCALES, Sentence
from course.explorers.words import pair, signed

LIMIT = 2.5
FROM_ATTENTION = ("keys.sizes", "weights", "values.sizes", "values.mark")
Array = NDArray[np.float64]
Attention = Callable[[Array, Array, Array], tuple[ArrayLike, ArrayLike]]


def explore_one_head(
    words: Sequence[str] | None = None,
    keys: ArrayLike | None = None,
    values: ArrayLike | None = None,
    queries: ArrayLike | None = None,
    attention: Attention = reference_attention,
) -> Panel:
    """A query to drag, or to type, and the attention of one head that follows from it.

    Without arguments it shows the running sentence, in English or Chinese, with vectors
    chosen by hand (see `course.explorers.sentences`): the query of "it" finds "cat".

    Your own: `words` (n of them) with `keys` (n, 2), `values` (n, 2) and `queries`
    (n, 2), the query each word starts with (its key, unless given). Numbers lie between
    −2.5 and 2.5. `attention(q, k, v)` → (output, weights) may be your own function; it
    is called with q (1, 2), k (n, 2), v (n, 2), and what it raises is shown below the
    picture. The scores shown are always the plain dot products.

    Raises ValueError when words and vectors do not fit together.
    """
    if not callable(attention):
        raise ValueError(
            f"attention is {attention!r}, and a function attention(q, k, v) is needed. "
            "Pass the function itself, without parentheses: attention=my_attention."
        )
    if words is None:
        if not (keys is None and values is None and queries is None):
            raise ValueError(
                "keys, values or queries came without words, so nothing says whose they are. "
                "Pass words=[…] as well, one for each row."
            )
        return _OneHead({"English": ENGLISH, "中文": CHINESE}, attention).panel
    return _OneHead({"": _own_sentence(words, keys, values, queries)}, attention).panel


class _OneHead:
    """The widgets of one call, and what happens when one of them is touched."""

    def __init__(self, sentences: dict[str, Sentence], attention: Attention) -> None:
        self.attention = attention
        self.sentence = next(iter(sentences.values()))
        self.following = False  # True while the code, not the learner, sets the controls
        self.canvas = Canvas(_panes(self.sentence))
        self.language = toggles("Sentence", list(sentences.items()))
        self.word = dropdown("Query word", _choices(self.sentence), self.sentence.asks)
        self.fields = [
            number_field(text, 0.0, -LIMIT, LIMIT, name=name, width=width)
            for text, name, width in (
                ("Query: first", "first number of the query", 155),
                ("second", "second number of the query", 125),
            )
        ]
        self.back = button("Reset the query")
        controls = [self.word, *self.fields, self.back]
        if len(sentences) > 1:
            controls.insert(0, self.language)
        self.panel = Panel([row(*controls), self.canvas])

        guarded = self.panel.guarded
        self.language.observe(guarded(lambda _: self.change_sentence()), "value")
        self.word.observe(guarded(lambda _: self.take_word()), "value")
        self.back.on_click(guarded(lambda _: self.take_word()))
        for field in self.fields:
            field.observe(guarded(lambda _: self.take_numbers()), "value")
        self.canvas.on_point(guarded(lambda _, x, y: self.ask(np.array([x, y]))))
        guarded(self.take_word)()

    def change_sentence(self) -> None:
        self.sentence = self.language.value
        self.canvas.change_panes(_panes(self.sentence))
        self.following = True
        self.word.options = _choices(self.sentence)
        self.word.value = self.sentence.asks
        self.following = False
        self.take_word()

    def take_word(self) -> None:
        if not self.following:
            self.ask(self.sentence.queries[self.word.value])

    def take_numbers(self) -> None:
        if not self.following:
            self.ask(np.array([field.number for field in self.fields]))

    def ask(self, query: Array) -> None:
        """Compute and show everything for this query (2,)."""
        try:
            self.show(query)
        finally:  # after the picture, which is awaited; and also when it failed
            self.following = True
            for field, number in zip(self.fields, query, strict=True):
                field.number = round(float(number), 2)
            self.following = False

    def show(self, query: Array) -> None:
        """Send the picture and its sentence."""
        sentence = self.sentence
        q = query[None]  # (1, 2): one query
        scores = dot_product_scores(q, sentence.keys)  # (1, n)
        arrays: dict[str, ArrayLike | None] = dict.fromkeys(FROM_ATTENTION)
        arrays |= {
            "keys.points": sentence.keys,
            "keys.handle": query,
            "scores": scores,
            "values.points": sentence.values,
            "values.outline": outline_of(sentence.values),
        }
        marks = {"scores": {"column": int(scores[0].argmax())}, "keys": {"point": self.word.value}}
        try:
            output, weights = _answer(self.attention, q, sentence)  # (1, 2), (1, n)
        except Exception:
            self.canvas.show(arrays, marks)  # what does not hang on the learner's function
            self.panel.say("")
            raise
        best = int(weights[0].argmax())
        marks |= {"weights": {"column": best}, "values": {"point": best}}
        arrays |= {
            "keys.sizes": weights[0],
            "weights": weights,
            "values.sizes": weights[0],
            "values.mark": output[0],
        }
        self.canvas.show(arrays, marks)
        self.panel.say(
            f"“{sentence.words[self.word.value]}” looks most at “{sentence.words[best]}”: "
            f"weight {signed(weights[0, best], 2)}. "
            f"Scores run from {signed(scores.min(), 1)} to {signed(scores.max(), 1)}. "
            f"The mix is {pair(output[0])}."
        )


def _answer(attention: Attention, q: Array, sentence: Sentence) -> tuple[Array, Array]:
    """What `attention` returns for one query, or a ValueError that says what is wrong with it."""
    answer = attention(q, sentence.keys.copy(), sentence.values.copy())
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise ValueError(
            f"Your attention returned {type(answer).__name__}, and two things are needed. "
            "End it with: return output, weights"
        )
    output, weights = (as_numpy(part) for part in answer)
    wanted = {"output": (output, (1, 2)), "weights": (weights, (1, len(sentence.words)))}
    for name, (array, shape) in wanted.items():
        if array.shape != shape:
            raise ValueError(
                f"Your attention returned {name} of shape {array.shape}; one query over "
                f"{len(sentence.words)} words gives {shape}. Compare the shapes of each step."
            )
        if not np.isfinite(array).all():
            raise ValueError(
                f"Your attention returned {name} with NaN or infinity in it. "
                "Does your softmax subtract the largest score before exp()?"
            )
    return output, weights


def _own_sentence(
    words: Sequence[str],
    keys: ArrayLike | None,
    values: ArrayLike | None,
    queries: ArrayLike | None,
) -> Sentence:
    """The learner's sentence, checked. The first word asks."""
    if isinstance(words, str):
        raise ValueError(
            "words is one string, so each letter would count as a word. "
            "Try words=text.split(), or a list."
        )
    labels = tuple(str(word) for word in words)
    if len(labels) < 2:
        raise ValueError(
            f"words has {len(labels)} entries, and attention needs something to choose from. "
            "Give at least two words."
        )
    if keys is None or values is None:
        missing = "keys" if keys is None else "values"
        raise ValueError(
            f"words came without {missing}, and every word needs a key and a value. "
            f"Pass {missing}=[[x, y], …], two numbers for each of the {len(labels)} words."
        )
    queries = keys if queries is None else queries
    vectors = {"keys": keys, "values": values, "queries": queries}
    checked = [_vectors(name, given, len(labels)) for name, given in vectors.items()]
    return Sentence(labels, checked[2], checked[0], checked[1], asks=0)


def _vectors(name: str, given: ArrayLike, count: int) -> Array:
    try:
        array = as_numpy(given)
    except (TypeError, ValueError) as problem:
        raise ValueError(
            f"{name} cannot be read as numbers ({problem}). Try a list of pairs: [[1, 0], …]."
        ) from None
    if array.shape != (count, 2):
        raise ValueError(
            f"{name} has shape {array.shape}, and {count} words in the plane need ({count}, 2). "
            "Give two numbers per word."
        )
    if not (np.abs(array) <= LIMIT).all():  # NaN fails this too
        raise ValueError(
            f"{name} holds numbers outside −{LIMIT} … {LIMIT}, which lie outside the picture. "
            f"Try dividing by a constant: {name} / np.abs({name}).max()."
        )
    return array


def _choices(sentence: Sentence) -> list[tuple[str, int]]:
    """Label and index of each word; a word that occurs twice says which one it is."""
    words = sentence.words
    return [
        (word if words.count(word) == 1 else f"{word} ({words[: i + 1].count(word)})", i)
        for i, word in enumerate(words)
    ]


def _panes(sentence: Sentence) -> list[Pane]:
    words = sentence.words
    count = len(words)
    made_here = sentence in (ENGLISH, CHINESE)
    return [
        Plane(
            "keys",
            words,
            title="Keys and the query: drag the query",
            alt=f"An arrow for each of {count} keys, and the arrow of the query. "
            "The larger a key's weight, the thicker its arrow.",
            arrows=True,
            handle="query",
            limit=LIMIT,
            x_title=SCALES[0] if made_here else "",
            y_title=SCALES[1] if made_here else "",
        ),
        Plane(
            "values",
            words,
            title="Values, and their mix",
            alt=f"A dot for each of {count} values, larger with its weight, and a diamond for "
            "the mix, which stays inside the outline around them.",
            mark="mix",
            limit=LIMIT,
        ),
        Grid(
            "scores",
            ("scores",),
            words,
            title="Scores: query · key, one number for each word",
            alt="Blue is above zero, orange below.",
            signed=True,
        ),
        Grid(
            "weights",
            ("weights",),
            words,
            title="Weights: softmax of the scores; together they make 1",
            alt="The stronger the blue, the larger the weight.",
            limits=(0.0, 1.0),
        ),
    ]
