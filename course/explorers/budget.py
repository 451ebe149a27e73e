"""Lesson 04: one budget, divided among more and more heads, as in table 3(A) of the paper."""

import ipywidgets

from course.attention.functional import count_parameters, head_size
from course.explorers.accessibility import slider
from course.explorers.chart import BLUE, FAINT, INK, Chart
from course.explorers.panel import Panel, row

D_MODEL = 512
BLEU = {1: 24.9, 4: 25.5, 8: 25.8, 16: 25.8, 32: 25.4}
"""Heads → BLEU on newstest2013, English to German: Vaswani et al. 2017, table 3, base and (A)."""

HEADS = tuple(BLEU)
BASE = 8


def explore_budget() -> Panel:
    """Turn the number of heads at constant parameters, and read off the BLEU the paper reports."""
    return _Budget().panel


class _Budget:
    """The widgets of one call, and what happens when the dial is turned."""

    def __init__(self) -> None:
        name = "Number of heads, in steps"
        self.dial = slider("Number of heads", 1, len(HEADS), HEADS.index(BASE) + 1, name=name)
        self.dial.readout = False
        self.count = ipywidgets.Label(layout={"width": "3em"})
        self.chart = Chart(
            "A curve of BLEU over the number of heads, 1, 4, 8, 16 and 32. It rises to 8, stays "
            "to 16, and falls at 32. A ring marks the number that is set.",
            width=560,
            height=260,
        )
        axes = self.chart.axes
        axes.plot(HEADS, list(BLEU.values()), "o-", color=BLUE, markersize=4)
        for heads, bleu in BLEU.items():
            axes.text(heads, bleu + 0.15, f"{bleu}", ha="center", fontsize=9)
        axes.set_xscale("log", base=2)
        axes.set_xticks(HEADS, [f"{heads}\nd_k {D_MODEL // heads}" for heads in HEADS])
        axes.minorticks_off()
        axes.set_ylim(24.5, 26.2)
        axes.set_ylabel("BLEU (the axis starts at 24.5)")
        axes.set_xlabel("heads, and the d_k that is left for each")
        axes.set_title("Vaswani et al. (2017), table 3: base model and rows A", loc="left")
        axes.grid(axis="y", color=FAINT, alpha=0.3)
        (mark,) = axes.plot([BASE], [BLEU[BASE]], "o", color=INK, markersize=14, mew=2)
        mark.set_markerfacecolor("none")
        self.mark = self.chart.changing(mark)
        self.panel = Panel([row(self.dial, self.count), self.chart.image])

        show = self.panel.guarded(lambda _=None: self.show())
        self.dial.observe(show, "value")
        show()

    def show(self) -> None:
        """Move the mark, and say what it stands for."""
        heads = HEADS[self.dial.value - 1]
        d_k = head_size(D_MODEL, heads)
        self.count.value = str(heads)
        self.mark.set_data([heads], [BLEU[heads]])
        self.chart.update()
        best = max(BLEU.values())
        behind = "the best of these" if BLEU[heads] == best else f"{best - BLEU[heads]:.1f} less"
        self.panel.say(
            f"{heads} {'head' if heads == 1 else 'heads'} of d_k = {d_k}: "
            f"{count_parameters(D_MODEL, heads):,} parameters in each attention layer, as ever. "
            f"BLEU {BLEU[heads]}, {behind}."
        )
