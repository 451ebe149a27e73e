r"""Formulas in pages: TeX becomes MathML, which browsers show without any script.

What is a formula is decided as JupyterLab decides it: `$…$`, `$$…$$`, `\\(…\\)`, `\\[…\\]` and
environments, outside of code. `\(…\)` and `\[…\]` are taken for formulas too when there is TeX
in them: whoever writes them means one.
"""

import contextlib
import functools
import html
import itertools
import re
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ClassVar

import nh3
from bs4 import BeautifulSoup
from bs4.element import NavigableString
from math_core import LatexError, LatexToMathML
from mistune import InlineState
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath, MathInlineParser

from autograder.grading.outputs import check_cost

# The converter is recursive and has no limit of its own: no formula may end our process.
LENGTH_LIMIT, DEPTH_LIMIT = 1500, 40  # characters, and braces inside each other
TREE_LIMIT, COUNT_LIMIT = 200_000, 1000  # characters of HTML, formulas in one of its texts

# Brackets with one backslash, and no other such bracket between them.
BETWEEN = rf"(?:(?!\\[()\[\]]).){{1,{LENGTH_LIMIT}}}?"
ROUND, SQUARE = rf"\\\((?P<round>{BETWEEN})\\\)", rf"\\\[(?P<square>{BETWEEN})\\\]"
DOLLARS = r"(?:[^$\\]|\\.)"
IN_HTML = re.compile(
    r"\\\$"  # escaped by its author: no formula begins here
    rf"|\$\$(?P<display>{DOLLARS}+)\$\$|\$(?P<inline>{DOLLARS}+)\$"
    rf"|{ROUND}|{SQUARE}"
    rf"|\\begin\{{(?P<name>[a-z]*\*?)\}}.{{0,{LENGTH_LIMIT}}}?\\end\{{(?P=name)\}}",
    re.DOTALL,
)
TEX = re.compile(r"[\\^_={}<>+]|\A\s*[A-Za-z]\s*\Z")  # not only words or a number
# In these a dollar is a dollar.
CODE = frozenset(("code", "kbd", "math", "pre", "samp", "tt", "var"))
HEADING = re.compile(r"h[1-6]")

Level = Callable[[int], int]
"""From the level of a heading, as its author chose it, to its level in the page."""


@dataclass
class _Room:
    """What may still be spent on the formulas of one page: how many, and characters of MathML."""

    count: int = 2000
    text: int = 1_000_000


_room: ContextVar[_Room | None] = ContextVar("_room", default=None)


@contextlib.contextmanager
def formulas_of_a_page() -> Iterator[None]:
    """Inside the block, formulas are of one page, and what is too much for it is left as TeX.

    Else one page would keep everybody else waiting for theirs.
    """
    token = _room.set(_Room())
    try:
        yield
    finally:
        _room.reset(token)


@functools.lru_cache(maxsize=1024)
def to_mathml(tex: str, *, display: bool) -> str | None:
    """A formula as MathML, or None when it cannot be converted."""
    if len(tex) > LENGTH_LIMIT or _depth(tex) > DEPTH_LIMIT or not tex.strip():
        return None
    # No definitions: they would let a short formula become a long one.
    converter = LatexToMathML(fancy_error=False, max_expansions=0)
    try:
        return str(converter.convert_with_local_state(tex.strip(), displaystyle=display))
    except LatexError:
        return None


def _depth(tex: str) -> int:
    depth = deepest = 0
    for sign in tex:
        depth += (sign == "{") - (sign == "}")
        deepest = max(deepest, depth)
    return deepest


def _shown(tex: str, typed: str, *, display: bool) -> str:
    """A formula, or what was typed where it is none."""
    room = _room.get()
    fits = room is None or min(room.count, room.text) > 0
    found = to_mathml(tex, display=display) if fits else None
    if room is not None:
        room.count -= 1
        room.text -= len(found or "")
    return found or f"<code>{html.escape(typed, quote=False)}</code>"


def markdown_to_html(source: str, level: Level) -> str:
    """Markdown as JupyterLab shows it, with its formulas as MathML; not cleaned yet."""
    try:
        check_cost(source)
        parser = MarkdownWithMath(renderer=_Renderer(level), inline=_InlineParser())
        return parser.render(source)
    except Exception:  # whatever a parser of text stumbles over: the text is shown as it is
        return f"<pre>{html.escape(source)}</pre>"


def formulas_in_html(page: str, level: Level) -> str:
    """HTML of a student with its formulas as MathML, and its headings at their level.

    It keeps no names that something in the page around it could be taken for.
    """
    if len(page) > TREE_LIMIT:  # as a table of a million numbers: no formulas, no headings
        return nh3.clean(page, tags=nh3.ALLOWED_TAGS - {f"h{n}" for n in range(1, 7)})
    tree = BeautifulSoup(page, "html.parser")
    for tag in tree.find_all(True):
        if HEADING.fullmatch(tag.name):
            tag.name = f"h{level(int(tag.name[1]))}"
        if tag.name == "th" and not tag.get("scope"):
            tag["scope"] = "col" if tag.find_parent("thead") else "row"
        if tag.name == "img" and not tag.get("alt"):
            tag["alt"] = "picture without a description"
        for name in list(tag.attrs):
            if name in ("id", "name", "role") or name.startswith("aria-"):
                del tag[name]
    for text in tree.find_all(string=IN_HTML):
        room = _room.get()
        if room is not None and min(room.count, room.text) <= 0:
            break
        if type(text) is NavigableString and not CODE & {parent.name for parent in text.parents}:
            _replace(text)
    return str(tree)


def _replace(text: NavigableString) -> None:
    pieces, end = [], 0
    for found in itertools.islice(IN_HTML.finditer(text), COUNT_LIMIT):
        pieces.append(html.escape(text[end : found.start()], quote=False))
        pieces.append(_formula(found))
        end = found.end()
    pieces.append(html.escape(text[end:], quote=False))
    fresh = BeautifulSoup("".join(pieces), "html.parser")
    text.replace_with(*list(fresh.contents))


def _formula(found: re.Match[str]) -> str:
    typed = found.group()
    short = found["round"] or found["square"]
    tex = found["display"] or found["inline"] or short or (typed if found["name"] else "")
    if not tex or (short and not TEX.search(short)):
        return html.escape(typed, quote=False)
    return _shown(tex, typed, display=not (found["inline"] or found["round"]))


class _InlineParser(MathInlineParser):
    r"""Nbconvert's, which reads formulas as JupyterLab does, and `\(…\)` with one backslash."""

    SPECIFICATION: ClassVar[dict[str, str]] = {
        **MathInlineParser.SPECIFICATION,
        "round_math": rf"(?s:(?<!\\){ROUND})",
        "square_math": rf"(?s:(?<!\\){SQUARE})",
    }
    DEFAULT_RULES = ("round_math", "square_math", *MathInlineParser.DEFAULT_RULES)

    def parse_round_math(self, found: re.Match[str], state: InlineState) -> int:
        return self._parse(found, "inline_math", found["round"], state)

    def parse_square_math(self, found: re.Match[str], state: InlineState) -> int:
        return self._parse(found, "block_math", found["square"], state)

    def _parse(self, found: re.Match[str], kind: str, tex: str, state: InlineState) -> int:
        if TEX.search(tex):
            state.append_token({"type": kind, "raw": tex})
            return found.end()
        state.append_token({"type": "text", "raw": found.group()[1]})  # an escaped bracket
        return found.start() + 2


class _Renderer(IPythonRenderer):
    """Nbconvert's, with formulas as MathML, and headings that fit into the page."""

    def __init__(self, level: Level) -> None:
        super().__init__(escape=False, exclude_anchor_links=True)
        self._level = level

    def inline_math(self, body: str) -> str:
        return _shown(body, f"${body}$", display=False)

    def block_math(self, body: str) -> str:
        return _shown(body, f"$${body}$$", display=True)

    def latex_environment(self, name: str, body: str) -> str:
        typed = f"\\begin{{{name}}}{body}\\end{{{name}}}"
        return _shown(typed, typed, display=True)

    def heading(self, text: str, level: int, **attrs: Any) -> str:
        tag = f"h{self._level(level)}"
        return f"<{tag}>{text}</{tag}>\n"

    def table_cell(self, text: str, align: str | None = None, head: bool = False) -> str:
        heads = head and text.strip()  # a heading without words is none
        tag, scope = ("th", ' scope="col"') if heads else ("td", "")
        style = f' style="text-align:{align}"' if align else ""
        return f"  <{tag}{scope}{style}>{text}</{tag}>\n"

    def block_html(self, html: str) -> str:
        # What a student wrote has been cleaned, and has become one block of HTML.
        return formulas_in_html(html, self._level)

    def block_code(self, code: str, info: str | None = None) -> str:
        # Not coloured, as in what students write: see `outputs`.
        return super().block_code(code)

    def _embed_image_or_attachment(self, src: str) -> str:
        return src
