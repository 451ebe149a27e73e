"""Exercise 01 as a student meets it: a stub, a wrong answer, a right one, progress."""

import re
from pathlib import Path

from playwright.sync_api import expect

EXERCISE = "exercises/01-one-head/01-exercises.ipynb"
SOFTMAX = """
def softmax(scores):
    exponentials = np.exp(scores - scores.max(axis={axis}, keepdims=True))
    return exponentials / exponentials.sum(axis={axis}, keepdims=True)
"""


def find(notebook, start: str) -> int:
    """The index of the code cell whose source has a line that starts so."""
    for index, cell in enumerate(notebook.cells()):
        if re.search(rf"^{re.escape(start)}", cell.source, re.MULTILINE):
            return index
    raise AssertionError(f"no cell with a line that starts with {start!r}")


def test_a_wrong_and_then_a_right_answer(
    open_notebook, outside_requests, console_errors, screenshots: Path
) -> None:
    notebook = open_notebook(EXERCISE)
    write, check = find(notebook, "def softmax"), find(notebook, 'check("softmax"')

    # The cell above was not run: a sentence, no traceback.
    assert notebook.run(check).error is not None
    expect(notebook.output(check)).to_contain_text("softmax is not defined yet")
    expect(notebook.output(check)).not_to_contain_text("Traceback")

    # The stub.
    notebook.run(find(notebook, "import numpy"))
    notebook.run(write)
    assert "not attempted" in (notebook.run(check).error or "")

    # A wrong answer is named, with an example and a map of what differs.
    notebook.set_source(write, SOFTMAX.format(axis=-2))
    notebook.run(write)
    assert "wrong values" in (notebook.run(check).error or "")
    verdict = notebook.output(check).get_by_role("region", name="Verdict on softmax")
    expect(verdict).to_contain_text("the softmax runs over the queries")
    expect(verdict).to_contain_text("use axis=-1")
    expect(verdict.get_by_role("table", name=re.compile("weights, yours"))).to_be_visible()
    notebook.screenshot(screenshots / "verdict-wrong.png", index=check)

    # The right one passes, and progress knows it.
    notebook.set_source(write, SOFTMAX.format(axis=-1))
    notebook.run(write)
    assert notebook.run(check).error is None
    expect(verdict).to_contain_text("softmax: correct")
    progress = find(notebook, "progress()")
    notebook.run(progress)
    standing = notebook.output(progress).get_by_role("region", name="Your progress")
    expect(standing).to_contain_text("softmax: passed")

    assert notebook.axe_violations() == []
    notebook.use_theme("JupyterLab Dark")
    notebook.screenshot(screenshots / "verdict-right-dark.png", index=check)
    assert notebook.axe_violations() == [], "contrast in the dark theme"
    assert outside_requests == []
    assert console_errors == []


def test_run_all_stops_at_the_first_check_of_a_fresh_notebook(open_notebook) -> None:
    notebook = open_notebook(EXERCISE)
    errors = notebook.run_all()
    assert len(errors) == 1
    assert "dot_product_scores: not attempted" in errors[0]
