"""Fixtures for tests in a real JupyterLab in a real browser.

`open_notebook("course/00-start-here.ipynb")` opens a notebook of the course,
`write_notebook(["x = 1", "x"])` a new one made of the given cells; both return a `Notebook`.
`outside_requests` and `console_errors` fill while the test runs.

The browser and the server last for this folder and not for the whole run: while Playwright is
alive the main thread has a running event loop, and tests elsewhere call `asyncio.run`.
"""

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import nbformat
import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, ViewportSize, expect, sync_playwright

from tests.browser.lab import Lab, copy_course
from tests.browser.notebook import Notebook
from tools.system_packages import find_chromium

CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Outside hosts have no address: whether a test passes does not depend on the network.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
expect.set_options(timeout=15_000)  # ms; Playwright's 5 s are short for a busy machine
VIEWPORT: ViewportSize = {
    "width": 1400,
    "height": 6000,
}  # tall: outputs are on the screen without scrolling


@contextlib.contextmanager
def started_browser() -> Iterator[Browser]:
    """Debian's Chromium; Playwright's own is never downloaded."""
    chromium = find_chromium()
    if chromium is None:
        pytest.fail("Chromium is missing. `make test` says how to install it.", pytrace=False)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A browser for all tests of the package."""
    with started_browser() as browser:
        yield browser


@pytest.fixture(scope="package")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab on a copy of the course."""
    home = tmp_path_factory.mktemp("lab")
    running = Lab(home=home, root=home / "root")
    running.root.mkdir()
    copy_course(running.root)
    running.start()
    yield running
    running.stop()


@pytest.fixture
def page(browser: Browser, lab: Lab) -> Iterator[Page]:
    """A fresh page without cookies, in the light theme; its kernels end with it."""
    lab.forget_setting("apputils-extension:themes")
    context = browser.new_context(viewport=VIEWPORT)
    page = context.new_page()
    yield page
    context.close()
    lab.shut_down_kernels()


@pytest.fixture
def open_notebook(page: Page, lab: Lab) -> Callable[[str], Notebook]:
    """`open_notebook("course/01-one-head.ipynb")`: the copy of a committed notebook."""

    def open_copy(path: str) -> Notebook:
        if not (lab.root / path).is_file():
            raise FileNotFoundError(f"{path} is not in git's index: `git add` it first")
        return Notebook(page, lab, path)

    return open_copy


@pytest.fixture
def write_notebook(
    page: Page, lab: Lab, request: pytest.FixtureRequest
) -> Callable[[Sequence[str | nbformat.NotebookNode]], Notebook]:
    """`write_notebook(["x = 1", "x + 1"])`: a notebook made of code cells (or nbformat cells)."""

    def write(cells: Sequence[str | nbformat.NotebookNode]) -> Notebook:
        notebook = nbformat.v4.new_notebook(
            cells=[
                nbformat.v4.new_code_cell(cell) if isinstance(cell, str) else cell for cell in cells
            ],
            metadata={
                "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}
            },
        )
        name = re.sub(r"\W+", "-", request.node.name).strip("-")
        path = f"written/{name}-{len(list(lab.root.glob('written/*.ipynb')))}.ipynb"
        file = lab.root / path
        file.parent.mkdir(exist_ok=True)
        nbformat.write(notebook, file)
        return Notebook(page, lab, path)

    return write


@pytest.fixture
def outside_requests(page: Page, lab: Lab) -> list[str]:
    """The addresses of every request, web sockets included, that leaves for another host."""
    own = urlsplit(lab.url).netloc
    requests: list[str] = []

    def record(url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https", "ws", "wss") and parts.netloc != own:
            requests.append(url)

    page.context.on("request", lambda request: record(request.url))
    page.on("websocket", lambda socket: record(socket.url))
    return requests


@pytest.fixture
def console_errors(page: Page) -> list[str]:
    """Errors that the page wrote to its console, and exceptions nobody caught."""
    errors: list[str] = []

    def record(message: ConsoleMessage) -> None:
        if message.type == "error":
            errors.append(f"{message.text} ({message.location.get('url')})")

    page.on("console", record)
    page.on("pageerror", lambda error: errors.append(str(error)))
    return errors


@pytest.fixture
def screenshots(tmp_path: Path) -> Path:
    """A folder for the pictures of one test."""
    return tmp_path
