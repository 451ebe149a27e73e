"""Is everything here that the course needs? A sentence for each thing, and what to do about it.

Only the standard library is imported at the top: what is missing shall become a finding, and not
an ImportError.
"""

import html
import importlib.metadata
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

OLDEST_PYTHON = (3, 11)
PROJECT = "many-heads"
PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
INSTALL = "Close JupyterLab and start it again with `make lab`, which installs what is missing"

State = Literal["fine", "to do", "waiting"]
WORDS: dict[State, str] = {"fine": "Fine", "to do": "To do", "waiting": "Waiting"}
COLOURS: dict[State, str] = {"fine": "#2e7d32", "to do": "#b4500b", "waiting": "#767676"}

ANSWER = """
export default {
  render({ model }) {
    model.set("answered", true);
    model.save_changes();
  },
};
"""


@dataclass(frozen=True)
class Finding:
    """What was found about one thing: a plain sentence, with what to do if it is not fine."""

    topic: str
    state: State
    sentence: str

    def __str__(self) -> str:
        return f"{WORDS[self.state]}: {self.topic}. {self.sentence}"


class Report(tuple[Finding, ...]):
    """Findings, shown as a list: as HTML in a notebook, as text anywhere else."""

    @property
    def summary(self) -> str:
        """One sentence over all findings."""
        states = [finding.state for finding in self]
        if problems := states.count("to do"):
            return f"{problems} of {len(self)} things need your attention; see “To do” above."
        if "waiting" in states:
            return "Nothing is missing so far; one answer is still to come."
        return "Everything is here. You can begin."

    def __repr__(self) -> str:
        return "\n".join([*map(str, self), self.summary])

    def _repr_html_(self) -> str:
        return f"{self.rows()}<p>{html.escape(self.summary)}</p>"

    def rows(self) -> str:
        """The findings as HTML, without the summary. The state is a word as well as a colour."""
        items = "".join(
            '<li style="margin:0 0 6px;padding:1px 12px;border-left:4px solid '
            f'{COLOURS[finding.state]}"><b>{WORDS[finding.state]}:</b> '
            f"{html.escape(finding.topic)}. {_with_code(finding.sentence)}</li>"
            for finding in self
        )
        return (
            '<ul aria-label="What was found" style="list-style:none;margin:0;padding:0;'
            f'line-height:1.5">{items}</ul>'
        )


def inspect(page_answers: bool | None = None) -> Report:
    """Look at Python, the packages, the sliders, the device and the folder for progress.

    `page_answers`: whether the page in the browser has answered a widget, None when nobody has
    asked it. Imports torch, which takes some seconds the first time.
    """
    python = _python()
    if python.state == "to do":
        return Report([python])  # too old even to look at the rest
    return Report([python, *_packages(), _sliders(page_answers), _device(), _progress()])


def check_environment() -> Any:
    """Show what `inspect` finds, and ask the page whether its sliders will move.

    Where widgets do not run, the findings stand there as text, with what to do.
    """
    try:
        return _live_report()
    except ImportError as problem:
        report = inspect()
        missing = Finding("Widgets", "to do", f"They cannot be loaded ({problem}). {INSTALL}.")
        return Report([missing, *report])


def _live_report() -> Any:
    """The findings in a panel, with a widget that shows nothing and that the page answers."""
    import anywidget
    import ipywidgets
    import traitlets

    from course.explorers.panel import Panel

    class Answer(anywidget.AnyWidget):
        _esm = ANSWER
        answered = traitlets.Bool(False).tag(sync=True)

    report = inspect(page_answers=False)
    listed = ipywidgets.HTML(report.rows())
    answer = Answer()
    panel = Panel([listed, answer], still=report.rows, text="\n".join(map(str, report)))
    panel.say(report.summary)

    def hear(_: object) -> None:
        answered = Report(_sliders(True) if f.topic == "Sliders" else f for f in report)
        listed.value = answered.rows()
        panel.say(answered.summary)

    answer.observe(panel.guarded(hear), "answered")
    return panel


def _python() -> Finding:
    version, oldest = platform.python_version(), ".".join(map(str, OLDEST_PYTHON))
    if sys.version_info >= OLDEST_PYTHON:
        return Finding("Python", "fine", f"This is Python {version}; {oldest} or newer is needed.")
    return Finding(
        "Python",
        "to do",
        f"This is Python {version}, and {oldest} or newer is needed: install one, and start with "
        "`make lab PYTHON=python3.12` (or whatever it is called).",
    )


def _packages() -> Sequence[Finding]:
    try:
        needed = _requirements()
    except importlib.metadata.PackageNotFoundError:
        sentence = f"The course is not installed in this Python ({sys.prefix}). {INSTALL}."
        return [Finding("Packages", "to do", sentence)]
    here, troubles = [], []
    for line in needed:
        name, demand, version, suits = _compared(line)
        if suits:
            here.append(f"{name} {version}")
        elif suits is not None:
            said = f"{name} is missing" if not version else f"{name} is {version}, not {demand}"
            troubles.append(Finding("Packages", "to do", f"{said}. {INSTALL}."))
    if troubles:
        return troubles
    return [Finding("Packages", "fine", f"All {len(here)} are here: {', '.join(here)}.")]


def _requirements() -> Sequence[str]:
    """What the project says it needs: in its folder, or as installed without it."""
    import tomllib

    try:
        declared = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return importlib.metadata.requires(PROJECT) or []
    return declared["project"]["dependencies"]


def _compared(requirement: str) -> tuple[str, str, str, bool | None]:
    """Name, demanded and installed version ("" if missing), and whether they suit.

    The last is None for a package that only graders or maintainers need.
    """
    from packaging.requirements import Requirement

    parsed = Requirement(requirement)
    demand = str(parsed.specifier)
    if parsed.marker is not None and not parsed.marker.evaluate({"extra": ""}):
        return parsed.name, demand, "", None
    try:
        version = importlib.metadata.version(parsed.name)
    except importlib.metadata.PackageNotFoundError:
        return parsed.name, demand, "", False
    return parsed.name, demand, version, parsed.specifier.contains(version, prereleases=True)


def _sliders(page_answers: bool | None) -> Finding:
    if page_answers:
        return Finding("Sliders", "fine", "This page answers, so what you drag will move.")
    if page_answers is None:
        return Finding("Sliders", "waiting", "Only a notebook can tell: run `check_environment()`.")
    return Finding(
        "Sliders",
        "waiting",
        "This page has not answered yet. If this sentence stays, sliders will not move: reload "
        "the page in your browser and run this cell again; if that does not help, close "
        "JupyterLab and start it with `make lab`.",
    )


def _device() -> Finding:
    try:
        import torch
    except (ImportError, OSError) as problem:
        return Finding("Device", "to do", f"PyTorch cannot be loaded ({problem}). {INSTALL}.")
    cpu = f"PyTorch computes on the CPU ({torch.get_num_threads()} threads)"
    if torch.cuda.is_available():
        device, name = "cuda", torch.cuda.get_device_name()
    elif torch.backends.mps.is_available():
        device, name = "mps", "the GPU of this Mac"
    else:
        return Finding("Device", "fine", f"{cpu}, which is enough for every lesson.")
    try:
        torch.ones(2, device=device).sum().item()
    except RuntimeError as problem:
        reason = str(problem).partition("\n")[0]
        sentence = f"{cpu}, for {name} is here and fails ({reason}); that is enough to go on."
        return Finding("Device", "fine", sentence)
    return Finding("Device", "fine", f"PyTorch can use {name} (`{device}`), and the CPU.")


def _progress() -> Finding:
    try:
        from course import storage
    except ImportError as problem:
        return Finding("Progress", "to do", f"It cannot be kept ({problem}). {INSTALL}.")
    folder = storage.home()
    nearest = next((path for path in (folder, *folder.parents) if path.exists()), Path("/"))
    shown = str(folder).replace(str(Path.home()), "~", 1)
    if nearest.is_dir() and os.access(nearest, os.W_OK):
        return Finding("Progress", "fine", f"Your answers are kept on this machine, in {shown}.")
    return Finding(
        "Progress",
        "to do",
        f"Your answers cannot be kept in {shown}: set MANY_HEADS_HOME to a folder that you may "
        "write to, and start JupyterLab again.",
    )


def _with_code(sentence: str) -> str:
    """HTML of a sentence in which `backticks` mark code."""
    parts = html.escape(sentence).split("`")
    return "".join(f"<code>{part}</code>" if i % 2 else part for i, part in enumerate(parts))
