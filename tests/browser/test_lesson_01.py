"""Lesson 01 in a real JupyterLab: it runs, its picture moves, and it keeps to itself."""

from playwright.sync_api import Locator, expect

from tests.browser.notebook import Notebook
from tests.browser.steps import (
    expect_accessible_and_narrow_enough,
    expect_painted,
    index_of,
    output_of,
    picture,
    run_to,
    run_whole_lesson,
    sentence,
)

LESSON = "course/01-one-head.ipynb"


def test_the_lesson_runs_shows_everything_and_keeps_to_itself(
    open_notebook, outside_requests, console_errors
):
    notebook = open_notebook(LESSON)
    shown = run_whole_lesson(notebook)

    drawing = shown.locator("img[src*='01-four-steps']")
    assert drawing.evaluate("image => image.naturalWidth") > 0
    expect_painted(output_of(notebook, "show-map"))

    expect_accessible_and_narrow_enough(notebook)
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

    by_hand = output_of(notebook, "explore-three-words")
    expect(sentence(by_hand)).to_contain_text("“it” looks most at “cat”")
    before = picture(by_hand, "values")()
    go_to_pane(notebook, by_hand, "keys")
    for _ in range(20):
        notebook.page.keyboard.press("ArrowDown")
    expect(sentence(by_hand)).to_contain_text("“it” looks most at “street”")
    assert picture(by_hand, "values")() != before

    output = output_of(notebook, "explore-sentence")
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
    question = output_of(notebook, "ask-three-words")
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
    quiz = output_of(notebook, "quiz")
    quiz.get_by_role("radio", name="(5, 7)").check()
    expect(quiz).to_contain_text("Not quite: That is the map")
    quiz.get_by_role("radio", name="(5, 4)").check()
    expect(quiz).to_contain_text("Right: One row for each query")
