"""The heads explorer in a real JupyterLab: coupled and free sliders, and nothing left behind."""

from playwright.sync_api import Locator, expect

from tests.browser.notebook import Notebook
from tests.browser.steps import (
    COUNT,
    run_again_and_again,
    sentence,
)

EXPLORE = "from course.explorers.heads import explore_heads\nexplore_heads(output_projection=True)"


def sliders(output: Locator) -> tuple[Locator, Locator]:
    """The sliders for the number of heads and for d_k."""
    return (
        output.get_by_role("slider", name="Number of heads, in steps"),
        output.get_by_role("slider", name="d_k, in steps"),
    )


def painted(output: Locator) -> int:
    return int(output.locator(".mh-canvas").get_attribute("data-painted") or 0)


def open_explorer(write_notebook) -> tuple[Notebook, Locator]:
    notebook = write_notebook([EXPLORE, COUNT])
    assert notebook.run_all() == []
    output = notebook.output(0)
    expect(output.locator("canvas")).to_be_visible()
    return notebook, output


def test_the_sliders_are_coupled_or_free_and_the_picture_follows(write_notebook, console_errors):
    notebook, output = open_explorer(write_notebook)
    said = sentence(output)
    count, size = sliders(output)
    expect(said).to_contain_text("4 heads of d_k = 12: 48 numbers per word")
    before = painted(output)

    count.press("ArrowRight")
    count.press("ArrowRight")
    expect(said).to_contain_text("8 heads of d_k = 6: 48 numbers per word")
    expect(size).to_have_attribute("aria-valuenow", "3.0")
    expect(output.get_by_text("d_k = d_model / heads = 48 / 8 = 6.")).to_be_visible()
    assert painted(output) > before

    size.press("End")
    expect(said).to_contain_text("1 head of d_k = 48: ")
    expect(count).to_have_attribute("aria-valuenow", "1.0")

    output.get_by_role("button", name="d_k", exact=True).press("Enter")
    expect(output.get_by_text("each slider moves alone")).to_be_visible()
    count.press("ArrowRight")
    expect(said).to_contain_text("2 heads of d_k = 48: 96 numbers per word")
    expect(said).to_contain_text("18,432 parameters")
    size.press("Home")
    expect(said).to_contain_text("2 heads of d_k = 1: 2 numbers per word")

    canvas = output.locator("canvas")
    canvas.focus()
    notebook.page.keyboard.press("PageDown")
    expect(output.locator(".mh-readout")).to_contain_text("head 2, The, The: ")

    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        notebook.use_theme(theme)
        assert notebook.axe_violations() == []
    expect(output.locator(".mh-error:visible")).to_have_count(0)
    assert console_errors == []


def test_the_last_of_many_quick_presses_wins(write_notebook):
    _, output = open_explorer(write_notebook)
    count, _ = sliders(output)
    count.focus()
    for key in ["ArrowRight"] * 4 + ["ArrowLeft"] * 7 + ["ArrowRight"] * 5:
        output.page.keyboard.press(key)
    expect(sentence(output)).to_contain_text("8 heads of d_k = 6: ")  # step 1 + 5


def test_running_it_again_leaves_nothing_behind(write_notebook, console_errors):
    notebook, output = open_explorer(write_notebook)
    output = run_again_and_again(notebook)
    sliders(output)[0].press("ArrowLeft")
    expect(sentence(output)).to_contain_text("3 heads of d_k = 16: ")
    assert console_errors == []
