"""Notebooks as students hand them in, made from the released ones."""

import copy
import json
from pathlib import PurePosixPath
from typing import Any

from tests.repository import committed_files, read_committed

RIGHT = {
    "weighted_average": """
def weighted_average(values, weights):
    return np.einsum("...n,...n->...", values, weights)
""",
    "dot_product_scores": """
def dot_product_scores(q, k):
    return np.einsum("...id,...jd->...ij", q, k)
""",
    "softmax": """
def softmax(scores):
    exponentials = np.exp(scores - scores.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)
""",
    "attention": """
def attention(q, k, v):
    weights = softmax(dot_product_scores(q, k))
    return weights @ v, weights
""",
    "self_attention": """
def self_attention(x, w_q, w_k, w_v):
    return attention(x @ w_q, x @ w_k, x @ w_v)
""",
}
OVERFLOWING = """
def softmax(scores):
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)
"""
WRONG_AXIS = """
def softmax(scores):
    exponentials = np.exp(scores - scores.max(axis=0, keepdims=True))
    return exponentials / exponentials.sum(axis=0, keepdims=True)
"""
FOUR = ["dot_product_scores", "softmax", "attention", "self_attention"]
FULL = {"dot_product_scores": 1, "softmax": 2, "attention": 2, "self_attention": 2}
ONE = "01-one-head"
START = "00-start-here"
PATHS = [PurePosixPath(path) for path in committed_files("exercises/*/*.ipynb")]
NOTEBOOKS = {path.parent.name: path.stem for path in PATHS}  # by assignment
HARMLESS = {"id": "added", "cell_type": "code", "metadata": {}, "outputs": []}


def released(assignment: str = ONE) -> dict[str, Any]:
    """The notebook that students receive."""
    path = f"exercises/{assignment}/{NOTEBOOKS[assignment]}.ipynb"
    notebook: dict[str, Any] = json.loads(read_committed(path))
    return notebook


def from_solutions(assignment: str) -> dict[str, Any]:
    """The notebook with the course's own solutions, as if somebody had handed it in."""
    path = f"solutions/{assignment}/{NOTEBOOKS[assignment]}.ipynb"
    notebook: dict[str, Any] = json.loads(read_committed(path))
    return notebook


def label(cell: dict[str, Any]) -> str:
    """The name by which nbgrader knows a cell, or ""."""
    return str(cell["metadata"].get("nbgrader", {}).get("grade_id", ""))


def solved(assignment: str = ONE, /, **functions: str | None) -> dict[str, Any]:
    """The released notebook with right solutions; others by name, None for the stub."""
    notebook = released(assignment)
    sources = {**RIGHT, **functions}
    for cell in notebook["cells"]:
        source = sources.get(label(cell))
        if source is not None:
            cell["source"] = source.strip()
    return notebook


def cell_of(notebook: dict[str, Any], name: str) -> dict[str, Any]:
    """The cell that bears a label."""
    return next(cell for cell in notebook["cells"] if label(cell) == name)


def with_code(notebook: dict[str, Any], code: str, before: str = "") -> dict[str, Any]:
    """A copy with one more code cell, before the labelled one or at the end."""
    changed = copy.deepcopy(notebook)
    at = len(changed["cells"])
    if before:
        at = next(i for i, cell in enumerate(changed["cells"]) if label(cell) == before)
    extra = {**HARMLESS, "id": f"added-{at}", "execution_count": None, "source": code}
    changed["cells"].insert(at, extra)
    return changed
