"""What a learner sees while a check looks for a cause, and that nothing of it is left."""

from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from autograder import check, checking, judging
from autograder.checking import WAITING, CheckFailed, CheckStopped
from course.attention import one_head

SETUP = """
import os, tempfile
os.environ["MANY_HEADS_HOME"] = tempfile.mkdtemp()
from autograder import check, checking
checking.PATIENCE = {patience}
def softmax(scores):
    return scores - 1e9  # nobody's mistake: all are tried
def right(scores):
    import numpy as np
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
"""
STOPPED = """
def stop(*anything, meanwhile=None, **more):
    meanwhile(), meanwhile()
    raise KeyboardInterrupt
checking.judge = stop
check("softmax", softmax)
"""


class Watching(NotebookClient):
    """Keeps all that was ever displayed, also what was replaced later."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.shown: list[tuple[str, str]] = []

    def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:
        if msg["msg_type"] in ("display_data", "update_display_data"):
            self.shown.append((msg["msg_type"], msg["content"]["data"]["text/plain"]))
        return super().process_message(msg, cell, cell_index)


def run(patience: float, source: str) -> tuple[list[tuple[str, str]], list[Any]]:
    """All that was displayed meanwhile, and the outputs that the cell has in the end."""
    cells = [nbformat.v4.new_code_cell(text) for text in (SETUP.format(patience=patience), source)]
    client = Watching(nbformat.v4.new_notebook(cells=cells), timeout=120, allow_errors=True)
    client.execute()
    assert not cells[0].outputs, cells[0].outputs
    return client.shown, cells[1].outputs


def test_the_verdict_takes_the_place_of_the_line() -> None:
    shown, outputs = run(-1, 'check("softmax", softmax)')
    assert shown[0] == ("display_data", WAITING)
    assert [kind for kind, _ in shown] == ["display_data", "update_display_data"]
    assert [output.output_type for output in outputs] == ["display_data", "error"]
    assert outputs[0].data["text/plain"].startswith("softmax: wrong values")
    assert WAITING not in str(outputs)


@pytest.mark.parametrize(("patience", "function"), [(60, "softmax"), (-1, "right")])
def test_no_line_for_a_quick_answer(patience: float, function: str) -> None:
    shown, outputs = run(patience, f'check("softmax", {function})')
    assert [kind for kind, _ in shown] == ["display_data"]
    assert WAITING not in str(outputs)


def test_a_search_that_is_stopped_says_so() -> None:
    _, outputs = run(-1, STOPPED)
    assert WAITING not in str(outputs)
    assert "The search for the cause was stopped" in outputs[0].data["text/plain"]
    assert "check again" in str(outputs[-1])


def test_outside_notebooks_nothing_is_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MANY_HEADS_HOME", str(tmp_path))
    monkeypatch.setattr(checking, "PATIENCE", -1)
    with pytest.raises(CheckFailed):
        check("softmax", lambda scores: scores - 1e9)
    printed = capsys.readouterr().out
    assert "softmax: wrong values" in printed and WAITING not in printed


def test_stopping_student_code_is_another_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(scores: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(CheckStopped, match="loop without an end"):
        check("softmax", endless)

    def interrupted(*anything: Any) -> Any:
        anything[-1]()
        raise KeyboardInterrupt

    monkeypatch.setattr(judging, "recognise", interrupted)
    with pytest.raises(CheckStopped, match="search for the cause was stopped"):
        check("softmax", lambda scores: scores)


def test_meanwhile_is_called_for_faults_alone() -> None:
    calls: list[int] = []
    judging.judge("softmax", one_head.softmax, meanwhile=lambda: calls.append(1))
    assert not calls
    judging.judge("softmax", lambda scores: scores - 1e9, meanwhile=lambda: calls.append(1))
    assert len(calls) > 10
