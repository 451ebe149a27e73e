"""The environment check says in a sentence what is missing, and never fails itself."""

import sys

import pytest

from course import environment
from course.environment import Report, check_environment, inspect


def of(report: Report, topic: str) -> environment.Finding:
    return next(finding for finding in report if finding.topic == topic)


def test_everything_is_here():
    report = inspect(page_answers=True)
    assert [finding.topic for finding in report] == [
        "Python",
        "Packages",
        "Sliders",
        "Device",
        "Progress",
    ]
    assert {finding.state for finding in report} == {"fine"}
    assert report.summary == "Everything is here. You can begin."
    assert "torch" in of(report, "Packages").sentence


def test_nobody_has_asked_the_page():
    report = inspect()
    assert of(report, "Sliders").state == "waiting"
    assert "still to come" in report.summary


def test_packages_that_are_missing_or_too_old(monkeypatch):
    needed = ["numpy>=1", "there-is-no-such-package", "matplotlib>=999", 'x; extra == "tests"']
    monkeypatch.setattr(environment, "_requirements", lambda: needed)
    report = inspect()
    said = [finding.sentence for finding in report if finding.topic == "Packages"]
    assert len(said) == 2
    assert said[0].startswith("there-is-no-such-package is missing. Close JupyterLab")
    assert "not >=999" in said[1]
    assert report.summary.startswith("2 of 6 things")


def test_a_python_without_the_course(monkeypatch, tmp_path):
    monkeypatch.setattr(environment, "PYPROJECT", tmp_path / "pyproject.toml")
    monkeypatch.setattr(environment, "PROJECT", "there-is-no-such-project")
    assert "not installed in this Python" in of(inspect(), "Packages").sentence


def test_an_old_python(monkeypatch):
    monkeypatch.setattr(environment, "OLDEST_PYTHON", (99, 0))
    (finding,) = inspect()
    assert finding.state == "to do"
    assert "99.0 or newer is needed: install one" in finding.sentence


def test_a_torch_that_cannot_be_loaded(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert of(inspect(), "Device").sentence.startswith("PyTorch cannot be loaded")


@pytest.mark.parametrize("broken", [False, True])
def test_a_graphics_card(monkeypatch, broken):
    import torch

    ones = torch.ones

    def on_any_device(size: int, device: str) -> torch.Tensor:
        if broken:
            raise RuntimeError("CUDA error: no kernel image\nand a long story")
        return ones(size)

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Fast Card")
    monkeypatch.setattr(torch, "ones", on_any_device)
    finding = of(inspect(), "Device")
    assert finding.state == "fine"
    if broken:
        assert "Fast Card is here and fails (CUDA error: no kernel image)" in finding.sentence
    else:
        assert finding.sentence == "PyTorch can use Fast Card (`cuda`), and the CPU."


def test_a_folder_that_cannot_be_written(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("MANY_HEADS_HOME", str(tmp_path / "file" / "below"))
    finding = of(inspect(), "Progress")
    assert finding.state == "to do"
    assert "set MANY_HEADS_HOME" in finding.sentence


def test_what_is_shown_turns_when_the_page_answers():
    panel = check_environment()
    bundle = panel._repr_mimebundle_()
    assert "Waiting: Sliders. This page has not answered yet." in bundle["text/plain"]
    assert "This page has not answered yet" in bundle["text/html"]
    listed, answer = panel.children[:2]
    assert "<b>Waiting:</b> Sliders" in listed.value
    answer.answered = True
    assert "<b>Fine:</b> Sliders" in listed.value
    assert panel.voice.sentence == "Everything is here. You can begin."


def test_without_widgets_the_findings_are_text(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    report = check_environment()
    assert isinstance(report, Report)
    assert report[0].topic == "Widgets"
    assert "<b>To do:</b> Widgets" in report._repr_html_()
    assert "To do: Widgets." in repr(report)


def test_what_is_shown_is_escaped():
    finding = environment.Finding("<b>", "fine", "run `a<b`")
    page = Report([finding])._repr_html_()
    assert "&lt;b&gt;. run <code>a&lt;b</code>" in page
