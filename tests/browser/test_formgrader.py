"""The formgrader in a real browser: its Autograde button takes our path, and shows our marks."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.lab import Lab
from tests.grading.conftest import School, make_school
from tests.grading.notebooks import ONE, OVERFLOWING, solved, with_code

SCORES = {"ada": "7", "bo": "1", "cy": "3"}
SCRIPT = """
from IPython.display import HTML
HTML("<b>shown</b><script>document.title = 'taken'</script>")
"""


@dataclass
class Formgrader:
    """A running server on a project, and a page in it."""

    school: School
    page: Page
    address: str
    requests: list[str]

    def open(self, path: str) -> Page:
        """Go to a page of the formgrader."""
        self.page.goto(f"{self.address}formgrader/{path}")
        return self.page


@pytest.fixture(scope="module")
def formgrader(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Formgrader]:
    """JupyterLab started in a project's folder, as an instructor starts it."""
    home = tmp_path_factory.mktemp("formgrader")
    school = make_school(home / "a course +50%")
    school.hand_in("ada", with_code(solved(), SCRIPT))
    school.hand_in("bo", solved(softmax=OVERFLOWING))
    school.hand_in("cy", solved(attention=None, self_attention=None))
    lab = Lab(home=home, root=school.project.root)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(school.project.root)  # nbgrader looks for its configuration there
        lab.start()
    context = browser.new_context()
    page = context.new_page()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(f"{lab.url}api/status?token={lab.token}")  # leaves a cookie: logged in
    yield Formgrader(school, page, lab.url, requests)
    context.close()
    lab.stop()


def autograde(formgrader: Formgrader, student: str) -> None:
    page = formgrader.open(f"manage_submissions/{ONE}")
    row = page.locator("tr", has=page.locator("td.student-id", has_text=student))
    row.locator(".autograde a").click()
    said = page.locator("#success-modal, #error-modal")
    expect(said).to_be_visible(timeout=120_000)
    expect(said).to_contain_text("Successfully autograded")


@pytest.fixture(scope="module")
def graded(formgrader: Formgrader) -> Formgrader:
    """All three, graded with the button."""
    for student in SCORES:
        autograde(formgrader, student)
    return formgrader


def test_the_autograde_button_takes_our_path(graded):
    with graded.school.classroom.marks.open(encoding="utf-8", newline="") as file:
        rows = {(row["student"], row["exercise"]): row for row in csv.DictReader(file)}
    assert rows["bo", "softmax"]["mistake"] == "overflow"
    assert rows["cy", "attention"]["outcome"] == "not attempted"


def test_the_gradebook_shows_the_scores(graded):
    page = graded.open(f"gradebook/{ONE}/01-exercises")
    page.locator("span.glyphicon.name-hidden").first.click()  # names are hidden at first
    for student, score in SCORES.items():
        row = page.locator("tbody tr", has_text=student)
        expect(row).to_contain_text(f"{score} / 7")


def test_a_submission_shows_what_the_student_would_have_seen(graded):
    page = graded.open(f"gradebook/{ONE}/01-exercises")
    page.locator("tbody tr", has_text="1 / 7").locator("a").first.click()
    expect(page.locator("body")).to_contain_text("Likely cause:")
    # The placeholder is the automatic mark, the value is what people set by hand.
    expect(page.locator("[id='check-softmax']")).to_have_attribute("placeholder", "0")
    expect(page.locator("[id='check-dot_product_scores']")).to_have_attribute("placeholder", "1")


def test_code_in_outputs_does_not_run(graded):
    page = graded.open(f"gradebook/{ONE}/01-exercises")
    page.locator("tbody tr", has_text="7 / 7").locator("a").first.click()
    expect(page.locator("b", has_text="shown")).to_be_visible()
    assert page.title() == "01-exercises"


def test_no_request_leaves_the_machine(graded):
    own = urlsplit(graded.address).netloc
    assert [url for url in graded.requests if urlsplit(url).netloc not in ("", own)] == []
