"""From key press to new picture: our explorers beside `ipywidgets.interact`, in one run.

    python -m tests.bench.bench_explorers

The views follow a slider in a real JupyterLab: 8 heads of 12 × 12 on our canvas, and the
curves and histograms of lesson 02 in two kept pictures; beside each stands the same view
through `interact` with a new matplotlib figure. Presses alternate between all of them, so
that a busy moment of the machine meets all. A press ends when the canvas has painted the
new numbers, or all new images have been loaded. The figure of 8 heads is let off the word
labels, which alone would triple its time.
"""

import argparse
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles

import nbformat
from playwright.sync_api import Page, sync_playwright

from tests.browser.conftest import CHROMIUM_ARGUMENTS
from tests.browser.lab import Lab
from tests.browser.notebook import Notebook

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

# Notes when a key goes down, and when the last of the new pictures stands.
WATCH = """element => {
  const clock = window.manyHeadsClock = { down: 0, ended: 0, left: 0 };
  const end = () => {
    if (clock.down && --clock.left === 0) clock.ended = performance.now();
  };
  document.addEventListener('keydown', () => {
    clock.down = performance.now();
    clock.ended = 0;
  }, true);
  const follow = images => images.forEach(image => {
    if (image.complete && image.naturalWidth) end();
    else image.addEventListener('load', end, { once: true });
  });
  new MutationObserver(changes => {
    for (const change of changes) {
      if (change.type === 'attributes') {
        if (change.attributeName === 'data-painted') end();
        else follow([change.target]);
      }
      for (const node of change.addedNodes)
        if (node.querySelectorAll) follow([...(node.matches('img') ? [node] : []),
                                           ...node.querySelectorAll('img')]);
    }
  }).observe(element, {
    subtree: true, childList: true, attributes: true, attributeFilter: ['data-painted', 'src'],
  });
}"""


@dataclass
class View:
    """A cell to measure: what takes the keys, how many pictures follow, and what it took."""

    name: str
    source: str
    target: str = "[role=slider]"
    pictures: int = 1
    times: list[float] = field(default_factory=list)  # ms, one per press


def views() -> list[View]:
    """All views; each one through `interact` stands right behind those it is compared with."""
    return [
        View("canvas, 8 heads of 12 × 12, slider", CANVAS),
        View("explore_one_head, arrow key on the query", ONE_HEAD, "canvas[data-pane=keys]"),
        View("interact with a new figure, 8 heads", INTERACT),
        View("explore_scaling, slider", SCALING, pictures=2),
        View("interact with a new figure, the same view", INTERACT_SCALING),
    ]


def press(page: Page, view: View, index: int, key: str) -> float:
    """Press a key on an element of a cell's output; milliseconds until the new picture."""
    page.locator(".jp-Notebook .jp-Cell").nth(index).locator(view.target).first.focus()
    page.wait_for_timeout(120)  # let the repainting for the focus pass
    page.evaluate("left => Object.assign(window.manyHeadsClock, { down: 0, left })", view.pictures)
    page.keyboard.press(key)
    page.wait_for_function("window.manyHeadsClock.ended > 0", timeout=20_000)
    taken: float = page.evaluate("window.manyHeadsClock.ended - window.manyHeadsClock.down")
    page.wait_for_timeout(60)
    return taken


def measure(presses: int) -> list[View]:
    """The views, with what each press took."""
    home = Path(tempfile.mkdtemp())
    lab = Lab(home=home, root=home / "root")
    lab.root.mkdir()
    measured = views()
    sources = [MADE, *(view.source for view in measured)]
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), lab.root / "bench.ipynb")
    try:
        lab.start()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=CHROMIUM_ARGUMENTS
            )
            page = browser.new_page(viewport={"width": 1400, "height": 4500})
            notebook = Notebook(page, lab, "bench.ipynb")
            if errors := notebook.run_all():
                raise RuntimeError("\n".join(errors))
            page.wait_for_timeout(3000)
            page.locator(".jp-Notebook").first.evaluate(WATCH)
            for turn in range(-3, presses):  # the first three warm up
                for index, view in enumerate(measured, start=1):
                    key = "ArrowRight" if turn % 2 else "ArrowLeft"  # never stuck at an end
                    taken = press(page, view, index, key)
                    if turn >= 0:
                        view.times.append(taken)
            browser.close()
    finally:
        lab.stop()
        shutil.rmtree(home, ignore_errors=True)
    return measured


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--presses", type=int, default=40)
    measured = measure(parser.parse_args().presses)
    print(f"{'key press → new picture':48}{'median':>8}{'p95':>8}  ms")
    for view in measured:
        p95 = quantiles(view.times, n=20)[-1]
        print(f"{view.name:48}{median(view.times):8.0f}{p95:8.0f}")
    canvas, _, heads, scaling, same = (median(view.times) for view in measured)
    print(f"The canvas answers {heads / canvas:.1f} times as fast as interact,")
    print(f"the pictures of lesson 02 {same / scaling:.1f} times.")


if __name__ == "__main__":
    main()
