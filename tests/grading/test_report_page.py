"""The pages and tables of the class report: harmless, readable, and there for any class."""

import csv
import re
import sqlite3
from collections.abc import Callable, Iterator
from urllib.parse import unquote

import pytest
from axe_playwright_python.sync_playwright import Axe
from bs4 import BeautifulSoup
from click.testing import CliRunner, Result
from playwright.sync_api import Browser

from autograder import judge
from autograder.cli import main
from autograder.exercises import find
from autograder.grading.marking import failed
from autograder.grading.pages import time_said
from autograder.grading.reporting import write_reports
from tests.browser.conftest import started_browser
from tests.grading.conftest import School
from tests.grading.notebooks import FULL, ONE, START, solved
from tests.grading.reported import (
    STUB,
    fill_gradebook,
    grade_as,
    page_of,
    sentences,
)

EVIL = '<script>document.title = "taken"</script>, Bob'


@pytest.fixture
def command(new_school: School, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run a command in the project's folder, in this process."""
    monkeypatch.chdir(new_school.project.root)

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, arguments, catch_exceptions=False)

    return run


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started_browser() as browser:
        yield browser


def test_feedback_pages_are_linked_from_where_the_report_lies(new_school):
    odd = "[a-z]* 中文 50%#?"
    grade_as(new_school, odd)
    grade_as(new_school, "bo")
    path = new_school.classroom.feedback / odd / ONE / "01-exercises.html"
    path.parent.mkdir(parents=True)
    path.write_text("x")
    page = page_of(new_school)
    (link,) = page("a")
    assert link["href"].startswith("../feedback/%5Ba-z%5D%2A%20")
    folder = new_school.classroom.root / "reports"
    assert (folder / unquote(link["href"])).resolve() == path.resolve()


def test_names_and_words_of_students_do_no_harm(new_school, browser):
    def softmax(scores):
        raise RuntimeError("</p><script>document.title = 'taken'</script>`\u202e\x1b[2J")

    grade_as(new_school, "evil", softmax=judge("softmax", softmax))
    grade_as(new_school, "long")
    new_school.hand_in("=cmd|'calc'!A1", solved())
    new_school.classroom.roster.write_text(
        f'id,name\nevil,"{EVIL.replace(chr(34), chr(34) * 2)}\u202e"\nlong,"{"A" * 500}"\n',
        encoding="utf-8",
    )
    soup = page_of(new_school)
    assert not soup("script")
    assert [meta["http-equiv"] for meta in soup("meta") if meta.get("http-equiv")]
    text = soup.get_text()
    assert EVIL[:40] in text
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert max(len(name.get_text()) for name in soup("bdi")) < 320
    reports = new_school.classroom.root / "reports"
    for line in csv.reader((reports / f"{ONE}.csv").read_text("utf-8").splitlines()):
        assert not [cell for cell in line if cell.startswith(("=", "+", "-", "@"))]
    page = browser.new_page()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto((reports / f"{ONE}.html").as_uri())
    assert page.title() == f"Class report: {ONE}"
    assert len(requests) == 1
    page.close()


def test_in_a_table_no_cell_is_a_formula(new_school):
    verdict = failed(find("softmax"), "=HYPERLINK(1)")
    grade_as(new_school, "ada", softmax=verdict)
    path = new_school.classroom.verdicts / "ada" / f"{ONE}.json"
    path.write_text(path.read_text().replace('"mistake": ""', '"mistake": "=HYPERLINK(1)"'))
    page_of(new_school)
    text = (new_school.classroom.root / "reports" / f"{ONE}.csv").read_text("utf-8")
    assert "'=HYPERLINK(1)" in text
    assert ",=HYPERLINK" not in text


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_and_a_class_fits_on_two_sheets(new_school, browser, scheme):
    for number in range(30):
        wrong = {"softmax": "overflow"} if number % 3 else {"attention": "keys-mixed"}
        grade_as(new_school, f"s{number}", **wrong if number % 4 else {"softmax": STUB})
    write_reports(new_school.project, new_school.classroom, [ONE, START], overview=True)
    reports = new_school.classroom.root / "reports"
    context = browser.new_context(color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    for name in (ONE, START, "index"):
        page.goto((reports / f"{name}.html").as_uri())
        if name == ONE:
            sheets = re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True))
            assert len(sheets) in (1, 2)
        page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        found = Axe().run(page).response["violations"]
        grave = [v["id"] for v in found if v["impact"] in ("serious", "critical")]
        assert grave + [v["id"] for v in found if v["id"] == "landmark-unique"] == []
        page.set_viewport_size({"width": 360, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") == 360
        page.set_viewport_size({"width": 1280, "height": 800})
    context.close()


def test_headings_and_tables_are_what_they_are_called(new_school):
    grade_as(new_school, "ada", softmax="overflow")
    new_school.hand_in("bo", solved())
    page = page_of(new_school)
    assert page.html["lang"] == "en"
    assert [heading.name for heading in page(re.compile("^h[1-6]$"))] == ["h1", *["h2"] * 2] + [
        "h3",
        *["h2"] * 2,
    ]
    # Tables of numbers in an example come from the verdict, and are named by a figure's caption.
    tables = [table for table in page("table") if not table.find_parent("figure")]
    assert len(tables) == 3
    for table in tables:
        assert table.caption.get_text(strip=True)
        assert all(head.get("scope") for head in table("th"))


def test_a_class_of_nobody(command, new_school):
    done = command("report", "1")
    assert done.exit_code == 0
    assert "Nobody has handed in anything yet." in done.stdout
    assert "Nothing is graded yet" in page_of(new_school).get_text()
    new_school.classroom.roster.write_text("id,name\nada,Ada\n")
    assert "need" not in sentences(new_school)
    text = page_of(new_school).get_text()
    assert "Everybody" not in text  # marks.csv has no row about anybody either
    assert "not handed in" not in text


def test_a_class_of_one(command, new_school):
    grade_as(new_school, "ada")
    done = command("report", "1")
    assert "1 handed in; it is graded. Everything is right." in " ".join(done.stdout.split())


def test_a_class_of_three_hundred_stays_short(new_school):
    grade_as(new_school, "s0", softmax="overflow")
    first = new_school.classroom.verdicts / "s0" / f"{ONE}.json"
    for number in range(1, 300):
        new_school.hand_in(f"s{number}", solved())
        path = new_school.classroom.verdicts / f"s{number}" / f"{ONE}.json"
        path.parent.mkdir()
        path.write_text(first.read_text().replace('"s0"', f'"s{number}"'))
    new_school.classroom.roster.write_text(
        "id,name\n" + "".join(f"s{number},\n" for number in range(400))
    )
    page = page_of(new_school)
    for folded in page("details"):
        folded.extract()
    assert len(page.get_text()) < 5000
    assert "300 students" in page.get_text()


def test_all_assignments_get_a_page_and_an_overview(command, new_school):
    grade_as(new_school, "ada", softmax="overflow")
    done = command("report")
    assert done.exit_code == 0
    reports = new_school.classroom.root / "reports"
    pages = {path.stem for path in reports.glob("*.html")}
    assert pages == {"index", *new_school.project.assignments()}
    overview = BeautifulSoup((reports / "index.html").read_text("utf-8"), "html.parser")
    assert {link["href"] for link in overview("a")} == {
        f"{name}.html" for name in new_school.project.assignments()
    }
    assert "softmax , 1 student: exp()" in overview.get_text(" ", strip=True)
    assert str(reports / "index.html") in done.stdout
    (reports / "index.html").unlink()
    assert command("report", "0", "1").exit_code == 0
    assert not (reports / "index.html").exists()


@pytest.mark.parametrize("broken", [b"no database", None])
def test_a_gradebook_that_is_broken_or_locked_is_one_sentence(
    command, new_school, broken, monkeypatch
):
    grade_as(new_school, "ada")
    if broken:
        new_school.classroom.gradebook.write_bytes(broken)
        done = command("report", "1")
    else:
        fill_gradebook(new_school, {"ada": dict(FULL)})
        with sqlite3.connect(new_school.classroom.gradebook) as locked:
            locked.execute("BEGIN EXCLUSIVE")
            done = command("report", "1")
            locked.rollback()
    assert done.exit_code == 1
    assert done.stderr.startswith("Error: The gradebook ")
    assert done.stderr.count("\n") == 1
    assert not (new_school.classroom.root / "reports").exists()


def test_a_roster_that_cannot_be_read_is_said_so(new_school):
    grade_as(new_school, "ada")
    new_school.classroom.roster.write_text("what,ever\n1,2\n")
    assert "has no column `id`" in page_of(new_school).get_text()


def test_single_mistakes_are_not_called_common(new_school):
    grade_as(new_school, "ada", softmax="overflow")
    grade_as(new_school, "bo", attention="keys-mixed")
    page = page_of(new_school)
    assert "No mistake was made by more than one student." in page.get_text()
    assert [head.text for head in page("h2")][1] == "Mistakes"
    grade_as(new_school, "cy", softmax="overflow")
    assert [head.text for head in page_of(new_school)("h2")][1] == "The most common mistakes"


def test_times_are_in_utc(new_school):
    assert re.search(r"Made on \d+ \w+ \d{4}, \d\d:\d\d UTC", page_of(new_school).footer.text)
    assert time_said("2026-11-30T20:48:00+01:00") == "30 November 2026, 19:48 UTC"
    assert time_said("2026-11-30 19:48:00") == "30 November 2026, 19:48 UTC"
    assert time_said("") == ""
