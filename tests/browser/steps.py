"""The steps that tests of lessons and explorers share."""

import re
from collections.abc import Callable, Sequence

from playwright.sync_api import Locator, expect

from tests.browser.notebook import Notebook

# The beginning of whatever sticks out of its cell.
TOO_WIDE = """() =>
  [...document.querySelectorAll('.jp-RenderedHTMLCommon, .jp-OutputArea-output')]
    .filter(e => e.offsetParent && e.scrollWidth > e.clientWidth + 1)
    .map(e => `${e.scrollWidth} > ${e.clientWidth}: ${e.textContent.slice(0, 80)}`)
"""

# A cell that counts what the kernel holds: widgets, connections to the page, figures.
COUNT = """
import gc, ipywidgets, matplotlib.pyplot as plt
gc.collect()
print(len(ipywidgets.widgets.widget._instances),
      len(get_ipython().kernel.comm_manager.comms), plt.get_fignums())
"""


def index_of(notebook: Notebook, cell_id: str) -> int:
    return next(cell.index for cell in notebook.cells() if cell.id == cell_id)


def output_of(notebook: Notebook, cell_id: str) -> Locator:
    """The output of the cell with this id."""
    return notebook.output(index_of(notebook, cell_id))


def run_to(notebook: Notebook, cell_ids: Sequence[str]) -> None:
    """Run these cells, in this order."""
    for cell_id in cell_ids:
        ran = notebook.run(index_of(notebook, cell_id))
        assert ran.error is None, ran.error


def sentence(output: Locator) -> Locator:
    """The live sentence below an explorer."""
    return output.locator(".mh-sentence")


def picture(output: Locator, pane: str) -> Callable[[], str]:
    """What a pane shows now, to be compared with what it shows later."""
    canvas = output.locator(f"canvas[data-pane={pane}]")
    return lambda: str(canvas.evaluate("canvas => canvas.toDataURL()"))


def sources(output: Locator) -> list[str | None]:
    """What each of the output's images shows now."""
    return [image.get_attribute("src") for image in output.locator("img").all()]


def expect_painted(output: Locator) -> None:
    """Wait until the output's canvas has been painted."""
    expect(output.locator(".mh-canvas")).to_have_attribute("data-painted", re.compile("[1-9]"))


def expect_images(images: Sequence[Locator]) -> None:
    """Each image has loaded, and says at some length what it shows."""
    for image in images:
        assert image.evaluate("image => image.naturalWidth") > 0
        assert len(image.get_attribute("alt") or "") > 60


def run_whole_lesson(notebook: Notebook) -> Locator:
    """Run all cells: no error, and every formula is typeset. What the page shows of it."""
    assert notebook.run_all() == []
    shown = notebook.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook")
    expect(shown.locator(".mh-error:visible")).to_have_count(0)
    expect(shown.locator("mjx-container").first).to_be_visible()
    expect(shown.locator("mjx-merror")).to_have_count(0)
    text = shown.locator(".jp-RenderedMarkdown:visible")
    expect(text.get_by_text("$")).to_have_count(0)  # a formula left as it was typed
    return shown


def expect_accessible_and_narrow_enough(notebook: Notebook) -> None:
    """Axe finds nothing in either theme, and nothing sticks out of a narrower page."""
    assert notebook.axe_violations() == []
    notebook.use_theme("JupyterLab Dark")
    assert notebook.axe_violations() == []
    notebook.page.set_viewport_size({"width": 1100, "height": 6000})
    notebook.page.wait_for_timeout(1000)  # pictures follow the width of the page
    assert notebook.page.evaluate(TOO_WIDE) == []


def run_again_and_again(notebook: Notebook, explorers: int = 1) -> Locator:
    """Run the first cells, an explorer each, five more times: nothing stays behind.

    COUNT is the cell after them. Returns the first cell's output.
    """
    counts = set()
    for _ in range(5):
        for index in range(explorers):
            notebook.run(index)
        counts.add(notebook.run(explorers).text)
    assert len(counts) == 1
    assert counts.pop().endswith("[]\n")
    expect(notebook.page.locator(".mh-panel")).to_have_count(explorers)
    return notebook.output(0)


def predict(notebook: Notebook, cell_id: str, number: str) -> None:
    """Record a number as the prediction that a cell asks for."""
    question = output_of(notebook, cell_id)
    question.get_by_role("textbox").fill(number)
    question.get_by_role("button", name="Record my prediction").click()
    expect(question.locator(".mh-sentence")).to_contain_text(f"Recorded: {number}.")
