import math
import re
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from course.attention.functional import causal_mask, masked_softmax
from course.explorers.accessibility import names_of
from course.explorers.canvas import Canvas
from course.explorers.mask_painter import (
    CAUSAL,
    WORDS,
    N,
    paint_mask,
    rule,
    zero_after_softmax,
    zero_before_softmax,
)
from course.explorers.panel import Panel
from course.explorers.sentences import ENGLISH
from course.next_word import MAX_LEN, SENTENCES, VOCABULARY, best_loss, encode
from tests.course.test_explorers import part, sent

IT, CAT, TIRED = WORDS.index("it"), WORDS.index("cat"), WORDS.index("tired")
SCORES = torch.tensor(ENGLISH.queries).float() @ torch.tensor(ENGLISH.keys).float().T / math.sqrt(2)


class Controls:
    """The controls of a panel, as a learner finds them."""

    def __init__(self, panel: Panel) -> None:
        controls, self.canvas = panel.children[:-1]
        self.causal, self.length, self.window, self.clear, self.method = controls.children
        self.panel = panel

    def press(self, row: int, column: int, dragged: bool = False, pane: str = "mask") -> None:
        """What the browser does when a cell is clicked, or reached while drawing."""
        cell = {"pane": pane, "head": 0, "row": row, "column": column}
        self.canvas.cursor = cell
        self.canvas._handle_custom_msg({"kind": "press", "dragged": dragged} | cell, [])

    def choose(self, name: str) -> None:
        self.method.value = dict(self.method.options)[name]

    def mask(self) -> Tensor:
        """The mask that is shown."""
        return torch.tensor(~np.isnan(sent(self.canvas)["mask"][0]))

    def weights(self) -> Tensor:
        return torch.tensor(sent(self.canvas)["weights"][0]).nan_to_num(0.0)

    @property
    def sentence(self) -> str:
        return self.panel.voice.sentence


@pytest.fixture
def controls() -> Controls:
    return Controls(paint_mask())


# The rules


def test_the_three_rules_and_all_of_them_together() -> None:
    everything = torch.ones(N, N, dtype=torch.bool)
    assert torch.equal(rule(False, N, N), everything)
    assert torch.equal(rule(True, N, N), causal_mask(N))
    padded = rule(False, 8, N)
    assert padded[:, :8].all() and not padded[:, 8:].any()
    assert rule(False, N, 1).equal(torch.eye(N, dtype=torch.bool))
    together = rule(True, 8, 3)
    for i in range(N):
        for j in range(N):
            assert together[i, j] == (j <= i and j < 8 and i - j < 3)


def test_the_wrong_ways_are_wrong_as_they_should_be() -> None:
    mask = causal_mask(N)
    assert (zero_before_softmax(SCORES, mask)[~mask] > 0).all()
    after = zero_after_softmax(SCORES, mask)
    assert (after[~mask] == 0).all()
    assert (after.sum(dim=-1)[:-1] < 0.999).all()


# The picture and its sentence


def test_it_starts_open_and_the_rules_close(controls: Controls) -> None:
    assert controls.mask().all()
    assert controls.sentence.startswith("144 of 144 cells are open. “it” may see 12 words")
    controls.causal.value = CAUSAL
    assert torch.equal(controls.mask(), causal_mask(N))
    assert "78 of 144 cells are open. “it” may see 9 words: its weights sum to 1.00." in (
        controls.sentence
    )
    controls.length.value = 8
    controls.window.value = 4
    assert torch.equal(controls.mask(), rule(True, 8, 4))
    controls.clear.click()
    assert (controls.causal.value, controls.length.value, controls.window.value) == (0, N, N)
    assert controls.mask().all()
    assert controls.panel.voice.error == ""


def test_the_weights_are_those_of_masked_softmax(controls: Controls) -> None:
    controls.causal.value = CAUSAL
    controls.press(IT, CAT)
    mask = causal_mask(N)
    mask[IT, CAT] = False
    assert torch.equal(controls.mask(), mask)
    assert torch.allclose(controls.weights(), masked_softmax(SCORES, mask), atol=1e-6)
    arrays = sent(controls.canvas)
    assert np.array_equal(np.isnan(arrays["weights"][0]), ~mask.numpy())  # closed: hatched
    assert np.array_equal(arrays["weights.closed"][0], ~mask.numpy())
    assert np.allclose(arrays["weights.sums"], 1)
    assert arrays["mask.sums"][0].tolist() == mask.sum(dim=-1).tolist()
    assert controls.sentence.startswith("“it” may no longer see “cat”. 77 of 144 cells are open.")
    assert controls.canvas.marks["weights"]["row"] == IT


def test_a_stroke_goes_on_with_what_it_began(controls: Controls) -> None:
    controls.press(0, 3)
    controls.press(0, 4, dragged=True)
    controls.press(0, 5, dragged=True)
    assert controls.mask()[0].tolist() == [j not in (3, 4, 5) for j in range(N)]
    controls.press(0, 4)  # opens, and so does the rest of this stroke
    controls.press(0, 3, dragged=True)
    controls.press(0, 2, dragged=True)
    assert controls.mask()[0].tolist() == [j != 5 for j in range(N)]
    assert controls.sentence.startswith("“The” may now see “did”.")


def test_a_press_on_the_weights_looks_and_does_not_paint(controls: Controls) -> None:
    controls.press(CAT, TIRED, pane="weights")
    assert controls.mask().all()
    assert "“cat” may see 12 words" in controls.sentence


def test_an_empty_row_is_marked_and_explained(controls: Controls) -> None:
    controls.causal.value = CAUSAL
    controls.press(0, 0)
    assert controls.canvas.marks["weights"]["empty"] == [0]
    assert controls.canvas.marks["mask"]["empty"] == [0]
    assert "77 of 144 cells are open, and 1 row is empty." in controls.sentence
    assert (
        "“The” may see nothing, an empty row: its weights are all 0, their sum is 0.00, and its "
        "output is (0.0, 0.0)." in controls.sentence
    )
    assert sent(controls.canvas)["weights.sums"][0, 0] == 0
    controls.length.value = 0
    assert "0 of 144 cells are open, and 12 rows are empty." in controls.sentence
    controls.choose("0, then softmax")
    assert "“The” may see nothing: its weights sum to 1.00, of which 1.00 lies" in controls.sentence


def test_the_wrong_ways_show_the_leak(controls: Controls) -> None:
    controls.causal.value = CAUSAL
    mask = causal_mask(N)
    controls.choose("0, then softmax")
    wrong = zero_before_softmax(SCORES, mask)
    assert torch.allclose(controls.weights(), wrong, atol=1e-6)
    assert not np.isnan(sent(controls.canvas)["weights"]).any()  # nothing hatched: all have weight
    leak = wrong[IT][~mask[IT]].sum()
    assert f"of which {leak:.2f} lies on words that it may not see" in controls.sentence

    controls.choose("softmax, then 0")
    total = zero_after_softmax(SCORES, mask)[IT].sum()
    assert (
        f"weights sum to {total:.2f}; the missing {1 - total:.2f} went to words"
        in controls.sentence
    )
    assert sent(controls.canvas)["weights.sums"][0, IT] == pytest.approx(total.item(), abs=1e-6)
    controls.clear.click()
    assert "missing" not in controls.sentence
    assert controls.panel.voice.error == ""


# One's own function


def test_ones_own_function_is_shown_with_its_nan() -> None:
    def without_care(scores: Tensor, mask: Tensor) -> Tensor:
        return torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)

    controls = Controls(paint_mask(without_care))
    controls.length.value = 0
    assert "The weights of “it” are not numbers (NaN)" in controls.sentence
    assert np.isnan(sent(controls.canvas)["weights.sums"]).all()


def test_ones_own_function_cannot_change_what_is_shown() -> None:
    def spoils(scores: Tensor, mask: Tensor) -> Tensor:
        mask[:] = True
        return masked_softmax(scores.zero_(), mask)

    controls = Controls(paint_mask(spoils))
    controls.causal.value = CAUSAL
    assert torch.equal(controls.mask(), causal_mask(N))


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda scores, mask: None, "returned NoneType"),
        (lambda scores, mask: scores[0], r"weights of shape \(12,\)"),
        (lambda scores, mask: 1 / 0, "ZeroDivisionError: division by zero"),
    ],
)
def test_what_is_wrong_with_a_function_stands_in_the_panel(function: Any, says: str) -> None:
    panel = paint_mask(function)
    assert re.search(says, panel.voice.error)
    assert panel.voice.sentence == ""
    arrays = sent(part(panel, Canvas))
    assert "mask" in arrays and "weights" not in arrays


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(ValueError, match="without parentheses"):
        paint_mask(torch.ones(N, N))  # type: ignore[arg-type]


# The frame


def test_every_control_has_a_name_and_there_is_a_still(controls: Controls) -> None:
    names = [entry["name"] for entry in names_of(controls.panel.children)]
    assert names == [
        "Causal",
        "Real words; those after them are padding",
        "Window: how many words, counting itself",
        "Open every cell",
        "How closed cells are kept out",
    ]
    still = controls.panel._repr_mimebundle_()["text/html"]
    assert still.count("<svg") == 2
    assert "144 of 144 cells are open" in still


# The language of the lesson


def test_the_language_agrees_and_every_sentence_is_there_once() -> None:
    assert len(SENTENCES) == len({tuple(sentence) for sentence in SENTENCES}) == 72
    for sentence in SENTENCES:
        noun, plural = sentence[1], sentence[1].endswith("s")
        assert noun in ("cat", "cats", "dog", "dogs")
        if len(sentence) == MAX_LEN:
            assert sentence[8:10] == (["they", "were"] if plural else ["it", "was"])


def test_encoding_shifts_by_one_and_pads() -> None:
    inputs, targets, lengths = encode([SENTENCES[0], SENTENCES[-1]])
    assert inputs.shape == targets.shape == (2, 13)
    assert lengths.tolist() == [13, 4]
    assert torch.equal(inputs[0, 1:], targets[0, :-1])
    assert [VOCABULARY[i] for i in inputs[1, :5]] == ["<s>", "the", "dogs", "waited", "·"]
    assert [VOCABULARY[i] for i in targets[1, :5]] == ["the", "dogs", "waited", ".", "·"]


def test_the_smallest_loss_is_the_entropy_per_word() -> None:
    # All sentences are equally likely, and each word's surprise adds up to that of its sentence.
    assert best_loss() == pytest.approx(72 * math.log(72) / sum(len(s) for s in SENTENCES))
