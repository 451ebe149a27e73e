"""Lesson 03: one word needs something from two others. One weight to drag, or two.

"it" shall take features 1–4 from "cat" and features 5–8 from "tired". One head has one weight α
for "cat", which leaves 1 − α for "tired", and this for all features alike. Two heads have one
each, and carry half the features each.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from course.explorers.accessibility import slider, toggles
from course.explorers.canvas import Canvas, Grid
from course.explorers.chart import BLUE, FAINT, INK, ORANGE, Chart
from course.explorers.panel import Panel, row
from course.explorers.words import signed

WORDS = ("cat", "tired")
FEATURES = 8
HALF = FEATURES // 2
NUM_SENTENCES = 100_000
FIXED, REFITTED = "fixed", "refitted"
READ_OUTS = (FIXED, REFITTED)
ALPHAS = torch.linspace(0, 1, 41, dtype=torch.float64)
ROWS = (*WORDS, "from the heads", "output", "wanted", "error")


def explore_two_targets() -> Panel:
    """One head or two, a weight α to drag for each, and a read-out that is fixed or refitted.

    The read-out is the matrix between what the heads hand on (8 numbers) and the output. Fixed,
    it passes them through as they are. Refitted, it is the best linear one for these weights, by
    least squares over all sentences, after every move.
    """
    return _TwoTargets().panel


@dataclass(frozen=True)
class Result:
    """What the weights give; all leading axes are those of the weights.

    carries (…, 16, 8): from the features of both words to what the heads hand on;
    read_out (…, 8, 8); errors (…, 2), of the features from each word, each relative to the
    variance of what is wanted; r_squared (…).
    """

    carries: Tensor
    read_out: Tensor
    errors: Tensor
    r_squared: Tensor


def draw(seed: int = 0, num_sentences: int = NUM_SENTENCES) -> Tensor:
    """Features of "cat" and "tired", all independent: (sentences, 16), cat's first."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(num_sentences, 2 * FEATURES, generator=generator, dtype=torch.float64)


def wanted_of(both: Tensor) -> Tensor:
    """Features 1–4 of "cat" and 5–8 of "tired": (…, 16) → (…, 8)."""
    return torch.cat([both[..., :HALF], both[..., -HALF:]], dim=-1)


def evaluate(moments: Tensor, alphas: Tensor, read_out: str) -> Result:
    """Errors when head i gives "cat" the weight αᵢ and "tired" the rest.

    moments (16, 16): the mean of xᵀx over the sentences. alphas (…, heads): with several heads,
    each carries its share of the features.
    """
    per_feature = alphas.repeat_interleave(FEATURES // alphas.shape[-1], dim=-1)  # (…, 8)
    to_cat, to_tired = torch.diag_embed(per_feature), torch.diag_embed(1 - per_feature)
    carries = torch.cat([to_cat, to_tired], dim=-2)  # (…, 16, 8)
    target = wanted_of(torch.eye(2 * FEATURES, dtype=moments.dtype))  # (16, 8)
    if read_out == FIXED:
        matrix = torch.eye(FEATURES, dtype=moments.dtype).expand(*alphas.shape[:-1], -1, -1)
    else:  # least squares, from the normal equations
        among, across = carries.mT @ moments @ carries, carries.mT @ moments @ target
        matrix = torch.linalg.solve(among, across)
    gap = carries @ matrix - target  # (…, 16, 8)
    squares = (gap * (moments @ gap)).sum(dim=-2).unflatten(-1, (2, HALF)).sum(dim=-1)  # (…, 2)
    variances = (target * (moments @ target)).sum(dim=-2).unflatten(-1, (2, HALF)).sum(dim=-1)
    r_squared = 1 - squares.sum(dim=-1) / variances.sum()
    return Result(carries, matrix, squares / variances, r_squared)


class _TwoTargets:
    """The widgets of one call, and what happens when one of them is touched."""

    def __init__(self) -> None:
        both = draw()
        self.sentence = both[0]  # (16,): the one that is shown
        self.moments = both.T @ both / len(both)
        self.following = False  # True while the code, not the learner, sets the controls
        self.heads = toggles("Heads", [("one", 1), ("two", 2)])
        self.read_out = toggles(
            "Read-out", [("fixed", FIXED), ("refitted after each move", REFITTED)]
        )
        self.alphas = [
            slider(
                f"α of head {head}",
                0.0,
                1.0,
                value=1.0,
                step=0.05,
                name=f"α of head {head}, its weight for cat",
            )
            for head in (1, 2)
        ]
        self.canvas = Canvas([_pane(1)])
        self.curves = _Curves(self.moments)
        controls = row(self.heads, self.read_out, *self.alphas)
        self.panel = Panel([controls, self.curves.chart.image, self.canvas])

        guarded = self.panel.guarded
        self.heads.observe(guarded(lambda _: self.change_heads()), "value")
        for control in (self.read_out, *self.alphas):
            control.observe(guarded(lambda _: self.follow()), "value")
        guarded(self.change_heads)()

    def change_heads(self) -> None:
        """A second head begins where the first one is, so that nothing changes at first."""
        count, second = self.heads.value, self.alphas[1]
        second.layout.display = None if count == 2 else "none"
        self.following = True
        second.value = self.alphas[0].value
        self.following = False
        self.canvas.change_panes([_pane(count)])
        self.show()

    def follow(self) -> None:
        if not self.following:
            self.show()

    def show(self) -> None:
        """Send both pictures and their sentence."""
        count, read_out = self.heads.value, self.read_out.value
        alphas = torch.tensor(
            [control.value for control in self.alphas[:count]], dtype=torch.float64
        )
        result = evaluate(self.moments, alphas, read_out)
        self.curves.show(alphas, read_out, result)
        self.canvas.show({"sentence": _rows(self.sentence, result)})
        self.panel.say(_sentence(alphas, read_out, result))


def _rows(sentence: Tensor, result: Result) -> Tensor:
    """What happens to the features of one sentence (16,), step by step: (6, 8)."""
    from_heads = sentence @ result.carries
    output, wanted = from_heads @ result.read_out, wanted_of(sentence)
    words = sentence.unflatten(0, (2, FEATURES))
    return torch.stack([*words, from_heads, output, wanted, output - wanted])


def _pane(num_heads: int) -> Grid:
    carried = (
        "one head carries all features",
        f"head 1 carries features 1–{HALF}, head 2 features {HALF + 1}–{FEATURES}",
    )[num_heads - 1]
    return Grid(
        "sentence",
        ROWS,
        [str(feature) for feature in range(1, FEATURES + 1)],
        title=f"One sentence, its features 1 to {FEATURES}: {carried}",
        alt=f"Rows from top to bottom: the features of cat and of tired, what the heads hand on, "
        f"the output, what is wanted (1–{HALF} from cat, the others from tired), and the error. "
        "Blue is above zero, orange below.",
        signed=True,
        limits=(-2.5, 2.5),
    )


def _sentence(alphas: Tensor, read_out: str, result: Result) -> str:
    names = ["The head"] if len(alphas) == 1 else ["Head 1", "head 2"]
    looks = ", ".join(
        f"{name} gives “cat” {signed(alpha, 2)} and “tired” {signed(1 - alpha, 2)}"
        for name, alpha in zip(names, alphas.tolist(), strict=True)
    )
    from_cat, from_tired = (signed(error, 2) for error in result.errors.tolist())
    r_squared = result.r_squared.item()
    return (
        f"{looks}; the read-out is {read_out}. Error of what should come from “cat” {from_cat}, "
        f"from “tired” {from_tired}, of all {signed(1 - r_squared, 2)}. "
        f"R² = {signed(r_squared, 2)}."
    )


class _Curves:
    """The errors as bars, and R² over α with a mark at the α that is set.

    moments (16, 16): the mean of xᵀx over the sentences.
    """

    def __init__(self, moments: Tensor) -> None:
        self.moments = moments
        self.along: dict[tuple[str, float | None], np.ndarray] = {}
        self.chart = Chart(
            "Left, three bars: the error of the features that should come from cat, of those from "
            "tired, and of all. Right, R² over the α of head 1, a curve for the fixed and one for "
            "the refitted read-out, and a mark where you are.",
            width=660,
            height=230,
            columns=2,
        )
        left, right = self.chart.all_axes
        left.set_title(f"Error over {NUM_SENTENCES:,} sentences", loc="left")
        left.set_ylabel("share of the variance")
        left.set_ylim(0, 2.1)
        left.axhline(1, color=FAINT, linestyle=":", linewidth=1)
        left.text(2.4, 1.04, "always 0", fontsize=9)
        left.set_xlim(-0.5, 3.5)
        left.set_xticks(range(3), ["from cat", "from tired", "all"])
        colours = (BLUE, ORANGE, INK)
        self.bars = self.chart.all_changing(left.bar(range(3), [0] * 3, width=0.6, color=colours))

        right.set_title("R² = 1 − error of all", loc="left")
        right.set_xlabel("α of head 1: its weight for cat")
        right.set_xlim(-0.04, 1.04)
        right.set_ylim(-1.1, 1.15)
        for level in (0.5, 1.0):
            right.axhline(level, color=FAINT, linestyle=":", linewidth=1)
        right.set_yticks([-1, -0.5, 0, 0.5, 1], ["−1", "−½", "0", "½", "1"])
        looks = {FIXED: ("-", BLUE), REFITTED: ("--", ORANGE)}
        self.lines = {
            read_out: self.chart.changing(
                right.plot(ALPHAS, 0 * ALPHAS, style, color=colour, label=f"read-out {read_out}")[0]
            )
            for read_out, (style, colour) in looks.items()
        }
        right.legend(frameon=False, fontsize=9, loc="lower center")
        self.mark = self.chart.changing(
            right.plot([0], [0], "o", color=INK, markersize=9, markerfacecolor="none", mew=2)[0]
        )

    def show(self, alphas: Tensor, read_out: str, result: Result) -> None:
        """Draw these errors, and the curves with the second head left where it is."""
        heights = [*result.errors.tolist(), 1 - result.r_squared.item()]
        for bar, height in zip(self.bars, heights, strict=True):
            bar.set_height(height)
        second = alphas[1].item() if len(alphas) > 1 else None
        for name, line in self.lines.items():
            line.set_ydata(self.r_squared_along(name, second))
            line.set_linewidth(2.5 if name == read_out else 1.2)
        self.mark.set_data([alphas[0].item()], [result.r_squared.item()])
        self.chart.update()

    def r_squared_along(self, read_out: str, second: float | None) -> np.ndarray:
        """R² for each α of head 1 (41,); found once for each α of a second head."""
        if (read_out, second) not in self.along:
            others = [] if second is None else [torch.full_like(ALPHAS, second)]
            alphas = torch.stack([ALPHAS, *others], dim=-1)  # (41, heads)
            found = evaluate(self.moments, alphas, read_out).r_squared
            self.along[read_out, second] = np.asarray(found)
        return self.along[read_out, second]
