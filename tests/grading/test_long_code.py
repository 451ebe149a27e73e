"""However much code a notebook has, looking for what it defines takes seconds, not minutes."""

import time

import nbformat.v4 as v4
import pytest

from autograder import exercises
from autograder.grading.bounding import Room
from autograder.grading.calling import called_in
from autograder.grading.defining import LONG_NOTEBOOK, defines
from autograder.grading.outputs import clean_markdown
from autograder.grading.repairing import Known, repair

NAMES = ("split_heads", "concat_heads", "per_head_attention", "pack_projections")
SECONDS = 15  # a minute and more before; usual is one


def known(name: str) -> Known:
    return Known(name, "code", f"def {name}(): ...", None, False, False, True, 1.0)


def mentioning(size: int) -> str:
    """Code that mentions every name, defines none, and takes long to parse."""
    start = f"# {' '.join(NAMES)}\n"
    return start + "a;" * ((size - len(start)) // 2)


@pytest.mark.parametrize(("cells", "size"), [(100, 9_990), (1_900, 520), (20, 9_990)])
def test_many_cells_that_mention_what_is_missing(cells, size):
    # Each is a cell of its own: what was parsed once for all would not be seen.
    sources = [f"{mentioning(size)}#{n}" for n in range(cells)]
    notebook = v4.new_notebook(cells=[v4.new_code_cell(source) for source in sources])
    start = time.process_time()
    notes = repair(notebook, [known(name) for name in NAMES])
    assert time.process_time() - start < SECONDS
    assert len(notes) == len(NAMES)


def test_one_cell_that_is_very_long():
    start = time.process_time()
    exercise = exercises.find("multi_head_attention")
    assert called_in(["import os", "0;" * 490_000 + "#multi_head_attention"], exercise) == ()
    assert time.process_time() - start < SECONDS


def test_what_is_not_parsed_is_still_found_by_its_line():
    filler = [v4.new_code_cell("x = 1\n" * 1_000) for _ in range(LONG_NOTEBOOK // 6_000 + 1)]
    answer = v4.new_code_cell("import torch\n\ndef split_heads(x, num_heads):\n    return x\n")
    notebook = v4.new_notebook(cells=[*filler, answer])
    (note,) = repair(notebook, [known("split_heads")])
    assert "had lost its label" in note
    assert answer.metadata["nbgrader"]["grade_id"] == "split_heads"
    assert not defines("# split_heads", "split_heads", parsing=False)


@pytest.mark.parametrize("language", ["c", "ipython3", "python", ""])
def test_fenced_code_is_shown_as_it_is(language):
    code = "x = 1" + " \n" * 8_000 + "y < 2"
    start = time.process_time()
    page = clean_markdown(f"```{language}\n{code}\n```\n", Room())
    assert time.process_time() - start < SECONDS
    assert "y &lt; 2" in page or "y < 2" in page
