"""Lesson 02: what d_k does to scores, weights and gradients, with and without dividing by √d_k."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import ipywidgets
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from torch import Tensor

from course.attention.functional import attention_entropy, softmax_jacobian
from course.explorers.accessibility import button, slider, toggles
from course.explorers.chart import BLUE, FAINT, INK, ORANGE, Chart
from course.explorers.panel import Panel, row

SIZES = tuple(2**exponent for exponent in range(11))
"""The values of d_k on the slider: 1, 2, 4, … 1024."""

NUM_QUERIES, NUM_KEYS = 512, 16
OFF, ON = 0, 1

WIDEST = 100
"""The histogram goes from −100 to 100: three standard deviations at d_k = 1024."""

BINS = np.linspace(-WIDEST, WIDEST, 2 * WIDEST)  # about 1 wide, one of them around 0
WIDTH = 660
ALT = (
    f"Top left, a histogram of the scores of {NUM_QUERIES} queries with {NUM_KEYS} keys each. Top "
    f"right, the weights that one of these queries gives to its {NUM_KEYS} keys, as bars. Below, "
    "two pairs of curves over d_k, dashed without and solid with the division by √d_k, and a mark "
    "at the d_k that is set: left, the entropy of the weights; right, the trace of the softmax "
    "Jacobian. The dashed ones fall towards 0, the solid ones stay."
)


def explore_scaling() -> Panel:
    """d_k to slide and the division by √d_k to switch; scores, weights and two curves follow.

    512 queries with 16 keys each, all entries drawn independently with mean 0 and variance 1.
    The size of the softmax Jacobian is its trace: the sum over the keys of w(1 − w).
    """
    return _Scaling().panel


@dataclass(frozen=True)
class Draw:
    """What one set of random queries and keys gives; axis 0 is the division, off and on.

    scores and weights (2, sizes, queries, keys); entropy and trace (2, sizes), averages
    over the queries.
    """

    scores: Tensor
    weights: Tensor
    entropy: Tensor
    trace: Tensor


def draw(
    seed: int,
    sizes: Sequence[int] = SIZES,
    num_queries: int = NUM_QUERIES,
    num_keys: int = NUM_KEYS,
) -> Draw:
    """Draw queries and keys, and compute everything for each d_k in `sizes`, which rise.

    A larger d_k keeps the numbers of the smaller ones and adds more, so that each picture
    grows out of the one before.
    """
    generator = torch.Generator().manual_seed(seed)
    parts = []
    for start, end in zip((0, *sizes), sizes, strict=False):
        q = torch.randn(num_queries, 1, end - start, generator=generator)
        k = torch.randn(num_queries, num_keys, end - start, generator=generator)
        parts.append((q @ k.transpose(-2, -1)).squeeze(1))  # (queries, keys)
    dot_products = torch.stack(parts).cumsum(dim=0)  # (sizes, queries, keys)
    roots = torch.tensor(sizes).sqrt()[:, None, None]
    scores = torch.stack([dot_products, dot_products / roots])
    weights = torch.softmax(scores, dim=-1)
    jacobian = softmax_jacobian(weights)  # (2, sizes, queries, keys, keys)
    trace = jacobian.diagonal(dim1=-2, dim2=-1).sum(dim=-1)
    return Draw(scores, weights, attention_entropy(weights).mean(dim=-1), trace.mean(dim=-1))


class _Scaling:
    """The widgets of one call, and what happens when one of them is touched."""

    def __init__(self) -> None:
        self.seed = 0
        # The slider counts doublings, and d_k itself stands beside it.
        self.doublings = slider("d_k", 0, len(SIZES) - 1, 0, name="d_k: how often 1 is doubled")
        self.doublings.readout = False
        self.size = ipywidgets.Label(layout={"width": "4em"})
        self.divided = toggles("Divide by √d_k", [("off", OFF), ("on", ON)])
        self.again = button("Draw other numbers")
        self.chart = Chart(ALT, width=WIDTH, height=410, columns=2, rows=2)  # one is quick to send
        self.distributions, self.curves = _Distributions(self.chart), _Curves(self.chart)
        controls = row(self.doublings, self.size, self.divided, self.again)
        self.panel = Panel([controls, self.chart.image])

        guarded = self.panel.guarded
        self.doublings.observe(guarded(lambda _: self.show()), "value")
        self.divided.observe(guarded(lambda _: self.show()), "value")
        self.again.on_click(guarded(lambda _: self.draw_again()))
        guarded(self.take_draw)()

    def draw_again(self) -> None:
        self.seed += 1
        self.take_draw()

    def take_draw(self) -> None:
        self.drawn = draw(self.seed)
        self.curves.take(self.drawn)
        self.show()

    def show(self) -> None:
        """Send the picture and its sentence."""
        division, index, drawn = self.divided.value, self.doublings.value, self.drawn
        scores = drawn.scores[division, index]  # (queries, keys)
        weights = drawn.weights[division, index, 0]  # (keys,): of the first query
        entropy = drawn.entropy[division, index].item()
        trace = drawn.trace[division, index].item()
        self.distributions.show(scores, weights)
        self.curves.show(SIZES[index], entropy, trace)
        self.chart.update()
        self.size.value = str(SIZES[index])
        how = "divided by √d_k" if division == ON else "not divided"
        self.panel.say(
            f"d_k = {SIZES[index]}, scores {how}: their standard deviation is {scores.std():.1f}. "
            f"The query shown gives its largest weight, {weights.max():.2f}, to key "
            f"{int(weights.argmax()) + 1}. Over {len(scores)} queries, entropy is "
            f"{entropy:.2f} of at most {math.log(NUM_KEYS):.2f}, and the trace of the Jacobian "
            f"{trace:.2f} of at most {1 - 1 / NUM_KEYS:.2f}."
        )


class _Distributions:
    """The histogram of all scores, and the weights of one query."""

    def __init__(self, chart: Chart) -> None:
        left, right = chart.all_axes[:2]
        left.set_title("All scores: how far they spread", loc="left")
        left.set_xlabel(f"score, from −{WIDEST} to {WIDEST}")
        left.set_ylabel("count (tallest: 1)")
        left.set_xlim(-WIDEST, WIDEST)
        left.set_xticks(range(-WIDEST, WIDEST + 1, WIDEST // 2))
        left.set_ylim(0, 1.08)
        heights = np.zeros(len(BINS) - 1)
        self.histogram = chart.changing(left.stairs(heights, BINS, fill=True, color=BLUE))

        right.set_title(f"One query: its weights for {NUM_KEYS} keys", loc="left")
        right.set_xlabel("key")
        right.set_ylabel("weight")
        right.set_ylim(0, 1.08)
        keys = range(1, NUM_KEYS + 1)
        right.set_xticks(keys[::3])
        right.axhline(1 / NUM_KEYS, color=INK, linestyle=":", linewidth=1)
        right.set_xlim(0.2, NUM_KEYS + 3.5)
        right.text(NUM_KEYS + 0.8, 1 / NUM_KEYS + 0.03, "even share", fontsize=8)
        # One outline for all bars, with gaps of height 0: quicker to draw than 16 artists.
        edges = np.array([[key - 0.4, key + 0.4] for key in keys]).ravel()
        gaps = np.zeros(len(edges) - 1)
        self.bars = chart.changing(right.stairs(gaps, edges, fill=True, color=BLUE))

    def show(self, scores: Tensor, weights: Tensor) -> None:
        """Take scores of any shape and weights (keys,)."""
        counts, _ = np.histogram(scores.numpy(), BINS)
        self.histogram.set_data(counts / counts.max())
        heights = np.zeros(2 * len(weights) - 1)
        heights[::2] = weights.numpy()
        self.bars.set_data(heights)


class _Curves:
    """Entropy and trace over d_k, divided and not, with a mark at the d_k that is set."""

    def __init__(self, chart: Chart) -> None:
        self.chart = chart
        self.axes = left, right = chart.all_axes[2:]
        left.set_title("Entropy of the weights (nats)", loc="left")
        right.set_title("Trace of the softmax Jacobian", loc="left")
        highest = {left: math.log(NUM_KEYS), right: 1 - 1 / NUM_KEYS}
        self.lines = {axes: self._prepare(axes, top) for axes, top in highest.items()}
        self.marks = {axes: self._mark(axes) for axes in highest}
        right.legend(frameon=False, fontsize=9, loc="lower left")

    def _prepare(self, axes: Axes, top: float) -> list[Line2D]:
        axes.set_xscale("log", base=2)
        axes.set_xticks(SIZES[::2], [str(size) for size in SIZES[::2]])
        axes.minorticks_off()
        axes.set_xlabel("d_k")
        axes.set_ylim(0, 1.15 * top)
        axes.axhline(top, color=FAINT, linestyle=":", linewidth=1)
        axes.text(SIZES[-1], 1.02 * top, f"even weights: {top:.2f}", ha="right", fontsize=9)
        styles = {OFF: ("--", ORANGE, "not divided"), ON: ("-", BLUE, "divided by √d_k")}
        unknown = [0.0] * len(SIZES)
        return [
            axes.plot(SIZES, unknown, style, color=colour, label=label, linewidth=2)[0]
            for style, colour, label in styles.values()
        ]

    def _mark(self, axes: Axes) -> Line2D:
        (mark,) = axes.plot([1], [0], "o", color=INK, markersize=9, markerfacecolor="none", mew=2)
        return self.chart.changing(mark)

    def take(self, drawn: Draw) -> None:
        """Draw the curves of these queries and keys, at the next update."""
        for axes, values in zip(self.axes, (drawn.entropy, drawn.trace), strict=True):
            for line, curve in zip(self.lines[axes], values, strict=True):
                line.set_ydata(curve.numpy())
        self.chart.redraw_background()

    def show(self, d_k: int, entropy: float, trace: float) -> None:
        """Put the marks there."""
        for axes, value in zip(self.axes, (entropy, trace), strict=True):
            self.marks[axes].set_data([d_k], [value])
