"""A notebook that is open in a real JupyterLab in a real browser."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page

from tests.browser.lab import Lab

# The open notebook's panel, found by its path: other tabs do not matter.
PANEL = """path => {
  for (const widget of window.jupyterapp?.shell.widgets('main') ?? [])
    if (widget.context?.path === path) return widget;
}"""

READY = f"""path => {{
  const panel = ({PANEL})(path);
  return Boolean(panel?.context.isReady && panel.content.model?.cells.length
    && panel.sessionContext.isReady && panel.sessionContext.session?.kernel?.status === 'idle');
}}"""

# Commands act on the current notebook and its active cell. The answer is fetched later, so that a
# long run is not one long call.
START_COMMAND = f"""([path, command, index]) => {{
  const panel = ({PANEL})(path);
  window.jupyterapp.shell.activateById(panel.id);
  if (index !== null) {{
    panel.content.activeCellIndex = index;
    panel.content.deselectAll();
  }}
  window.manyHeadsRun = 'running';
  window.jupyterapp.commands.execute(command).then(
    () => {{ window.manyHeadsRun = 'done'; }},
    error => {{ window.manyHeadsRun = String(error); }});
}}"""

# After an error that is announced, the command ends before the cells behind it do.
FINISHED = f"""path => window.manyHeadsRun !== 'running'
  && ({PANEL})(path).sessionContext.session.kernel.status === 'idle'
  && [...({PANEL})(path).content.model.cells].every(cell => cell.executionState !== 'running')"""


@dataclass(frozen=True)
class Cell:
    """One cell as the page's model has it; `outputs` are nbformat dictionaries."""

    index: int
    id: str
    cell_type: str
    source: str
    execution_count: int | None
    outputs: list[dict[str, Any]]

    @property
    def error(self) -> str | None:
        """`NameError: …`, when the cell has failed."""
        for output in self.outputs:
            if output["output_type"] == "error":
                return f"{output['ename']}: {output['evalue']}"
        return None

    @property
    def text(self) -> str:
        """What the cell printed, and the plain text of what it showed."""
        parts = [
            output.get("text") or output.get("data", {}).get("text/plain", "")
            for output in self.outputs
        ]
        return "".join("".join(part) for part in parts)


class Notebook:
    """Opens a notebook and waits for its kernel; then runs, reads and inspects it."""

    def __init__(self, page: Page, lab: Lab, path: str, timeout: float = 90) -> None:
        self.page = page
        self.lab = lab
        self.path = path
        page.goto(f"{lab.url}lab/tree/{quote(path)}?reset&token={lab.token}")
        page.wait_for_function(READY, arg=path, timeout=timeout * 1000)

    # Running

    def _command(self, command: str, index: int | None, timeout: float) -> None:
        self.page.evaluate(START_COMMAND, [self.path, command, index])
        try:
            self.page.wait_for_function(FINISHED, arg=self.path, timeout=timeout * 1000)
        except Exception as error:
            waiting = [cell.index for cell in self.cells() if cell.execution_count is None]
            raise TimeoutError(
                f"{self.path}: {command} took more than {timeout} s; not run: cells {waiting}"
            ) from error
        answer = self.page.evaluate("window.manyHeadsRun")
        if answer != "done":
            raise RuntimeError(f"{self.path}: {command}: {answer}")

    def run_all(self, timeout: float = 180) -> list[str]:
        """Run every cell, wait until all are finished, and return the errors.

        JupyterLab stops at the first error that is not announced by the tag `raises-exception`.
        """
        self._command("notebook:run-all-cells", None, timeout)
        return self.errors()

    def run(self, index: int, timeout: float = 120) -> Cell:
        """Run one cell, wait until it is finished, and return it."""
        self._command("notebook:run-cell", index, timeout)
        return self.cell(index)

    def set_source(self, index: int, source: str) -> None:
        """Replace a cell's source, as by typing."""
        self.page.evaluate(
            f"([path, index, source]) => ({PANEL})(path).content.model.cells.get(index)"
            ".sharedModel.setSource(source)",
            [self.path, index, source],
        )

    # Reading

    def cells(self) -> list[Cell]:
        """Every cell, with its outputs as they are now."""
        model = self.page.evaluate(
            f"path => JSON.stringify(({PANEL})(path).content.model.toJSON())", self.path
        )
        return [
            Cell(
                index=index,
                id=cell["id"],
                cell_type=cell["cell_type"],
                source="".join(cell["source"]),
                execution_count=cell.get("execution_count"),
                outputs=cell.get("outputs", []),
            )
            for index, cell in enumerate(json.loads(model)["cells"])
        ]

    def cell(self, index: int) -> Cell:
        """One cell, counted from 0; negative numbers count from the end."""
        return self.cells()[index]

    def errors(self) -> list[str]:
        """The errors in the notebook, each with the number of its cell."""
        return [f"cell {cell.index}: {cell.error}" for cell in self.cells() if cell.error]

    def output(self, index: int) -> Locator:
        """The output area of a cell in the page, for clicks, keys and `expect`."""
        cells = self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook .jp-Cell")
        return cells.nth(index).locator(".jp-Cell-outputWrapper")

    # Looking

    def use_theme(self, name: str) -> None:
        """Switch to a theme: `JupyterLab Dark`, `JupyterLab Light`, …"""
        self.page.evaluate(
            "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", name
        )
        self.page.wait_for_function(
            "theme => document.body.dataset.jpThemeName === theme", arg=name
        )

    def screenshot(self, file: Path | str, index: int | None = None) -> Path:
        """Save a picture of the page, or of one cell's output."""
        file = Path(file)
        file.parent.mkdir(parents=True, exist_ok=True)
        if index is None:
            self.page.screenshot(path=file)
        else:
            self.output(index).screenshot(path=file)
        return file

    def axe_violations(self, selector: str = ".jp-OutputArea-output") -> list[str]:
        """What axe finds serious or critical in the outputs; a sentence and the elements each."""
        if self.page.locator(selector).count() == 0:
            return []
        found = Axe().run(self.page, context=selector).response["violations"]
        return [
            f"{violation['id']} ({violation['impact']}): {violation['help']}\n"
            + "\n".join(f"  {node['html']}" for node in violation["nodes"])
            for violation in found
            if violation["impact"] in ("serious", "critical")
        ]
