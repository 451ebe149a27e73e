"""What is wrong with a notebook as a committed file."""

import ast
import json
from collections import Counter

import nbformat


def problems(content: bytes) -> list[str]:
    """One sentence for everything that a committed notebook must not be."""
    try:
        notebook = json.loads(content)
        version = (notebook["nbformat"], notebook["nbformat_minor"])
        cells = notebook["cells"]
    except (ValueError, KeyError, TypeError) as error:
        return [f"is no notebook: {error!r}"]
    found = []
    if version != (4, 5):
        found.append(f"has the format {version[0]}.{version[1]}, not 4.5")
    kernel = notebook.get("metadata", {}).get("kernelspec", {}).get("name")
    if kernel != "python3":
        found.append(f"names the kernel {kernel!r}, not 'python3'")
    ids = Counter(cell.get("id") for cell in cells)
    if None in ids:
        found.append("has a cell without an id")
    found += [f"has {n} cells with the id {id!r}" for id, n in ids.items() if id and n > 1]
    for number, cell in enumerate(cells):
        if cell.get("outputs"):
            found.append(f"has outputs in cell {number}")
        if cell.get("execution_count") is not None:
            found.append(f"has an execution count in cell {number}")
    if not found:
        try:
            nbformat.validate(notebook)
        except nbformat.ValidationError as error:
            found.append(f"is not valid: {error.message}")
    return found


def imported_packages(content: bytes) -> set[str]:
    """The top-level packages that a notebook's code cells import; cells that do not parse aside."""
    packages: set[str] = set()
    for cell in json.loads(content)["cells"]:
        if cell["cell_type"] == "code":
            lines = "".join(cell["source"]).splitlines()
            code = "\n".join(line for line in lines if not line.lstrip().startswith(("%", "!")))
            try:
                packages |= {name.partition(".")[0] for name in imports(ast.parse(code))}
            except SyntaxError:
                continue
    return packages


def imports(tree: ast.AST) -> set[str]:
    """The dotted names that a module imports absolutely, `from a import b` as both a and a.b."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names
