"""Lessons 03 and 04: how many heads of which size, and what follows for maps, shapes and cost."""

from collections.abc import Sequence
from typing import Any

import ipywidgets
import torch
from torch import Tensor

from course.attention.functional import scaled_dot_product_attention, split_heads
from course.explorers.accessibility import slider, toggles
from course.explorers.canvas import Canvas, Grid
from course.explorers.heads_cost import Setting, costs
from course.explorers.heads_pictures import cost_table, reshape_picture
from course.explorers.panel import Panel, row
from course.explorers.sentences import ENGLISH
from course.explorers.still import still_of

WORDS = ENGLISH.words
D_MODEL = 48
MOST_HEADS = 16

DIVISORS = tuple(h for h in range(1, MOST_HEADS + 1) if D_MODEL % h == 0)
"""The head counts that divide d_model: 1, 2, 3, 4, 6, 8, 12, 16."""

COUPLED, FREE = "d_model", "d_k"
COUNTS = {COUPLED: DIVISORS, FREE: tuple(range(1, MOST_HEADS + 1))}
SIZES = {
    COUPLED: tuple(D_MODEL // h for h in reversed(DIVISORS)),
    FREE: tuple(range(1, D_MODEL + 1)),
}
"""What the two sliders can be set to, per position of the switch."""

START = 4  # heads

SHARPER = 2
"""Random queries are made this many times as long, so that untrained maps show something."""


def explore_heads(output_projection: bool = False) -> Panel:
    """Head count and d_k to slide; weight maps, the reshape, and what it costs follow.

    With d_model held fixed the sliders are coupled, d_k = d_model / heads; with d_k held fixed
    each is free. The maps are those of the running sentence, with random embeddings and random
    projections: nothing in them has been trained. `output_projection`: whether W^O (lesson 04)
    counts among the parameters and FLOPs.
    """
    return _Heads(output_projection).panel


class Untrained:
    """Random embeddings of the running sentence, and random projections, always the same ones.

    The projections are wide enough for every setting, and each setting takes their first columns.
    So at fixed d_model the same q and k are only cut differently.
    """

    def __init__(self, seed: int = 0) -> None:
        generator = torch.Generator().manual_seed(seed)
        widest = MOST_HEADS * D_MODEL
        x = torch.randn(1, len(WORDS), D_MODEL, generator=generator)  # (batch, n, d_model)
        w_q, w_k = torch.randn(2, D_MODEL, widest, generator=generator) / D_MODEL**0.5
        self.q, self.k = SHARPER * x @ w_q, x @ w_k  # (batch, n, 16 · 48)

    def weights(self, num_heads: int, d_k: int) -> Tensor:
        """The weight maps (num_heads, n, n)."""
        width = num_heads * d_k
        q = split_heads(self.q[..., :width], num_heads)  # (batch, num_heads, n, d_k)
        k = split_heads(self.k[..., :width], num_heads)  # (batch, num_heads, n, d_k)
        _, weights = scaled_dot_product_attention(q, k, k)
        return weights[0]


class _Heads:
    """The widgets of one call, and what happens when one of them is touched."""

    def __init__(self, output_projection: bool) -> None:
        self.output_projection = output_projection
        self.untrained = Untrained()
        self.following = False  # True while the code, not the learner, sets the controls
        self.fixed = toggles("Held fixed", [COUPLED, FREE])
        # The sliders count steps through what can be chosen; the number stands beside them.
        self.count = _stepper("Number of heads", COUNTS[COUPLED], START)
        self.size = _stepper("d_k", SIZES[COUPLED], D_MODEL // START)
        self.count_label, self.size_label = (
            ipywidgets.Label(layout={"width": "3em"}) for _ in range(2)
        )
        self.reshape, self.costs = ipywidgets.HTML(), ipywidgets.HTML()
        self.canvas, self.maps = Canvas([_maps(START)]), START
        controls = row(self.fixed, self.count, self.count_label, self.size, self.size_label)
        self.panel = Panel([controls, self.reshape, self.costs, self.canvas], self.still)

        guarded = self.panel.guarded
        self.fixed.observe(guarded(lambda _: self.change_mode()), "value")
        self.count.observe(guarded(lambda _: self.follow(self.size, self.count)), "value")
        self.size.observe(guarded(lambda _: self.follow(self.count, self.size)), "value")
        guarded(self.show)()

    @property
    def setting(self) -> Setting:
        """What the sliders say."""
        mode = self.fixed.value
        num_heads, d_k = COUNTS[mode][self.count.value - 1], SIZES[mode][self.size.value - 1]
        return Setting(D_MODEL, num_heads, d_k, len(WORDS))

    def change_mode(self) -> None:
        """Couple the sliders, or free them; the heads stay as many as they can."""
        num_heads, d_k = self.before.num_heads, self.before.d_k
        mode = self.fixed.value
        if mode == COUPLED:
            num_heads = max(h for h in DIVISORS if h <= num_heads)
            d_k = D_MODEL // num_heads
        self.following = True
        _offer(self.count, COUNTS[mode], num_heads)
        _offer(self.size, SIZES[mode], d_k)
        self.following = False
        self.show()

    def follow(self, follower: Any, moved: Any) -> None:
        """Show what `moved` was set to; with d_model fixed the other slider goes the other way."""
        if self.following:
            return
        if self.fixed.value == FREE:
            self.show()
            return
        with follower.hold_sync():  # told to the browser after the picture, which is awaited
            self.following = True
            follower.value = len(DIVISORS) + 1 - moved.value
            self.following = False
            self.show()

    def show(self) -> None:
        """Send the maps, the two pictures and the sentence."""
        setting, coupled = self.setting, self.fixed.value == COUPLED
        self.before = setting
        weights = self.untrained.weights(setting.num_heads, setting.d_k)  # (heads, n, n)
        marks = {"weights": {"row": ENGLISH.asks}}
        with self.canvas.hold_sync():  # one message, also when the maps become more or fewer
            if setting.num_heads != self.maps:
                self.canvas.change_panes([_maps(setting.num_heads)])
                self.maps = setting.num_heads
            self.canvas.show({"weights": weights}, marks)
        self.count_label.value, self.size_label.value = str(setting.num_heads), str(setting.d_k)
        self.reshape.value = reshape_picture(setting, coupled, ENGLISH.asks)
        choices = COUNTS[self.fixed.value]
        self.costs.value = cost_table(setting, coupled, choices, self.output_projection)
        self.panel.say(self.sentence(setting, weights))

    def sentence(self, setting: Setting, weights: Tensor) -> str:
        """What the picture shows, in numbers."""
        cost = costs(setting, self.output_projection)
        asking = weights[:, ENGLISH.asks]  # (heads, n)
        found = asking.argmax(dim=-1)  # (heads,): where each head looks most
        words = len(found.unique())
        return (
            f"{_counted(setting.num_heads, 'head')} of d_k = {setting.d_k}: {setting.width} "
            f"numbers per word, d_model = {setting.d_model}. {cost.parameters:,} parameters, "
            f"{cost.flops:,} FLOPs, {cost.map_bytes:,} bytes of maps. Untrained: all heads "
            f"together look from “{WORDS[ENGLISH.asks]}” most at {_counted(words, 'word')}, "
            f"head 1 at “{WORDS[found[0]]}” with weight {asking[0].max():.2f}."
        )

    def still(self) -> str:
        """All of it as HTML, where widgets do not run."""
        return self.reshape.value + self.costs.value + still_of([self.canvas])


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _stepper(description: str, choices: Sequence[int], value: int) -> Any:
    """A slider that counts, from 1, through `choices`."""
    steps = slider(
        description, 1, len(choices), choices.index(value) + 1, name=f"{description}, in steps"
    )
    steps.readout = False
    steps.layout.width = "250px"
    return steps


def _offer(steps: Any, choices: Sequence[int], value: int) -> None:
    """Let a stepper count through other choices."""
    with steps.hold_sync():
        steps.max = max(steps.max, len(choices))
        steps.value = choices.index(value) + 1
        steps.max = len(choices)


def _maps(num_heads: int) -> Grid:
    return Grid(
        "weights",
        WORDS,
        WORDS,
        title="Weights of each head: a row for each query, a column for each key (untrained)",
        alt=f"{num_heads} maps of {len(WORDS)} × {len(WORDS)} weights. The stronger the blue, "
        "the larger the weight. The row of “it” is framed.",
        heads=tuple(f"head {i + 1}" for i in range(num_heads)),
        limits=(0.0, 1.0),
    )
