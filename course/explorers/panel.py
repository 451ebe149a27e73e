"""The frame every explorer stands in: its widgets, its sentence, its errors, its still picture."""

import functools
import html
from collections.abc import Callable, Iterable
from typing import Any

import ipywidgets
from IPython import get_ipython

from course.explorers.accessibility import Voice, names_of
from course.explorers.still import still_of

_shown: dict[str, tuple[str, list["Panel"]]] = {}
"""Per notebook cell: the run that made panels there, and those panels."""


class Panel(ipywidgets.VBox):
    """A column of widgets with a live sentence and a place for errors below it.

    Where widgets do not run, stills of its canvases and pictures stand with the sentence.
    `still` makes other HTML for that place, when the panel is displayed; `text` comes
    before the sentence where there is only text. Panels that an earlier run of the same cell
    made are closed, so that re-running a cell leaves nothing behind.
    """

    def __init__(
        self, children: Iterable[Any], still: Callable[[], str] | None = None, text: str = ""
    ) -> None:
        children = tuple(children)
        self.voice = Voice(names=names_of(children))
        self._still = still
        self._text = text
        super().__init__(children=(*children, self.voice), _dom_classes=["mh-panel"])
        _replace_earlier_run(self)

    def say(self, sentence: str) -> None:
        """Show this sentence below the picture; screen readers read it out."""
        self.voice.sentence = sentence

    def guarded(self, function: Callable[..., None]) -> Callable[..., None]:
        """`function` for use as a callback: its errors are shown in the panel, not swallowed."""

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> None:
            try:
                function(*args, **kwargs)
            except Exception as error:
                self.voice.error = f"{type(error).__name__}: {error}"
            else:
                self.voice.error = ""

        return run

    def close(self) -> None:
        """Close the panel with everything in it."""
        for widget in _everything_in(self):
            if widget is not self:
                widget.close()
        super().close()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle = super()._repr_mimebundle_(**kwargs) or {}
        words = [text for text in (self.voice.sentence, self.voice.error) if text]
        bundle["text/plain"] = "\n".join(filter(None, (self._text, *words)))
        # JupyterLab prefers the widget; this is for pages where it does not run.
        still = still_of(self.children) if self._still is None else self._still()
        said = "".join(f"<p>{html.escape(text)}</p>" for text in words)
        bundle["text/html"] = f"<div>{still}{said}</div>"
        return bundle


def row(*children: Any) -> Any:
    """Controls side by side, wrapping where the page is narrow."""
    return ipywidgets.HBox(children, _dom_classes=["mh-controls"])


def _everything_in(widget: Any) -> set[Any]:
    """The widget, its children, and the layouts and styles they hold."""
    found: set[Any] = set()
    waiting = [widget]
    while waiting:
        one = waiting.pop()
        if one in found:
            continue
        found.add(one)
        for value in (getattr(one, name, None) for name in ("children", "layout", "style")):
            parts = value if isinstance(value, tuple | list) else (value,)
            waiting.extend(part for part in parts if isinstance(part, ipywidgets.Widget))
    return found


def _replace_earlier_run(panel: Panel) -> None:
    """Close the panels of this cell's earlier run: the kernel and the page keep them otherwise."""
    shell = get_ipython()
    if shell is None or not hasattr(shell, "get_parent"):
        return
    parent = shell.get_parent()
    cell = parent.get("metadata", {}).get("cellId")
    run = parent.get("header", {}).get("msg_id", "")
    if not cell:
        return  # a front end that does not say which cell runs
    earlier_run, panels = _shown.get(cell, ("", []))
    if earlier_run != run:
        for earlier in panels:
            earlier.close()
        panels = []
    _shown[cell] = (run, [*panels, panel])
