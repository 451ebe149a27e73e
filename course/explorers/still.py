"""Stills: pictures as plain HTML, for pages where widgets do not run.

A canvas becomes SVG with the same panes: text, made in a few milliseconds and without a
plotting library.
"""

import base64
import html
import math
from collections.abc import Iterable, Mapping
from typing import Any

import ipywidgets
import numpy as np
from numpy.typing import NDArray

from course.contrast import text_on
from course.explorers.canvas import Canvas, Grid, Plane
from course.explorers.words import signed

LIGHT, DARK = (243, 246, 250), (8, 48, 107)
BELOW = (200, 105, 15)
CELL = 26
SIDE = 320

Values = Mapping[str, NDArray[np.float32]]


def still_of(widgets: Iterable[Any]) -> str:
    """HTML of every canvas and picture among these widgets and inside them."""
    parts = []
    for widget in widgets:
        if isinstance(widget, Canvas):
            parts.append(_canvas(widget))
        elif isinstance(widget, ipywidgets.Image):
            parts.append(_picture(widget))
        parts.append(still_of(getattr(widget, "children", ())))
    return "".join(parts)


def _picture(image: Any) -> str:
    data = base64.b64encode(image.value).decode()
    alt = html.escape(image.spoken["name"] if hasattr(image, "spoken") else "", quote=True)
    source = f"data:image/{image.format};base64,{data}"
    return f'<img src="{source}" alt="{alt}" width="{image.width}">'


def _canvas(canvas: Canvas) -> str:
    """HTML with one titled SVG per pane of the canvas, showing what it shows now."""
    parts = []
    for pane in canvas.panes:
        draw = _grid(pane, canvas.values) if isinstance(pane, Grid) else _plane(pane, canvas.values)
        width, height, shapes = draw
        label = html.escape(". ".join(filter(None, (pane.title, pane.alt))), quote=True)
        parts.append(
            f'<figure style="display:inline-block;margin:4px 12px 4px 0">'
            f"<figcaption>{html.escape(pane.title)}</figcaption>"
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" '
            f'width="{width:.0f}" height="{height:.0f}" font-family="sans-serif" font-size="12" '
            f'style="background:#fff">{"".join(shapes)}</svg></figure>'
        )
    return "".join(parts)


def _text(x: float, y: float, words: str, style: str = "") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" {style}>{html.escape(words)}</text>'


def _wide(words: str) -> float:
    """About how wide the words are: Chinese characters take a whole square."""
    return sum(13 if ord(letter) > 0x2E7F else 7.2 for letter in words)


def _colours(value: float, low: float, high: float, signed: bool) -> tuple[str, str]:
    """Of the ground and of the text on it."""
    if math.isnan(value):
        return "#fff", "#000"
    share = (value - low) / (high - low) if high > low else 0.5
    end = DARK
    if signed:
        share, end = abs(2 * share - 1), (DARK if share >= 0.5 else BELOW)
    share = min(1.0, max(0.0, share))
    mixed = [round(a + share * (b - a)) for a, b in zip(LIGHT, end, strict=True)]
    return f"rgb({','.join(map(str, mixed))})", text_on(*mixed)


def _grid(pane: Grid, values: Values) -> tuple[float, float, list[str]]:
    array = values.get(pane.name)
    if array is None:
        return 0, 0, []
    finite = array[np.isfinite(array)]
    low, high = pane.limits or ((finite.min(), finite.max()) if finite.size else (0, 1))
    if pane.signed and pane.limits is None:
        high = max(abs(low), abs(high)) or 1
        low = -high
    left = max((_wide(word) for word in pane.rows), default=0) + 8
    top = max((_wide(word) for word in pane.columns), default=0) + 8
    cell_width = 44 if len(pane.rows) == 1 else CELL
    map_width = left + cell_width * len(pane.columns) + 8
    shapes = []
    for head, title in enumerate(pane.heads):
        x0, y0 = head * map_width + left, top + 16
        shapes.append(_text(x0, 12, title, 'font-weight="bold"'))
        for j, word in enumerate(pane.columns):
            x = x0 + (j + 0.6) * cell_width
            shapes.append(_text(x, y0 - 4, word, f'transform="rotate(-60 {x:.0f} {y0 - 4})"'))
        for i, word in enumerate(pane.rows):
            y = y0 + i * CELL
            shapes.append(_text(x0 - 6, y + 17, word, 'text-anchor="end"'))
            for j in range(len(pane.columns)):
                value = float(array[head, i, j])
                fill, ink = _colours(value, low, high, pane.signed)
                x = x0 + j * cell_width
                shapes.append(
                    f'<rect x="{x:.0f}" y="{y:.0f}" width="{cell_width - 1}" height="{CELL - 1}" '
                    f'fill="{fill}"/>'
                )
                if cell_width > CELL:
                    words = "–" if math.isnan(value) else signed(value, pane.decimals)
                    style = f'fill="{ink}" text-anchor="middle" font-size="11"'
                    shapes.append(_text(x + cell_width / 2, y + 17, words, style))
    height = top + 16 + CELL * len(pane.rows) + 4
    return map_width * len(pane.heads), height, shapes


def _plane(pane: Plane, values: Values) -> tuple[float, float, list[str]]:
    def place(x: float, y: float) -> tuple[float, float]:
        return (x / pane.limit + 1) / 2 * SIDE, (1 - y / pane.limit) / 2 * SIDE

    middle = SIDE / 2
    shapes = [
        f'<path d="M0 {middle}H{SIDE}M{middle} 0V{SIDE}M0 0H{SIDE}V{SIDE}H0Z" '
        'fill="none" stroke="#bbb"/>'
    ]
    points = values.get(f"{pane.name}.points", np.zeros((0, 2)))
    sizes = values.get(f"{pane.name}.sizes", np.full(len(points), 0.1))
    for (px, py), size, word in zip(points, sizes, pane.labels, strict=False):
        x, y = place(px, py)
        strength = math.sqrt(max(0.0, float(size)))
        if pane.arrows:
            shapes.append(
                f'<path d="M{middle} {middle}L{x:.0f} {y:.0f}" stroke="#1763a6" '
                f'stroke-width="{1 + 5 * strength:.1f}" opacity="{0.35 + 0.6 * strength:.2f}"/>'
            )
        shapes.append(
            f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{2.5 + 9 * strength:.1f}" fill="#1763a6"/>'
        )
        shapes.append(_text(x + 6, y - 5, word))
    for part, word, colour in (("handle", pane.handle, "#b4500b"), ("mark", pane.mark, "#8a2a91")):
        if (point := values.get(f"{pane.name}.{part}")) is not None:
            x, y = place(*point)
            shapes.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="8" fill="{colour}"/>')
            shapes.append(_text(x + 10, y + 14, word, f'fill="{colour}" font-weight="bold"'))
    return SIDE, SIDE, shapes
