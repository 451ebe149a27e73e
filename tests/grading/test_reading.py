"""What editors and file transfers do to a notebook, read as what was meant or refused in words."""

import json

import nbformat
import pytest

from autograder.grading.reading import Unreadable, read_notebook
from autograder.grading.repairing import Known, repair
from tests.grading.notebooks import FULL, RIGHT, cell_of, label, released, solved

GOOD = json.dumps(solved(softmax="é = 1  # ∑"), ensure_ascii=False)


def sources(data: bytes) -> list[str]:
    return [cell.source for cell in read_notebook(data).cells]


@pytest.mark.parametrize(
    "data",
    [
        GOOD.encode("utf-8"),
        GOOD.encode("utf-8-sig"),
        GOOD.encode("utf-16"),
        GOOD.encode("utf-16-le"),
        GOOD.encode("utf-16-be"),
        GOOD.encode("utf-32"),
        json.dumps(solved(softmax="é = 1  # ∑")).encode("ascii"),
        GOOD.replace("\n", "\r\n").encode(),
        b"  \n" + GOOD.encode(),
    ],
)
def test_every_encoding_is_read(data):
    assert "é = 1  # ∑" in sources(data)


def test_single_byte_accents_do_not_stop_anything():
    data = GOOD.encode("cp1252", "replace")
    assert "é = 1  # ?" in sources(data)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b" \n ", "empty"),
        (b"PK\x03\x04rest", "zip"),
        (b"<!DOCTYPE html><html></html>", "web page"),
        (b'{"cells": [', "JSON broken in line 1"),
        (b"import numpy as np", "JSON broken"),
        (b"[1, 2]", "no cells"),
        (b'"text"', "no cells"),
        (b"12", "no cells"),
        (b"{}", "JSON, but no notebook: it has no cells"),
        (b'{"cells": [], "nbformat": 4}', "^The notebook has no cells. Hand in the one that"),
        (b'{"cells": 5}', "no cells"),
        (b'{"cells": [1, null, "x"]}', "no cells"),
        (b"[" * 200_000, "nested"),
        (b"\xff\xfe\x00", "JSON broken"),
        (b"\x00" * 100, "JSON broken"),
        (json.dumps({"cells": [{}] * 5000}).encode(), "5000 cells"),
        (
            GOOD.replace(
                '"cells": [', '"cells": [\n<<<<<<< HEAD\n=======\n>>>>>>> theirs\n'
            ).encode(),
            "merge-conflict",
        ),
        (b" " * (65 * 2**20), "65 MB"),
    ],
)
def test_what_cannot_be_read_says_why(data, words):
    with pytest.raises(Unreadable, match=words):
        read_notebook(data)


def test_older_formats_are_read():
    newer = nbformat.from_dict(solved())
    older = nbformat.convert(newer, 3)
    read = sources(nbformat.writes(older, version=3).encode())
    assert any("einsum" in source for source in read)


@pytest.mark.parametrize(
    "cell",
    [
        {},
        {"cell_type": "code"},
        {"cell_type": 5, "source": 7},
        {"cell_type": "code", "source": None, "metadata": None, "outputs": None},
        {"cell_type": "code", "source": ["a", 1, "b"], "id": 5},
        {"cell_type": "code", "source": "x", "id": "a bad id"},
        {"cell_type": "code", "source": "x", "metadata": {"nbgrader": 5}},
        {"cell_type": "code", "source": "\ud800"},
        {"cell_type": "martian", "source": "x", "outputs": [{"output_type": "??"}]},
    ],
)
def test_malformed_cells_become_valid_ones(cell):
    notebook = read_notebook(json.dumps({"cells": [cell, cell]}).encode())
    nbformat.validate(notebook)
    nbformat.writes(notebook).encode("utf-8")


def known() -> list[Known]:
    """The labelled cells, as the gradebook knows them."""
    cells = [cell for cell in released()["cells"] if label(cell)]
    return [
        Known(
            name=label(cell),
            cell_type=cell["cell_type"],
            source="".join(cell["source"]),
            checksum="sum",
            locked=cell["metadata"]["nbgrader"]["locked"],
            grade=cell["metadata"]["nbgrader"]["grade"],
            solution=cell["metadata"]["nbgrader"]["solution"],
            points=cell["metadata"]["nbgrader"].get("points"),
        )
        for cell in cells
    ]


def repaired(notebook: dict) -> tuple[dict[str, nbformat.NotebookNode], list[str], list[str]]:
    """The labelled cells by name, the order of all names, and what was done."""
    read = read_notebook(json.dumps(notebook).encode())
    notes = repair(read, known())
    nbformat.validate(read)
    names = [label(cell) for cell in read.cells if label(cell)]
    assert sorted(names) == sorted(each.name for each in known())
    return {label(cell): cell for cell in read.cells if label(cell)}, names, notes


def test_a_sound_notebook_is_left_as_it_is():
    cells, names, notes = repaired(solved())
    assert notes == []
    assert names == [each.name for each in known()]
    assert cells["softmax"].source == RIGHT["softmax"].strip()


def test_stripped_metadata_is_restored():
    notebook = solved()
    for cell in notebook["cells"]:
        cell["metadata"] = {}
    cells, names, notes = repaired(notebook)
    assert cells["softmax"].source == RIGHT["softmax"].strip()
    assert cells["check-softmax"].metadata.nbgrader.points == FULL["softmax"]
    assert names == [each.name for each in known()]
    assert len(notes) == len(known())


@pytest.mark.parametrize(
    "break_label",
    [
        lambda label: label.update(schema_version=99),
        lambda label: label.update(schema_version=0),
        lambda label: label.update(points="many", grade="yes"),
        lambda label: label.update(grade=False, solution=True, locked=False),
        lambda label: label.pop("grade_id"),
        lambda label: label.update(extra={"a": 1}),
    ],
)
def test_broken_labels_are_restored(break_label):
    notebook = solved()
    for cell in notebook["cells"]:
        if label(cell):
            break_label(cell["metadata"]["nbgrader"])
    cells, _, _ = repaired(notebook)
    about = cells["check-softmax"].metadata.nbgrader
    assert (about.points, about.grade, about.solution, about.schema_version) == (2, True, False, 3)
    assert cells["softmax"].source == RIGHT["softmax"].strip()


def test_of_copied_cells_the_last_one_counts():
    notebook = solved()
    copied = {**cell_of(notebook, "softmax"), "source": "def softmax(x): ..."}
    notebook["cells"].append(copied)
    cells, _, _ = repaired(notebook)
    assert cells["softmax"].source == "def softmax(x): ..."


@pytest.mark.parametrize("kind", ["markdown", "raw"])
@pytest.mark.parametrize("first", [True, False])
def test_a_copy_of_another_type_is_not_run(kind, first):
    notebook = solved()
    cell = cell_of(notebook, "softmax")
    copied = {"cell_type": kind, "metadata": cell["metadata"], "source": "def softmax(x): ..."}
    at = notebook["cells"].index(cell)
    notebook["cells"].insert(at if first else at + 1, copied)
    cells, names, notes = repaired(notebook)
    assert cells["softmax"].source == RIGHT["softmax"].strip()
    assert names == [each.name for each in known()]
    assert notes == []


@pytest.mark.parametrize("kind", ["markdown", "raw"])
def test_an_old_try_of_another_type_gives_way_to_code(kind):
    """Whether the code is in a cell of its own, or in that of another exercise."""
    for place in ("own", "attention"):
        notebook = solved()
        cell = cell_of(notebook, "softmax")
        cell |= {"cell_type": kind, "source": "def softmax(x): ..."}
        if place == "own":
            notebook["cells"].insert(1, {"cell_type": "code", "source": RIGHT["softmax"]})
        else:
            cell_of(notebook, place)["source"] += RIGHT["softmax"]
        cells, _, notes = repaired(notebook)
        assert "def softmax(x): ..." not in cells["softmax"].source
        assert len(notes) == 1


def all_code(notebook: dict) -> tuple[list[str], list[str]]:
    """The sources of all code cells after repairing, stripped, and what was done."""
    read = read_notebook(json.dumps(notebook).encode())
    notes = repair(read, known())
    return [cell.source.strip() for cell in read.cells if cell.cell_type == "code"], notes


RELEASED = {each.name: each.source.strip() for each in known()}


@pytest.mark.parametrize("name", ["setup", "check-softmax"])
@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np\nfrom numpy import *",
        "%matplotlib inline\nx = 1",
        "def not_valid(:",
        RIGHT["softmax"].strip() + '\ncheck("softmax", softmax)',
    ],
)
def test_a_changed_locked_cell_is_run_beside_the_released_one(name, source):
    notebook = solved()
    cell_of(notebook, name)["source"] = source
    code, notes = all_code(notebook)
    step = 1 if name == "setup" else -1  # what is checked comes before its check
    assert code[code.index(RELEASED[name]) + step] == source
    assert len(code) == len(all_code(solved())[0]) + 1
    assert notes == [
        f"The cell {name} is locked and differed from the released one: both were run."
    ]


@pytest.mark.parametrize("name", ["setup", "check-softmax"])
@pytest.mark.parametrize(
    "change",
    [
        lambda source: source,
        lambda source: source.replace("\n", "\r\n") + "\n\n",
        lambda source: f"# my own comment\n{source}  # and another",
        lambda source: "# nothing is left",
        lambda source: "",
    ],
)
def test_a_locked_cell_without_code_of_its_own_is_only_restored(name, change):
    notebook = solved()
    cell_of(notebook, name)["source"] = change(RELEASED[name])
    code, notes = all_code(notebook)
    assert RELEASED[name] in code
    assert len(code) == len(all_code(solved())[0])
    assert notes == []


def test_deleted_cells_are_put_back_where_they_were():
    notebook = solved()
    gone = {"setup", "softmax", "check-softmax", "check-self_attention"}
    notebook["cells"] = [cell for cell in notebook["cells"] if label(cell) not in gone]
    cells, names, notes = repaired(notebook)
    assert names == [each.name for each in known()]
    assert "NotImplementedError" not in cells["softmax"].source
    assert "import numpy" in cells["setup"].source
    assert len(notes) == 4


def test_a_solution_moved_to_a_cell_of_ones_own_is_found():
    notebook = solved()
    cell = cell_of(notebook, "softmax")
    cell["metadata"] = {}
    notebook["cells"].remove(cell)
    notebook["cells"].insert(2, cell)
    cells, _, _ = repaired(notebook)
    assert cells["softmax"].source == RIGHT["softmax"].strip()


@pytest.mark.parametrize("kind", ["markdown", "raw"])
def test_retyped_cells_get_their_type_back(kind):
    notebook = solved()
    for name in ("softmax", "check-softmax", "setup"):
        cell = cell_of(notebook, name)
        cell["cell_type"] = kind
        del cell["outputs"]
        del cell["execution_count"]
    cells, _, _ = repaired(notebook)
    assert {cells[name].cell_type for name in ("softmax", "check-softmax", "setup")} == {"code"}


def test_a_check_before_its_solution_moves_behind_it():
    notebook = solved()
    check = cell_of(notebook, "check-softmax")
    notebook["cells"].remove(check)
    notebook["cells"].insert(1, check)
    _, names, notes = repaired(notebook)
    assert names.index("check-softmax") == names.index("softmax") + 1
    assert len(notes) == 1


def test_labels_that_nobody_knows_are_dropped():
    notebook = solved()
    notebook["cells"].append(
        {
            **cell_of(notebook, "check-softmax"),
            "metadata": {"nbgrader": {"grade": True, "grade_id": "check-mine", "points": 100}},
        }
    )
    repaired(notebook)
