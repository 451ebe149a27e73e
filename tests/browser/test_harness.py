"""The harness sees what it is there to see."""

import re

from playwright.sync_api import expect

SLIDER = """
import ipywidgets as widgets
slider = widgets.IntSlider(value=2, min=1, max=8, description="heads")
shown = widgets.HTML("<p role='status'>2 heads</p>")
def follow(change):
    shown.value = f"<p role='status'>{change['new']} heads</p>"
slider.observe(follow, names="value")
widgets.VBox([slider, shown])
"""


def test_a_slider_moves_by_keyboard_and_its_output_follows(
    write_notebook, outside_requests, console_errors, screenshots
):
    notebook = write_notebook([SLIDER, "slider.value"])
    assert notebook.run_all() == []

    handle = notebook.output(0).get_by_role("slider")
    handle.focus()
    handle.press("ArrowRight")
    expect(notebook.output(0).get_by_role("status")).to_have_text("3 heads")
    assert notebook.run(1).text == "3"

    picture = notebook.screenshot(screenshots / "slider.png", index=0)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert outside_requests == []
    assert console_errors == []


def test_a_request_to_another_host_is_seen(write_notebook, outside_requests):
    notebook = write_notebook(
        [
            "from IPython.display import HTML, Javascript, display\n"
            'display(HTML(\'<img alt="" src="http://images.example/a.png">\'))\n'
            "display(Javascript('new WebSocket(\"ws://sockets.example/\")'))",
        ]
    )
    assert notebook.run_all() == []
    expect(notebook.output(0).locator("img")).to_be_attached()
    assert set(outside_requests) == {"http://images.example/a.png", "ws://sockets.example/"}


def test_an_error_in_the_page_is_seen(write_notebook, console_errors):
    notebook = write_notebook(
        ["from IPython.display import Javascript\nJavascript('console.error(\"seen\")')"]
    )
    notebook.run_all()
    assert any(error.startswith("seen") for error in console_errors)


def test_an_inaccessible_output_is_seen(write_notebook):
    show = "from IPython.display import HTML\nHTML({!r})"
    notebook = write_notebook(
        [show.format("<button></button>"), show.format("<button>Check</button>")]
    )
    notebook.run_all()
    assert any(violation.startswith("button-name") for violation in notebook.axe_violations())

    notebook.set_source(0, show.format("<button>Hint</button>"))
    notebook.run(0)
    assert notebook.axe_violations() == []


def test_a_failing_cell_is_reported_with_its_number(write_notebook):
    notebook = write_notebook(["1 + 1", "1 / 0", "2 + 2"])
    assert notebook.run_all() == ["cell 1: ZeroDivisionError: division by zero"]
    assert notebook.cell(0).text == "2"
    assert notebook.cell(2).execution_count is None


def test_the_dark_theme(write_notebook):
    notebook = write_notebook(["1"])
    notebook.use_theme("JupyterLab Dark")
    body = notebook.page.locator("body")
    expect(body).to_have_attribute("data-jp-theme-light", "false")


def test_a_page_starts_in_the_light_theme_whatever_the_test_before_did(write_notebook):
    notebook = write_notebook(["1"])
    expect(notebook.page.locator("body")).to_have_attribute("data-jp-theme-light", "true")


def test_kernels_keep_their_state_in_a_folder_of_their_own(write_notebook, lab):
    notebook = write_notebook(["import os\nprint(os.environ['MANY_HEADS_HOME'])"])
    assert notebook.run(0).text.strip() == str(lab.home / "many-heads")
    assert re.match(r"http://127\.0\.0\.1:\d+/", lab.url)
