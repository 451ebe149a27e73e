"""What a student's process shows is rebuilt from its harmless parts."""

import nbformat
import pytest

from autograder.grading.bounding import Room
from autograder.grading.outputs import clean_markdown, clean_outputs
from autograder.grading.terminal import is_plain, safe_text


def shown(data: dict) -> dict:
    (output,) = clean_outputs([{"output_type": "display_data", "data": data, "metadata": {}}])
    nbformat.validate(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(outputs=[output])]))
    return dict(output.data)


def test_html_keeps_its_tables_and_loses_its_scripts():
    page = (
        "<table><tr><td>1</td></tr></table><script>x</script><img src=x onerror=y>"
        "<iframe src=z></iframe><a href='javascript:a()'>b</a><style>c</style>"
    )
    clean = shown({"text/html": page})["text/html"]
    assert "<td>1</td>" in clean
    for bad in ("script", "onerror", "iframe", "style"):
        assert bad not in clean


@pytest.mark.parametrize(
    "data",
    [
        {"application/javascript": "alert(1)"},
        {"application/vnd.jupyter.widget-view+json": "{}"},
        {"image/svg+xml": "<svg onload='x'/>"},
        {"image/png": "<script>"},
        {"image/png": 5},
        {5: "x"},
        {},
    ],
)
def test_forms_that_could_run_are_left_out(data):
    assert clean_outputs([{"output_type": "display_data", "data": data}]) == []


@pytest.mark.parametrize(
    "junk",
    [None, 1, "x", [], {}, {"output_type": "stream"}, {"output_type": "stream", "text": 5}]
    + [{"output_type": "display_data"}, {"output_type": "nothing", "text": "x"}],
)
def test_junk_is_left_out(junk):
    assert clean_outputs([junk]) == []


def test_escapes_that_steer_a_terminal_are_taken_out_and_colours_stay():
    (output,) = clean_outputs(
        [{"output_type": "stream", "text": "\x1b[31mred\x1b[0m\x1b]0;title\x07\x1b[2J\x00"}]
    )
    assert output.text == "\x1b[31mred\x1b[0m]0;title[2J"


def test_colours_without_number_are_taken_out_and_the_text_stays():
    """Whoever makes a page of them looks through the whole text for each."""
    room = Room()
    one = [{"output_type": "stream", "text": "\x1b[31mred\x1b[0m" * 1000}]
    outputs = [clean_outputs(one, room)[0].text for _ in range(4)]
    assert [text.count("\x1b") for text in outputs] == [2000, 2000, 0, 0]
    assert {text.count("red") for text in outputs} == {1000}


def test_there_is_an_end_to_what_is_kept():
    much = [{"output_type": "stream", "text": "x" * 2**20} for _ in range(20)]
    assert len(clean_outputs(much)) < 6


def test_markdown_without_html_stays_as_it_is():
    assert clean_markdown("> a < b & **c**") == "> a < b & **c**"
    assert "onerror" not in clean_markdown("x <img src=a onerror=b>")


def test_names_are_harmless_on_a_terminal():
    assert safe_text("a\x1b[2Jb‮c\nd") == "a\\x1b[2Jb\\u202ec\\nd"
    assert safe_text("中文 é") == "中文 é"
    assert is_plain("中文 é")
    assert not is_plain("a\nb")
    assert not is_plain("\udcff")
    assert not is_plain(" a")
