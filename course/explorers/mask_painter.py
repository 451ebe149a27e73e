"""Lesson 05: a mask to paint, and the weights that follow, computed rightly and in wrong ways."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from course.attention.functional import causal_mask, padding_mask
from course.attention.functional import masked_softmax as reference_softmax
from course.explorers.accessibility import button, slider, toggles
from course.explorers.canvas import Canvas, Cell, Grid
from course.explorers.panel import Panel, row
from course.explorers.sentences import ENGLISH
from course.explorers.words import pair

WORDS = ENGLISH.words
N = len(WORDS)
OPEN, CAUSAL = 0, 1

MaskedSoftmax = Callable[[Tensor, Tensor], Tensor]


def paint_mask(masked_softmax: MaskedSoftmax = reference_softmax) -> Panel:
    """A mask to paint, cell by cell or from a rule, and beside it the weights under that mask.

    The queries and keys are those of the running sentence, chosen by hand. `masked_softmax(scores,
    mask)` → weights may be your own function, for scores (12, 12) and a boolean mask of that shape,
    True where a word may attend; what it raises is shown below the picture.
    """
    if not callable(masked_softmax):
        raise ValueError(
            f"masked_softmax is {masked_softmax!r}, and a function masked_softmax(scores, mask) is "
            "needed. Pass the function itself, without parentheses."
        )
    return _MaskPainter(masked_softmax).panel


def zero_before_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Wrong: a score of 0 is a score like any other, and gets a weight."""
    return torch.softmax(scores.masked_fill(~mask, 0.0), dim=-1)


def zero_after_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Wrong: the softmax has already shared out 1 among all words, closed ones included."""
    return torch.softmax(scores, dim=-1).masked_fill(~mask, 0.0)


def rule(causal: bool, length: int, window: int) -> Tensor:
    """The mask (n, n) in which a cell is open that no rule closes.

    causal: not ahead of oneself; length: not the words from this place on, which count as padding;
    window: not as far away as this, in either direction.
    """
    places = torch.arange(N)
    near = (places[:, None] - places).abs() < window
    mask = near & padding_mask(torch.tensor([length]), N)[0, 0]  # (n, n) & (1, n)
    return mask & causal_mask(N) if causal else mask


@dataclass(frozen=True)
class Method:
    """A way of keeping closed words out: its name, its function, and what came of it in a row."""

    name: str
    weights: MaskedSoftmax
    remark: Callable[[Tensor, Tensor], str]


def methods(masked_softmax: MaskedSoftmax) -> list[Method]:
    """The right way, and the two wrong ones to set beside it."""

    def nothing(weights: Tensor, mask: Tensor) -> str:
        return ""

    def leak(weights: Tensor, mask: Tensor) -> str:
        closed = weights[~mask].sum().item()
        return f", of which {closed:.2f} lies on words that it may not see" if closed else ""

    def missing(weights: Tensor, mask: Tensor) -> str:
        lost = 1 - weights.sum().item()
        return f"; the missing {lost:.2f} went to words that it may not see" if lost > 5e-3 else ""

    return [
        Method("−∞, then softmax", masked_softmax, nothing),
        Method("0, then softmax", zero_before_softmax, leak),
        Method("softmax, then 0", zero_after_softmax, missing),
    ]


class _MaskPainter:
    """The widgets of one call, and what happens when one of them is touched."""

    def __init__(self, masked_softmax: MaskedSoftmax) -> None:
        queries, keys = (
            torch.tensor(vectors, dtype=torch.float32)
            for vectors in (ENGLISH.queries, ENGLISH.keys)
        )
        self.scores = queries @ keys.T / math.sqrt(queries.shape[-1])  # (n, n)
        self.values = torch.tensor(ENGLISH.values, dtype=torch.float32)  # (n, 2)
        self.row = ENGLISH.asks
        self.opening = False  # what a stroke of the brush does to the cells that it meets
        self.following = False  # True while the code, not the learner, sets the controls

        self.ahead = toggles("Causal", [("off", OPEN), ("on", CAUSAL)])
        self.length = slider("Real words", 0, N, N, name="Real words; those after them are padding")
        self.window = slider("Window", 1, N, N, name="Window: how many words, counting itself")
        self.clear = button("Open every cell")
        choices = [(method.name, method) for method in methods(masked_softmax)]
        self.method = toggles("Closed cells", choices, name="How closed cells are kept out")
        self.canvas = Canvas(_panes())
        controls = (self.ahead, self.length, self.window, self.clear, self.method)
        self.panel = Panel([row(*controls), self.canvas])

        guarded = self.panel.guarded
        for control in (self.ahead, self.length, self.window):
            control.observe(guarded(lambda _: self.take_rule()), "value")
        self.clear.on_click(guarded(lambda _: self.open_all()))
        self.method.observe(guarded(lambda _: self.show()), "value")
        self.canvas.on_press(guarded(self.paint))
        self.canvas.on_cell(guarded(self.look))
        guarded(self.take_rule)()

    def take_rule(self) -> None:
        """Start afresh from the mask that the three controls make."""
        if not self.following:
            causal = self.ahead.value == CAUSAL
            self.mask = rule(causal, self.length.value, self.window.value)
            self.show()

    def open_all(self) -> None:
        self.following = True
        self.ahead.value, self.length.value, self.window.value = OPEN, N, N
        self.following = False
        self.take_rule()

    def look(self, cell: Cell) -> None:
        """The learner went to this cell: speak of its row."""
        if cell.row != self.row:
            self.row = cell.row
            self.show()

    def paint(self, cell: Cell) -> None:
        """Change a cell of the mask; a stroke goes on with what it did to its first cell."""
        if cell.pane != "mask":
            return
        if not cell.dragged:
            self.opening = not self.mask[cell.row, cell.column]
        self.mask[cell.row, cell.column] = self.opening
        self.row = cell.row
        done = "now see" if self.opening else "no longer see"
        self.show(f"“{WORDS[cell.row]}” may {done} “{WORDS[cell.column]}”. ")

    def show(self, change: str = "") -> None:
        """Send both maps and their sentence, which begins with what has changed."""
        mask, method = self.mask, self.method.value
        empty = (~mask.any(dim=-1)).nonzero().flatten().tolist()
        marks = {
            "mask": {"row": self.row, "empty": empty},
            "weights": {"row": self.row, "empty": empty},
        }
        painted = {
            "mask": torch.ones(N, N).masked_fill(~mask, math.nan),
            "mask.sums": mask.sum(dim=-1)[None],  # (1, n): one head
        }
        try:
            weights = _checked(method.weights(self.scores.clone(), mask.clone()))
        except Exception:
            nothing = dict.fromkeys(("weights", "weights.closed", "weights.sums"))
            self.canvas.show(painted | nothing, marks)
            self.panel.say("")
            raise
        self.canvas.show(
            painted
            | {
                "weights": weights.masked_fill(~mask & (weights == 0), math.nan),
                "weights.closed": (~mask).float(),
                "weights.sums": weights.sum(dim=-1)[None],  # (1, n)
            },
            marks,
        )
        opened = f"{int(mask.sum())} of {N * N} cells are open"
        if empty:
            opened += f", and {len(empty)} row{'s are' if len(empty) > 1 else ' is'} empty"
        self.panel.say(f"{change}{opened}. {self.row_in_words(weights[self.row], method)}")

    def row_in_words(self, weights: Tensor, method: Method) -> str:
        """What the row that was changed or visited last looks like; weights (n,)."""
        mask, word = self.mask[self.row], WORDS[self.row]
        count = int(mask.sum())
        total = weights.sum().item()
        output = pair((weights @ self.values).tolist())  # (n,) @ (n, 2) → (2,)
        if math.isnan(total):
            return f"The weights of “{word}” are not numbers (NaN), and neither is its output."
        remark = method.remark(weights, mask)
        if count == 0 and total == 0:
            return (
                f"“{word}” may see nothing, an empty row: its weights are all 0, their sum is "
                f"0.00, and its output is {output}{remark}."
            )
        sees = f"{count} word{'' if count == 1 else 's'}" if count else "nothing"
        best = int(weights.argmax())
        return (
            f"“{word}” may see {sees}: its weights sum to {total:.2f}{remark}. The largest, "
            f"{weights[best]:.2f}, is on “{WORDS[best]}”; the output is {output}."
        )


def _checked(weights: object) -> Tensor:
    """The weights, if they are a tensor (n, n), or a ValueError that says what they are instead."""
    if not isinstance(weights, Tensor):
        raise ValueError(
            f"Your masked_softmax returned {type(weights).__name__}, and a tensor is needed. "
            "Does it end with return weights?"
        )
    if weights.shape != (N, N):
        raise ValueError(
            f"Your masked_softmax returned weights of shape {tuple(weights.shape)} for scores of "
            f"shape ({N}, {N}). Weights have the shape of the scores."
        )
    return weights.detach()


def _panes() -> list[Grid]:
    return [
        Grid(
            "mask",
            WORDS,
            WORDS,
            title="The mask: a row asks, a column is seen. Paint it",
            alt=f"{N} rows, each a word that asks, by {N} columns, each a word to be seen. An open "
            "cell is filled, a closed one is hatched. At the end of each row stands how many cells "
            "are open; an empty row has a dashed frame and the sign ∅.",
            limits=(0.0, 1.25),
            touch="paint",
            wide=False,
            plain="may attend",
            sums="open",
        ),
        Grid(
            "weights",
            WORDS,
            WORDS,
            title="The weights under this mask",
            alt="The stronger the blue, the larger the weight; closed cells without a weight are "
            "hatched, closed cells with one are framed. The sum stands at the end of each row.",
            limits=(0.0, 1.0),
            wide=False,
            sums="sum",
        ),
    ]
