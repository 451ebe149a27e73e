"""Cleaning what students write, and the outputs that come from their process.

Both are shown to instructors and students, in the formgrader and in feedback: nothing in
them may run, load anything, or be taken for our own. What decides is always the HTML that a
browser would get: Markdown is rendered first, as nbconvert renders it, and cleaned then.
"""

import html
import re
from typing import Any

import nbformat
import nh3
from bs4 import BeautifulSoup
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbformat.notebooknode import NotebookNode

from autograder.grading.bounding import MARKDOWN_LIMIT, Room

CELL_LIMIT = 4 * 2**20  # characters of one cell's outputs
TEXT_TYPES = ("text/plain", "text/markdown", "text/latex")
PICTURES = ("image/png", "image/jpeg")
BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")
# Controls other than tab, newline, return and the escape that colours begin with.
CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
# Escape sequences other than colours: they could move the cursor or rename the window.
ESCAPES = re.compile(r"\x1b(?!\[[0-9;]*m)")
# Pictures that are in the page itself, and of a kind that cannot contain a script.
RASTER = re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]*", re.IGNORECASE)
# Elsewhere by a scheme that a browser only follows on a click, or in the same page.
LINK = re.compile(r"(#|https?:|mailto:)[^\x00-\x20]*", re.IGNORECASE)
PICTURE = "[picture not shown]"
# The cleaner has written it: no attribute has a ">" in it.
WITHOUT_SOURCE = re.compile(r"<img(?![^>]* src=\"[^\"])[^>]*>")
TOO_MUCH = "[not shown: it has too many parts]"
SCHEMES = {"http", "https", "mailto", "data"}
# Tags that Markdown makes of plain text, formulas, lists, tables and code.
PLAIN_TAG = re.compile(
    r"</?(?:p|em|strong|code|pre|ul|ol|li|h[1-6]|blockquote|br|hr|del|dl|dt|dd|span|div"
    r"|table|thead|tbody|tr|td|th)"
    r"(?: class=\"(?:[a-z]{1,2}\d?|highlight|language-[\w+-]+)\"| style=\"text-align:[a-z]+\""
    r"| start=\"\d+\")?(?: ?/)?>"
)
STUDENT_ATTRIBUTES = {
    **nh3.ALLOWED_ATTRIBUTES,
    **{f"h{level}": {"id"} for level in range(1, 7)},
}
# Formulas, made by a converter; of MathML nothing that leads elsewhere or holds other languages.
OPERATOR = "form|largeop|lspace|maxsize|minsize|movablelimits|rspace|stretchy|symmetric"
MATHML: dict[str, set[str]] = {
    "math": {"display"},
    "mfrac": {"displaystyle", "linethickness"},
    "mi": {"mathvariant"},
    "mo": set(OPERATOR.split("|")),
    "mover": {"accent"},
    "mpadded": {"depth", "height", "lspace", "voffset", "width"},
    "mspace": {"height", "width"},
    "mstyle": {"displaystyle", "scriptlevel"},
    "mtable": {"displaystyle", "scriptlevel"},
    "munder": {"accentunder"},
    "munderover": {"accent", "accentunder"},
    **{tag: set() for tag in ("mmultiscripts", "mn", "mphantom", "mprescripts", "mroot", "mrow")},
    **{tag: set() for tag in ("msqrt", "msub", "msubsup", "msup", "mtd", "mtext", "mtr")},
}
PAGE_TAGS = nh3.ALLOWED_TAGS | {"section", "main", "tfoot"} | MATHML.keys()
PAGE_ATTRIBUTES = {
    **nh3.ALLOWED_ATTRIBUTES,
    **MATHML,
    "a": {"href", "name"},
    "details": {"open"},
    "div": {"tabindex"},  # of ours: what students write has lost its own by then
    "*": {"class", "dir", "id", "lang", "role", "style", "title"},
}
OPENING = re.compile(r"\\begin\{|\\\\[\[(]|\$\$")  # each is sought an end for, in all of the text
COST_LIMIT = 20_000_000
# In a style, whatever could load something, or hide that it does.
LOADING = re.compile(r"url|image|src|element|@|\\|/\*", re.IGNORECASE)


def clean_outputs(untrusted: list[Any], room: Room | None = None) -> list[NotebookNode]:
    """The outputs that are well-formed, rebuilt from their plain parts alone.

    room: what may be spent on them, where all cells of a notebook share it.
    """
    cleaned: list[NotebookNode] = []
    room = room or Room()
    left = min(CELL_LIMIT, room.text)
    for output in untrusted:
        node = _clean(output, room) if isinstance(output, dict) else None
        if node is None:
            continue
        size = len(str(node))
        left -= size
        room.text -= size
        if left < 0:
            cleaned.append(stream("stderr", "… The rest of the outputs was left out.\n"))
            break
        cleaned.append(node)
    return cleaned


def new_output(kind: str, **fields: Any) -> NotebookNode:
    """An output of a cell; unlike nbformat's own maker it does not validate, which takes long."""
    return nbformat.from_dict({"output_type": kind, **fields})


def stream(name: str, text: str) -> NotebookNode:
    """Printed text as an output."""
    return new_output("stream", name=name, text=text)


def _clean(output: dict[str, Any], room: Room) -> NotebookNode | None:
    kind = output.get("output_type")
    if kind == "stream" and isinstance(output.get("text"), str):
        name = "stderr" if output.get("name") == "stderr" else "stdout"
        return stream(name, _coloured(output["text"], room))
    if kind == "error":
        traceback = output.get("traceback")
        lines = traceback if isinstance(traceback, list) else []
        return new_output(
            "error",
            ename=_coloured(str(output.get("ename", "")), room),
            evalue=_coloured(str(output.get("evalue", "")), room),
            traceback=[_coloured(str(line), room) for line in lines],
        )
    if kind in ("display_data", "execute_result") and isinstance(output.get("data"), dict):
        data = _clean_bundle(output["data"], room)
        if not data:
            return None
        count = output.get("execution_count")
        known = kind == "execute_result" and type(count) is int and 0 <= count < 10**6
        number = {"execution_count": count if known else None} if kind == "execute_result" else {}
        return new_output(kind, data=data, metadata={}, **number)
    return None


def _clean_bundle(data: dict[str, Any], room: Room) -> dict[str, str]:
    kept: dict[str, str] = {}
    for kind, value in data.items():
        if not isinstance(value, str):
            continue
        if kind in TEXT_TYPES:
            kept[kind] = _coloured(value, room)
        elif kind == "text/html":
            if room.takes_html(value):
                kept[kind] = clean_html(value)
            else:
                kept.setdefault("text/plain", TOO_MUCH)
        elif kind in PICTURES and BASE64.fullmatch(value):
            kept[kind] = value
    if "text/markdown" in kept:
        # Rendered here, so that it is not rendered by something else.
        source = kept.pop("text/markdown")
        page = _render(source) if room.takes_markdown(source) else ""
        if page and room.takes_html(page):
            kept.setdefault("text/html", clean_html(page))
        else:
            kept.setdefault("text/plain", source)
    return kept


def clean_markdown(source: str, room: Room | None = None) -> str:
    """A student's Markdown: as it is when it is plain, else as cleaned HTML on one line.

    room: what may be spent on it, where all cells of a notebook share it.

    On one line it is HTML for every reader of Markdown, and nothing in it is read as Markdown
    a second time.
    """
    rendered = _render(source)
    if not (room or Room()).takes_html(rendered):
        rendered = _as_it_is(source)
    if "<" not in PLAIN_TAG.sub("", rendered):
        return source
    lines = clean_html(rendered).replace("\r", "\n").strip().split("\n")
    return f"<div>{'&#10;'.join(lines)}</div>"


def clean_html(page: str) -> str:
    """A student's HTML: nothing in it runs or loads, and it has none of our classes and styles."""
    return _clean_tree(page, nh3.ALLOWED_TAGS, STUDENT_ATTRIBUTES)


def clean_body(page: str) -> str:
    """The body of a page of ours, whoever wrote parts of it: nothing in it runs or loads."""
    return _clean_tree(page, PAGE_TAGS, PAGE_ATTRIBUTES)


def as_markdown(source: str) -> str:
    """Text that is no Markdown, as Markdown that shows it as it is."""
    longest = max(map(len, re.findall(r"`+", source)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{source}\n{fence}"


def check_cost(source: str) -> None:
    """Raise ValueError where looking for the ends of formulas would take very long."""
    if len(OPENING.findall(source)) * len(source) > COST_LIMIT:
        raise ValueError("There are too many beginnings of formulas.")


class _Renderer(IPythonRenderer):
    """Nbconvert's, without what it does for attachments, which are not handed in."""

    def text(self, text: str) -> str:
        # A dollar that is none of a formula's, told apart from those that are.
        return super().text(text).replace("$", "<span>$</span>")

    def block_code(self, code: str, info: str | None = None) -> str:
        # Not coloured: on some code, lexers take time that grows with its square.
        return super().block_code(code)

    def _embed_image_or_attachment(self, src: str) -> str:
        return src


def _render(source: str) -> str:
    try:
        check_cost(source)
        if len(source) > MARKDOWN_LIMIT:
            return _as_it_is(source)
        renderer = _Renderer(escape=False, exclude_anchor_links=True)
        return MarkdownWithMath(renderer=renderer).render(source)
    except Exception:  # whatever a parser of text stumbles over: the text is shown as it is
        return _as_it_is(source)


def _as_it_is(source: str) -> str:
    # With an attribute, so that it is taken for what it is: not plain.
    return f'<pre lang="">{html.escape(source)}</pre>'


def _clean_tree(page: str, tags: set[str], attributes: dict[str, set[str]]) -> str:
    cleaned = _clean_once(page, tags, attributes)
    if not WITHOUT_SOURCE.search(cleaned):
        return cleaned
    tree = BeautifulSoup(cleaned, "html.parser")
    for picture in tree.find_all("img"):
        if not picture.get("src"):
            words = str(picture.get("alt") or "").strip()
            # In place: to replace a tag among thousands, all of them are looked through.
            picture.name, picture.attrs = "span", {}
            picture.string = f"[picture not shown: {words}]" if words else PICTURE
    return _clean_once(str(tree), tags, attributes)


def _clean_once(page: str, tags: set[str], attributes: dict[str, set[str]]) -> str:
    return nh3.clean(
        page,
        tags=tags,
        attributes=attributes,
        attribute_filter=_harmless,
        generic_attribute_prefixes={"aria-"},
        link_rel="noopener noreferrer",
        url_schemes=SCHEMES,
    )


def _harmless(tag: str, name: str, value: str) -> str | None:
    """The value of an attribute, or None when it could run or load something."""
    if name == "src":
        return value if tag == "img" and RASTER.fullmatch(value) else None
    if name in ("href", "cite"):
        return value if LINK.fullmatch(value.strip()) else None
    if name == "style":
        return None if LOADING.search(value) else value
    return value


def clean_text(text: str) -> str:
    """Text without control characters and escape sequences, colours excepted."""
    return ESCAPES.sub("", CONTROLS.sub("", text))


def _coloured(text: str, room: Room) -> str:
    """`clean_text`, without its colours where there are too many."""
    return clean_text(text) if room.takes_colours(text) else clean_text(COLOURS.sub("", text))
