"""Feedback and explanations in a real browser: formulas without script, and pages for everybody."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.grading.conftest import make_school
from tests.grading.notebooks import ONE, WRONG_AXIS, solved, with_code

NOTES = r"""### Mine

In a line $\frac{a}{b}$, and below

$$\sum_{j} w_j = \sqrt{x}$$

| one | two | three | four | five | six | seven | eight | nine | ten |
|---|---|---|---|---|---|---|---|---|---|
| value | value | value | value | value | value | value | value | value | value |
"""
SHOWS = r"""
import sys
for colour in (30, 31, 32, 33, 34, 35, 36, 37, 91, 93):
    print(f"\x1b[{colour}mcolour\x1b[0m", "x" * 300)
print("\x1b[38;5;226mbright yellow\x1b[0m")
print("careful", file=sys.stderr)
from IPython.display import HTML, display
cells = "<td>0.123456</td>" * 30
display(HTML(f"<table><thead><tr><th>a</th></tr></thead><tbody><tr>{cells}</tr></tbody></table>"))
1 / 0
"""
SCHEMES = ("light", "dark")


@pytest.fixture(scope="module")
def pages(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page of feedback, one of what could not be graded, and one of an appeal."""
    school = make_school(tmp_path_factory.mktemp("feedback") / "a course +50%")
    notebook = with_code(solved(softmax=WRONG_AXIS, self_attention=None), SHOWS)
    cell = {"id": "notes", "cell_type": "markdown", "metadata": {}, "source": NOTES}
    notebook["cells"].insert(3, cell)
    school.hand_in("ada", notebook)
    school.hand_in("bo", b"")
    for command in (("grade",), ("feedback",), ("explain", "ada", "softmax")):
        done = school.run("autograder", *command)
        assert done.returncode == 0, done.stdout + done.stderr
    feedback = school.classroom.feedback
    return {
        "graded": feedback / "ada" / ONE / "01-exercises.html",
        "unreadable": feedback / "bo" / ONE / "01-exercises.html",
        "explained": school.classroom.root / "explanations" / "ada" / ONE / "softmax.html",
    }


@pytest.fixture(params=SCHEMES)
def page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A browser's page, light and dark."""
    context = browser.new_context(color_scheme=request.param)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("name", ["graded", "unreadable", "explained"])
def test_axe_finds_nothing_serious_and_nothing_is_asked_for(page, pages, name):
    requests: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.goto(pages[name].as_uri())
    # Also what is folded has to be readable.
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    found = Axe().run(page).response
    assert [
        (each["id"], [node["html"] for node in each["nodes"]])
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
        or each["id"] in ("heading-order", "landmark-unique")
    ] == []
    checked = {each["id"] for each in found["passes"]}
    assert {"color-contrast", "document-title", "html-has-lang", "heading-order"} <= checked
    assert requests == [pages[name].as_uri()]
    assert said == []


def test_the_two_schemes_differ(browser, pages):
    backgrounds = set()
    for scheme in SCHEMES:
        context = browser.new_context(color_scheme=scheme)
        shown = context.new_page()
        shown.goto(pages["graded"].as_uri())
        backgrounds.add(shown.evaluate("getComputedStyle(document.body).backgroundColor"))
        context.close()
    assert len(backgrounds) == 2


def test_formulas_are_laid_out_without_script(browser, pages):
    context = browser.new_context(java_script_enabled=False)
    shown = context.new_page()
    shown.goto(pages["graded"].as_uri())
    over, under = (
        shown.locator("mfrac").first.locator("mi").nth(at).bounding_box() for at in (0, 1)
    )
    assert over is not None
    assert under is not None
    assert over["y"] + over["height"] <= under["y"] + 1  # the one above the other
    centred = shown.locator("math[display=block]").first.bounding_box()
    assert centred is not None
    assert centred["width"] > 300  # a line of its own
    context.close()


def test_the_summary_leads_to_the_verdict_by_keyboard(browser, pages):
    context = browser.new_context(viewport={"width": 900, "height": 600})
    shown = context.new_page()
    shown.goto(pages["graded"].as_uri())
    for _ in range(2):
        shown.keyboard.press("Tab")
    expect(shown.get_by_role("link", name="softmax", exact=True)).to_be_focused()
    shown.keyboard.press("Enter")
    expect(shown.locator("#exercise-softmax")).to_be_in_viewport()
    expect(shown.get_by_role("region", name="Verdict on softmax")).to_be_in_viewport()
    context.close()


@pytest.mark.parametrize("name", ["graded", "unreadable", "explained"])
@pytest.mark.parametrize("width", [320, 360, 900])
def test_a_page_is_no_wider_than_its_window(browser, pages, name, width):
    context = browser.new_context(viewport={"width": width, "height": 700})
    shown = context.new_page()
    shown.goto(pages[name].as_uri())
    assert shown.evaluate("document.documentElement.scrollWidth") == width
    wider = """each => !each.closest('.wide') && each.getBoundingClientRect().right > innerWidth"""
    assert (
        shown.evaluate(
            f"[...document.querySelectorAll('body *')].filter({wider}).map(each => each.outerHTML)"
        )
        == []
    )
    context.close()


@pytest.mark.parametrize("width", [320, 900])
def test_only_a_students_tables_scroll_and_by_keyboard(browser, pages, width):
    context = browser.new_context(viewport={"width": width, "height": 700})
    shown = context.new_page()
    shown.goto(pages["graded"].as_uri())
    scrolls = "each => ['auto', 'scroll'].includes(getComputedStyle(each).overflowX)"
    found = shown.evaluate(
        f"[...document.querySelectorAll('body *')].filter({scrolls})"
        ".map(each => [each.tabIndex, each.ariaLabel, !!each.querySelector('table')])"
    )
    assert [0, "Text with a table", True] in found
    assert [0, "Output with a table", True] in found
    assert all(index == 0 and holds for index, _, holds in found)
    table = shown.get_by_role("group", name="Output with a table")
    table.focus()
    shown.keyboard.press("ArrowRight")
    shown.wait_for_function("document.activeElement.scrollLeft > 0")
    context.close()


def test_a_page_is_printed_on_white_and_whole(browser, pages):
    context = browser.new_context(color_scheme="dark")
    shown = context.new_page()
    shown.goto(pages["graded"].as_uri())
    shown.emulate_media(media="print", color_scheme="dark")
    assert shown.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    expect(shown.get_by_role("link", name="Back to the summary").first).to_be_hidden()
    context.close()
