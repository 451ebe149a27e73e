"""Running an explorer's cell again leaves nothing of the earlier run behind."""

import gc
import weakref
from collections.abc import Callable
from typing import Any

import ipywidgets
import matplotlib.pyplot as plt
import pytest

from course.explorers import panel as panel_module
from course.explorers.budget import explore_budget
from course.explorers.first_slider import explore_first_slider
from course.explorers.heads import explore_heads
from course.explorers.mask_painter import paint_mask
from course.explorers.module_inspector import inspect_module
from course.explorers.one_head import explore_one_head
from course.explorers.panel import Panel
from course.explorers.scaling import explore_scaling
from course.explorers.two_targets import explore_two_targets

EXPLORERS = (
    explore_first_slider,
    explore_one_head,
    explore_scaling,
    explore_two_targets,
    explore_heads,
    explore_budget,
    paint_mask,
    inspect_module,
)


class FakeShell:
    """Says which cell runs, as JupyterLab's kernel does."""

    def __init__(self) -> None:
        self.parent: dict[str, Any] = {}

    def get_parent(self) -> dict[str, Any]:
        return self.parent

    def run(self, cell: str, message: str) -> None:
        self.parent = {"metadata": {"cellId": cell}, "header": {"msg_id": message}}


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> FakeShell:
    shell = FakeShell()
    monkeypatch.setattr(panel_module, "get_ipython", lambda: shell)
    return shell


@pytest.mark.parametrize("explore", EXPLORERS)
def test_running_the_cell_again_leaves_nothing_behind(
    explore: Callable[[], Panel], shell: FakeShell
) -> None:
    counts, panels = set(), []
    for run in range(5):
        shell.run("explore", f"run {run}")
        panels.append(weakref.ref(explore()))
        gc.collect()
        counts.add(len(ipywidgets.widgets.widget._instances))
    assert len(counts) == 1
    assert [panel() is not None for panel in panels] == [False] * 4 + [True]
    assert plt.get_fignums() == []


def test_two_panels_of_one_cell_stay_and_another_cell_leaves_them_alone(shell: FakeShell) -> None:
    instances = ipywidgets.widgets.widget._instances
    counts = []
    for run in range(5):
        shell.run("cell 1", f"run {run}")
        kept = explore_one_head()
        explore_first_slider()
        gc.collect()
        counts.append(len(instances))
    assert len(set(counts)) == 1
    shell.run("cell 2", "another run")
    explore_first_slider()
    assert kept.comm is not None


def test_where_no_cell_is_known_nothing_is_closed(shell: FakeShell) -> None:
    first = explore_first_slider()
    explore_first_slider()
    assert first.comm is not None
