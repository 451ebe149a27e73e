"""Lesson 01 in a real JupyterLab: it runs, its picture moves, and it keeps to itself."""

import re
from collections.abc import Callable, Sequence

from playwright.sync_api import Locator, expect

from tests.browser.notebook import Notebook

LESSON = "course/01-one-head.ipynb"

# The beginning of whatever sticks out of its cell.
TOO_WIDE = """() =>
  [...document.querySelectorAll('.jp-RenderedHTMLCommon, .jp-OutputArea-output')]
    .filter(e => e.offsetParent && e.scrollWidth > e.clientWidth + 1)
    .map(e => `${e.scrollWidth} > ${e.clientWidth}: ${e.textContent.slice(0, 80)}`)
"""


def index_of(notebook: Notebook, cell_id: str) -> int:
    return next(cell.index for cell in notebook.cells() if cell.id == cell_id)


def run_to(notebook: Notebook, cell_ids: Sequence[str]) -> None:
    """Run these cells, in this order."""
    for cell_id in cell_ids:
        ran = notebook.run(index_of(notebook, cell_id))
        assert ran.error is None, ran.error


def sentence(output: Locator) -> Locator:
    return output.locator(".mh-sentence")


def picture(output: Locator, pane: str) -> Callable[[], str]:
    """What a pane shows now, to be compared with what it shows later."""
    canvas = output.locator(f"canvas[data-pane={pane}]")
    return lambda: canvas.evaluate("canvas => canvas.toDataURL()")


def test_the_lesson_runs_shows_everything_and_keeps_to_itself(
    open_notebook, outside_requests, console_errors
):
    notebook = open_notebook(LESSON)
    assert notebook.run_all() == []

    shown = notebook.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook")
    expect(shown.locator(".mh-error:visible")).to_have_count(0)
    expect(shown.locator("mjx-container").first).to_be_visible()
    expect(shown.locator("mjx-merror")).to_have_count(0)
    text = shown.locator(".jp-RenderedMarkdown:visible")
    expect(text.get_by_text("$")).to_have_count(0)  # a formula left as it was typed

    drawing = shown.locator("img[src*='01-four-steps']")
    assert drawing.evaluate("image => image.naturalWidth") > 0
    map_of_weights = notebook.output(index_of(notebook, "show-map")).locator(".mh-canvas")
    expect(map_of_weights).to_have_attribute("data-painted", re.compile("[1-9]"))

    assert notebook.axe_violations() == []
    notebook.use_theme("JupyterLab Dark")
    assert notebook.axe_violations() == []
    notebook.page.set_viewport_size({"width": 1100, "height": 6000})
    notebook.page.wait_for_timeout(1000)  # pictures follow the width of the page
    assert notebook.page.evaluate(TOO_WIDE) == []
    assert outside_requests == []
    assert console_errors == []


def go_to_pane(notebook: Notebook, output: Locator, pane: str) -> None:
    """Choose the cell of this output, and press Tab until the pane has the focus."""
    output.locator("xpath=ancestor::*[contains(@class, 'jp-CodeCell')]").locator(
        ".jp-InputPrompt"
    ).click()
    canvas = output.locator(f"canvas[data-pane={pane}]")
    for _ in range(20):
        notebook.page.keyboard.press("Tab")
        if canvas.evaluate("canvas => canvas === document.activeElement"):
            return
    raise AssertionError(f"Tab does not lead to {pane}")


def test_the_query_moves_by_keyboard_and_by_mouse_and_the_picture_follows(open_notebook):
    notebook = open_notebook(LESSON)
    run_to(notebook, ["three-words", "explore-three-words", "explore-sentence"])

    by_hand = notebook.output(index_of(notebook, "explore-three-words"))
    expect(sentence(by_hand)).to_contain_text("“it” looks most at “cat”")
    before = picture(by_hand, "values")()
    go_to_pane(notebook, by_hand, "keys")
    for _ in range(20):
        notebook.page.keyboard.press("ArrowDown")
    expect(sentence(by_hand)).to_contain_text("“it” looks most at “street”")
    assert picture(by_hand, "values")() != before

    output = notebook.output(index_of(notebook, "explore-sentence"))
    expect(sentence(output)).to_contain_text("“it” looks most at “cat”: weight 0.67.")
    weights, values = picture(output, "weights"), picture(output, "values")
    shown = weights(), values()
    box = output.locator("canvas[data-pane=keys]").bounding_box()
    assert box is not None
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    unit = box["width"] / 5  # the plane goes from −2.5 to 2.5
    mouse = notebook.page.mouse
    mouse.move(middle[0] + 1.3 * unit, middle[1] - 1.2 * unit)
    mouse.down()
    mouse.move(middle[0] + 1.3 * unit, middle[1] + 1.2 * unit, steps=12)
    mouse.up()
    expect(sentence(output)).to_contain_text("“it” looks most at “street”")
    assert (weights() != shown[0], values() != shown[1]) == (True, True)


def test_a_prediction_is_taken_up_and_the_quiz_gives_reasons(open_notebook):
    notebook = open_notebook(LESSON)
    run_to(notebook, ["three-words", "ask-three-words"])
    question = notebook.output(index_of(notebook, "ask-three-words"))
    question.get_by_role("radio", name="street").check()
    question.get_by_role("button", name="Record my prediction").click()
    expect(question.locator(".mh-sentence")).to_contain_text("Recorded: street.")
    run_to(
        notebook,
        ["scores-by-hand-code", "softmax-by-hand-code", "mix-by-hand-code", "recall-three-words"],
    )
    said = notebook.cell(index_of(notebook, "recall-three-words")).text
    assert said.startswith("You predicted street; measured: cat.")

    notebook.run(index_of(notebook, "quiz"))
    quiz = notebook.output(index_of(notebook, "quiz"))
    quiz.get_by_role("radio", name="(5, 7)").check()
    expect(quiz).to_contain_text("Not quite: That is the map")
    quiz.get_by_role("radio", name="(5, 4)").check()
    expect(quiz).to_contain_text("Right: One row for each query")
