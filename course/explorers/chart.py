"""Curves, bars and histograms: one matplotlib figure, kept, redrawn where it changes.

A `Figure` with its own Agg canvas, never pyplot, so that no figure stays open behind
the learner's back. What never changes is drawn once and kept as background; an update
draws only the artists that change, and sends a PNG into one picture of fixed size.
"""

import struct
import zlib
from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from course.explorers.accessibility import picture

# The picture keeps its light paper in the dark theme: one picture serves both.
PAPER, INK, FAINT = "#ffffff", "#212121", "#8a8a8a"
BLUE, ORANGE, PURPLE = "#1763a6", "#c8690f", "#8a2a91"
DPI = 96
SHARPNESS = 1.5
"""Image pixels per CSS pixel: crisp on dense screens, still quick to compress."""

SIGNATURE = b"\x89PNG\r\n\x1a\n"

SomeArtist = TypeVar("SomeArtist", bound=Artist)


class Chart:
    """One picture with one or more axes, in rows.

    Draw what never changes on `axes`, announce what changes with `changing()`, then call
    `update()` after each change. Show `image`, in a `Panel`. Width and height are in CSS
    pixels; `alt` says what the picture is, and the panel's sentence says the numbers.
    """

    def __init__(
        self, alt: str, width: int = 640, height: int = 280, columns: int = 1, rows: int = 1
    ) -> None:
        self.image = picture(alt, width, height)
        self.figure = Figure(
            figsize=(width / DPI, height / DPI),
            dpi=DPI * SHARPNESS,
            facecolor=PAPER,
            layout="constrained",
        )
        self._agg = FigureCanvasAgg(self.figure)
        self.all_axes: list[Axes] = list(self.figure.subplots(rows, columns, squeeze=False).flat)
        for axes in self.all_axes:
            _dress(axes)
        self._changing: list[Artist] = []
        self._background: Any = None

    @property
    def axes(self) -> Axes:
        """The only axes, or the first of several."""
        return self.all_axes[0]

    def changing(self, artist: SomeArtist) -> SomeArtist:
        """Announce an artist (a line, a bar, a text) that later updates change; returns it."""
        artist.set_animated(True)
        self._changing.append(artist)
        self._background = None
        return artist

    def all_changing(self, artists: Iterable[SomeArtist]) -> list[SomeArtist]:
        """`changing` for several artists, such as the bars of `axes.bar(…)`."""
        return [self.changing(artist) for artist in artists]

    def redraw_background(self) -> None:
        """Draw everything at the next update: limits, ticks or labels have changed."""
        self._background = None

    def update(self) -> None:
        """Send the picture as it is now."""
        if self._background is None:
            self.figure.set_layout_engine("constrained")
            self._agg.draw()
            # Later draws must not move the axes, or the kept background would not fit.
            self.figure.set_layout_engine("none")
            self._background = self._agg.copy_from_bbox(self.figure.bbox)
        else:
            self._agg.restore_region(self._background)
        for artist in self._changing:
            if artist.axes is None:
                self.figure.draw_artist(artist)
            else:
                artist.axes.draw_artist(artist)
        self.image.value = self._png()

    def _png(self) -> bytes:
        return png(np.asarray(self._agg.buffer_rgba())[..., :3])


def png(pixels: np.ndarray) -> bytes:
    """A PNG file of pixels (height, width, 3), uint8: red, green, blue.

    Pillow tries five filters on every row, which takes twice as long as all the rest; rows of
    one paper are as small without. Source: PNG specification, third edition, sections 5 and 11.
    """
    height, width, _ = pixels.shape
    rows = np.zeros((height, 1 + 3 * width), np.uint8)  # each row begins with its filter: none
    for channel in range(3):  # one after the other: NumPy copies three bytes at a time slowly
        rows[:, 1 + channel :: 3] = pixels[..., channel]
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # 8 bits, RGB
    return SIGNATURE + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in (
            (b"IHDR", header),
            (b"IDAT", zlib.compress(rows.tobytes(), level=1)),
            (b"IEND", b""),
        )
    )


def _dress(axes: Axes) -> None:
    """Plain axes: no box, quiet ticks, words dark enough to read."""
    axes.set_facecolor(PAPER)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.tick_params(colors=INK, labelsize=9)
    for text in (axes.xaxis.label, axes.yaxis.label, axes.title):
        text.set_color(INK)
        text.set_fontsize(10)
