"""Lesson 04 in a real JupyterLab: it runs, shows everything, and its dial turns."""

from playwright.sync_api import expect

from tests.browser.steps import (
    expect_accessible_and_narrow_enough,
    expect_images,
    index_of,
    output_of,
    predict,
    run_to,
    run_whole_lesson,
    sentence,
)

LESSON = "course/04-output-projection.ipynb"


def test_the_lesson_runs_shows_everything_and_keeps_to_itself(
    open_notebook, outside_requests, console_errors
):
    notebook = open_notebook(LESSON)
    shown = run_whole_lesson(notebook)

    pictures = shown.locator(".mh-panel img")
    expect(pictures).to_have_count(2)  # the budget, the bottleneck
    drawn = shown.locator("img[src*='04-sum-of-heads']")
    expect_images([*pictures.all(), drawn])
    expect(shown.locator(".mh-panel canvas")).to_have_count(3)

    expect_accessible_and_narrow_enough(notebook)
    assert outside_requests == []
    assert console_errors == []


def test_the_dial_of_the_budget_turns_by_keyboard(open_notebook):
    notebook = open_notebook(LESSON)
    run_to(notebook, ["explore-budget"])
    output = output_of(notebook, "explore-budget")
    said = sentence(output)
    expect(said).to_contain_text("8 heads of d_k = 64: 1,048,576 parameters")
    before = output.locator("img").get_attribute("src")
    dial = output.get_by_role("slider", name="Number of heads, in steps")
    for _ in range(2):
        dial.press("ArrowRight")
    expect(said).to_contain_text("32 heads of d_k = 16: 1,048,576 parameters")
    expect(said).to_contain_text("BLEU 25.4, 0.4 less.")
    assert output.locator("img").get_attribute("src") != before


def test_a_prediction_is_taken_up(open_notebook):
    notebook = open_notebook(LESSON)
    run_to(notebook, ["build-heads", "ask-changed"])
    predict(notebook, "ask-changed", "32")
    run_to(notebook, ["measure-changed"])
    said = notebook.cell(index_of(notebook, "measure-changed")).text
    assert "You predicted 32; measured: 8." in said
