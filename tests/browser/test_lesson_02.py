"""Lesson 02 in a real JupyterLab: it runs, its picture follows d_k, and it keeps to itself."""

import re

from playwright.sync_api import Locator, expect

from tests.browser.notebook import Notebook
from tests.browser.steps import (
    COUNT,
    expect_accessible_and_narrow_enough,
    expect_images,
    index_of,
    output_of,
    predict,
    run_again_and_again,
    run_to,
    run_whole_lesson,
    sentence,
    sources,
)

LESSON = "course/02-scaling.ipynb"


def explorer(notebook: Notebook) -> Locator:
    """The output with the explorer, once its picture stands there."""
    run_to(notebook, ["explore"])
    output = output_of(notebook, "explore")
    for picture in output.locator("img").all():
        expect(picture).to_have_js_property("complete", True)
    return output


def test_the_lesson_runs_shows_everything_and_keeps_to_itself(
    open_notebook, outside_requests, console_errors
):
    notebook = open_notebook(LESSON)
    shown = run_whole_lesson(notebook)

    pictures = shown.locator(".mh-panel img")
    expect(pictures).to_have_count(4)
    expect_images(pictures.all())

    expect_accessible_and_narrow_enough(notebook)
    assert outside_requests == []
    assert console_errors == []


def test_the_slider_moves_by_keyboard_and_by_mouse_and_the_picture_follows(
    open_notebook, console_errors
):
    notebook = open_notebook(LESSON)
    output = explorer(notebook)
    said = sentence(output)
    expect(said).to_contain_text("d_k = 1, scores not divided: their standard deviation is 1.0.")
    first = sources(output)

    slider = output.get_by_role("slider", name="d_k: how often 1 is doubled")
    slider.focus()
    for _ in range(6):
        notebook.page.keyboard.press("ArrowRight")
    expect(said).to_contain_text("d_k = 64, scores not divided")
    expect(output.locator(".widget-label", has_text=re.compile("^64$"))).to_be_visible()
    expect(said).to_contain_text(re.compile(r"entropy is 0\.[34]\d of at most 2\.77"))
    assert all(new != old for new, old in zip(sources(output), first, strict=True))

    notebook.page.keyboard.press("Tab")  # to the switch
    expect(output.get_by_role("button", name="off")).to_be_focused()
    notebook.page.keyboard.press("Tab")
    notebook.page.keyboard.press("Enter")
    expect(said).to_contain_text(
        "d_k = 64, scores divided by √d_k: their standard deviation is 1.0."
    )
    expect(said).to_contain_text(re.compile(r"entropy is 2\.3\d of"))
    expect(output.get_by_role("button", name="on")).to_have_attribute("aria-pressed", "true")

    track = output.locator(".noUi-base").bounding_box()
    handle = slider.bounding_box()
    assert track is not None and handle is not None
    height = handle["y"] + handle["height"] / 2
    mouse = notebook.page.mouse
    mouse.move(handle["x"] + handle["width"] / 2, height)
    mouse.down()
    mouse.move(track["x"] + track["width"] / 2, height, steps=4)
    mouse.move(track["x"] + track["width"] + 5, height, steps=8)
    mouse.up()
    expect(said).to_contain_text("d_k = 1024, scores divided")
    output.get_by_role("button", name="off").click()
    expect(said).to_contain_text("d_k = 1024, scores not divided")
    expect(said).to_contain_text(re.compile(r"entropy is 0\.(0|1)\d of"))

    before = said.text_content() or ""
    output.get_by_role("button", name="Draw other numbers").press("Enter")
    expect(said).not_to_have_text(before)
    assert notebook.page.locator(".mh-error:visible").count() == 0
    assert console_errors == []


def test_the_last_of_many_quick_presses_wins(open_notebook):
    notebook = open_notebook(LESSON)
    output = explorer(notebook)
    output.get_by_role("slider").focus()
    for key in ["ArrowRight"] * 10 + ["ArrowLeft"] * 7 + ["ArrowRight"] * 2:
        notebook.page.keyboard.press(key)
    expect(sentence(output)).to_contain_text("d_k = 32, ")


def test_running_the_explorer_again_leaves_nothing_behind(write_notebook, console_errors):
    explore = "from course.explorers.scaling import explore_scaling\nexplore_scaling()"
    notebook = write_notebook([explore, COUNT])
    assert notebook.run_all() == []
    output = run_again_and_again(notebook)
    expect(notebook.page.locator(".mh-panel img")).to_have_count(1)
    output.get_by_role("slider").press("ArrowRight")  # one press, one answer
    expect(sentence(output)).to_contain_text("d_k = 2, ")
    assert console_errors == []


def test_a_prediction_is_taken_up(open_notebook):
    notebook = open_notebook(LESSON)
    run_to(notebook, ["first-scores", "ask-deviation"])
    predict(notebook, "ask-deviation", "16")
    run_to(notebook, ["measure-deviation"])
    said = notebook.cell(index_of(notebook, "measure-deviation")).text
    assert "You predicted 16; measured: 4.0" in said
