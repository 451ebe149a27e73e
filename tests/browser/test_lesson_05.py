"""Lesson 05 in a real JupyterLab: it runs, the mask is painted, and it keeps to itself."""

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.notebook import Notebook
from tests.browser.steps import (
    COUNT,
    expect_accessible_and_narrow_enough,
    expect_painted,
    index_of,
    output_of,
    picture,
    predict,
    run_again_and_again,
    run_to,
    run_whole_lesson,
    sentence,
)

LESSON = "course/05-masking.ipynb"
EXPLORE = "from course.explorers.mask_painter import paint_mask\npaint_mask()"


def mask(output: Locator) -> Locator:
    """The pane to paint, once it has been painted."""
    expect_painted(output)
    return output.locator("canvas[data-pane=mask]")


@pytest.fixture
def painter(write_notebook) -> Notebook:
    notebook = write_notebook([EXPLORE, COUNT])
    assert notebook.run_all() == []
    return notebook


def test_the_lesson_runs_shows_everything_and_keeps_to_itself(
    open_notebook, outside_requests, console_errors
):
    notebook = open_notebook(LESSON)
    run_whole_lesson(notebook)

    for cell_id in ("picture-both", "explore", "picture-weights"):
        expect_painted(output_of(notebook, cell_id))
    curves = output_of(notebook, "picture-loss").locator("img")
    assert curves.evaluate("image => image.naturalWidth") > 0

    expect_accessible_and_narrow_enough(notebook)
    assert outside_requests == []
    assert console_errors == []


def test_the_mask_is_painted_by_keyboard_alone(painter, console_errors):
    output = painter.output(0)
    said = sentence(output)
    weights = picture(output, "weights")
    canvas = mask(output)
    output.get_by_role("button", name="on", exact=True).press("Enter")
    expect(said).to_contain_text("78 of 144 cells are open. “it” may see 9 words")
    before = weights()

    canvas.focus()
    for key in ["Shift+ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight"]:
        canvas.press(key)
    expect(output.locator(".mh-unseen[aria-live]")).to_have_text("it, cat: may attend")
    canvas.press(" ")
    expect(said).to_contain_text("“it” may no longer see “cat”. 77 of 144 cells are open.")
    expect(output.locator(".mh-readout.mh-shown")).to_have_text("it, cat: may not attend")
    painter.page.wait_for_timeout(200)
    assert weights() != before
    canvas.press("Enter")
    expect(said).to_contain_text("“it” may now see “cat”. 78 of 144 cells are open.")

    for key in ["Home", "Shift+ArrowUp", "Shift+ArrowUp", " "]:
        canvas.press(key)
    expect(said).to_contain_text("77 of 144 cells are open, and 1 row is empty. “The” may see")
    expect(said).to_contain_text("its weights are all 0, their sum is 0.00")
    output.get_by_role("button", name="0, then softmax").press("Enter")
    expect(said).to_contain_text("“The” may see nothing: its weights sum to 1.00, of which 1.00")

    slider = output.get_by_role("slider", name="Window: how many words, counting itself")
    slider.press("ArrowLeft")  # a rule starts afresh
    expect(said).to_contain_text("77 of 144 cells are open. “The” may see 1 word:")
    output.get_by_role("slider", name=re.compile("^Real words")).press("ArrowLeft")
    expect(said).to_contain_text("76 of 144")
    output.get_by_role("button", name="Open every cell").press("Enter")
    expect(said).to_contain_text("144 of 144 cells are open.")
    assert painter.page.locator(".jp-Cell").count() == 2  # no key reached JupyterLab
    assert console_errors == []


def test_a_quick_stroke_leaves_no_cell_out(painter, console_errors):
    output = painter.output(0)
    canvas = mask(output)
    box = canvas.bounding_box()
    assert box is not None
    mouse = painter.page.mouse
    height = box["y"] + 0.7 * box["height"]
    mouse.move(box["x"] + 0.25 * box["width"], height)
    mouse.down()
    mouse.move(box["x"] + 0.75 * box["width"], height)  # one single step across many cells
    mouse.up()
    said = sentence(output)
    expect(said).to_contain_text("may no longer see")
    seen = re.compile(r"(\d+) of 144 cells are open\. “(\w+)” may see (\d+) words")
    expect(said).to_contain_text(seen)
    painter.page.wait_for_timeout(300)
    found = seen.search(said.text_content() or "")
    assert found
    closed = 144 - int(found[1])
    assert closed >= 6
    assert int(found[3]) == 12 - closed  # all in one row
    mouse.move(box["x"] + 0.5 * box["width"], height)
    expect(output.locator(".mh-readout.mh-shown").first).to_contain_text("may not attend")
    assert console_errors == []


def test_running_the_explorer_again_leaves_nothing_behind(painter, console_errors):
    output = run_again_and_again(painter)
    mask(output).press(" ")  # one press, one answer
    expect(sentence(output)).to_contain_text("“The” may no longer see “The”. 143 of 144")
    assert console_errors == []


def test_a_prediction_is_taken_up(open_notebook):
    notebook = open_notebook(LESSON)
    run_to(notebook, ["the-batch", "causal", "ask-open"])
    predict(notebook, "ask-open", "72")
    run_to(notebook, ["measure-open"])
    said = notebook.cell(index_of(notebook, "measure-open")).text
    assert "You predicted 72; measured: 78." in said
