"""From key press to new picture: our canvas beside `ipywidgets.interact`, in one run.

    python -m tests.bench.bench_explorers

Both views show 8 heads of 12 × 12 and follow a slider in a real JupyterLab; presses
alternate between them, so that a busy moment of the machine meets both. A press ends
when the canvas has painted the new numbers, or the new image has been loaded. The
matplotlib figure is let off the word labels, which alone would triple its time.
"""

import argparse
import shutil
import tempfile
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

# Notes when a key goes down, and when the next picture stands.
WATCH = """element => {
  const clock = window.manyHeadsClock = { down: 0, ended: 0 };
  const end = () => { if (clock.down && !clock.ended) clock.ended = performance.now(); };
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


def press(page: Page, target: str, index: int, key: str) -> float:
    """Press a key on an element of a cell's output; milliseconds until the new picture."""
    page.locator(".jp-Notebook .jp-Cell").nth(index).locator(target).first.focus()
    page.wait_for_timeout(120)  # let the repainting for the focus pass
    page.evaluate("window.manyHeadsClock.down = 0")
    page.keyboard.press(key)
    page.wait_for_function("window.manyHeadsClock.ended > 0", timeout=20_000)
    taken: float = page.evaluate("window.manyHeadsClock.ended - window.manyHeadsClock.down")
    page.wait_for_timeout(60)
    return taken


def measure(presses: int) -> dict[str, list[float]]:
    """Milliseconds per view and press."""
    home = Path(tempfile.mkdtemp())
    lab = Lab(home=home, root=home / "root")
    lab.root.mkdir()
    cells = [nbformat.v4.new_code_cell(code) for code in (MADE, CANVAS, ONE_HEAD, INTERACT)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), lab.root / "bench.ipynb")
    views = {
        "canvas, 8 heads of 12 × 12, slider": (1, "[role=slider]"),
        "explore_one_head, arrow key on the query": (2, "canvas[data-pane=keys]"),
        "interact with a new matplotlib figure, slider": (3, "[role=slider]"),
    }
    times: dict[str, list[float]] = {name: [] for name in views}
    try:
        lab.start()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=CHROMIUM_ARGUMENTS
            )
            page = browser.new_page(viewport={"width": 1400, "height": 3000})
            notebook = Notebook(page, lab, "bench.ipynb")
            if errors := notebook.run_all():
                raise RuntimeError("\n".join(errors))
            page.wait_for_timeout(3000)
            page.locator(".jp-Notebook").first.evaluate(WATCH)
            for turn in range(-3, presses):  # the first three warm up
                for name, (index, target) in views.items():
                    key = "ArrowRight" if turn % 2 else "ArrowLeft"  # never stuck at an end
                    taken = press(page, target, index, key)
                    if turn >= 0:
                        times[name].append(taken)
            browser.close()
    finally:
        lab.stop()
        shutil.rmtree(home, ignore_errors=True)
    return times


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--presses", type=int, default=40)
    times = measure(parser.parse_args().presses)
    print(f"{'key press → new picture':48}{'median':>8}{'p95':>8}  ms")
    for name, taken in times.items():
        print(f"{name:48}{median(taken):8.0f}{quantiles(taken, n=20)[-1]:8.0f}")
    first, *_, last = map(median, times.values())
    print(f"The canvas answers {last / first:.1f} times as fast as interact.")


if __name__ == "__main__":
    main()
