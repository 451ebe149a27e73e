"""The views that `bench_explorers` measures: ours, and each beside it through `interact`."""

from dataclasses import dataclass, field

MADE = """
import torch
words = "The cat did not cross the street because it was too tired".split()
scores = torch.randn(8, 12, 12, generator=torch.Generator().manual_seed(0))
def weights_at(step):
    return torch.softmax(scores * step / 4, dim=-1)
"""

CANVAS = """
from course.explorers.accessibility import slider
from course.explorers.canvas import Canvas, Grid
from course.explorers.panel import Panel, row
heads = [f"head {i + 1}" for i in range(8)]
canvas = Canvas([Grid("weights", words, words, heads=heads, limits=(0, 1))])
sharpness = slider("sharpness", 0, 100)
panel = Panel([row(sharpness), canvas])
def follow(_=None):
    weights = weights_at(sharpness.value)
    canvas.show({"weights": weights})
    panel.say(f"The largest weight is {weights.max():.2f}.")
sharpness.observe(panel.guarded(follow), "value")
follow()
panel
"""

ONE_HEAD = """
from course.explorers.one_head import explore_one_head
explore_one_head()
"""

INTERACT = """
import ipywidgets
import matplotlib.pyplot as plt
def view(sharpness):
    figure, axes = plt.subplots(2, 4, figsize=(9, 5))
    for head, (ax, weights) in enumerate(zip(axes.flat, weights_at(sharpness))):
        ax.imshow(weights, vmin=0, vmax=1)
        ax.set_title(f"head {head + 1}")
    plt.show()
    print(f"The largest weight is {weights_at(sharpness).max():.2f}.")
ipywidgets.interact(view, sharpness=(0, 100));
"""

SCALING = """
from course.explorers.scaling import explore_scaling
explore_scaling()
"""

INTERACT_SCALING = """
import numpy as np
from course.explorers.scaling import BINS, SIZES, draw
drawn = draw(seed=0)
def view(doublings):
    figure, ((left, right), (below, beside)) = plt.subplots(2, 2, figsize=(6.9, 4.3))
    scores = drawn.scores[0, doublings]
    left.stairs(np.histogram(scores, BINS)[0], BINS, fill=True)
    right.bar(range(1, 17), drawn.weights[0, doublings, 0])
    for axes, curves in ((below, drawn.entropy), (beside, drawn.trace)):
        for curve in curves:
            axes.plot(SIZES, curve)
        axes.plot(SIZES[doublings], curves[0, doublings], "o")
        axes.set_xscale("log", base=2)
    plt.show()
    print(f"d_k = {SIZES[doublings]}: their standard deviation is {scores.std():.1f}.")
ipywidgets.interact(view, doublings=(0, 10));
"""

TWO_TARGETS = """
from course.explorers.two_targets import explore_two_targets
explore_two_targets()
"""

INTERACT_TWO_TARGETS = """
from course.explorers.two_targets import ALPHAS, READ_OUTS, _rows, draw, evaluate
both = draw()
moments = both.T @ both / len(both)
def view(step):
    alpha = torch.tensor([step / 20], dtype=torch.float64)
    result = evaluate(moments, alpha, "fixed")
    figure, (left, right, below) = plt.subplots(1, 3, figsize=(9, 2.4))
    left.bar(range(3), [*result.errors.tolist(), 1 - result.r_squared.item()])
    for name in READ_OUTS:
        right.plot(ALPHAS, evaluate(moments, ALPHAS[:, None], name).r_squared)
    right.plot(alpha, result.r_squared, "o")
    below.imshow(_rows(both[0], result), vmin=-2.5, vmax=2.5)
    plt.show()
    print(f"R² = {result.r_squared.item():.2f}")
ipywidgets.interact(view, step=(0, 20));
"""

HEADS = """
from course.explorers.heads import explore_heads
explore_heads(output_projection=True)
"""

INTERACT_HEADS = """
from course.explorers.heads import DIVISORS, Untrained
from course.explorers.heads_cost import Setting, costs
untrained = Untrained()
def view(step):
    heads = DIVISORS[step]
    weights = untrained.weights(heads, 48 // heads)
    figure, axes = plt.subplots(2, 8, figsize=(9, 5))
    for head, ax in enumerate(axes.flat):
        ax.set_axis_off()
        if head < heads:
            ax.imshow(weights[head], vmin=0, vmax=1)
            ax.set_title(f"head {head + 1}")
    plt.show()
    print(costs(Setting(48, heads, 48 // heads, 12), True))
ipywidgets.interact(view, step=ipywidgets.IntSlider(5, 0, 7));
"""

MASK = """
from course.explorers.mask_painter import paint_mask
paint_mask()
"""

INTERACT_MASK = """
from course.attention.functional import masked_softmax
from course.explorers.mask_painter import rule
from course.explorers.sentences import ENGLISH
scores_by_hand = torch.tensor(ENGLISH.queries @ ENGLISH.keys.T)
def view(window):
    mask = rule(False, 12, window)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.5))
    left.imshow(mask)
    right.imshow(masked_softmax(scores_by_hand, mask), vmin=0, vmax=1)
    for axes in (left, right):
        axes.set_xticks(range(12), ENGLISH.words, rotation=60)
        axes.set_yticks(range(12), ENGLISH.words)
    plt.show()
    print(f"{mask.sum()} cells are open.")
ipywidgets.interact(view, window=(1, 12));
"""

MODULE = """
from course.explorers.module_inspector import inspect_module
inspect_module()
"""

INTERACT_MODULE = """
from course.attention.module import MultiHeadAttention
def view(heads):
    module = MultiHeadAttention(8 * heads, heads)
    output, weights = module(torch.randn(1, 12, 8 * heads), need_weights=True)
    output.square().mean().backward()
    figure, axes = plt.subplots(2, 4, figsize=(9, 5))
    for ax, one in zip(axes.flat, weights[0].detach()):
        ax.imshow(one)
    plt.show()
    for name, parameter in module.named_parameters():
        print(name, tuple(parameter.shape), f"{parameter.grad.norm():.2g}")
ipywidgets.interact(view, heads=(1, 8));
"""


@dataclass
class View:
    """A cell to measure: what takes the keys, how many pictures follow, and what it took.

    name: unique. beside: the name of the same view through `interact`, or "".
    first: the key that comes first; from then on right and left take turns.
    """

    name: str
    source: str
    beside: str = ""
    target: str = "[role=slider]"
    pictures: int = 1
    first: str = "ArrowRight"
    times: list[float] = field(default_factory=list)  # ms, one per press


def views() -> list[View]:
    """All views; each one through `interact` stands right behind those it is compared with."""
    eight, query = "8 heads through interact", "canvas[data-pane=keys]"
    return [
        View("canvas, 8 heads of 12 × 12", CANVAS, eight),
        View("explore_one_head, query", ONE_HEAD, eight, query),
        View(eight, INTERACT),
        View("explore_scaling", SCALING, "scaling through interact"),
        View("scaling through interact", INTERACT_SCALING),
        View(
            "explore_two_targets",
            TWO_TARGETS,
            "targets through interact",
            pictures=2,
            first="ArrowLeft",
        ),
        View("targets through interact", INTERACT_TWO_TARGETS),
        View("explore_heads", HEADS, "heads through interact"),
        View("heads through interact", INTERACT_HEADS),
        View(
            "paint_mask, cell", MASK, "mask through interact", "canvas[data-pane=mask]", first=" "
        ),
        View("mask through interact", INTERACT_MASK),
        View("inspect_module", MODULE, "module through interact"),
        View("module through interact", INTERACT_MODULE),
    ]
