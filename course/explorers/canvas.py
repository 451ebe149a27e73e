"""The house's one canvas: grids of cells and planes with points, painted in the browser.

The kernel computes; the browser paints. A `Canvas` is made of panes (`Grid`, `Plane`),
and `show()` sends it new numbers: all arrays as one float32 buffer, in one message.
What the learner touches comes back through `on_point`, `on_cell` and `on_press`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import anywidget
import numpy as np
import traitlets
from numpy.typing import ArrayLike, NDArray

HERE = Path(__file__).parent
PARTS = ("canvas_colours.js", "canvas_grid.js", "canvas_plane.js", "canvas.js")


@dataclass(frozen=True)
class Grid:
    """One map of cells per head, with words on its rows and columns.

    Wants one array, `name`: (rows, columns) for one head, else (heads, rows, columns).
    NaN marks a cell that may not be attended to; it is hatched. `signed` colours
    negative and positive numbers apart. `limits` fixes the ends of the colour map;
    without them the smallest and largest number are the ends. `touch`: "look" lets the
    keyboard move from cell to cell, "paint" also changes cells, "none" does neither.
    `plain`: what every cell that is not NaN says, where its number would say nothing.

    Two arrays are optional: `name.closed` (as `name`), 1 where a cell may not be attended
    to, so that a number which stands there all the same is framed; and, with a heading for
    them in `sums`, `name.sums` (heads, rows), written at the end of the rows, whole where
    the cells are `plain`.
    """

    name: str
    rows: Sequence[str]
    columns: Sequence[str]
    title: str = ""
    alt: str = ""
    heads: Sequence[str] = ("",)
    signed: bool = False
    limits: tuple[float, float] | None = None
    decimals: int = 2
    touch: Literal["look", "paint", "none"] = "look"
    wide: bool = True
    plain: str = ""
    sums: str = ""
    kind: Literal["grid"] = "grid"

    def arrays(self) -> dict[str, tuple[int | None, ...]]:
        """Name and shape of each array this pane can show; None stands for any length."""
        cells = (len(self.heads), len(self.rows), len(self.columns))
        return {
            self.name: cells,
            f"{self.name}.closed": cells,
            f"{self.name}.sums": (len(self.heads), len(self.rows)),
        }


@dataclass(frozen=True)
class Plane:
    """A square of the plane from −limit to limit, with labelled points or arrows.

    Arrays, all optional: `name.points` (n, 2), one per label; `name.sizes` (n,) from 0
    to 1, how much each stands out; `name.handle` (2,), the point that can be dragged
    (`handle` is its word); `name.mark` (2,), a diamond (`mark` is its word);
    `name.outline` (m, 2), a dashed outline. `side`: its largest size in CSS pixels.
    """

    name: str
    labels: Sequence[str]
    title: str = ""
    alt: str = ""
    limit: float = 2.5
    arrows: bool = False
    handle: str = ""
    mark: str = ""
    x_title: str = ""
    y_title: str = ""
    side: int = 460
    wide: bool = False
    kind: Literal["plane"] = "plane"

    def arrays(self) -> dict[str, tuple[int | None, ...]]:
        """Name and shape of each array this pane can show; None stands for any length."""
        count = len(self.labels)
        return {
            f"{self.name}.points": (count, 2),
            f"{self.name}.sizes": (count,),
            f"{self.name}.handle": (2,),
            f"{self.name}.mark": (2,),
            f"{self.name}.outline": (None, 2),
        }


Pane = Grid | Plane
Marks = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Cell:
    """One cell of a grid. `dragged`: reached while the pointer was held down."""

    pane: str
    head: int
    row: int
    column: int
    dragged: bool = False


class Canvas(anywidget.AnyWidget):
    """Panes painted on canvases. Make it with the panes, feed it with `show()`."""

    _esm = "\n".join((HERE / part).read_text(encoding="utf-8") for part in PARTS)
    # Text, not a path: anywidget watches files for changes, and so would keep every canvas alive.
    _css = (HERE / "canvas.css").read_text(encoding="utf-8")

    scene = traitlets.List(traitlets.Dict()).tag(sync=True)
    layout_of_data = traitlets.List(traitlets.List()).tag(sync=True)
    data = traitlets.Bytes(b"").tag(sync=True)
    marks = traitlets.Dict().tag(sync=True)
    seen = traitlets.Int(0).tag(sync=True)
    # Set by the browser, which need not hear of its own doings again.
    point = traitlets.Dict().tag(sync=True, echo_update=False)
    cursor = traitlets.Dict().tag(sync=True, echo_update=False)

    def __init__(self, panes: Sequence[Pane]) -> None:
        self.panes = tuple(panes)
        self.values: dict[str, NDArray[np.float32]] = {}
        super().__init__(scene=[_described(pane) for pane in panes])
        self.layout.width = "100%"
        self._press_handlers: list[Callable[[Cell], None]] = []
        self.on_msg(self._receive)

    def show(self, arrays: Mapping[str, ArrayLike | None], marks: Marks | None = None) -> None:
        """Paint these numbers; arrays that are not named keep what they show.

        `arrays` maps names (see `Grid` and `Plane`) to NumPy arrays or torch tensors of
        any float dtype, or to None for what is no longer to be shown. `marks` says what
        stands out, per pane: in a grid "row", "column", "cell" (head, row, column) or "empty"
        (a list of rows), in a plane "point" (an index).
        Raises ValueError for an unknown name or a shape that does not fit.
        """
        expected = {name: shape for pane in self.panes for name, shape in pane.arrays().items()}
        values = dict(self.values)
        for name, array in arrays.items():
            if name not in expected:
                raise ValueError(
                    f"No pane shows an array called {name!r}. Try one of {sorted(expected)}."
                )
            if array is None:
                values.pop(name, None)
            else:
                values[name] = _fitting(name, as_numpy(array), expected[name])
        self.values = {name: values[name] for name in expected if name in values}
        with self.hold_sync():  # one message: the browser never sees half of it
            self.layout_of_data = [[name, list(a.shape)] for name, a in self.values.items()]
            self.data = b"".join(array.tobytes() for array in self.values.values())
            if marks is not None:
                self.marks = {pane: dict(mark) for pane, mark in marks.items()}
            self.seen = self.point.get("number", 0)

    def change_panes(self, panes: Sequence[Pane]) -> None:
        """Show other panes (another sentence, another head count); the arrays start afresh."""
        self.panes = tuple(panes)
        self.values = {}
        with self.hold_sync():
            self.layout_of_data, self.data, self.marks = [], b"", {}
            self.scene = [_described(pane) for pane in panes]

    def on_point(self, function: Callable[[str, float, float], None]) -> None:
        """Call `function(pane, x, y)` when the learner moves a plane's point."""
        self.observe(lambda _: function(*(self.point[key] for key in ("pane", "x", "y"))), "point")

    def on_cell(self, function: Callable[[Cell], None]) -> None:
        """Call `function(cell)` when the learner goes to a cell, by click or arrow keys."""
        self.observe(lambda _: function(Cell(**self.cursor)), "cursor")

    def on_press(self, function: Callable[[Cell], None]) -> None:
        """Call `function(cell)` for each click, Space or Enter on a cell, none left out."""
        self._press_handlers.append(function)

    def _receive(self, _: object, content: dict[str, Any], __: object) -> None:
        if content.get("kind") != "press":
            return
        cell = Cell(**{key: value for key, value in content.items() if key != "kind"})
        for function in self._press_handlers:
            function(cell)


def as_numpy(array: ArrayLike) -> NDArray[np.float64]:
    """Numbers as float64 from a NumPy array, a torch tensor of any dtype or device, or a list.

    Torch is recognised by what its tensors can do, so that NumPy lessons need not load it.
    """
    if hasattr(array, "detach"):
        array = array.detach().cpu().double().numpy()
    return np.array(array, dtype=np.float64)


def _fitting(
    name: str, array: NDArray[np.float64], shape: tuple[int | None, ...]
) -> NDArray[np.float32]:
    """The array as the browser reads it, contiguous little-endian float32, if its shape fits."""
    full = array
    if array.ndim == 2 and len(shape) == 3 and shape[0] == 1:
        full = array[None]  # (rows, columns) → (1, rows, columns): a grid with one head
    if full.ndim == len(shape) and all(
        wanted in (None, got) for got, wanted in zip(full.shape, shape, strict=True)
    ):
        return np.ascontiguousarray(full, dtype="<f4")
    words = ", ".join("any" if size is None else str(size) for size in shape)
    raise ValueError(
        f"{name!r} has shape {array.shape}, and its pane has places for ({words}). "
        "Give one number per cell or point, or make the pane with as many labels."
    )


def _described(pane: Pane) -> dict[str, Any]:
    """The pane as the browser reads it: JSON, with JavaScript's way of writing names."""
    spec = {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(pane).items()}
    if isinstance(pane, Plane):
        spec["xTitle"], spec["yTitle"] = spec.pop("x_title"), spec.pop("y_title")
    return spec
