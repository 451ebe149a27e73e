"""From key press to new picture: our explorers beside `ipywidgets.interact`, in one run.

    python -m tests.bench.bench_explorers

The views follow a key in a real JupyterLab; beside each stands the same view through
`interact` with a new matplotlib figure. Presses alternate between all of them, so
that a busy moment of the machine meets all. A press ends when the canvas has painted the
new numbers, or all new images have been loaded. The figure of 8 heads is let off the word
labels, which alone would triple its time.
"""

import argparse
import shutil
import tempfile
from pathlib import Path
from statistics import median, quantiles

import nbformat
from playwright.sync_api import Page, sync_playwright

from tests.bench.explorer_views import MADE, View, views
from tests.browser.conftest import CHROMIUM_ARGUMENTS
from tests.browser.lab import Lab
from tests.browser.notebook import Notebook

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
                    other = {"ArrowRight": "ArrowLeft", "ArrowLeft": "ArrowRight"}
                    key = view.first if turn % 2 else other.get(view.first, view.first)
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
    medians = {view.name: median(view.times) for view in measured}
    for view in measured:
        if view.beside:
            ratio = medians[view.beside] / medians[view.name]
            print(f"{view.name} answers {ratio:.1f} times as fast as {view.beside}.")


if __name__ == "__main__":
    main()
