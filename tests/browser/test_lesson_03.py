"""Lesson 03 in a real JupyterLab: it runs, its pictures follow, and it keeps to itself."""

import re

from playwright.sync_api import Locator, expect

from tests.browser.notebook import Notebook
from tests.browser.steps import (
    COUNT,
    expect_accessible_and_narrow_enough,
    expect_images,
    expect_painted,
    index_of,
    output_of,
    picture,
    predict,
    run_again_and_again,
    run_to,
    run_whole_lesson,
    sentence,
    sources,
)

LESSON = "course/03-many-heads.ipynb"
ALPHA_1 = "α of head 1, its weight for cat"
ALPHA_2 = "α of head 2, its weight for cat"


def explorer(notebook: Notebook) -> Locator:
    """The output with the explorer, once its pictures stand there."""
    run_to(notebook, ["explore-targets"])
    output = output_of(notebook, "explore-targets")
    expect_painted(output)
    expect(output.locator("img")).to_have_js_property("complete", True)
    return output


def test_the_lesson_runs_shows_everything_and_keeps_to_itself(
    open_notebook, outside_requests, console_errors
):
    notebook = open_notebook(LESSON)
    run_whole_lesson(notebook)

    for cell_id in ("explore-targets", "picture-roles", "picture-singular", "picture-view"):
        drawn = output_of(notebook, cell_id).locator(".mh-panel img")
        expect(drawn).to_have_count(1)
        expect_images([drawn])
    for cell_id in ("explore-targets", "explore-heads", "picture-slice"):
        expect_painted(output_of(notebook, cell_id))

    expect_accessible_and_narrow_enough(notebook)
    assert outside_requests == []
    assert console_errors == []


def test_one_head_and_two_by_keyboard_and_the_pictures_follow(open_notebook, console_errors):
    notebook = open_notebook(LESSON)
    output = explorer(notebook)
    said = sentence(output)
    expect(said).to_contain_text("The head gives “cat” 1.00 and “tired” 0.00")
    expect(output.get_by_role("slider")).to_have_count(1)  # no second head, no second slider
    cells = picture(output, "sentence")
    before = sources(output), cells()

    slider = output.get_by_role("slider", name=ALPHA_1)
    slider.focus()
    for _ in range(10):
        notebook.page.keyboard.press("ArrowLeft")
    expect(said).to_contain_text(re.compile(r"from “cat” 0\.50, from “tired” 0\.50, of all 0\.50"))
    expect(output.locator("img")).not_to_have_attribute("src", before[0][0] or "")
    assert cells() != before[1]

    output.get_by_role("button", name="refitted after each move").press("Enter")
    slider.focus()
    for _ in range(6):
        notebook.page.keyboard.press("ArrowLeft")
        expect(said).to_contain_text("R² = 0.50.")
    expect(said).to_contain_text("“cat” 0.20 and “tired” 0.80; the read-out is refitted")

    output.get_by_role("button", name=re.compile("^fixed$")).press("Enter")
    output.get_by_role("button", name=re.compile("^two$")).press("Enter")
    expect(said).to_contain_text("head 2 gives “cat” 0.20 and “tired” 0.80")
    slider.focus()
    notebook.page.keyboard.press("End")
    output.get_by_role("slider", name=ALPHA_2).focus()
    notebook.page.keyboard.press("Home")
    expect(said).to_contain_text("of all 0.00. R² = 1.00.")
    assert notebook.page.locator(".mh-error:visible").count() == 0
    assert console_errors == []


def test_running_the_explorer_again_leaves_nothing_behind(write_notebook, console_errors):
    explore = "from course.explorers.two_targets import explore_two_targets\nexplore_two_targets()"
    notebook = write_notebook([explore, COUNT])
    assert notebook.run_all() == []
    output = run_again_and_again(notebook)
    output.get_by_role("slider").press("ArrowLeft")  # one press, one answer
    expect(sentence(output)).to_contain_text("“cat” 0.95 and")
    assert console_errors == []


def test_a_prediction_is_taken_up(open_notebook):
    notebook = open_notebook(LESSON)
    run_to(notebook, ["two-words", "ask-one-head"])
    predict(notebook, "ask-one-head", "0.75")
    run_to(notebook, ["measure-one-head"])
    said = notebook.cell(index_of(notebook, "measure-one-head")).text
    assert "You predicted 0.75; measured: 0.5" in said
