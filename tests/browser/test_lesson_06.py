"""Lesson 06 in a real JupyterLab: it runs, its inspector follows, and it keeps to itself."""

import re

from playwright.sync_api import Locator, expect

from tests.browser.notebook import Notebook
from tests.browser.test_lesson_01 import TOO_WIDE, index_of, picture, run_to, sentence
from tests.browser.test_lesson_02 import COUNT

LESSON = "course/06-your-own-module.ipynb"
PAINTED = re.compile("[1-9]")

STOPS = """
from torch import nn
from course.attention.module import MultiHeadAttention
from course.explorers.module_inspector import inspect_module

class Mine(MultiHeadAttention):
    def forward(self, x, need_weights=False):
        if self.num_heads == 3:
            return self.W_q(x) @ x
        return super().forward(x, need_weights=need_weights)

inspect_module(Mine)
"""


def explorer(notebook: Notebook) -> Locator:
    """The output with the inspector, once its maps are painted."""
    run_to(notebook, ["explore"])
    output = notebook.output(index_of(notebook, "explore"))
    expect(output.locator(".mh-canvas")).to_have_attribute("data-painted", PAINTED)
    return output


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
    for cell in ("explore", "picture-dropout"):
        canvas = notebook.output(index_of(notebook, cell)).locator(".mh-canvas")
        expect(canvas).to_have_attribute("data-painted", PAINTED)

    assert notebook.axe_violations() == []
    notebook.use_theme("JupyterLab Dark")
    assert notebook.axe_violations() == []
    notebook.page.set_viewport_size({"width": 1100, "height": 6000})
    notebook.page.wait_for_timeout(1000)  # pictures follow the width of the page
    assert notebook.page.evaluate(TOO_WIDE) == []
    assert outside_requests == []
    assert console_errors == []


def test_the_inspector_is_moved_by_keyboard_and_everything_follows(open_notebook, console_errors):
    notebook = open_notebook(LESSON)
    output = explorer(notebook)
    said = sentence(output)
    expect(said).to_contain_text("2 heads of d_k = 8, d_model = 16: 1,088 parameters.")
    expect(said).to_contain_text("1,152 bytes")
    expect(output.locator("table")).to_have_count(2)
    expect(output.get_by_role("row", name="W_k.bias")).to_contain_text("0 (rounding: ")
    expect(output.get_by_role("row", name="softmax")).to_contain_text("batch, heads, query, key")
    maps = picture(output, "weights")
    before = maps()

    output.get_by_role("slider", name="Heads").press("ArrowRight")
    expect(said).to_contain_text("3 heads of d_k = 8, d_model = 24: 2,400 parameters.")
    expect(output.get_by_role("row", name="softmax")).to_contain_text("(1, 3, 12, 12)")
    assert maps() != before

    sizes = output.get_by_role("slider", name="d_k: how often 1 is doubled")
    sizes.press("ArrowRight")
    expect(said).to_contain_text("3 heads of d_k = 16, d_model = 48: 9,408 parameters.")
    expect(output.locator(".widget-label", has_text=re.compile("^16$"))).to_be_visible()
    expect(output.get_by_role("row", name="W_o.weight")).to_contain_text("(48, 48)")

    device = output.get_by_role("combobox", name="Device")
    expect(device).to_contain_text("CPU (cpu)")
    assert device.locator("option").count() >= 1
    assert notebook.page.locator(".mh-error:visible").count() == 0
    assert console_errors == []


def test_the_last_of_many_quick_presses_wins(open_notebook):
    notebook = open_notebook(LESSON)
    output = explorer(notebook)
    output.get_by_role("slider", name="Heads").focus()
    for key in ["ArrowRight"] * 6 + ["ArrowLeft"] * 5 + ["ArrowRight"] * 2:
        notebook.page.keyboard.press(key)
    expect(sentence(output)).to_contain_text("5 heads of d_k = 8, ")


def test_an_error_of_a_learners_module_is_shown_and_the_next_value_recovers(
    write_notebook, console_errors
):
    notebook = write_notebook([STOPS])
    assert notebook.run_all() == []
    output = notebook.output(0)
    said, error = sentence(output), output.locator(".mh-error")
    expect(said).to_contain_text("2 heads of d_k = 8")
    heads = output.get_by_role("slider", name="Heads")
    heads.press("ArrowRight")
    expect(said).to_contain_text("3 heads, d_model = 24: your module stopped after 1 step.")
    expect(error).to_contain_text("RuntimeError: ")
    expect(output.locator("canvas")).to_have_count(0)
    expect(output.get_by_role("row", name="W_q (")).to_contain_text("batch, position, d_model")
    assert notebook.axe_violations() == []
    heads.press("ArrowRight")
    expect(said).to_contain_text("4 heads of d_k = 8")
    expect(error).to_be_hidden()
    expect(output.locator("canvas")).to_have_count(1)
    assert console_errors == []


def test_running_the_inspector_again_leaves_nothing_behind(write_notebook, console_errors):
    explore = "from course.explorers.module_inspector import inspect_module\ninspect_module()"
    notebook = write_notebook([explore, COUNT])
    assert notebook.run_all() == []
    counts = set()
    for _ in range(5):
        notebook.run(0)
        counts.add(notebook.run(1).text)
    assert len(counts) == 1
    assert counts.pop().endswith("[]\n")
    expect(notebook.page.locator(".mh-panel")).to_have_count(1)
    output = notebook.output(0)
    output.get_by_role("slider", name="Heads").press("ArrowRight")  # one press, one answer
    expect(sentence(output)).to_contain_text("3 heads of d_k = 8, ")
    assert console_errors == []


def test_a_prediction_is_taken_up(open_notebook):
    notebook = open_notebook(LESSON)
    run_to(notebook, ["one-head", "linear-code", "list-of-heads", "ask-list", "ask-parameters"])
    question = notebook.output(index_of(notebook, "ask-parameters"))
    question.get_by_role("textbox").fill("288")
    question.get_by_role("button", name="Record my prediction").click()
    expect(question.locator(".mh-sentence")).to_contain_text("Recorded: 288.")
    run_to(notebook, ["run-forward"])
    said = notebook.cell(index_of(notebook, "run-forward")).text
    assert "You predicted 288; measured: 288. As you predicted." in said
