"""Work counts wherever it stands in the notebook: cells can be run in any order, and again.

One class, graded once. What is right somewhere earns its marks, and what is wrong earns none.
"""

from typing import Any

import pytest

from autograder.grading.batch import Graded
from autograder.grading.repeating import repeat
from tests.grading.notebooks import (
    FOUR,
    FULL,
    HARMLESS,
    ONE,
    RIGHT,
    WRONG_AXIS,
    cell_of,
    from_solutions,
    label,
    released,
    solved,
    with_code,
)

SIX = "06-your-own-module"
STUB = "".join(cell_of(released(), "softmax")["source"])
SETUP = "".join(cell_of(released(), "setup")["source"])
CHECK = "".join(cell_of(released(), "check-softmax")["source"])
ALL = "\n".join(RIGHT[name] for name in FOUR)
HELPED = "def attention(q, k, v):\n    return finish(softmax(dot_product_scores(q, k)), v)"
HELPER = "def finish(weights, v):\n    return weights @ v, weights"
NOT_ALLOWED = (
    "import torch\n"
    "def softmax(scores):\n    return torch.softmax(torch.from_numpy(scores), -1).numpy()"
)
# At its check it takes down what it is asked, to be answered where nobody watches.
ASKED = "asked = []\ndef softmax(scores):\n    asked.append(scores.copy())\n    return scores"
FROM_MEMORY = (
    "import torch\n"
    "known = {a.tobytes(): torch.softmax(torch.from_numpy(a), -1).numpy() for a in asked}\n"
    "def softmax(scores):\n    return known[scores.tobytes()]"
)


def after(name: str, code: str, notebook: dict[str, Any] | None = None) -> dict[str, Any]:
    """A cell with this code right behind a labelled one; the stub for softmax is left."""
    changed = notebook or solved(softmax=STUB)
    at = 1 + next(i for i, cell in enumerate(changed["cells"]) if label(cell) == name)
    cell = {**HARMLESS, "id": f"after-{at}", "execution_count": None, "source": code}
    changed["cells"].insert(at, cell)
    return changed


def at_the_end(code: str, **functions: str | None) -> dict[str, Any]:
    return with_code(solved(**{"softmax": STUB, **functions}), code)


def without(notebook: dict[str, Any], *names: str) -> dict[str, Any]:
    notebook["cells"] = [cell for cell in notebook["cells"] if label(cell) not in names]
    return notebook


def edited(name: str, source: str, **functions: str | None) -> dict[str, Any]:
    """With another text in a locked cell."""
    notebook = solved(**functions)
    cell_of(notebook, name)["source"] = source
    return notebook


def unlabelled(notebook: dict[str, Any]) -> dict[str, Any]:
    for cell in notebook["cells"]:
        cell["metadata"] = {}
    return notebook


def copied(kind: str, source: str, **functions: str | None) -> dict[str, Any]:
    """With a copy of the cell of softmax, of another type and text, below it."""
    notebook = solved(**functions)
    at = next(i for i, cell in enumerate(notebook["cells"]) if label(cell) == "softmax")
    metadata = notebook["cells"][at]["metadata"]
    copy = {"id": "copy", "cell_type": kind, "metadata": metadata, "source": source}
    notebook["cells"].insert(at + 1, copy)
    return notebook


def retyped(kind: str, source: str) -> dict[str, Any]:
    """With the cell of softmax turned into another type, and nothing else in its place."""
    notebook = solved()
    cell = cell_of(notebook, "softmax")
    del cell["outputs"], cell["execution_count"]
    cell |= {"cell_type": kind, "source": source}
    return notebook


def swapped() -> dict[str, Any]:
    """With the exercise `attention` above `softmax`, which it calls."""
    notebook = solved()
    names = ("attention", "check-attention")
    moved = [cell_of(notebook, name) for name in names]
    without(notebook, *names)
    at = next(i for i, cell in enumerate(notebook["cells"]) if label(cell) == "softmax")
    notebook["cells"][at:at] = moved
    return notebook


def one_cell(name: str = "") -> dict[str, Any]:
    """All of a notebook's code merged into one cell, which may keep a label."""
    parts = [SETUP, *("".join(c["source"]) for c in solved()["cells"] if label(c) in FOUR), CHECK]
    metadata = {"nbgrader": {"grade_id": name}} if name else {}
    cell = {**HARMLESS, "execution_count": None, "source": "\n\n".join(parts), "metadata": metadata}
    return {**released(), "cells": [cell]}


def many_cells(code: str) -> dict[str, Any]:
    notebook = at_the_end(code)
    for number in range(1880):
        source = f"tried_{number} = softmax(np.ones((1, 3)))"
        scratch = {**HARMLESS, "id": f"n{number}", "execution_count": None, "source": source}
        notebook["cells"].insert(3, scratch)
    return notebook


RIGHT_SOMEWHERE: dict[str, dict[str, Any]] = {
    "at the end, the stub left": at_the_end(RIGHT["softmax"]),
    "behind its check": after("check-softmax", RIGHT["softmax"]),
    "all in one at the end": with_code(without(solved(), *FOUR), ALL),
    "all in one at the end, no labels": unlabelled(with_code(without(solved(), *FOUR), ALL)),
    "a helper at the end": with_code(solved(attention=HELPED), HELPER),
    "a helper behind the check": after("check-attention", HELPER, solved(attention=HELPED)),
    "a helper in the next exercise": solved(
        attention=HELPED, self_attention=HELPER + "\n" + RIGHT["self_attention"]
    ),
    "sections swapped": swapped(),
    "in an if": at_the_end("if True:\n    " + RIGHT["softmax"].strip().replace("\n", "\n    ")),
    "in a try": at_the_end(
        "try:\n    softmax = lambda s: (lambda e: e / e.sum(-1, keepdims=True))"
        "(np.exp(s - s.max(-1, keepdims=True)))\nfinally:\n    pass"
    ),
    "a magic above": at_the_end("%matplotlib inline\n" + RIGHT["softmax"]),
    "a cell magic above": at_the_end("%%time" + RIGHT["softmax"]),
    "imported": with_code(
        at_the_end("%%writefile own.py\nimport numpy as np" + RIGHT["softmax"]),
        "from own import softmax as soft, softmax",
    ),
    "everything imported": with_code(
        at_the_end("%%writefile all_own.py\nimport numpy as np" + RIGHT["softmax"]),
        "from all_own import *",
    ),
    "executed": at_the_end(f"exec({RIGHT['softmax']!r})"),
    "a name of an earlier one": at_the_end(
        RIGHT["softmax"].replace("softmax", "softmax_v2") + "softmax = softmax_v2"
    ),
    "a module imported at the end": at_the_end(
        "import math", softmax=RIGHT["softmax"].replace("np.exp(", "math.e ** (")
    ),
    "a broken cell behind": with_code(at_the_end(RIGHT["softmax"]), "def softmax(scores:"),
    "overwritten by a wrong try": with_code(solved(), WRONG_AXIS),
    "overwritten by a number": with_code(solved(), "softmax = attention = np = 3"),
    "deleted at the end": with_code(solved(), "del softmax, attention, dot_product_scores"),
    "ended at the end": with_code(solved(), "softmax = None\nimport os; os._exit(0)"),
    "an import in the setup": edited(
        "setup", SETUP + "\nfrom numpy import *", softmax=RIGHT["softmax"].replace("np.exp", "exp")
    ),
    "a setup of an older release": edited("setup", "import sys\nimport numpy as np"),
    "in its check": edited("check-softmax", RIGHT["softmax"] + CHECK, softmax=STUB),
    "merged into its check": without(edited("check-softmax", RIGHT["softmax"] + CHECK), "softmax"),
    "merged into its cell": without(solved(softmax=RIGHT["softmax"] + CHECK), "check-softmax"),
    "merged into the next check": without(
        edited("check-attention", RIGHT["softmax"] + RIGHT["attention"] + CHECK), "softmax"
    ),
    "one cell": one_cell(),
    "one cell, the setup": one_cell("setup"),
    "one cell, a check": one_cell("check-softmax"),
    "an old try, raw": copied("raw", WRONG_AXIS),
    "an old try, Markdown": copied("markdown", WRONG_AXIS),
    "an old try, raw, in the only place": after(
        "setup", RIGHT["softmax"], retyped("raw", WRONG_AXIS)
    ),
    "an old try, raw, merged": without(retyped("raw", WRONG_AXIS), "dot_product_scores"),
    "turned into raw": retyped("raw", RIGHT["softmax"]),
    "many cells": many_cells(RIGHT["softmax"]),
}
cell_of(RIGHT_SOMEWHERE["an old try, raw, merged"], "attention")["source"] = ALL

# With the outcome for softmax.
WRONG_EVERYWHERE: dict[str, tuple[dict[str, Any], str]] = {
    "wrong at the end": (at_the_end(WRONG_AXIS), "wrong values"),
    "wrong in its check": (edited("check-softmax", WRONG_AXIS), "wrong values"),
    "a number in its check": (edited("check-softmax", "softmax = lambda s: 1.0"), "wrong type"),
    "a forged check": (edited("check-softmax", "print('1.0')\n1.0", softmax=STUB), "not attempted"),
    "a forged check, wrong": (edited("check-softmax", "1.0", softmax=WRONG_AXIS), "wrong values"),
    "the stub at the end": (at_the_end(STUB), "not attempted"),
    "nothing at the end": (with_code(without(solved(), "softmax"), "softmax_ = 1"), "error"),
    "not allowed": (at_the_end(NOT_ALLOWED), "not allowed"),
    "not allowed, then wrong": (at_the_end(WRONG_AXIS, softmax=NOT_ALLOWED), "wrong values"),
    "from memory": (at_the_end(FROM_MEMORY, softmax=ASKED), "wrong values"),
    "a wrong old try": (copied("raw", RIGHT["softmax"], softmax=WRONG_AXIS), "wrong values"),
}
CLASS = "".join(cell_of(from_solutions(SIX), "MultiHeadAttention")["source"])
CLASS_STUB = "".join(cell_of(released(SIX), "MultiHeadAttention")["source"])
NO_METHOD = CLASS.replace("def forward(", "def later(")
METHOD = "MultiHeadAttention.forward = MultiHeadAttention.later"
REOPENED = "class MultiHeadAttention(MultiHeadAttention):\n    forward = MultiHeadAttention.later"


def module(first: str, last: str = "") -> dict[str, Any]:
    notebook = from_solutions(SIX)
    cell_of(notebook, "MultiHeadAttention")["source"] = first
    return with_code(notebook, last) if last else notebook


MODULES = {
    "module at the end": module(CLASS_STUB, CLASS),
    "module, a method later": module(NO_METHOD, METHOD),
    "module, reopened": module(NO_METHOD, REOPENED),
    "module, twice": module(CLASS, CLASS_STUB),
}
NO_MODULES = {
    "module, no method": module(NO_METHOD),
    "module, stubs": module(CLASS_STUB, CLASS_STUB),
}


@pytest.fixture(scope="module")
def results(school) -> dict[str, Graded]:
    for student, notebook in RIGHT_SOMEWHERE.items():
        school.hand_in(student, notebook)
    for student, (notebook, _) in WRONG_EVERYWHERE.items():
        school.hand_in(student, notebook)
    for student, notebook in {**MODULES, **NO_MODULES}.items():
        school.hand_in(student, notebook, SIX)
    return school.grade()


def points(rows: Any) -> dict[str, float]:
    return {name: row.points for name, row in rows.items()}


@pytest.mark.parametrize("student", RIGHT_SOMEWHERE)
def test_what_is_right_somewhere_earns_its_marks(results, rows_of, student):
    rows = rows_of(results[student])
    assert points(rows) == FULL, [row.note for row in rows.values()]


@pytest.mark.parametrize("student", WRONG_EVERYWHERE)
def test_what_is_wrong_everywhere_earns_none(results, rows_of, student):
    rows = rows_of(results[student])
    assert rows["dot_product_scores"].points == FULL["dot_product_scores"]
    assert rows["softmax"].points == 0
    assert rows["softmax"].outcome == WRONG_EVERYWHERE[student][1]
    assert rows["attention"].points == 0
    assert "softmax, which is not right yet" in rows["attention"].note


def test_what_is_wrong_at_the_end_is_named(results, rows_of):
    assert rows_of(results["wrong at the end"])["softmax"].mistake == "over-first-axis"


def test_what_never_ends_at_the_end_costs_only_itself(new_school, rows_of):
    with new_school.project.config.open("a") as config:
        config.write("\nc.Judge.cell_timeout = 2\n")
    endless = "def softmax(scores):\n    while True: pass"
    new_school.hand_in("stub", at_the_end(endless))
    new_school.hand_in("right", with_code(solved(), endless))
    results = new_school.grade()
    rows = rows_of(results["stub"])
    assert points(rows) == {**dict.fromkeys(FOUR, 0), "dot_product_scores": 1}
    assert "more than 2 seconds" in rows["softmax"].note
    assert points(rows_of(results["right"])) == FULL


def test_classes_are_completed_later_too(results, rows_of):
    for student in MODULES:
        assert rows_of(results[student])["MultiHeadAttention"].outcome == "correct", student
    for student in NO_MODULES:
        assert rows_of(results[student])["MultiHeadAttention"].points == 0, student
        assert rows_of(results[student])["MultiHeadSelfAttention"].points, student


@pytest.mark.parametrize(
    ("student", "notes"),
    [
        ("at the end, the stub left", ()),
        ("an import in the setup", ("The cell setup is locked and differed",)),
        ("in its check", ("The cell check-softmax is locked and differed",)),
        ("one cell, the setup", ("The cell setup is locked and differed", *["The cell "] * 8)),
        ("an old try, raw", ()),
        ("turned into raw", ()),
    ],
)
def test_what_was_mended_is_said(results, student, notes):
    record = results[student].record
    assert len(record.repairs) == len(notes)
    for repair, note in zip(record.repairs, notes, strict=True):
        assert repair.startswith(note)


REPEATED = ["at the end, the stub left", "sections swapped", "in its check", "wrong at the end"]
REPEATED += ["not allowed, then wrong", "from memory"]


@pytest.mark.parametrize("student", REPEATED)
def test_an_appeal_is_answered_in_the_same_way(results, school, student):
    record = results[student].record
    for row in record.rows:
        again = repeat(school.project, school.classroom, record, row)
        assert again.reproduced
        assert not again.words_differ
    if student == "at the end, the stub left":
        softmax = next(row for row in record.rows if row.exercise == "softmax")
        shown = repeat(school.project, school.classroom, record, softmax).sources
        assert [source.code for source in shown] == [STUB, RIGHT["softmax"]]


def test_the_graded_notebook_has_each_check_once_with_one_output(results, school):
    import nbformat

    for student in RIGHT_SOMEWHERE:
        path = school.classroom.autograded / student / ONE / "01-exercises.ipynb"
        checks = [
            cell
            for cell in nbformat.read(path, as_version=4).cells
            if cell.metadata.get("nbgrader", {}).get("grade")
        ]
        assert sorted(cell.metadata.nbgrader.grade_id for cell in checks) == sorted(
            f"check-{name}" for name in FOUR
        )
        for cell in checks:
            (output,) = cell.outputs
            assert output.output_type == "execute_result"
