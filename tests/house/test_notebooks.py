"""Notebooks are committed without outputs, with stable cell ids, for the kernel everybody has."""

import copy
import json

import nbformat
import pytest

from tests.house.notebooks import imported_packages, problems
from tests.repository import committed_files, read_committed

CLEAN = nbformat.v4.new_notebook(
    cells=[nbformat.v4.new_code_cell("x = 1"), nbformat.v4.new_markdown_cell("text")],
    metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
)


def test_committed_notebooks_are_clean():
    notebooks = committed_files("*.ipynb")
    assert notebooks, "no notebook is committed"
    found = {path: problems(read_committed(path)) for path in notebooks}
    assert {path: said for path, said in found.items() if said} == {}


def test_exercise_notebooks_do_not_import_the_course():
    notebooks = [path for path in committed_files("*.ipynb") if not path.startswith("course/")]
    assert [path for path in notebooks if "course" in imported_packages(read_committed(path))] == []


def test_a_clean_notebook_has_no_problems():
    assert problems(json.dumps(CLEAN).encode()) == []


def spoil_outputs(notebook):
    notebook.cells[0].outputs = [nbformat.v4.new_output("stream", text="1")]


def spoil_count(notebook):
    notebook.cells[0].execution_count = 1


def spoil_ids(notebook):
    notebook.cells[1].id = notebook.cells[0].id


def drop_id(notebook):
    del notebook.cells[0]["id"]


def spoil_version(notebook):
    notebook.nbformat_minor = 4


def spoil_kernel(notebook):
    notebook.metadata.kernelspec.name = "conda-env-py"


def drop_metadata(notebook):
    notebook.metadata = {}


def spoil_schema(notebook):
    notebook.cells[0].source = 3


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (spoil_outputs, "has outputs in cell 0"),
        (spoil_count, "has an execution count in cell 0"),
        (spoil_ids, "has 2 cells with the id"),
        (drop_id, "has a cell without an id"),
        (spoil_version, "has the format 4.4"),
        (spoil_kernel, "names the kernel 'conda-env-py'"),
        (drop_metadata, "names the kernel None"),
        (spoil_schema, "is not valid"),
    ],
)
def test_a_spoilt_notebook_is_noticed(spoil, said):
    notebook = copy.deepcopy(CLEAN)
    spoil(notebook)
    (problem,) = problems(json.dumps(notebook).encode())
    assert problem.startswith(said)


def test_a_file_that_is_no_notebook_is_noticed():
    assert problems(b"<<<<<<< HEAD")[0].startswith("is no notebook")


@pytest.mark.parametrize(
    "line", ["import course.attention", "from course import attention", "%time 1\nimport course"]
)
def test_an_import_of_the_course_is_noticed(line):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(line)])
    assert "course" in imported_packages(json.dumps(notebook).encode())
