import io
import re
from typing import Any

import ipywidgets
import matplotlib.image
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from course.attention.one_head import attention, dot_product_scores
from course.explorers.accessibility import NumberField, names_of, number_field, radio, slider
from course.explorers.canvas import Canvas, Cell, Grid, Plane
from course.explorers.chart import Chart, png
from course.explorers.first_slider import explore_first_slider
from course.explorers.geometry import outline_of
from course.explorers.one_head import explore_one_head
from course.explorers.panel import Panel
from course.explorers.sentences import CHINESE, ENGLISH
from course.explorers.still import still_of
from course.explorers.words import pair, signed

WORDS = ("the", "cat", "sat")


def sent(canvas: Canvas) -> dict[str, np.ndarray]:
    """The arrays as the browser unpacks them."""
    flat = np.frombuffer(canvas.data, dtype="<f4")
    arrays, start = {}, 0
    for name, shape in canvas.layout_of_data:
        size = int(np.prod(shape))
        arrays[name] = flat[start : start + size].reshape(shape)
        start += size
    assert start == flat.size
    return arrays


def part(panel: Panel, kind: type) -> Any:
    """The first widget of a kind in a panel."""
    waiting: list[Any] = [panel]
    while waiting:
        widget = waiting.pop(0)
        if isinstance(widget, kind):
            return widget
        waiting.extend(getattr(widget, "children", ()))
    raise LookupError(kind)


def drag(panel: Panel, x: float, y: float, number: int = 1) -> None:
    """What the browser does when the point is dragged."""
    part(panel, Canvas).point = {"pane": "keys", "x": x, "y": y, "number": number}


# The canvas


def test_the_canvas_sends_exactly_the_numbers_it_was_given() -> None:
    canvas = Canvas([Grid("weights", WORDS, WORDS, heads=("a", "b")), Plane("keys", WORDS)])
    weights = torch.rand(2, 3, 3, dtype=torch.float64, requires_grad=True)
    points = np.arange(6.0).reshape(3, 2).T.copy().T  # not contiguous
    canvas.show({"keys.points": points, "weights": weights})
    arrays = sent(canvas)
    assert np.array_equal(arrays["weights"], weights.detach().numpy().astype("f4"))
    assert np.array_equal(arrays["keys.points"], points)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_the_canvas_takes_any_float_dtype(dtype: torch.dtype) -> None:
    canvas = Canvas([Grid("weights", WORDS, WORDS)])
    canvas.show({"weights": torch.full((3, 3), 0.5, dtype=dtype)})
    assert (sent(canvas)["weights"] == 0.5).all()


def test_arrays_that_are_not_named_keep_what_they_show() -> None:
    canvas = Canvas([Grid("a", ("",), WORDS), Grid("b", ("",), WORDS)])
    canvas.show({"a": [[1, 2, 3]], "b": [[4, 5, 6]]})
    canvas.show({"b": [[7, 8, 9]]})
    assert sent(canvas)["a"].ravel().tolist() == [1, 2, 3]
    assert sent(canvas)["b"].ravel().tolist() == [7, 8, 9]


@pytest.mark.parametrize(
    ("arrays", "says"),
    [({"other": [[1.0]]}, "called 'other'"), ({"weights": np.ones((3, 4))}, r"\(3, 4\)")],
)
def test_the_canvas_says_what_does_not_fit(arrays: dict[str, Any], says: str) -> None:
    canvas = Canvas([Grid("weights", WORDS, WORDS)])
    canvas.show({"weights": np.eye(3)})
    with pytest.raises(ValueError, match=says):
        canvas.show(arrays)
    assert np.array_equal(sent(canvas)["weights"][0], np.eye(3))


def test_other_panes_start_afresh() -> None:
    canvas = Canvas([Grid("a", ("",), WORDS)])
    canvas.show({"a": [[1, 2, 3]]}, {"a": {"column": 1}})
    canvas.change_panes([Plane("plane", WORDS, x_title="right")])
    assert (canvas.data, canvas.marks, canvas.layout_of_data) == (b"", {}, [])
    assert canvas.scene[0]["xTitle"] == "right"


def test_what_the_learner_touches_comes_back() -> None:
    canvas = Canvas([Grid("mask", WORDS, WORDS, touch="paint")])
    cells: list[Cell] = []
    presses: list[Cell] = []
    canvas.on_cell(cells.append)
    canvas.on_press(presses.append)
    canvas.cursor = {"pane": "mask", "head": 0, "row": 1, "column": 2}
    place = {"pane": "mask", "head": 0, "row": 1, "column": 2}
    for dragged in (False, True):
        canvas._handle_custom_msg({"kind": "press", "dragged": dragged} | place, [])
    canvas._handle_custom_msg({"kind": "something else"}, [])
    assert cells == [Cell("mask", 0, 1, 2)]
    assert [press.dragged for press in presses] == [False, True]


# Panels


def test_an_error_in_a_callback_is_shown_and_goes_with_the_next_success() -> None:
    panel = Panel([])
    panel.guarded(lambda: 1 / 0)()  # type: ignore[arg-type]
    assert panel.voice.error == "ZeroDivisionError: division by zero"
    panel.guarded(lambda: None)()
    assert panel.voice.error == ""


def test_the_voice_knows_the_names_of_all_controls() -> None:
    one, two = slider("α", 0.0, 1.0, name="weight of cat"), radio(["a", "b"], name="Which?")
    panel = Panel([ipywidgets.HBox([one]), two])
    assert [entry["name"] for entry in panel.voice.names] == ["weight of cat", "Which?"]
    assert [entry["mark"] for entry in names_of([one])] == [one._dom_classes[0]]


def test_sliders_are_whole_when_their_ends_are() -> None:
    assert isinstance(slider("heads", 1, 8), ipywidgets.IntSlider)
    assert isinstance(slider("α", 0.0, 1.0, step=0.05), ipywidgets.FloatSlider)
    assert isinstance(slider("α", 0, 1, step=0.05), ipywidgets.FloatSlider)


def test_a_panel_leaves_a_picture_and_its_sentence_where_widgets_do_not_run() -> None:
    bundle = explore_one_head()._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert bundle["text/plain"].startswith("“it” looks most at “cat”")
    assert bundle["text/html"].count("<svg") == 4
    assert "“it” looks most at “cat”" in bundle["text/html"]
    assert "http://" not in bundle["text/html"].replace("http://www.w3.org/2000/svg", "")


def test_a_still_escapes_words_and_shows_closed_cells() -> None:
    canvas = Canvas([Grid("weights", ("",), ("<b>", "&"), title="<i>")])
    assert "<figure" in still_of([canvas])  # before anything is shown
    canvas.show({"weights": [[0.5, np.nan]]})
    still = still_of([canvas])
    assert "&lt;b&gt;" in still and "<b>" not in still and "<i>" not in still
    assert "–" in still


# The explorer of one head


def test_it_finds_cat_and_dragged_down_it_finds_street() -> None:
    panel = explore_one_head()
    assert panel.voice.sentence == (
        "“it” looks most at “cat”: weight 0.67. Scores run from −2.8 to 3.6. The mix is (1.3, 1.3)."
    )
    drag(panel, 1.3, -1.2)
    assert "looks most at “street”" in panel.voice.sentence


@pytest.mark.parametrize("sentence", [ENGLISH, CHINESE])
def test_the_canvas_shows_what_attention_computes(sentence: Any) -> None:
    panel = explore_one_head()
    part(panel, ipywidgets.ToggleButtons).value = sentence
    drag(panel, 0.4, -1.1)
    canvas = part(panel, Canvas)
    q = np.array([[0.4, -1.1]])
    output, weights = attention(q, sentence.keys, sentence.values)
    arrays = sent(canvas)
    assert np.allclose(arrays["scores"][0], dot_product_scores(q, sentence.keys), atol=1e-5)
    assert np.allclose(arrays["weights"][0], weights, atol=1e-6)
    assert np.allclose(arrays["values.mark"], output[0], atol=1e-6)
    assert np.allclose(arrays["keys.handle"], q[0])
    assert canvas.seen == 1
    assert panel.voice.error == ""


def test_typing_and_dragging_agree() -> None:
    panel = explore_one_head()
    canvas = part(panel, Canvas)
    first, second = (w for w in panel.children[0].children if isinstance(w, NumberField))
    drag(panel, 0.5, -0.25)
    assert (first.number, second.number) == (0.5, -0.25)
    first.value = "9"
    assert "out of bounds" in panel.voice.error
    first.value = "-1,0"
    assert panel.voice.error == ""
    assert sent(canvas)["keys.handle"].tolist() == [-1.0, -0.25]
    part(panel, ipywidgets.Button).click()
    assert np.allclose(sent(canvas)["keys.handle"], (1.3, 1.2))


def test_the_query_word_sets_the_query() -> None:
    panel = explore_one_head()
    words = part(panel, ipywidgets.Dropdown)
    words.value = ENGLISH.words.index("street")
    assert np.allclose(sent(part(panel, Canvas))["keys.handle"], (0.2, 1.0))
    assert panel.voice.sentence.startswith("“street” looks")


def test_ones_own_words_and_attention() -> None:
    calls = []

    def mine(q: Any, k: Any, v: Any) -> Any:
        calls.append((q.shape, k.shape, v.shape))
        return attention(q, k, v)

    panel = explore_one_head(["a", "a"], [[1, 0], [0, 1]], torch.eye(2), attention=mine)
    assert calls == [((1, 2), (2, 2), (2, 2))]
    assert [label for label, _ in part(panel, ipywidgets.Dropdown).options] == ["a (1)", "a (2)"]


def test_an_attention_that_changes_its_inputs_changes_its_copies_only() -> None:
    def spoils(q: Any, k: Any, v: Any) -> Any:
        k *= 0
        return attention(q, k, v)

    before = ENGLISH.keys.copy()
    explore_one_head(attention=spoils)
    assert np.array_equal(ENGLISH.keys, before)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda q, k, v: None, "returned NoneType"),
        (lambda q, k, v: (v, v[:, 0]), r"output of shape \(12, 2\)"),
        (lambda q, k, v: (q, np.ones(12)), r"weights of shape \(12,\)"),
        (lambda q, k, v: (q, np.full((1, 12), np.nan)), "NaN"),
        (lambda q, k, v: q @ k, "ValueError: matmul"),
    ],
)
def test_what_is_wrong_with_an_attention_stands_in_the_panel(answer: Any, says: str) -> None:
    panel = explore_one_head(attention=answer)
    assert re.search(says, panel.voice.error)
    assert panel.voice.sentence == ""
    arrays = sent(part(panel, Canvas))
    assert "scores" in arrays and "weights" not in arrays  # nothing out of date is shown


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"attention": 3}, "without parentheses"),
        ({"keys": [[1, 0]]}, "without words"),
        ({"words": "a b"}, r"words=text.split\(\)"),
        ({"words": ["a"]}, "at least two"),
        ({"words": ["a", "b"]}, "without keys"),
        ({"words": ["a", "b"], "keys": np.eye(2)}, "without values"),
        ({"words": ["a", "b"], "keys": np.eye(3), "values": np.eye(2)}, r"\(3, 3\)"),
        ({"words": ["a", "b"], "keys": 9 * np.eye(2), "values": np.eye(2)}, "outside"),
        ({"words": ["a", "b"], "keys": [["x", 0], [1, 1]], "values": np.eye(2)}, "as numbers"),
        ({"words": ["a", "b"], "keys": [[np.nan, 0], [1, 1]], "values": np.eye(2)}, "outside"),
    ],
)
def test_bad_arguments_say_what_why_and_what_to_try(arguments: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        explore_one_head(**arguments)


# The first slider


def test_the_first_slider_says_what_it_mixes() -> None:
    panel = explore_first_slider()
    part(panel, ipywidgets.FloatSlider).value = 0.25
    assert panel.voice.sentence == (
        "0.25 × cat (2.0, 1.0) + 0.75 × street (−1.0, −2.0) = (−0.25, −1.25)."
    )
    assert np.allclose(sent(part(panel, Canvas))["blend.mark"], (-0.25, -1.25))


# The chart


def test_a_picture_holds_its_pixels() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (7, 5, 3), dtype=np.uint8)
    found = matplotlib.image.imread(io.BytesIO(png(pixels)), format="png")
    assert np.array_equal(np.round(255 * found), pixels)


def test_the_chart_redraws_what_changes_and_opens_no_figure() -> None:
    chart = Chart("A line", width=300, height=200)
    chart.axes.set_ylim(0, 1)
    line = chart.changing(chart.axes.plot([0, 1], [0, 1])[0])
    chart.update()
    first = bytes(chart.image.value)
    assert first.startswith(b"\x89PNG")
    line.set_ydata([1, 0])
    chart.update()
    assert chart.image.value != first
    line.set_ydata([0, 1])
    chart.update()
    assert chart.image.value == first  # the background is whole again
    assert plt.get_fignums() == []
    still = Panel([chart.image])._repr_mimebundle_()["text/html"]
    assert 'alt="A line" width="300"' in still and "data:image/png;base64,iVBOR" in still


def test_a_new_background_shows_new_limits() -> None:
    chart = Chart("A line", width=300, height=200)
    chart.update()
    first = chart.image.value
    chart.axes.set_ylim(0, 50)
    chart.redraw_background()
    chart.update()
    assert chart.image.value != first


# Small things


def test_numbers_in_sentences() -> None:
    assert [signed(x, 1) for x in (-1.26, -0.04, 0, 2.15)] == ["−1.3", "0.0", "0.0", "2.1"]
    assert pair([0.44, -1.06]) == "(0.4, −1.1)"


def test_the_outline_goes_around_all_points() -> None:
    inside = np.array([[0, 0], [2, 0], [2, 2], [0, 2], [1, 1], [1, 0], [1, 1]])
    assert outline_of(inside).tolist() == [[0, 0], [2, 0], [2, 2], [0, 2]]
    assert outline_of(np.array([[1.0, 2.0]])).shape == (1, 2)
    assert outline_of(np.array([[0.0, 0], [1, 1], [2, 2]])).shape == (2, 2)


def test_a_number_field_reads_what_people_type() -> None:
    field = number_field("first", 0.0, -2.5, 2.5)
    for typed, number in (("1.5", 1.5), (" 1,5 ", 1.5), ("−0.25", -0.25), ("-2", -2.0)):
        field.value = typed
        assert field.number == number
    for typed in ("", "abc", "1.2.3"):
        field.value = typed
        with pytest.raises(ValueError, match=r"is no number. Type one between −2.5 and 2.5"):
            _ = field.number
    for typed in ("99", "-2.6", "nan", "inf"):
        field.value = typed
        with pytest.raises(ValueError, match=r"out of bounds"):
            _ = field.number
    field.number = 0.25
    assert field.value == "0.25"
