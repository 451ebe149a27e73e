"""Formulas in pages: what becomes one, what does not, and that nobody gets in by way of them."""

import re
import time
from typing import Any

import pytest
from bs4 import BeautifulSoup
from nbconvert.filters import markdown2html

from autograder.grading.formulas import (
    formulas_in_html,
    formulas_of_a_page,
    markdown_to_html,
    to_mathml,
)
from autograder.grading.outputs import clean_body, clean_html, clean_markdown
from tests.grading.harmless import assert_harmless


def same(level: int) -> int:
    return level


def shown(source: str) -> Any:
    """A Markdown cell as the page has it."""
    return BeautifulSoup(clean_body(markdown_to_html(source, same)), "html.parser")


@pytest.mark.parametrize(
    ("source", "display"),
    [
        ("so $x^2$ is", False),
        (r"so \\(x^2\\) is", False),
        (r"so \(x^2\) is", False),
        (r"so \(x\) is", False),
        ("$$x^2$$", True),
        ("$$\nx^2\n\n= 1\n$$", True),
        (r"\\[x^2\\]", True),
        (r"\[x^2\]", True),
        (r"\begin{align}x^2&=1\\y&=2\end{align}", True),
        ("| $x^2$ | b |\n|--|--|\n| c | d |", False),
        ("# About $x^2$", False),
        ("*$x^2$*", False),
    ],
)
def test_what_is_a_formula(source, display):
    page = shown(source)
    (formula,) = page.find_all("math")
    assert formula.get("display") == ("block" if display else None)
    assert formula.find("mi").text == "x"
    assert "$" not in page.text
    assert "\\" not in page.text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r"from \$5 to \$6", "from $5 to $6"),
        ("it costs 5$ today", "it costs 5$ today"),
        ("code `$x$` and `\\(x\\)`", "code $x$ and \\(x\\)"),
        ("```python\nprice = '$5 $6'\n```", "price = '$5 $6'"),
        ("    $x$ is indented", "$x$ is indented"),
        (r"\[see below\] \(and so on\) \[1\]", "[see below] (and so on) [1]"),
        ("``` \n\\begin{align}x\\end{align}\n```", "\\begin{align}x\\end{align}"),
    ],
)
def test_what_is_none(source, text):
    page = shown(source)
    assert not page.find_all("math")
    assert page.text.strip() == text


@pytest.mark.parametrize(
    "tex",
    [
        r"\nosuchmacro{x}",
        r"\frac{a",
        "x & y",
        "{" * 100 + "}" * 100,
        "x+" * 1000,
        r"\newcommand{\a}{\b\b}\a",
        r"\href{javascript:alert(5)}{x}",
    ],
)
def test_what_cannot_be_converted_stays_as_typed(tex):
    page = shown(f"so ${tex}$ is")
    assert not page.find_all("math")
    assert page.text.strip() == f"so ${tex}$ is"
    (typed,) = page.find_all("code")
    assert typed.text == f"${tex}$"


@pytest.mark.parametrize(
    "nested", [r"\frac{{{}}}{{y}}", r"\sqrt{{{}}}", "x^{{{}}}", "{{{}}}", r"\left({}\right)"]
)
def test_no_formula_ends_the_process(nested):
    """The converter overruns its stack on formulas that are nested very deeply."""
    tex = "x"
    for _ in range(6000):
        tex = nested.format(tex) if len(tex) < 10**5 else tex
    assert to_mathml(tex, display=True) is None


def test_dollars_that_are_escaped_survive_the_cleaning_of_a_cell():
    cleaned = clean_markdown(r"<u>Mine</u>: \$5 and \$6, $a<b$, `$c$`")
    assert cleaned.startswith("<div>")
    page = shown(cleaned)
    (formula,) = page.find_all("math")
    assert formula.text == "a<b"
    assert page.text.startswith("Mine: $5 and $6, ")
    assert page.find("code").text == "$c$"
    assert "$5 and $6" in BeautifulSoup(markdown2html(cleaned), "html.parser").text


def test_formulas_in_html_of_outputs():
    page: Any = BeautifulSoup(
        formulas_in_html(
            "<p>$x_1$ <code>$x_2$</code> \\$5 &lt;b&gt; $</p><pre>$x_3$</pre>"
            "<h1 id='summary'>A</h1>"
            "<p aria-hidden='true'>\\(a\\) \\(only words\\)</p><img src='data:image/png;base64,'>",
            lambda level: level + 3,
        ),
        "html.parser",
    )
    assert [formula.text for formula in page.find_all("math")] == ["x1", "a"]
    assert page.find("code").text == "$x_2$"
    assert page.find("pre").text == "$x_3$"
    assert "\\$5 <b> $" in page.text
    assert "(only words\\)" in page.text
    assert page.find("h4").attrs == {}
    assert not page.find(attrs={"aria-hidden": True})
    assert page.find("img")["alt"]


HOSTILE = [
    'word <math href="javascript:alert(5)"><mi href="javascript:alert(5)">x</mi></math>',
    'word <math><mi xlink:href="javascript:alert(5)">x</mi></math>',
    'word <math><semantics><mi>x</mi><annotation-xml encoding="text/html">'
    "<img src=x onerror=alert(5)></annotation-xml></semantics></math>",
    'word <math><maction actiontype="statusline#http://x.example" onclick="alert(5)">x</maction>',
    "word <math><mtext><table><mglyph><style><!--</style>"
    '<img title="--&gt;&lt;img src=1 onerror=alert(5)&gt;"></math>',
    "word <math><mtext></p><script>alert(5)</script></mtext></math>",
    'word <math><mi style="background:url(http://x.example/p.png)">x</mi></math>',
    r"$\text{<img src=x onerror=alert(5)>}$ word",
    r"$\href{javascript:alert(5)}{x}$ word",
    r"$$\begin{align}\label{a}x&=\eqref{a}\end{align}$$ word",
    r"$\text{</mtext></math><script>alert(5)</script>}$ word",
    r"$x$<script>$y$</script> $\class{a}{b}$ word",
]


@pytest.mark.parametrize("source", HOSTILE)
def test_nobody_gets_in_by_way_of_a_formula(source):
    for made in (
        markdown_to_html(source, same),
        markdown_to_html(clean_markdown(source), same),
        formulas_in_html(clean_html(source), same),
        formulas_in_html(source, same),
        source,
    ):
        tree = BeautifulSoup(clean_body(made), "html.parser")
        assert "word" in tree.text
        assert not tree.find_all(["annotation-xml", "semantics", "maction", "mglyph"])
        for tag in tree.find_all(style=True):
            assert not re.search(r"url|image|\\", str(tag["style"]))
            del tag["style"]
        for tag in tree.find_all(re.compile("^m")):
            assert not {"href", "xlink:href", "src", "onclick"} & tag.attrs.keys()
        assert_harmless(str(tree))


def test_mathml_of_a_student_is_none_of_ours():
    assert "<m" not in clean_html("<math><mi>x</mi></math>")


@pytest.mark.parametrize(
    "text", ["$ ", r"\( x", r"\( ", r"\begin{a} ", "$$ ", r"\[^", r"\\[ ", "$x$ ", r"\$ "]
)
def test_many_beginnings_without_an_end_take_no_time(text):
    source = text * (190_000 // len(text))
    for work in (
        lambda: formulas_in_html(f"<p>{source}</p>", same),
        lambda: markdown_to_html(source, same),
        lambda: clean_markdown(source),
    ):
        before = time.process_time()
        work()
        assert time.process_time() - before < 20  # some took minutes


# Short, and long as MathML.
LONG_FORMULAS = ["$x" + "'" * 190 + "_{}$", r"$\begin{{align}}&&&&{}\end{{align}}$"]


@pytest.mark.parametrize("formula", LONG_FORMULAS)
def test_a_page_has_an_end_of_formulas(formula):
    page = " ".join(formula.format(n) for n in range(900))
    began = time.process_time()
    with formulas_of_a_page():
        shown = "".join(formulas_in_html(f"<p>{page}</p>", same) for _ in range(8))
        shown += markdown_to_html("$x_1$ and **words**", same)
    assert 10 < shown.count("<math") < 900 * 8
    assert len(shown) < 8 * len(page) + 2 * 2**20
    assert "<strong>words</strong>" in shown
    assert time.process_time() - began < 60
    assert "<math" in markdown_to_html("$x_1$", same)  # the next page


def test_heads_of_tables_have_a_scope():
    page = shown("| a | |\n|--|:-:|\n| $x$ | d |")
    assert [(head.text, head["scope"]) for head in page("th")] == [("a", "col")]
    table = (
        "<table><thead><tr><th>a</th></tr></thead><tbody><tr><th>0</th><td>1</td></tr></tbody>"
        "<tfoot><tr><th scope='row'>all</th></tr></tfoot></table>"
    )
    tree: Any = BeautifulSoup(clean_body(formulas_in_html(table, same)), "html.parser")
    assert [head["scope"] for head in tree("th")] == ["col", "row", "row"]


def test_html_of_any_size_is_shown_without_headings_of_its_own():
    page = formulas_in_html("<h1>A</h1>" + "<p>$x$</p>" * 50_000, same)
    assert "<h1" not in page
    assert page.count("$x$") == 50_000
