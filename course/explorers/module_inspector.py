"""Lesson 06: a module looked at from inside: maps, shapes, parameters, gradients, time."""

import html
from collections.abc import Sequence

import ipywidgets
from torch import nn

from course.attention.module import MultiHeadAttention
from course.devices import WORDS, available_devices
from course.explorers.accessibility import dropdown, slider
from course.explorers.canvas import Canvas, Grid
from course.explorers.module_run import SENTENCE, Make, Run, axes_of, run_module
from course.explorers.panel import Panel, row
from course.explorers.sentences import ENGLISH
from course.explorers.still import still_of
from course.explorers.words import signed

HEADS = 8
SIZES = (1, 2, 4, 8, 16, 32)
"""The values of d_k on the slider. None equals the 12 words, so shapes can be told apart."""

ASKS = ENGLISH.asks
MOST_ROWS = 24
NAUGHT = 1e-5  # a gradient this small beside the largest is rounding
SHOWN = "margin:0;border-collapse:collapse;font-size:12px;color:var(--jp-ui-font-color1,#212121)"
CELL = "padding:1px 10px 1px 0;text-align:left;line-height:1.5;white-space:nowrap"


def inspect_module(module: Make | nn.Module | None = None) -> Panel:
    """Run a module once forward and once backward on the running sentence, and look inside.

    module: a class that is made with (d_model, num_heads), the course's `MultiHeadAttention` unless
    given; or a module that is made already, whose sizes then stay as they are (a copy is run).

    The words are random vectors, and the loss is the mean of the squared output. Dropout is off.
    What the module raises is shown below the picture, with the steps that it got through.
    """
    if module is not None and not callable(module):
        raise ValueError(
            f"inspect_module() got {module!r}, and a module is needed. "
            "Pass your class, inspect_module(MyMultiHeadAttention), or an object made from it."
        )
    return _Inspector(MultiHeadAttention if module is None else module).panel


class _Inspector:
    """The widgets of one call, and what happens when one of them is touched."""

    def __init__(self, given: Make | nn.Module) -> None:
        self.given = given
        devices = available_devices()
        self.only = len(devices) == 1
        self.heads = slider("Heads", 1, HEADS, 2)
        # The slider counts doublings, and d_k itself stands beside it.
        self.doublings = slider("d_k", 0, len(SIZES) - 1, 3, name="d_k: how often 1 is doubled")
        self.doublings.readout = False
        self.size = ipywidgets.Label(layout={"width": "3em"})
        self.device = dropdown("Device", [(WORDS[name], name) for name in devices])
        self.canvas = Canvas([])
        self.steps, self.parameters = ipywidgets.HTML(), ipywidgets.HTML()
        sizes = [] if isinstance(given, nn.Module) else [self.heads, self.doublings, self.size]
        controls = row(*sizes, self.device)
        tables = row(self.steps, self.parameters)
        tables.layout.align_items = "flex-start"
        self.panel = Panel([controls, self.canvas, tables], still=self.still)
        guarded = self.panel.guarded
        for control in (self.heads, self.doublings, self.device):
            control.observe(guarded(lambda _: self.show()), "value")
        guarded(self.show)()

    def show(self) -> None:
        """Run the module as the controls say, and send everything that was seen."""
        d_k = SIZES[self.doublings.value]
        self.size.value = str(d_k)
        heads = self.heads.value
        run = Run(num_heads=heads, d_model=heads * d_k)
        try:
            run_module(self.given, run.d_model, heads, self.device.value, run)
        except Exception:
            run.weights = None
            self.paint(run)
            done = f"after {_count(len(run.steps), 'step')}" if run.steps else "at the start"
            self.panel.say(
                f"{_count(run.num_heads, 'head')}, d_model = {run.d_model}: your module stopped "
                f"{done}. The error stands below."
            )
            raise
        self.paint(run)
        self.panel.say(self.sentence(run))

    def paint(self, run: Run) -> None:
        """Send the maps and both tables."""
        wanted = [] if run.weights is None else [_maps(run.num_heads)]
        if list(self.canvas.panes) != wanted:
            self.canvas.change_panes(wanted)
        if run.weights is not None:
            self.canvas.show({"weights": run.weights}, {"weights": {"row": ASKS}})
        self.steps.value = _step_table(run)
        self.parameters.value = _parameter_table(run)

    def sentence(self, run: Run) -> str:
        where = {"cpu": "the CPU", "mps": "the GPU of this Mac"}.get(self.device.value, "the GPU")
        said = (
            f"{_count(run.num_heads, 'head')} of d_k = {run.d_model // run.num_heads}, d_model = "
            f"{run.d_model}: {run.num_parameters:,} parameters. A forward pass takes about "
            f"{run.milliseconds:.2g} ms on {where}{', the only device here' if self.only else ''}."
        )
        if run.weights is None:
            return said + " Its forward gives no weights, so there are no maps to show."
        weights, n = run.weights, len(SENTENCE)
        if not run.returned_weights:
            said += " Its forward gives no weights: the maps are computed from its W_q and W_k."
        at_thousand = run.num_heads * 1000**2 * weights.element_size() / 1e6
        best = int(weights[0, ASKS].argmax())
        return (
            f"{said} The maps take {run.num_heads} · {n} · {n} · {weights.element_size()} = "
            f"{weights.nbytes:,} bytes, and would take {at_thousand:,.0f} MB for 1,000 words. "
            f"In head 1 “{SENTENCE[ASKS]}” gives its largest weight, "
            f"{signed(weights[0, ASKS, best].item(), 2)}, to “{SENTENCE[best]}”; "
            f"an even share is {1 / n:.2f}, and all weights lie between {weights.min():.2f} and "
            f"{weights.max():.2f}."
        )

    def still(self) -> str:
        """The maps and the tables as HTML, for pages where widgets do not run."""
        return still_of([self.canvas]) + self.steps.value + self.parameters.value


def _maps(num_heads: int) -> Grid:
    return Grid(
        "weights",
        SENTENCE,
        SENTENCE,
        title="Weights of each head: the word of the row asks the words of the columns",
        alt="The stronger the blue, the larger the weight; the smallest of all is the palest. "
        f"The row of “{SENTENCE[ASKS]}” is framed.",
        heads=tuple(f"head {number + 1}" for number in range(num_heads)),
        decimals=2,
    )


def _step_table(run: Run) -> str:
    rows = []
    for step in run.steps[:MOST_ROWS]:
        shape = str(step.shape) + (f" × {step.count}" if step.count > 1 else "")
        rows.append((_code(step.name), shape, axes_of(step, run)))
    if (left := len(run.steps) - MOST_ROWS) > 0:
        rows.append((f"… and {left} more", "", ""))
    return _table("Forward, step by step", ("step", "shape of the result", "axes"), rows)


def _parameter_table(run: Run) -> str:
    largest = max((norm for *_, norm in run.parameters if norm), default=0.0)
    rows = []
    for name, shape, norm in run.parameters[:MOST_ROWS]:
        rows.append((_code(name), str(shape), _gradient(norm, largest)))
    if (left := len(run.parameters) - MOST_ROWS) > 0:
        rows.append((f"… and {left} more", "", ""))
    if not rows:
        rows.append(("none", "", ""))
    return _table("parameters()", ("name", "shape", "gradient's norm"), rows)


def _gradient(norm: float | None, largest: float) -> str:
    if norm is None:
        return "none"
    if norm <= NAUGHT * largest:
        return "0" if norm == 0 else f"0 (rounding: {norm:.0e})"
    bar = f"display:inline-block;height:8px;width:{40 * norm / largest:.0f}px;background:#4a8fd0"
    return f'{norm:.2g} <span style="{bar}"></span>'


def _table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """An HTML table; the cells are HTML already."""
    head = "".join(f'<th scope="col" style="{CELL}">{column}</th>' for column in columns)
    body = "".join(
        "<tr>" + "".join(f'<td style="{CELL}">{cell}</td>' for cell in cells) + "</tr>"
        for cells in rows
    )
    title = f'<caption style="text-align:left;font-weight:600">{caption}</caption>'
    return f'<table style="{SHOWN}">{title}<tr>{head}</tr>{body}</table>'


def _code(name: str) -> str:
    return f"<code>{html.escape(name)}</code>"


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
