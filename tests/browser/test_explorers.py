"""The explorers and the questions, used as a learner uses them: by mouse, by keyboard alone."""

import re

import pytest
from playwright.sync_api import FloatRect, Locator, expect

from tests.browser.steps import COUNT, expect_painted, run_again_and_again, sentence

ONE_HEAD = "from course.explorers.one_head import explore_one_head\nexplore_one_head()"
FIRST = "from course.explorers.first_slider import explore_first_slider\nexplore_first_slider()"

HEADS = """
import numpy as np
from course.explorers.canvas import Canvas, Grid
from course.explorers.panel import Panel
words = "The cat did not cross the street because it was too tired".split()
heads = [f"head {i + 1}" for i in range(8)]
grid = Grid("mask", words, words, "Paint", heads=heads, limits=(0, 1), touch="paint")
canvas = Canvas([grid])
mask = np.full((8, 12, 12), 0.25)
panel = Panel([canvas])
pressed = []
def paint(cell):
    pressed.append((cell.head, cell.row, cell.column))
    mask[cell.head, cell.row, cell.column] = np.nan
    canvas.show({"mask": mask})
    panel.say(f"{np.isnan(mask).sum()} cells are closed.")
canvas.on_press(panel.guarded(paint))
canvas.show({"mask": mask}, {"mask": {"row": 8}})
panel
"""

CHART = """
from course.explorers.accessibility import slider
from course.explorers.chart import Chart
from course.explorers.panel import Panel, row
chart = Chart("A line that turns", width=400, height=200)
line = chart.changing(chart.axes.plot([0, 1], [0, 1])[0])
slope = slider("slope", 0, 9)
panel = Panel([row(slope), chart.image])
def turn(_=None):
    line.set_ydata([0, slope.value / 9])
    chart.update()
    panel.say(f"The slope is {slope.value}.")
slope.observe(panel.guarded(turn), "value")
turn()
panel
"""

QUESTIONS = """
from course.questions import predict, question, quiz, right, wrong
predict("weight", "How large will the largest weight be?")
"""
CHOICE = 'predict("word", "Which word will “it” look at most?", ["cat", "street"])'
QUIZ = """
quiz([question("What do the weights of a query sum to?",
               wrong("the number of words", "Softmax shares out 1 among them."),
               right("1", "Softmax divides by the sum.")),
      question("And the scores?", right("anything", "They are dot products."),
               wrong("1", "Only the weights do."))])
"""


def plane(output: Locator) -> Locator:
    canvas = output.locator("canvas[data-pane=keys]")
    expect_painted(output)
    return canvas


def box_of(element: Locator) -> FloatRect:
    box = element.bounding_box()
    assert box is not None
    return box


def expect_query(output: Locator, x: str | re.Pattern[str], y: str | re.Pattern[str]) -> None:
    expect(output.get_by_label("first number of the query")).to_have_value(x)
    expect(output.get_by_label("second number of the query")).to_have_value(y)


def test_the_query_moves_by_keyboard_mouse_and_typing_and_the_sentence_follows(
    write_notebook, outside_requests, console_errors
):
    notebook = write_notebook([ONE_HEAD])
    assert notebook.run_all() == []
    output = notebook.output(0)
    canvas = plane(output)
    expect(sentence(output)).to_contain_text("“it” looks most at “cat”: weight 0.67.")

    canvas.focus()
    for key in ["ArrowLeft"] * 3 + ["Shift+ArrowDown"] * 4 + ["ArrowUp"]:
        canvas.press(key)
    expect_query(output, "1", "-0.7")
    expect(sentence(output)).to_contain_text("looks most at “street”")

    box = box_of(canvas)
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    unit = box["width"] / 5  # the plane goes from −2.5 to 2.5
    notebook.page.mouse.move(middle[0] + unit, middle[1] + 0.7 * unit)
    notebook.page.mouse.down()
    notebook.page.mouse.move(middle[0], middle[1], steps=5)
    notebook.page.mouse.move(middle[0] - 1.5 * unit, middle[1] - unit, steps=15)
    notebook.page.mouse.up()
    expect(sentence(output)).to_contain_text("looks most at “not”")
    expect_query(output, re.compile(r"^-1\.(4[89]|5[12]?)$"), re.compile(r"^(1|1.0[12]|0.9[89])$"))

    field = output.get_by_label("second number of the query")
    field.fill("-2")
    field.press("Enter")
    expect(sentence(output)).to_contain_text("looks most at “because”")

    output.get_by_role("button", name="Reset the query").press("Enter")
    expect(sentence(output)).to_contain_text("“it” looks most at “cat”: weight 0.67.")
    output.get_by_role("button", name="中文").click()
    expect(sentence(output)).to_contain_text("“它” looks most at “小猫”")
    expect(output.get_by_role("button", name="中文")).to_have_attribute("aria-pressed", "true")
    assert notebook.page.locator(".jp-Cell").count() == 1
    assert (outside_requests, console_errors) == ([], [])


def test_the_last_of_many_quick_presses_wins(write_notebook):
    notebook = write_notebook([ONE_HEAD])
    notebook.run_all()
    output = notebook.output(0)
    plane(output).focus()
    for _ in range(3):
        for key in ["ArrowRight"] * 15 + ["ArrowLeft"] * 10 + ["ArrowDown"] * 4:
            notebook.page.keyboard.press(key)
    # Right stops at 2.5, the edge, three times; each way back is ten steps of 0.1.
    expect_query(output, "1.5", "0")


def test_a_slow_answer_drops_what_is_out_of_date(write_notebook):
    slow = """
import time
from course.attention.one_head import attention
from course.explorers.one_head import explore_one_head
calls = []
def mine(q, k, v):
    calls.append(q.tolist())
    time.sleep(0.2)
    return attention(q, k, v)
explore_one_head(attention=mine)"""
    notebook = write_notebook([slow, "len(calls)"])
    notebook.run_all()
    output = notebook.output(0)
    plane(output).focus()
    for _ in range(20):
        notebook.page.keyboard.press("ArrowLeft")
    expect_query(output, "-0.7", "1.2")
    assert int(notebook.run(1).text) < 15


# Counts the observers of our canvases, which watch for another theme.
COUNT_OBSERVERS = """
const ours = new Set();
window.themeObservers = ours;
const { observe, disconnect } = MutationObserver.prototype;
MutationObserver.prototype.observe = function (target, options) {
  if (target === document.body && options.attributeFilter?.includes("data-jp-theme-light"))
    ours.add(this);
  return observe.call(this, target, options);
};
MutationObserver.prototype.disconnect = function () {
  ours.delete(this);
  return disconnect.call(this);
};
"""


def test_running_the_cell_again_leaves_nothing_behind(page, write_notebook, console_errors):
    page.add_init_script(COUNT_OBSERVERS)
    notebook = write_notebook([ONE_HEAD, CHART, COUNT])
    notebook.run_all()
    output = run_again_and_again(notebook, explorers=2)
    expect(notebook.page.locator(".mh-canvas")).to_have_count(1)
    page.wait_for_function("window.themeObservers.size === 1")

    # One press, one answer: earlier runs no longer listen.
    plane(output).press("ArrowLeft")
    expect_query(output, "1.2", "1.2")
    assert console_errors == []


def test_every_control_and_picture_has_a_name_and_axe_is_content(write_notebook):
    notebook = write_notebook([ONE_HEAD, FIRST, HEADS, CHART, QUESTIONS, CHOICE, QUIZ])
    assert notebook.run_all() == []
    page = notebook.page
    expect(page.get_by_role("slider", name="α, the weight of cat")).to_be_visible()
    expect(page.get_by_role("textbox", name="α, the weight of cat, typed")).to_be_visible()
    expect(page.get_by_role("slider", name="slope")).to_be_visible()
    expect(page.get_by_role("img", name="A line that turns")).to_be_visible()
    expect(page.get_by_role("combobox", name="Query word")).to_be_visible()
    expect(page.get_by_role("group", name="Sentence")).to_be_visible()
    expect(page.get_by_role("application", name=re.compile("Keys and the query"))).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("Values, and their mix"))).to_be_visible()
    for canvas in page.get_by_role("application").all():
        expect(canvas).to_have_attribute("data-lm-suppress-shortcuts", "true")
    expect(page.get_by_role("group", name=re.compile("And the scores"))).to_be_visible()
    expect(page.get_by_role("textbox", name=re.compile("How large"))).to_be_visible()
    assert notebook.axe_violations() == []
    notebook.use_theme("JupyterLab Dark")
    assert notebook.axe_violations() == []


def test_the_canvas_takes_the_colours_of_the_theme(write_notebook):
    notebook = write_notebook([ONE_HEAD])
    notebook.run_all()
    canvas = plane(notebook.output(0))
    wait = """([canvas, dark]) => {
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        const words = [];  // grey, opaque pixels: letters and their halo
        for (let i = 0; i < data.length; i += 4)
            if (data[i + 3] === 255 && data[i] === data[i + 1] && data[i] === data[i + 2])
                words.push(data[i]);
        return words.includes(dark ? 17 : 255) && !words.includes(dark ? 255 : 17);
    }"""
    page = notebook.page
    page.wait_for_function(wait, arg=[canvas.element_handle(), False])
    notebook.use_theme("JupyterLab Dark")
    page.wait_for_function(wait, arg=[canvas.element_handle(), True])
    notebook.use_theme("JupyterLab Light")
    page.wait_for_function(wait, arg=[canvas.element_handle(), False])


def test_cells_are_painted_by_mouse_and_by_keyboard(write_notebook, console_errors):
    notebook = write_notebook([HEADS, "pressed"])
    assert notebook.run_all() == []
    output = notebook.output(0)
    canvas = output.locator("canvas")
    expect(canvas).to_be_visible()
    canvas.focus()
    for key in ["PageDown", "ArrowDown", "ArrowDown", "End", "ArrowLeft", " "]:
        canvas.press(key)
    expect(sentence(output)).to_have_text("1 cells are closed.")
    assert notebook.run(1).text == "[(1, 2, 10)]"
    expect(output.locator(".mh-unseen[aria-live]")).to_have_text("head 2, did, too: 0.250")

    box = box_of(canvas)
    page = notebook.page
    page.mouse.move(box["x"] + 90, box["y"] + 130)
    expect(output.locator(".mh-readout")).to_contain_text("head 1")
    page.mouse.down()
    page.mouse.move(box["x"] + 130, box["y"] + 130, steps=40)
    page.mouse.up()
    expect(sentence(output)).not_to_have_text("1 cells are closed.")
    pressed = eval(notebook.run(1).text)[1:]
    columns = [column for _, _, column in pressed]
    assert len(columns) >= 3
    assert columns == list(range(columns[0], columns[0] + len(columns)))  # none left out
    assert console_errors == []


def test_an_error_in_the_learners_function_stands_in_the_output(write_notebook):
    notebook = write_notebook(
        [
            ONE_HEAD.replace(
                "explore_one_head()", "explore_one_head(attention=lambda q, k, v: 1 / 0)"
            )
        ]
    )
    assert notebook.run_all() == []
    error = notebook.output(0).locator(".mh-error")
    expect(error).to_have_text("ZeroDivisionError: division by zero")
    expect(error).to_be_visible()


@pytest.mark.parametrize("width", [820, 1400])
def test_nothing_is_cut_off_and_the_page_does_not_jump(write_notebook, width):
    notebook = write_notebook([ONE_HEAD, HEADS, "print('below\\n' * 60)"])
    page = notebook.page
    page.set_viewport_size({"width": width, "height": 700})
    notebook.run_all()
    output = notebook.output(0)
    canvas = plane(output)
    for index in (0, 1):
        room = box_of(notebook.output(index))
        for one in notebook.output(index).locator("canvas").all():
            box = box_of(one)
            assert box["x"] + box["width"] <= room["x"] + room["width"]
    scroller = ".jp-WindowedPanel-outer"
    canvas.scroll_into_view_if_needed()
    canvas.focus()
    page.evaluate(f"document.querySelector('{scroller}').scrollTop = 80")
    height = box_of(output)["height"]
    for key in ["ArrowDown", "ArrowUp", "Shift+ArrowLeft"]:
        canvas.press(key)
    expect(output.get_by_label("first number of the query")).to_have_value("0.8")
    box = box_of(canvas)
    page.mouse.click(box["x"] + 100, max(box["y"], 200) + 60)
    expect(output.get_by_label("first number of the query")).not_to_have_value("0.8")
    assert page.evaluate(f"document.querySelector('{scroller}').scrollTop") == 80
    assert box_of(output)["height"] == height
    notebook.run(0)
    expect(sentence(output)).to_contain_text("weight 0.67")
    expect(output.locator("canvas[data-pane=values]")).to_be_visible()
    # Running a cell may scroll to it, but its output keeps its height and what follows its place.
    assert box_of(output)["height"] == pytest.approx(height, abs=2)


def test_a_prediction_is_recorded_by_keyboard_and_found_again(write_notebook, lab):
    notebook = write_notebook([QUESTIONS, CHOICE])
    assert notebook.run_all() == []
    number, choice = notebook.output(0), notebook.output(1)
    number.get_by_role("textbox").fill("0.6")
    number.get_by_role("textbox").press("Enter")
    expect(sentence(number)).to_contain_text("Recorded: 0.6.")

    choice.get_by_role("radio").first.focus()
    choice.get_by_role("radio").first.press(" ")
    notebook.page.keyboard.press("ArrowDown")
    notebook.page.keyboard.press("Tab")
    notebook.page.keyboard.press("Enter")
    expect(sentence(choice)).to_contain_text("Recorded: street.")
    notebook.run(1)
    expect(sentence(choice)).to_contain_text("You predicted street, on ")
    expect(choice.get_by_label("street")).to_be_checked()
    assert (lab.home / "many-heads" / "predictions.json").exists()


def test_a_quiz_is_answered_by_keyboard_alone(write_notebook, console_errors):
    notebook = write_notebook([QUESTIONS, QUIZ])
    notebook.run_all()
    output = notebook.output(1)
    page = notebook.page
    output.get_by_role("radio").first.focus()
    page.keyboard.press(" ")
    expect(output).to_contain_text("Not quite: Softmax shares out 1 among them.")
    page.keyboard.press("ArrowDown")
    expect(output).to_contain_text("Right: Softmax divides by the sum.")
    expect(output).not_to_contain_text("Not quite:")
    page.keyboard.press("Tab")
    page.keyboard.press(" ")
    expect(output).to_contain_text("Right: They are dot products.")
    assert console_errors == []
