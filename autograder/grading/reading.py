"""Reading whatever students hand in as a notebook.

Everything that can be understood becomes a clean notebook of the current format: cells,
their sources and nbgrader's labels; outputs and other metadata are dropped, because the
notebook is run anyway. What cannot be understood raises Unreadable, with a reason that the
student can act on.
"""

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any

import nbformat
from nbformat.notebooknode import NotebookNode

SIZE_LIMIT = 64 * 2**20  # bytes of a file
PARTS_LIMIT = 1_000_000  # lists and tables in a file
CELL_LIMIT = 2000
CODE_LIMIT = 1_000_000  # characters of code in a notebook
TEXT_LIMIT = 200_000  # characters of other text in a notebook; more is left out
LEFT_OUT = "*(In grading, this text is left out: the notebook has too much of it.)*"
SAVE_AGAIN = (
    "Open it in JupyterLab; when it opens, save it and hand it in again, "
    "else copy your code into a fresh notebook."
)
MARKS = (  # how a file starts in other encodings; the longer marks first
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)
STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
CELL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class Unreadable(ValueError):
    """A file that is no notebook. The message says why, and what the student can do."""


def read_notebook(data: bytes) -> NotebookNode:
    """The notebook in a file's bytes, cleaned. Raises Unreadable."""
    if len(data) > SIZE_LIMIT:
        raise Unreadable(
            f"The file has {len(data) // 2**20} MB, too much for a notebook of this course. "
            "Clear its outputs (Edit > Clear Outputs of All Cells), save it and hand it in again."
        )
    if not data.strip():
        raise Unreadable("The file is empty. Hand in the notebook itself.")
    if data.startswith(b"PK\x03\x04"):
        raise Unreadable("The file is a zip archive. Hand in the notebook that is inside.")
    text = _decode(data)
    if _has_too_many_parts(text):
        raise Unreadable(
            "The file has too many parts for a notebook of this course. "
            "Clear its outputs (Edit > Clear Outputs of All Cells), save it and hand it in again."
        )
    try:
        tree = json.loads(text, strict=False)
    except (ValueError, RecursionError) as error:
        raise Unreadable(_why_no_json(text, error)) from error
    cells = list(_cells(tree))
    if not cells and isinstance(tree, dict) and tree.get("cells") == []:  # a fresh one, unused
        raise Unreadable("The notebook has no cells. Hand in the one that your work is in.")
    if not cells:
        raise Unreadable(f"The file is JSON, but no notebook: it has no cells. {SAVE_AGAIN}")
    if len(cells) > CELL_LIMIT:
        raise Unreadable(f"The notebook has {len(cells)} cells, more than {CELL_LIMIT}.")
    return _rebuild(cells)


def _has_too_many_parts(text: str) -> bool:
    """Whether the JSON would take a hundred times its size in memory: "{}," is three bytes."""
    if text.count("[") + text.count("{") <= PARTS_LIMIT:
        return False
    bare = STRING.sub("", text)
    return bare.count("[") + bare.count("{") > PARTS_LIMIT


def _decode(data: bytes) -> str:
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    if data[1:2] == b"\0":
        return data.decode("utf-16-le", "replace")
    if data[:1] == b"\0":
        return data.decode("utf-16-be", "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        # JSON's own signs are the same in every encoding of one byte; only accents suffer.
        return data.decode("cp1252", "replace")


def _why_no_json(text: str, error: Exception) -> str:
    if re.search(r"^<{7} ", text, re.MULTILINE) and re.search(r"^>{7} ", text, re.MULTILINE):
        return (
            "The file contains git's merge-conflict markers (<<<<<<<, =======, >>>>>>>). "
            "Decide which version is yours, remove the markers, and hand it in again."
        )
    if text.lstrip().startswith("<"):
        return "The file is a web page (HTML), not the notebook. Hand in the .ipynb file itself."
    if isinstance(error, json.JSONDecodeError):
        return f"The file is no valid notebook (JSON broken in line {error.lineno}). {SAVE_AGAIN}"
    what = "nested too deeply" if isinstance(error, RecursionError) else "a number is too long"
    return f"The file is no valid notebook ({what}). {SAVE_AGAIN}"


def _cells(tree: Any) -> Iterator[dict[str, Any]]:
    """The cells of a notebook of format 4, 3 or 2; whatever else is in their place is left out."""
    if not isinstance(tree, dict):
        return
    sheets = tree.get("worksheets")
    places = [tree, *(sheets if isinstance(sheets, list) else [])]
    for place in places:
        cells = place.get("cells") if isinstance(place, dict) else None
        for cell in cells if isinstance(cells, list) else []:
            if isinstance(cell, dict):
                yield cell


def _rebuild(cells: list[dict[str, Any]]) -> NotebookNode:
    taken: set[str] = set()
    rebuilt = [_rebuild_cell(cell) for cell in cells]
    code = sum(len(cell.source) for cell in rebuilt if cell.cell_type == "code")
    if code > CODE_LIMIT:
        raise Unreadable(
            f"The notebook contains {code} characters of code, more than {CODE_LIMIT}. "
            "Take out what is no code of yours, such as data, and hand it in again."
        )
    room = TEXT_LIMIT
    for cell in rebuilt:
        if cell.cell_type != "code":
            room -= len(cell.source)
            if room < 0:
                cell.source = LEFT_OUT
    for number, (cell, raw) in enumerate(zip(rebuilt, cells, strict=True)):
        wish = raw.get("id")
        usable = isinstance(wish, str) and CELL_ID.fullmatch(wish) and wish not in taken
        cell.id = wish if usable else f"cell-{number}"
        while cell.id in taken:
            cell.id += "x"
        taken.add(cell.id)
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    return nbformat.v4.new_notebook(cells=rebuilt, metadata={"kernelspec": kernel})


def _rebuild_cell(raw: dict[str, Any]) -> NotebookNode:
    kind = raw.get("cell_type")
    source = _text(raw.get("source", raw.get("input")))  # format 3 called it input
    metadata = raw.get("metadata")
    label = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    name = label.get("grade_id") if isinstance(label, dict) else None
    # Nothing else of a label is believed.
    kept = {"nbgrader": {"grade_id": name}} if isinstance(name, str) else {}
    cell: dict[str, Any] = {"id": "", "cell_type": "raw", "source": source, "metadata": kept}
    if kind == "code":
        cell |= {"cell_type": "code", "execution_count": None, "outputs": []}
    elif kind in ("markdown", "heading", "html"):
        cell["cell_type"] = "markdown"
    # nbformat's own makers validate each cell, which takes longer than all the rest.
    return nbformat.from_dict(cell)


def _text(source: Any) -> str:
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    # A lone surrogate, which JSON can hold, could not be written to a file again.
    return source.encode("utf-8", "replace").decode("utf-8") if isinstance(source, str) else ""
