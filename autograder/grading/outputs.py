"""Cleaning the outputs that come from a student's process.

They are shown to instructors and students, in the formgrader and in feedback: nothing in
them may run, load anything, or be taken for our own.
"""

import re
from typing import Any

import nbformat
import nh3
from nbformat.notebooknode import NotebookNode

CELL_LIMIT = 4 * 2**20  # characters of one cell's outputs
TEXT_TYPES = ("text/plain", "text/markdown", "text/latex")
PICTURES = ("image/png", "image/jpeg")
BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")
# Controls other than tab, newline, return and the escape that colours begin with.
CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]")
# Escape sequences other than colours: they could move the cursor or rename the window.
ESCAPES = re.compile(r"\x1b(?!\[[0-9;]*m)")
HTML = re.compile(r"<[a-zA-Z/!?]")


def clean_outputs(untrusted: list[Any]) -> list[NotebookNode]:
    """The outputs that are well-formed, rebuilt from their plain parts alone."""
    cleaned: list[NotebookNode] = []
    room = CELL_LIMIT
    for output in untrusted:
        node = _clean(output) if isinstance(output, dict) else None
        if node is None:
            continue
        room -= len(str(node))
        if room < 0:
            cleaned.append(stream("stderr", "… The rest of the outputs was left out.\n"))
            break
        cleaned.append(node)
    return cleaned


def stream(name: str, text: str) -> NotebookNode:
    """Printed text as an output."""
    return nbformat.v4.new_output("stream", name=name, text=text)


def _clean(output: dict[str, Any]) -> NotebookNode | None:
    kind = output.get("output_type")
    if kind == "stream" and isinstance(output.get("text"), str):
        name = "stderr" if output.get("name") == "stderr" else "stdout"
        return stream(name, clean_text(output["text"]))
    if kind == "error":
        lines = output.get("traceback")
        return nbformat.v4.new_output(
            "error",
            ename=clean_text(str(output.get("ename", ""))),
            evalue=clean_text(str(output.get("evalue", ""))),
            traceback=[clean_text(str(line)) for line in lines] if isinstance(lines, list) else [],
        )
    if kind in ("display_data", "execute_result") and isinstance(output.get("data"), dict):
        data = _clean_bundle(output["data"])
        if not data:
            return None
        count = output.get("execution_count")
        known = kind == "execute_result" and type(count) is int and 0 <= count < 10**6
        number = {"execution_count": count} if known else {}
        return nbformat.v4.new_output(kind, data=data, **number)
    return None


def _clean_bundle(data: dict[str, Any]) -> dict[str, str]:
    kept = {}
    for kind, value in data.items():
        if not isinstance(value, str):
            continue
        if kind in TEXT_TYPES:
            kept[kind] = clean_text(value)
        elif kind == "text/html":
            kept[kind] = nh3.clean(value)
        elif kind in PICTURES and BASE64.fullmatch(value):
            kept[kind] = value
    if "text/markdown" in kept:
        kept["text/markdown"] = clean_markdown(kept["text/markdown"])
    return kept


def clean_markdown(source: str) -> str:
    """A student's Markdown without HTML that could run or load something."""
    # Cleaning also escapes signs that mean something in Markdown: only where there is HTML.
    return nh3.clean(source) if HTML.search(source) else source


def clean_text(text: str) -> str:
    """Text without control characters and escape sequences, colours excepted."""
    return ESCAPES.sub("", CONTROLS.sub("", text))
