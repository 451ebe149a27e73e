"""What the cells of a notebook define, and what they look up, read off their code.

It says when an exercise is judged, never how: whatever cannot be told counts as a definition.
"""

import ast
import functools
import re
import symtable
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from autograder.observing import unwarned

LONG = 20_000  # characters; a longer cell is not parsed
LONG_NOTEBOOK = 200_000  # characters of code; of a longer notebook no cell is
WORD = re.compile(r"[^\W\d]\w*")
CELL_MAGIC = re.compile(r"\s*%%(\w+)[^\n]*\n?")
# Cell magics whose text is not Python of this notebook. `%%time` and its like run what follows.
ELSEWHERE = {"bash", "sh", "script", "system", "sx", "html", "HTML", "svg", "SVG", "latex"}
ELSEWHERE |= {"markdown", "javascript", "js", "writefile", "file", "perl", "ruby", "cmd"}
# What may define names that stand nowhere in the code.
OPAQUE = {"exec", "globals", "locals", "vars", "get_ipython"}
OPAQUE_MAGIC = re.compile(r"%(run|load|pylab|store)\b")


@dataclass(frozen=True)
class Names:
    """The names of a cell.

    bound: those that it defines or changes, each with what it was imported from, or "".
    looked_up: those that it, or a function in it, takes from the notebook.
    anything: whether it may define others as well.
    """

    bound: frozenset[tuple[str, str]] = frozenset()
    looked_up: frozenset[str] = frozenset()
    anything: bool = False


def is_short(sources: Iterable[str]) -> bool:
    """Whether a notebook's code is little enough to be parsed: at worst that takes seconds."""
    return sum(map(len, sources)) <= LONG_NOTEBOOK


def defines(source: str, name: str, *, parsing: bool = True) -> bool:
    """Whether a cell's code defines a function, class or variable of this name.

    parsing: whether the code is parsed, as far as it is Python; else its lines are looked at.
    """
    if name not in source:
        return False
    bound = _bound_in(source) if parsing else None
    if bound is None:
        pattern = rf"^(async\s+def|def|class)\s+{re.escape(name)}\b"
        return re.search(pattern, source, re.MULTILINE) is not None
    return name in bound


def names_in(source: str, *, parsing: bool = True) -> Names:
    """The names of a cell. Where its code is not read, every word of it is one."""
    parsed = _parse(source) if parsing else None
    if parsed is None:
        words = frozenset(WORD.findall(source))
        anything = "import *" in source or _is_opaque(source, words)
        return Names(frozenset((word, "") for word in words), words, anything)
    tree, table = parsed
    imported = dict(_imported(tree))
    bound = {(name, imported.get(name, "")) for name in {*_bound(table), *_changed(tree)}}
    looked_up = frozenset(_looked_up(table))
    anything = "*" in imported or _is_opaque(source, looked_up)
    return Names(frozenset(bound), looked_up, anything)


def _is_opaque(source: str, words: Set[str]) -> bool:
    return not OPAQUE.isdisjoint(words) or OPAQUE_MAGIC.search(source) is not None


def completed_later(cells: Sequence[str | None], places: Iterable[tuple[str, int]]) -> list[str]:
    """The functions that cells behind a place may change, directly or in what they call.

    cells: the code of the notebook's cells in order, None for what is not run.
    places: names of functions, each with the index of the cell where it is looked at.
    """
    parsing = is_short(source or "" for source in cells)
    names = [Names() if source is None else names_in(source, parsing=parsing) for source in cells]
    by_name: dict[str, list[Names]] = defaultdict(list)
    for cell in names:
        for name in {name for name, _ in cell.bound}:
            by_name[name].append(cell)
    found = []
    for name, place in places:
        before = {pair for cell in names[:place] for pair in cell.bound if pair[1]}
        # To import once more what is imported already changes nothing.
        later = {pair[0] for cell in names[place:] for pair in cell.bound - before}
        anything = any(cell.anything for cell in names[place:])
        hidden = name not in by_name  # what its definition looks up is not known either
        if anything or (hidden and later) or later & _all_used(name, by_name):
            found.append(name)
    return found


def _all_used(name: str, by_name: Mapping[str, Sequence[Names]]) -> set[str]:
    """A name, and all that its definitions look up, and the definitions of those."""
    used, waiting, seen = {name}, [name], set()
    while waiting:
        for cell in by_name.get(waiting.pop(), ()):
            if id(cell) not in seen:
                seen.add(id(cell))
                waiting += cell.looked_up - used
                used |= cell.looked_up
    return used


@unwarned()  # "\d" in a label of a plot is no business of whoever grades
def _parse(source: str) -> tuple[ast.Module, symtable.SymbolTable] | None:
    """A cell's code, without IPython's lines, or None where it is no Python."""
    if len(source) > LONG:
        return None
    magic = CELL_MAGIC.match(source)
    if magic is not None:
        source = "" if magic[1] in ELSEWHERE else source[magic.end() :]
    for code in (source, _without_magics(source)):
        try:
            return ast.parse(code), symtable.symtable(code, "cell", "exec")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return None


def _without_magics(source: str) -> str:
    """The code with Python in the place of magics, shell commands and questions."""
    lines = []
    for line in source.split("\n"):
        text = line.strip()
        indent = line[: len(line) - len(line.lstrip())]
        name, _, value = text.partition("=")
        if text.startswith(("%", "!", "?")) or (text.endswith("?") and not set("'\"#") & set(text)):
            line = f"{indent}pass"
        elif value.lstrip().startswith(("%", "!")):
            line = f"{indent}{name}= None"
        lines.append(line)
    return "\n".join(lines)


@functools.lru_cache(maxsize=2048)  # every missing cell is sought in all that there are
def _bound_in(source: str) -> frozenset[str] | None:
    parsed = _parse(source)
    return None if parsed is None else frozenset(_bound(parsed[1]))


def _bound(table: symtable.SymbolTable) -> Iterator[str]:
    """What is assigned, defined or imported at the top level, also inside of `if` and `try`."""
    for scope in _scopes(table):
        for symbol in scope.get_symbols():
            here = scope is table or symbol.is_global()
            if here and (symbol.is_assigned() or symbol.is_imported()):
                yield symbol.get_name()


def _looked_up(table: symtable.SymbolTable) -> Iterator[str]:
    for scope in _scopes(table):
        for symbol in scope.get_symbols():
            if symbol.is_referenced() and (scope is table or symbol.is_global()):
                yield symbol.get_name()


def _scopes(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    """A scope and all that are inside of it."""
    waiting = [table]
    while waiting:
        scope = waiting.pop()
        yield scope
        waiting += scope.get_children()


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The names that are imported, each with what it is imported from."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = f"{'.' * node.level}{node.module}:" if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                yield name, f"{module}{alias.name if alias.asname or module else name}"


def _changed(tree: ast.Module) -> Iterator[str]:
    """What is given another part: `A.forward = f`, `setattr(A, …)`, `@a_method_of(A)`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            owner: ast.expr = node
            while isinstance(owner, ast.Attribute | ast.Subscript):
                owner = owner.value
            yield from _name(owner)
        elif isinstance(node, ast.Call) and node.args and _name(node.func) == ["setattr"]:
            yield from _name(node.args[0])
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call):
                    for argument in decorator.args:
                        yield from _name(argument)


def _name(node: ast.expr) -> list[str]:
    return [node.id] if isinstance(node, ast.Name) else []
