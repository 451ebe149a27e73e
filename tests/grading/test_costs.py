"""No notebook keeps the grader busy or fills its memory: parsers are given what they can take."""

import json
import time
from collections.abc import Callable

import pytest
from nbconvert.filters import markdown2html

from autograder.grading.bounding import MARKDOWN_LIMIT, TAGS_LIMIT, Room
from autograder.grading.defining import completed_later, defines
from autograder.grading.outputs import clean_html, clean_markdown, clean_outputs
from autograder.grading.reading import CODE_LIMIT, LEFT_OUT, Unreadable, read_notebook

# Short texts that parsers take very long for, each repeated until it is a megabyte.
MARKDOWN = [
    "[",
    "![",
    "- a\n",
    "  - a\n",
    "***a",
    "_a*",
    "> ",
    "<a ",
    "$",
    "`",
    "|a\n|-\n",
    "<div>",
]
HTML = ["<div>", "<img>", "<img src=x>", "<ul><li>", "<details>", "<div><img>", "<b><p>", "<a>"]
LONG = 2**20
PATIENCE = 20  # seconds, on a machine that has other things to do; without a limit it is minutes


def display(kind: str, text: str) -> dict:
    return {"output_type": "display_data", "metadata": {}, "data": {kind: text}}


def in_time(work: Callable[[], object]) -> None:
    began = time.process_time()
    work()
    assert time.process_time() - began < PATIENCE


@pytest.mark.parametrize("piece", MARKDOWN)
def test_markdown_that_is_slow_to_render(piece):
    text = piece * (LONG // len(piece))
    just = piece * (MARKDOWN_LIMIT // len(piece))
    in_time(lambda: clean_outputs([display("text/markdown", text)] * 8))
    in_time(lambda: clean_outputs([display("text/markdown", just)] * 8))
    in_time(lambda: markdown2html(clean_markdown(just)))


def reopened(tag: str, count: int) -> str:
    """HTML in which every paragraph opens again what the first has left open."""
    closers = "</q>" * count  # of nothing, so that as many are closed as are opened
    opened = "".join(f"{tag.format(n)}" for n in range(count))
    return f"<p>{opened}</p>{'<p>x</p>' * (MARKDOWN_LIMIT // 20)}{closers}"


@pytest.mark.parametrize(
    "tag", ["<b title={}>", "<I title='>{:0300}'>", "<a href=#{}>", "<tt\nid={}>"]
)
def test_html_that_grows_when_it_is_read(tag):
    small, large = reopened(tag, 20), reopened(tag, 480)
    shown = clean_outputs([display("text/html", page) for page in [small, *[large] * 8]])
    assert sum(len(str(output)) for output in shown) < 10 * 2**20
    in_time(lambda: clean_outputs([display("text/html", large)] * 8))
    room = Room()
    cleaned = [clean_markdown(large, room) for _ in range(8)]
    assert sum(map(len, cleaned)) < 20 * 2**20  # and not 64 times three, as without a limit
    bold = "".join(f"<p>A <b>word</b> and <i class='x'>another</i>, {n}.</p>" for n in range(3000))
    (honest,) = clean_outputs([display("text/html", bold)])
    assert "<b>word</b>" in honest.data["text/html"]


@pytest.mark.parametrize("piece", HTML)
def test_html_that_is_slow_to_clean(piece):
    text = piece * (LONG // len(piece))
    just = piece * (TAGS_LIMIT // piece.count("<"))
    in_time(lambda: clean_outputs([display("text/html", text)] * 8))
    in_time(lambda: clean_outputs([display("text/html", just)] * 8))


def test_all_cells_of_a_notebook_share_what_may_be_spent():
    room = Room()
    text = display("text/markdown", "word " * (MARKDOWN_LIMIT // 5))
    shown = [clean_outputs([text], room)[0].data for _ in range(8)]
    assert ["text/html" in data for data in shown] == [True] * 5 + [False] * 3
    assert shown[-1]["text/plain"].startswith("word")
    much = [{"output_type": "stream", "text": "x" * 3 * 2**20}]
    room = Room()
    kept = [clean_outputs(much, room)[0].text for _ in range(10)]
    assert sum(map(len, kept)) < 17 * 2**20
    assert "left out" in kept[-1]


def test_honest_pages_are_kept():
    row = "<tr>" + "<td>1</td>" * 20 + "</tr>"
    table = f"<table>{row * 60}</table>"
    (output,) = clean_outputs([display("text/html", table)])
    assert output.data["text/html"].count("<td>") == 1200
    (output,) = clean_outputs([display("text/markdown", "*a*\n\n" * 3000)])
    assert "<em>a</em>" in output.data["text/html"]
    pictures = '<p>a<img src="http://x.example" alt="word">b</p>' * 1000
    in_time(lambda: clean_html(pictures))
    assert clean_html(pictures).count("[picture not shown: word]") == 1000


def notebook(*cells: tuple[str, str], **more: object) -> bytes:
    made = [{"cell_type": kind, "metadata": {}, "source": source} for kind, source in cells]
    return json.dumps({"cells": made, **more}).encode()


def test_a_file_that_would_fill_the_memory_is_refused():
    bomb = b'{"cells": [], "a": [' + b"{}," * 2_000_000 + b"0]}"
    with pytest.raises(Unreadable, match="Clear its outputs"):
        read_notebook(bomb)
    printed = "[1, [2, '\"', {3: 4}]]" * 100_000
    assert read_notebook(notebook(("code", "1"), outputs=printed)).cells[0].source == "1"


def test_too_much_code_is_refused_and_too_much_text_left_out():
    with pytest.raises(Unreadable, match="characters of code"):
        read_notebook(notebook(*[("code", "a = 1\n" * (CODE_LIMIT // 20))] * 10))
    cells = read_notebook(notebook(*[("markdown", "word " * 10_000)] * 6, ("code", "1"))).cells
    assert [cell.source == LEFT_OUT for cell in cells] == [False] * 4 + [True] * 2 + [False]


SOURCES = {
    "many statements": "softmax\n" * 30_000,
    "a long chain": "softmax" + ".a" * 50_000,
    "nested": "(" * 50_000 + "softmax",
    "negated": "-" * 90_000 + "softmax",
    "compared": "softmax<" * 10_000 + "1",
    "null": "softmax\0def softmax(): pass",
    "assigned": "\n".join(f"a{n} = b{n} + softmax" for n in range(5000)),
    "defined": "\n".join(f"def a{n}(x): return b{n} + softmax(x)" for n in range(2500)),
    "magics": "%x\n" + "softmax = !b\n" * 7000,
    "blanks": "%x\n" + " " * 90_000 + "softmax",
}


@pytest.mark.parametrize("kind", SOURCES)
def test_sources_that_break_parsers_are_only_sources(kind):
    in_time(lambda: defines(SOURCES[kind], "softmax"))


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("size", [2**20, 15_000, 150])
def test_reading_what_cells_define_takes_no_time(kind, size):
    """Large cells and many small ones, as much code as a notebook may have."""
    cells = [SOURCES[kind][:size]] * min(1900, CODE_LIMIT // min(size, len(SOURCES[kind])))
    names = [("softmax", 1), ("attention", 2), ("self_attention", 3)] * 2
    in_time(lambda: completed_later(cells, names))
