"""A shell that runs notebook cells in this process and keeps what they show.

It stands in for a kernel: outputs become the dictionaries of the notebook format, plots
are shown inline, `await` works at the top level. What a kernel leaves to the person in
front of it (`input`, `exit`) is answered with a sentence instead.
"""

import base64
import builtins
import functools
import getpass
import io
import json
import sys
from collections.abc import Mapping
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.error import StdinNotImplementedError
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Type
from traitlets.config import Config

CELL_LIMIT = 2**20  # bytes of output kept of one cell
NOTEBOOK_LIMIT = 8 * 2**20  # bytes of output kept of a whole notebook
COUNT_LIMIT = 200  # outputs kept of one cell
CUT = "\n… The rest of what this cell showed was left out: it is too much.\n"
NO_INPUT = "input() has nobody to ask while a notebook is graded."
NO_EXIT = "exit() and quit() do nothing while a notebook is graded."


class Outputs:
    """The outputs of the cell that runs, as the notebook format has them."""

    def __init__(self) -> None:
        self._kept: list[dict[str, Any]] = []
        self._ids: list[str | None] = []
        self._left_here = CELL_LIMIT
        self._left = NOTEBOOK_LIMIT
        self._clear_first = False

    def take(self) -> list[dict[str, Any]]:
        """What the cell has shown; the next one starts afresh."""
        taken, self._kept, self._ids = self._kept, [], []
        self._left_here, self._clear_first = CELL_LIMIT, False
        return taken

    def stream(self, name: str, text: str) -> None:
        """Add printed text, to the output before it if that is the same stream."""
        text = self._within_budget(text)
        if not text:
            return
        last = self._kept[-1] if self._kept and not self._clear_first else {}
        if last.get("name") == name:
            last["text"] += text
        else:
            self._add({"output_type": "stream", "name": name, "text": text})

    def show(
        self,
        data: Mapping[str, Any],
        metadata: Mapping[str, Any] | None = None,
        display_id: str | None = None,
        update: bool = False,
    ) -> None:
        """Add a display, or change those of the running cell that bear its id."""
        bundle = {"data": self._bundle(data), "metadata": _plain(metadata or {})}
        if update:
            for kept, known in zip(self._kept, self._ids, strict=True):
                if display_id is not None and known == display_id:
                    kept.update(bundle)
        else:
            self._add({"output_type": "display_data", **bundle}, display_id)

    def result(self, data: Mapping[str, Any], metadata: Mapping[str, Any], count: int) -> None:
        """Add the value of the cell's last line."""
        bundle = {"data": self._bundle(data), "metadata": _plain(metadata)}
        self._add({"output_type": "execute_result", "execution_count": count, **bundle})

    def error(self, name: str, value: str, traceback: list[str]) -> None:
        """Add an exception."""
        lines = [self._within_budget(str(line)) for line in traceback]
        value = self._within_budget(value)
        self._add(
            {"output_type": "error", "ename": name[:200], "evalue": value, "traceback": lines}
        )

    def clear(self, wait: bool) -> None:
        """Forget what the cell has shown; with `wait`, once it shows something new."""
        self._clear_first = wait
        if not wait:
            self._kept, self._ids = [], []

    def _add(self, output: dict[str, Any], display_id: str | None = None) -> None:
        if self._clear_first:
            self.clear(wait=False)
        if len(self._kept) < COUNT_LIMIT:
            self._kept.append(output)
            self._ids.append(display_id)

    def _within_budget(self, text: str) -> str:
        room = min(self._left_here, self._left)
        if room <= 0:
            return ""
        size = len(text)  # close to its bytes, and this is no exact science
        self._left_here -= size
        self._left -= size
        return text if size <= room else text[:room] + CUT

    def _bundle(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """The forms of one object that fit; half a picture is of no use to anybody."""
        room = min(self._left_here, self._left)
        kept: dict[str, Any] = {}
        for kind, value in data.items():
            plain = _plain(value)
            size = len(plain) if isinstance(plain, str) else len(json.dumps(plain))
            if size <= room:
                kept[str(kind)] = plain
                room -= size
                self._left_here -= size
                self._left -= size
        if data and not kept:
            kept["text/plain"] = CUT.strip()
        return kept


def _plain(value: Any) -> Any:
    """A value as the notebook format keeps it: text, base64 for bytes, JSON for the rest."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, str):
        return str(value)
    try:
        return json.loads(json.dumps(value, default=repr), parse_constant=str)
    except (TypeError, ValueError, RecursionError):
        return "(something that cannot be kept in a notebook)"


class _Stream(io.TextIOBase):
    """sys.stdout or sys.stderr of the cells."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, name: str, outputs: Outputs) -> None:
        self.name = name
        self._outputs = outputs

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._outputs.stream(self.name, text)
        return len(text)


class _Publisher(DisplayPublisher):
    def publish(self, data, metadata=None, *, transient=None, update=False, **more):  # type: ignore[override]
        self._validate_data(data, metadata)
        self.shell.outputs.show(data, metadata, (transient or {}).get("display_id"), update)

    def clear_output(self, wait: bool = False) -> None:
        self.shell.outputs.clear(wait)


class _Hook(DisplayHook):
    shell: Any

    def write_output_prompt(self) -> None:
        pass

    def write_format_data(self, format_dict: Any, md_dict: Any = None) -> None:
        self.shell.outputs.result(format_dict, md_dict or {}, self.prompt_count)

    def log_output(self, format_dict: Any) -> None:
        pass

    def finish_displayhook(self) -> None:
        self._is_active = False


class ZMQInteractiveShell(InteractiveShell):  # libraries look for this name to tell a notebook
    """IPython's shell, with what cells show kept in `outputs`."""

    displayhook_class = Type(_Hook)
    display_pub_class = Type(_Publisher)

    def __init__(self, *args: Any, **more: Any) -> None:
        self.outputs = Outputs()
        super().__init__(*args, **more)

    def _showtraceback(self, etype: Any, evalue: Any, stb: Any) -> None:
        try:
            said = str(evalue)
        except Exception:  # an exception of the student's own whose __str__ fails
            said = ""
        self.outputs.error(str(etype.__name__), said, list(stb))

    def ask_exit(self) -> None:
        """What exit() and quit() call."""
        print(NO_EXIT)

    def enable_gui(self, gui: str | None = None) -> None:
        """What %gui calls: there is no window to show."""

    def enable_matplotlib(self, gui: str | None = None) -> tuple[Any, Any]:
        """What %matplotlib calls: whatever it asks for, plots become pictures."""
        return super().enable_matplotlib("inline")


def start_shell() -> ZMQInteractiveShell:
    """Make the process's shell, and let it catch everything that cells show."""
    config = Config()
    config.HistoryManager.enabled = False
    config.IPKernelApp.tqdm = "present"  # libraries look for this section to tell a notebook
    shell: ZMQInteractiveShell = ZMQInteractiveShell.instance(config=config)
    sys.stdout = _Stream("stdout", shell.outputs)
    sys.stderr = _Stream("stderr", shell.outputs)
    builtins.input = _refuse_input
    getpass.getpass = _refuse_input
    _let_cells_import_what_they_write()
    return shell


def stay_without_windows() -> None:
    """Let `matplotlib.use("TkAgg")` and its kin pass, where there is no screen: pictures it is."""
    import matplotlib

    use = matplotlib.use

    @functools.wraps(use)
    def use_if_it_can_be(backend: str, *, force: bool = True) -> None:
        use(backend, force=False)

    matplotlib.use = use_if_it_can_be


def _let_cells_import_what_they_write() -> None:
    """Look for modules in the current folder, where a kernel does: before installed packages."""
    installed = (at for at, path in enumerate(sys.path) if path.endswith("-packages"))
    sys.path.insert(next(installed, len(sys.path)), "")


def _refuse_input(*_arguments: Any, **_more: Any) -> str:
    raise StdinNotImplementedError(NO_INPUT)
