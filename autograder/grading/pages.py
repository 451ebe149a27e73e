"""Pages for people to read: one file each, that runs nothing and asks nobody for anything.

Every page made here has a title, a language, and a policy by which a browser neither runs nor
loads anything, whoever wrote what is in its body.
"""

import functools
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import jinja2
from markupsafe import Markup
from nbconvert.filters import ansi2html
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from autograder.grading.outputs import clean_body
from autograder.grading.terminal import safe_text

# A browser keeps to this, whatever else may be in the page.
POLICY = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; '
    "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">"
)
HIGHLIGHT_LIMIT = 60_000  # characters of code that are coloured in one page
WIDE = re.compile(r"\s{300}")  # on which the lexer takes long too
# What makes text read in another order than it is in, or hides it; and other controls.
HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060"
    "\u2066-\u206f\ufeff]"
)


def time_said(moment: str | datetime) -> str:
    """A time as all pages say it, in UTC: "30 November 2026, 19:48 UTC".

    moment: a time with its zone, or one in ISO format; what is no time is said as it is.
    """
    try:
        time = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    except ValueError:
        return str(moment)
    if time.tzinfo is None:  # nbgrader keeps UTC, and does not say so
        time = time.replace(tzinfo=UTC)
    time = time.astimezone(UTC)
    return f"{time.day} {time:%B %Y, %H:%M} UTC"


def document(template: str, title: str, whose: str = "", **values: Any) -> str:
    """A whole page, from a template of ours that makes its body.

    template: its name, without ending. title: also the page's first heading.
    whose: the student's name, by which a browser tells one page from another.
    values: what the template needs. Text is escaped; HTML comes as Markup, and is cleaned.
    """
    title = safe_text(title)
    body = _environment().get_template(f"{template}.html.j2").render(title=title, **values)
    shell = _environment().get_template("shell.html.j2")
    return shell.render(
        policy=Markup(POLICY),
        title=legible(safe_text(f"{title}: {whose}" if whose else title)),
        style=Markup(_style()),
        body=Markup(legible(clean_body(body))),
    )


@functools.cache
def _environment() -> jinja2.Environment:
    return templates("pages")


def templates(folder: str) -> jinja2.Environment:
    """The templates of HTML in one of our folders. Text that they are given is escaped."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("autograder.grading", f"templates/{folder}"),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@functools.cache
def _style() -> str:
    def colours(style: str) -> Markup:
        return Markup(HtmlFormatter(style=style).get_style_defs(".code"))

    template = _environment().get_template("style.css.j2")
    return template.render(light=colours("default"), dark=colours("github-dark"))


def legible(text: str) -> str:
    r"""Text in which nothing is hidden: controls and marks of direction are written as \u202e."""
    return HIDDEN.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


def code_to_html(sources: Sequence[str]) -> list[Markup]:
    """The Python code of a page, coloured as long as it is not very much in all."""
    # Not IPython's lexer: on blank lines and on dots it takes time that grows with their square.
    lexer = get_lexer_by_name("python3", stripnl=False)
    left, pieces = HIGHLIGHT_LIMIT, []
    for source in sources:
        fits = len(source) <= left and not WIDE.search(source)
        left -= len(source) if fits else 0
        coloured = highlight(source, lexer, HtmlFormatter(nowrap=True)) if fits else ""
        pieces.append(Markup("<pre>{}</pre>").format(Markup(coloured) if fits else source))
    return pieces


def printed_to_html(text: str, kind: str = "") -> Markup:
    """What was printed, with the colours of a terminal. kind: "stderr" sets it off."""
    return Markup(f'<pre class="{kind or "stdout"}">{ansi2html(text)}</pre>')
