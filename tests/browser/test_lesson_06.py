"""Lesson 06 in a real JupyterLab: it runs, its inspector follows, and it keeps to itself."""

import re

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

LESSON = "course/06-your-own-module.ipynb"

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
    output = output_of(notebook, "explore")
    expect_painted(output)
    return output


def test_the_lesson_runs_shows_everything_and_keeps_to_itself(
    open_notebook, outside_requests, console_errors
):
    notebook = open_notebook(LESSON)
    run_whole_lesson(notebook)
    for cell in ("explore", "picture-dropout"):
        expect_painted(output_of(notebook, cell))

    expect_accessible_and_narrow_enough(notebook)
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
    output = run_again_and_again(notebook)
    output.get_by_role("slider", name="Heads").press("ArrowRight")  # one press, one answer
    expect(sentence(output)).to_contain_text("3 heads of d_k = 8, ")
    assert console_errors == []


def test_a_prediction_is_taken_up(open_notebook):
    notebook = open_notebook(LESSON)
    run_to(notebook, ["one-head", "linear-code", "list-of-heads", "ask-list", "ask-parameters"])
    predict(notebook, "ask-parameters", "288")
    run_to(notebook, ["run-forward"])
    said = notebook.cell(index_of(notebook, "run-forward")).text
    assert "You predicted 288; measured: 288. As you predicted." in said
