"""Lesson 00 in a real JupyterLab: the page answers, the slider moves, the first check passes."""

import re

from playwright.sync_api import expect

from tests.browser.steps import index_of, output_of

LESSON = "course/00-start-here.ipynb"
SOLUTION = "def weighted_average(values, weights):\n    return (values * weights).sum(axis=-1)"


def test_the_lesson_as_a_newcomer_goes_through_it(open_notebook, outside_requests, console_errors):
    notebook = open_notebook(LESSON)
    (error,) = notebook.run_all()
    assert "CheckFailed: weighted_average: not attempted" in error
    assert notebook.cells()[-2].id == "trouble"
    assert notebook.cell(index_of(notebook, "progress")).execution_count

    environment = output_of(notebook, "environment-check")
    expect(environment).to_contain_text("This page answers, so what you drag will move.")
    expect(environment).to_contain_text("Everything is here. You can begin.")

    blend = output_of(notebook, "explore-blend")
    handle = blend.get_by_role("slider", name="α, the weight of cat")
    for _ in range(5):
        handle.press("ArrowRight")
    expect(blend.locator(".mh-sentence")).to_contain_text(re.compile(r"^0\.75 × cat"))

    assert notebook.axe_violations() == []
    notebook.use_theme("JupyterLab Dark")
    assert notebook.axe_violations() == []

    notebook.set_source(index_of(notebook, "weighted-average-stub"), SOLUTION)
    notebook.run(index_of(notebook, "weighted-average-stub"))
    checked = notebook.run(index_of(notebook, "weighted-average-check"))
    assert checked.error is None
    assert "weighted_average: correct" in checked.text
    assert "weighted_average: passed" in notebook.run(index_of(notebook, "progress")).text
    assert outside_requests == []
    assert console_errors == []
