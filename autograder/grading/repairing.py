"""Restoring what a student's editor broke: nbgrader's labels, and cells that are gone.

nbgrader finds cells by labels in their metadata and stops at the first label that is not as
it left it. Here every labelled cell that the gradebook knows gets its label back, so that
what nbgrader does next always finds what it expects. A student's code is never thrown away:
where a locked cell was changed, it is run beside what was released.
"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import nbformat
from nbformat.notebooknode import NotebookNode
from nbgrader.api import Gradebook

from autograder.grading.defining import LONG, defines, is_short
from autograder.observing import unwarned

CHECK = "check-"
SCHEMA = 3


@dataclass(frozen=True)
class Known:
    """A labelled cell of the released notebook, as the gradebook has it."""

    name: str
    cell_type: str
    source: str
    checksum: str | None
    locked: bool
    grade: bool
    solution: bool
    points: float | None

    @property
    def label(self) -> dict[str, Any]:
        """The metadata by which nbgrader knows the cell."""
        label = {
            "grade": self.grade,
            "grade_id": self.name,
            "locked": self.locked,
            "schema_version": SCHEMA,
            "solution": self.solution,
            "task": False,
            "cell_type": self.cell_type,
            "checksum": self.checksum,
            "points": self.points,
        }
        return {key: value for key, value in label.items() if value is not None}


def known_cells(gradebook: Gradebook, notebook: str, assignment: str) -> list[Known]:
    """The labelled cells of a notebook, in its order. Raises nbgrader's MissingEntry."""
    found = gradebook.find_notebook(notebook, assignment)
    points = {cell.name: cell.max_score for cell in found.grade_cells}
    solutions = {cell.name for cell in found.solution_cells}
    return [
        Known(
            name=cell.name,
            cell_type=cell.cell_type,
            source=cell.source,
            checksum=cell.checksum,
            locked=cell.locked,
            grade=cell.name in points,
            solution=cell.name in solutions,
            points=points.get(cell.name),
        )
        for cell in found.source_cells
    ]


def repair(notebook: NotebookNode, known: Sequence[Known]) -> list[str]:
    """Label every known cell once, put back those that are gone; what was done, in sentences."""
    notes: list[str] = []
    parsing = is_short(cell.source for cell in notebook.cells if cell.cell_type == "code")
    places, others = _labelled(notebook, known)
    for cell in known:
        if cell.name not in places:
            found = _lookalike(notebook, cell, places, parsing)
            if found is not None:
                places[cell.name] = found
                notes.append(f"The cell {cell.name} had lost its label, which was put back.")
            elif cell.name in others and not _is_defined(notebook, cell, parsing):
                places[cell.name] = others[cell.name]
    for each in notebook.cells:
        each.metadata.pop("nbgrader", None)
    for cell in known:
        if cell.name in places:
            if _is_changed(places[cell.name], cell):
                places[cell.name] = _released_beside(notebook, cell, places[cell.name])
                notes.append(
                    f"The cell {cell.name} is locked and differed from the released one: both "
                    "were run."
                )
            _label(places[cell.name], cell)
    before: NotebookNode | None = None
    for cell in known:
        if cell.name not in places:
            places[cell.name] = _put_back(notebook, cell, before)
            notes.append(f"The cell {cell.name} was missing and was put back.")
        before = places[cell.name]
    notes += _checks_after_solutions(notebook, known, places)
    return notes


def _labelled(
    notebook: NotebookNode, known: Sequence[Known]
) -> tuple[dict[str, NotebookNode], dict[str, NotebookNode]]:
    """The cell that bears each name and is of its type, and that of another type.

    Of copies the last one, which has the last word. Who keeps an old try as a raw or a Markdown
    cell does not want it run.
    """
    types = {cell.name: cell.cell_type for cell in known}
    places: dict[str, NotebookNode] = {}
    others: dict[str, NotebookNode] = {}
    for cell in notebook.cells:
        label = cell.metadata.get("nbgrader")
        name = label.get("grade_id") if isinstance(label, dict) else None
        if isinstance(name, str) and name in types:
            (places if cell.cell_type == types[name] else others)[name] = cell
    return places, others


def _lookalike(
    notebook: NotebookNode, known: Known, places: dict[str, NotebookNode], parsing: bool
) -> NotebookNode | None:
    """The last cell without a known label that must be this one, or None."""
    for cell in reversed(notebook.cells):
        if any(cell is labelled for labelled in places.values()):
            continue
        if _is_answer(known):
            alike = cell.cell_type == "code" and defines(cell.source, known.name, parsing=parsing)
        else:
            alike = cell.source.strip() == known.source.strip() and bool(known.source.strip())
        if alike:
            return cell
    return None


def _is_answer(known: Known) -> bool:
    return known.solution and not known.grade


def _is_defined(notebook: NotebookNode, known: Known, parsing: bool) -> bool:
    """Whether code of the notebook, perhaps in the cell of another exercise, has the answer."""
    return _is_answer(known) and any(
        cell.cell_type == "code" and defines(cell.source, known.name, parsing=parsing)
        for cell in notebook.cells
    )


def _is_changed(cell: NotebookNode, known: Known) -> bool:
    """Whether a locked cell has code of the student's: many editors know nothing of locks."""
    if not known.locked or cell.cell_type != "code" or known.cell_type != "code":
        return False
    if "".join(cell.source.split()) == "".join(known.source.split()):
        return False
    code, released = _code(cell.source), _code(known.source)
    return code is None or (code != "" and code != released)


@unwarned()
def _code(source: str) -> str | None:
    """What there is to run, without comments and layout, or None where it is no plain Python."""
    if len(source) > LONG:
        return None
    try:
        return "\n".join(map(ast.dump, ast.parse(source).body))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _released_beside(notebook: NotebookNode, known: Known, changed: NotebookNode) -> NotebookNode:
    """Put the released cell beside the changed one, so that the student's code is run as it was.

    A check is to come after all that is to be checked; anything else is what the rest builds on.
    """
    cell = _new_cell(known.cell_type, known.source)
    at = _index(notebook, changed)
    notebook.cells.insert(at + 1 if known.grade else at, cell)
    return cell


def _label(cell: NotebookNode, known: Known) -> None:
    if cell.cell_type != known.cell_type:  # retyped: its text is still what was meant
        fresh = _new_cell(known.cell_type, cell.source)
        fresh.id = cell.id
        cell.clear()
        cell.update(fresh)
    if known.locked:
        cell.source = known.source
    cell.metadata["nbgrader"] = nbformat.from_dict(known.label)


def _put_back(notebook: NotebookNode, known: Known, before: NotebookNode | None) -> NotebookNode:
    source = known.source
    if known.solution and known.cell_type == "code":
        # Not the stub: it could replace what the student defined somewhere else.
        source = f"# This cell ({known.name}) was missing from what was handed in."
    cell = _new_cell(known.cell_type, source)
    _label(cell, known)
    at = 0 if before is None else _index(notebook, before) + 1
    notebook.cells.insert(at, cell)
    return cell


def _new_cell(cell_type: str, source: str) -> NotebookNode:
    if cell_type == "code":
        return nbformat.v4.new_code_cell(source)
    return nbformat.v4.new_markdown_cell(source)


def _index(notebook: NotebookNode, wanted: NotebookNode) -> int:
    return next(i for i, cell in enumerate(notebook.cells) if cell is wanted)


def _checks_after_solutions(
    notebook: NotebookNode, known: Sequence[Known], places: dict[str, NotebookNode]
) -> list[str]:
    """Move a check that stands before its solution to the place right after it."""
    notes = []
    for cell in known:
        solution = places.get(cell.name.removeprefix(CHECK))
        if not cell.name.startswith(CHECK) or solution is None:
            continue
        check = places[cell.name]
        if _index(notebook, check) < _index(notebook, solution):
            del notebook.cells[_index(notebook, check)]
            notebook.cells.insert(_index(notebook, solution) + 1, check)
            notes.append(f"The cell {cell.name} stood before its solution and was moved.")
    return notes
