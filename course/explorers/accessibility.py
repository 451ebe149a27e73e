"""Controls and pictures with names, and the voice that speaks beside them.

ipywidgets gives its sliders no accessible name and its pictures no alternative text.
Controls made here carry a name; the `Voice` in the same `Panel` hands the names to the
browser. It also shows the live sentence and errors, so that every view says them alike.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import anywidget
import ipywidgets
import traitlets

HERE = Path(__file__).parent
WIDE = "initial"  # as wide as the words are


class Voice(anywidget.AnyWidget):
    """A sentence that is read out when it changes, an error, and the names of controls."""

    _esm = (HERE / "voice.js").read_text(encoding="utf-8")
    _css = (HERE / "voice.css").read_text(encoding="utf-8")

    names = traitlets.List(traitlets.Dict()).tag(sync=True)
    sentence = traitlets.Unicode("").tag(sync=True)
    error = traitlets.Unicode("").tag(sync=True)


def slider(
    description: str,
    minimum: float,
    maximum: float,
    value: float | None = None,
    step: float | None = None,
    name: str = "",
) -> Any:
    """A slider with an accessible name; whole numbers when its ends and step are whole.

    `name` is what a screen reader says, `description` unless given.
    """
    ends = (minimum, maximum, 1 if step is None else step)
    whole = all(isinstance(end, int) for end in ends)
    kind = ipywidgets.IntSlider if whole else ipywidgets.FloatSlider
    return _named(
        kind(
            value=minimum if value is None else value,
            min=minimum,
            max=maximum,
            step=step or (1 if whole else 0.01),
            description=description,
            style={"description_width": WIDE},
            layout={"width": "340px"},
            _dom_classes=_mark(),
        ),
        name or description,
    )


def dropdown(description: str, options: Sequence[Any], value: Any = None, name: str = "") -> Any:
    """A list to choose from; `options` are values, or pairs (label, value)."""
    control = ipywidgets.Dropdown(
        options=options,
        description=description,
        style={"description_width": WIDE},
        layout={"width": "max-content"},
        _dom_classes=_mark(),
    )
    if value is not None:
        control.value = value
    return _named(control, name or description)


def toggles(description: str, options: Sequence[Any], name: str = "") -> Any:
    """Buttons of which one is down; `options` are values, or pairs (label, value)."""
    return _named(
        ipywidgets.ToggleButtons(
            options=options,
            description=description,
            style={"description_width": WIDE, "button_width": WIDE},
            layout={"width": "max-content"},
            _dom_classes=_mark(),
        ),
        name or description,
    )


def radio(options: Sequence[Any], name: str, value: Any = None) -> Any:
    """Choices of which one is taken, none at first unless `value` is given."""
    return _named(
        ipywidgets.RadioButtons(
            options=options, value=value, layout={"width": "auto"}, _dom_classes=_mark()
        ),
        name,
    )


class NumberField(ipywidgets.Text):
    """A text field whose `number` is what stands in it.

    Not the browser's own number field: that one silently drops a decimal comma, so that 1,5
    arrives as 15.
    """

    def __init__(self, minimum: float, maximum: float, **options: Any) -> None:
        super().__init__(**options)
        self.minimum, self.maximum = minimum, maximum

    @property
    def number(self) -> float:
        """The number in the field. Raises ValueError for what is none, or out of bounds."""
        typed = self.value.strip().replace("−", "-").replace(",", ".")
        bounds = f"between {self.minimum:g} and {self.maximum:g}".replace("-", "−")
        try:
            number = float(typed)
        except ValueError:
            raise ValueError(
                f"“{self.value}” is no number. Type one {bounds}, such as 0.5."
            ) from None
        if not self.minimum <= number <= self.maximum:  # NaN is not within any bounds
            raise ValueError(f"{self.value} is out of bounds. Type a number {bounds}.")
        return number

    @number.setter
    def number(self, number: float) -> None:
        self.value = f"{number:g}"


def number_field(
    description: str,
    value: float = 0.0,
    minimum: float = -1e9,
    maximum: float = 1e9,
    name: str = "",
    width: int = 130,
) -> Any:
    """A field for one number, taken when Enter is pressed or the field is left."""
    return _named(
        NumberField(
            minimum,
            maximum,
            value=f"{value:g}",
            description=description,
            continuous_update=False,
            style={"description_width": WIDE},
            layout={"width": f"{width}px"},
            _dom_classes=_mark(),
        ),
        name or description,
    )


def text_field(description: str, value: str = "", name: str = "") -> Any:
    """A field for a few words."""
    return _named(
        ipywidgets.Text(
            value=value,
            description=description,
            style={"description_width": WIDE},
            layout={"width": "220px"},
            _dom_classes=_mark(),
        ),
        name or description,
    )


def button(description: str) -> Any:
    """A button, as wide as its words."""
    return _named(
        ipywidgets.Button(
            description=description, layout={"width": "max-content"}, _dom_classes=_mark()
        ),
        description,
    )


def picture(alt: str, width: int, height: int) -> Any:
    """A PNG picture of fixed size, in CSS pixels, with alternative text."""
    # The attributes keep its place while it loads, and its shape where the page is narrow.
    layout = {"max_width": "100%", "height": "auto"}
    image = ipywidgets.Image(
        format="png", width=width, height=height, layout=layout, _dom_classes=_mark()
    )
    return _named(image, alt)


def names_of(widgets: Iterable[Any]) -> list[dict[str, Any]]:
    """The names of all named controls among these widgets and inside them, for a `Voice`."""
    return [widget.spoken for widget in _with_children(widgets) if hasattr(widget, "spoken")]


def _with_children(widgets: Iterable[Any]) -> Iterator[Any]:
    for widget in widgets:
        yield widget
        yield from _with_children(getattr(widget, "children", ()))


def _mark() -> list[str]:
    # Unique over all kernels, for several notebooks may stand in one page.
    return [f"mh-named-{uuid4().hex}"]


def _named(control: Any, name: str) -> Any:
    control.spoken = {"mark": control._dom_classes[0], "name": name}
    return control
