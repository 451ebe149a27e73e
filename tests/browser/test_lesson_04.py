"""Lesson 04 in a real JupyterLab: it runs, shows everything, and its dial turns."""

from playwright.sync_api import expect

from tests.browser.test_lesson_01 import TOO_WIDE, index_of, run_to, sentence

LESSON = "course/04-output-projection.ipynb"


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

    pictures = shown.locator(".mh-panel img")
    expect(pictures).to_have_count(2)  # the budget, the bottleneck
    drawn = shown.locator("img[src*='04-sum-of-heads']")
    for picture in [*pictures.all(), drawn]:
        assert picture.evaluate("image => image.naturalWidth") > 0
        assert len(picture.get_attribute("alt") or "") > 60
    expect(shown.locator(".mh-panel canvas")).to_have_count(3)

    assert notebook.axe_violations() == []
    notebook.use_theme("JupyterLab Dark")
    assert notebook.axe_violations() == []
    notebook.page.set_viewport_size({"width": 1100, "height": 6000})
    notebook.page.wait_for_timeout(1000)  # pictures follow the width of the page
    assert notebook.page.evaluate(TOO_WIDE) == []
    assert outside_requests == []
    assert console_errors == []


def test_the_dial_of_the_budget_turns_by_keyboard(open_notebook):
    notebook = open_notebook(LESSON)
    run_to(notebook, ["explore-budget"])
    output = notebook.output(index_of(notebook, "explore-budget"))
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
    question = notebook.output(index_of(notebook, "ask-changed"))
    question.get_by_role("textbox").fill("32")
    question.get_by_role("button", name="Record my prediction").click()
    expect(question.locator(".mh-sentence")).to_contain_text("Recorded: 32.")
    run_to(notebook, ["measure-changed"])
    said = notebook.cell(index_of(notebook, "measure-changed")).text
    assert "You predicted 32; measured: 8." in said
