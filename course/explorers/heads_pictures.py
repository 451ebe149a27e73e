"""The drawings of the heads explorer: the reshape, and costs over the number of heads.

HTML with SVG in it: a few hundred shapes, made in less than a millisecond. They take their ink
from the page, so that both themes suit them.
"""

from collections.abc import Sequence
from dataclasses import replace

from course.explorers.heads_cost import Setting, costs

FILLS = ("#a9cfe8", "#f5c187", "#b9dfb0", "#e3b7e6", "#f2e394", "#f2aeb0", "#b8e0de", "#d9d3c7")
"""Light enough for black numbers. They repeat after eight heads; the numbers do not."""

CAPTION = 245  # px, for the shape above a drawing
WIDEST = 350  # px, for the numbers of one word
LINE = 8  # px, for one word
GAP = 7
BAR, BAR_GAP, BARS = 13, 3, 30
MARKED = "var(--jp-brand-color1, #1763a6)"


def reshape_picture(setting: Setting, coupled: bool, marked: int) -> str:
    """Before and after the reshape, a block with its number for each head.

    `marked`: the index of the word whose numbers are framed on both sides.
    """
    n, num_heads, d_k = setting.n, setting.num_heads, setting.d_k
    block = d_k * min(16.0, WIDEST / setting.width)
    height, top = n * LINE, 24
    before = 1.0
    arrow = before + max(num_heads * block, CAPTION) + 45
    after = arrow + 45
    lefts = [(before + head * block, after + head * (block + GAP)) for head in range(num_heads)]
    shapes = [
        _block(left, top, block, height, head) for head in range(num_heads) for left in lefts[head]
    ]
    frames = [(before, num_heads * block), *((left, block) for _, left in lefts)]
    shapes += [
        f'<rect x="{left:.1f}" y="{top + marked * LINE}" width="{wide:.1f}" height="{LINE}" '
        'fill="none" stroke="#000" stroke-width="2"/>'
        for left, wide in frames
    ]
    total = "d_model" if coupled else "heads · d_k"
    shapes += [
        _words(before, 14, f"(batch, n, {total}) = (1, {n}, {setting.width})"),
        _words(after, 14, f"(batch, heads, n, d_k) = (1, {num_heads}, {n}, {d_k})"),
        _words(arrow, top + height / 2 - 14, "view, then", "middle"),
        _words(arrow, top + height / 2 + 2, "transpose", "middle"),
        _words(arrow, top + height / 2 + 20, "→", "middle", size=20),
    ]
    width = after + max(num_heads * (block + GAP), CAPTION)
    high = top + height + 4
    label = (
        f"Left, one sheet of {n} rows, one per word, with {setting.width} numbers each, "
        f"in blocks numbered 1 to {num_heads}. Right, the same blocks apart, one per head: "
        f"{n} rows of {d_k} numbers each."
    )
    return (
        f"{_explanation(setting, coupled)}"
        f'<svg role="img" aria-label="{label}" viewBox="0 0 {width:.0f} {high:.0f}" '
        f'width="{width:.0f}" height="{high:.0f}" '
        'style="max-width:100%;height:auto;display:block;font-family:inherit">'
        f"{''.join(shapes)}</svg>"
    )


def _explanation(setting: Setting, coupled: bool) -> str:
    if coupled:
        said = (
            f"<b>Coupled:</b> d_k = d_model / heads = {setting.d_model} / {setting.num_heads} = "
            f"{setting.d_k}. Moving one slider moves the other, and only divisors of "
            f"{setting.d_model} can be chosen."
        )
    else:
        said = (
            f"<b>Free:</b> each slider moves alone. d_model stays {setting.d_model}, and all heads "
            f"together have heads · d_k = {setting.num_heads} · {setting.d_k} = {setting.width} "
            "numbers per word."
        )
    return (
        f'<p style="margin:0 0 6px;line-height:1.5">{said} q, k and v are cut into heads as drawn; '
        "the framed row is the word “it”.</p>"
    )


def _block(left: float, top: float, width: float, height: float, head: int) -> str:
    fill = FILLS[head % len(FILLS)]
    return (
        f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{height}" fill="{fill}" '
        'stroke="#424242"/>'
        f'<text x="{left + width / 2:.1f}" y="{top + height / 2 - 4}" text-anchor="middle" '
        f'font-size="12" font-weight="600" fill="#000">{head + 1}</text>'
    )


def _words(x: float, y: float, words: str, anchor: str = "start", size: int = 13) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
        f'fill="currentColor">{words}</text>'
    )


def cost_table(
    setting: Setting, coupled: bool, choices: Sequence[int], output_projection: bool
) -> str:
    """Parameters, FLOPs and map memory: formula, value, and bars over the number of heads."""
    settings = [
        replace(setting, num_heads=h, d_k=setting.d_model // h if coupled else setting.d_k)
        for h in choices
    ]
    all_costs = [costs(one, output_projection) for one in settings]
    here = settings.index(setting)
    sheets = 4 if output_projection else 3
    names = "Q, K, V, O" if output_projection else "Q, K, V"
    if coupled:
        formulas = (
            f"{sheets} · d_model²",
            f"{2 * sheets} · n · d_model² + 4 · n² · d_model",
            "heads · n² · 4 bytes",
        )
    else:
        formulas = (
            f"{sheets} · d_model · heads · d_k",
            f"({2 * sheets} · n · d_model + 4 · n²) · heads · d_k",
            "heads · n² · 4 bytes",
        )
    rows = [
        (f"Parameters of {names}", formulas[0], [cost.parameters for cost in all_costs]),
        (f"FLOPs, n = {setting.n}", formulas[1], [cost.flops for cost in all_costs]),
        ("Memory of the maps", formulas[2], [cost.map_bytes for cost in all_costs]),
    ]
    body = "".join(
        "<tr>"
        + _cell("th", f"{name}", "left", ' scope="row"')
        + _cell("td", formula, "left")
        + _cell("td", f"{values[here]:,}", "right")
        + _cell("td", _bars(name, choices, values, here), "left")
        + "</tr>"
        for name, formula, values in rows
    )
    over = ", ".join(map(str, choices)) if coupled else f"1, 2, 3, … {choices[-1]}"
    titles = (("Cost", "left"), ("Formula", "left"), ("Here", "right"))
    head = "".join(_cell("th", title, side, ' scope="col"') for title, side in titles)
    head += _cell("th", f"With {over} heads", "left", ' scope="col"')
    return (
        '<table style="border-collapse:collapse;line-height:1.4">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _cell(tag: str, content: str, side: str, scope: str = "") -> str:
    return f'<{tag}{scope} style="text-align:{side};padding:1px 18px 1px 0">{content}</{tag}>'


def _bars(name: str, choices: Sequence[int], values: Sequence[int], here: int) -> str:
    """One bar per head count; the one that is set is filled, with a mark below."""
    tallest = max(values)
    step = BAR + BAR_GAP
    shapes = []
    for place, value in enumerate(values):
        high = max(1.5, BARS * value / tallest)
        look = f'fill="{MARKED}"' if place == here else 'fill="currentColor" fill-opacity="0.3"'
        shapes.append(
            f'<rect x="{place * step}" y="{BARS - high:.1f}" width="{BAR}" height="{high:.1f}" '
            f"{look}/>"
        )
    middle = here * step + BAR / 2
    shapes.append(
        f'<path d="M{middle - 5} {BARS + 8}L{middle + 5} {BARS + 8}L{middle} {BARS + 2}Z" '
        'fill="currentColor"/>'
    )
    width, high = len(values) * step, BARS + 9
    change = values[-1] / values[0]
    label = f"{name}: bars from {choices[0]} to {choices[-1]} heads, " + (
        "all of one height." if change == 1 else f"rising {change:g}-fold."
    )
    return (
        f'<svg role="img" aria-label="{label}" width="{width}" height="{high}" '
        f'viewBox="0 0 {width} {high}" style="display:block;margin:3px 0">{"".join(shapes)}</svg>'
    )
