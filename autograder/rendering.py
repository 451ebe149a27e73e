"""Showing a verdict: as text anywhere, as HTML in a notebook and in feedback.

The HTML is self-contained: no script, no style sheet, nothing fetched. Colours come with
words, and every table has a caption, so that it can be read without seeing it.
"""

import html
from typing import Any

import numpy as np

from autograder.declaring import PARAMETERS, Value
from autograder.observing import unwarned
from autograder.recording import is_tensor, record
from autograder.verdicts import Example, Verdict
from course.contrast import text_on

DIFFERS = "≠"
ROWS, COLUMNS = 6, 8  # the largest piece of an array that is shown
BLUE, ORANGE = (33, 102, 172), (179, 88, 6)  # told apart with every common colour blindness
# JupyterLab's variables where they exist, and colours that suit a white page elsewhere.
TEXT = "color:var(--jp-content-font-color1,#1f1f1f)"
CARD = (
    "border-left:6px solid {edge};padding:.4em 1em .6em;margin:.4em 0;max-width:52em;"
    f"line-height:1.5;{TEXT};background:var(--jp-layout-color1,#fff)"
)
EDGES = {"correct": "#2a7f3f", "not attempted": "#6b6b6b"}
PROBLEM_EDGE = "#b35806"
CELL = "border:1px solid #8888;padding:.15em .5em;text-align:right"


@unwarned()
def to_text(verdict: Verdict) -> str:
    """The verdict for a terminal: its message and, if there is one, the example in numbers."""
    lines = [verdict.message]
    example = verdict.example
    if example is not None:
        lines.append(f"\nThe smallest case that fails {example.purpose}")
        for name, value in example.arguments.items():
            shown = f"\n{_array_text(value)}" if _is_array(value) else f" {value}"
            lines.append(f"{name} ={shown}")
        if _worth_showing(example):
            assert example.yours is not None and example.expected is not None
            lines.append(f"yours, {example.part} =\n{_array_text(example.yours.data)}")
            lines.append(f"expected =\n{_array_text(example.expected.data)}")
        if example.printed:
            lines.append(f"Your function printed:\n{example.printed}")
    return "\n".join(lines)


def _worth_showing(example: Example) -> bool:
    """Whether to show the part that differs: what is said in words is in the verdict already."""
    if example.yours is None or example.expected is None:
        return False
    return example.expected.kind != "text" or example.part == PARAMETERS


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or is_tensor(value)


def _plain(value: Any) -> np.ndarray:
    # By way of `record`: NumPy has no bfloat16.
    return np.asarray(record(value).data if is_tensor(value) else value)


def _array_text(value: Any) -> str:
    array = _plain(value)
    if array.dtype.kind == "U":
        return str(array)
    if array.size > ROWS * COLUMNS * 2:
        return f"(an array of shape {array.shape})"
    return np.array2string(array, precision=4, suppress_small=True)


@unwarned()
def to_html(verdict: Verdict, label: str = "") -> str:
    """The verdict as a card: what happened, the likely cause, what to try, and the example.

    label: by which it is told from others on its page; "Verdict on …" by default.
    """
    label = label or f"Verdict on {verdict.exercise}"
    edge = EDGES.get(verdict.outcome, PROBLEM_EDGE)
    parts = [
        f'<section aria-label="{html.escape(label)}" style="{CARD.format(edge=edge)}">',
        f"<p style='margin:.2em 0'><strong>{html.escape(verdict.headline)}</strong></p>",
        *(_paragraph(text) for text in verdict.paragraphs),
    ]
    if verdict.example is not None:
        parts.append(_example_html(verdict.example))
    if verdict.cases and not verdict.correct:
        parts.append(_cases_html(verdict))
    return "".join([*parts, "</section>"])


def waiting_to_html(text: str) -> str:
    """A line that stands where the verdict will, as a card like it; it is announced, politely."""
    style = CARD.format(edge=EDGES["not attempted"])
    return f'<section role="status" aria-label="Check" style="{style}">{_paragraph(text)}</section>'


def hint_to_html(text: str) -> str:
    """A hint as a card like the verdict's."""
    style = CARD.format(edge=EDGES["not attempted"])
    return f'<section aria-label="Hint" style="{style}">{_paragraph(text)}</section>'


def _paragraph(text: str) -> str:
    """A paragraph; `code` in back-ticks, and "Likely cause:" and "Try:" set off."""
    escaped = html.escape(text, quote=False).replace("\n", "<br>")
    pieces = escaped.split("`")
    if len(pieces) % 2:
        escaped = "".join(
            f"<code>{piece}</code>" if i % 2 else piece for i, piece in enumerate(pieces)
        )
    for label in ("Likely cause:", "Try:"):
        if escaped.startswith(label):
            escaped = f"<strong>{label}</strong>{escaped[len(label) :]}"
    return f"<p style='margin:.3em 0'>{escaped}</p>"


def _cases_html(verdict: Verdict) -> str:
    items = "".join(
        f"<li>{html.escape(name)}: {'holds' if holds else '<strong>fails</strong>'}</li>"
        for name, holds in verdict.cases
    )
    return (
        f"<details><summary>All {len(verdict.cases)} cases</summary>"
        f"<ul style='margin:.2em 0'>{items}</ul></details>"
    )


def _example_html(example: Example) -> str:
    parts = [
        "<p style='margin:.6em 0 .2em'><strong>Smallest example.</strong> "
        f"This case {html.escape(example.purpose)}</p>",
    ]
    tables = [_value_html(name, value) for name, value in example.arguments.items()]
    parts.append(_row_of(tables))
    if example.yours is not None and example.expected is not None:
        comparison = _comparison(example)
        parts.append(_row_of(comparison))
        notes = []
        if len(example.axes) >= 2 and np.ndim(example.expected.data) >= 2:
            notes.append(f"Rows: {example.axes[-2]}, columns: {example.axes[-1]}.")
        if any(DIFFERS in block for block in comparison):
            notes.append(f"{DIFFERS} marks what differs.")
        parts.append(f"<p style='margin:0'><small>{' '.join(notes)}</small></p>")
    if example.printed:
        parts.append(
            "<p style='margin:.3em 0'>Your function printed:</p>"
            f"<pre style='max-height:12em;overflow:auto'>{html.escape(example.printed)}</pre>"
        )
    return "".join(parts)


def _row_of(blocks: list[str]) -> str:
    inside = "".join(f"<div>{block}</div>" for block in blocks if block)
    return (
        "<div style='display:flex;flex-wrap:wrap;gap:.4em 2em;align-items:flex-start;"
        f"overflow-x:auto'>{inside}</div>"
    )


def _value_html(name: str, value: Any) -> str:
    if not _is_array(value):
        return f"<p style='margin:.2em 0'><code>{html.escape(f'{name} = {value!r}')}</code></p>"
    array = _plain(value)
    return _table(name, array, array.shape)


def _comparison(example: Example) -> list[str]:
    """Yours beside the expected, cut to the piece around the worst value, as coloured maps."""
    assert example.yours is not None and example.expected is not None
    yours, expected = _as_array(example.yours), _as_array(example.expected)
    if yours is None or expected is None:
        return []
    name = example.part
    if yours.shape != expected.shape:
        return [
            _table(f"{name}, yours", yours, yours.shape, scale=_scale(yours)),
            _table(f"{name}, expected", expected, expected.shape, scale=_scale(expected)),
        ]
    lead = example.at[:-2] if expected.ndim > 2 else ()
    where = f"{name}[{', '.join(map(str, lead))}]" if lead else name
    a, b = yours[lead], expected[lead]
    scale = _scale(b)
    differs = ~np.isclose(a, b, rtol=1e-4, atol=1e-6, equal_nan=True)
    return [
        _table(f"{where}, yours", a, yours.shape, scale, differs),
        _table(f"{where}, expected", b, expected.shape, scale),
    ]


def _as_array(value: Value) -> np.ndarray | None:
    return np.asarray(value.data) if value.kind in ("array", "tensor", "number") else None


def _scale(array: np.ndarray) -> float:
    finite = np.abs(array[np.isfinite(array)]) if array.dtype.kind in "fiu" else np.empty(0)
    return float(finite.max()) if finite.size else 0.0


def _table(
    caption: str,
    array: np.ndarray,
    shape: tuple[int, ...],
    scale: float | None = None,
    differs: np.ndarray | None = None,
) -> str:
    """A two-dimensional piece of an array as a table; with a scale, its cells are coloured."""
    if array.ndim > 2:
        array = array[(0,) * (array.ndim - 2)]
        caption = f"{caption} (first of its leading axes)"
        differs = None
    grid = np.atleast_2d(array)
    marks = np.atleast_2d(differs) if differs is not None else np.zeros(grid.shape, bool)
    cut = grid.shape[0] > ROWS or grid.shape[1] > COLUMNS
    rows = "".join(
        "<tr>"
        + "".join(
            _cell(grid[i, j], scale, bool(marks[i, j])) for j in range(min(grid.shape[1], COLUMNS))
        )
        + "</tr>"
        for i in range(min(grid.shape[0], ROWS))
    )
    notes = [f"shape {shape}"]
    if cut:
        notes.append(f"the first {min(grid.shape[0], ROWS)} × {min(grid.shape[1], COLUMNS)}")
    label = f"{caption}, {', '.join(notes)}"
    return (
        "<figure style='margin:.3em 0'><figcaption style='white-space:nowrap'>"
        f"<code>{html.escape(caption)}</code> <small>{html.escape(', '.join(notes))}</small>"
        f"</figcaption><table aria-label='{html.escape(label, quote=True)}' "
        f"style='border-collapse:collapse;margin:.2em 0;font-size:.92em;{TEXT}'>"
        f"<tbody>{rows}</tbody></table></figure>"
    )


def _cell(number: Any, scale: float | None, differs: bool) -> str:
    style = CELL
    if scale:
        back, front = _colours(float(number), scale)
        style += f";background:{back};color:{front}"
    if differs:
        style += ";outline:2px solid currentColor;outline-offset:-3px;font-weight:bold"
    return f"<td style='{style}'>{f'{DIFFERS} ' if differs else ''}{_number(number)}</td>"


def _number(number: Any) -> str:
    if isinstance(number, bool | np.bool_):
        return str(bool(number))
    value = float(np.real(number))
    if not np.isfinite(value):
        return {True: "NaN"}.get(np.isnan(value), "∞" if value > 0 else "−∞")
    if value and not 1e-3 <= abs(value) < 1e5:
        text = f"{value:.1e}"
    else:
        text = f"{value:.3f}".rstrip("0").rstrip(".")
    return text.replace("-", "−")


def _colours(number: float, scale: float) -> tuple[str, str]:
    """Background and text: white at 0, blue for positive, orange for negative numbers."""
    if not np.isfinite(number):
        return "#000", "#fff"
    share = min(1.0, abs(number) / scale)
    hue = BLUE if number >= 0 else ORANGE
    red, green, blue = (round(255 + (channel - 255) * share) for channel in hue)
    return f"rgb({red},{green},{blue})", text_on(red, green, blue)
