"""`make lab` on machines that lack something: one sentence each, and no traceback."""

import ast
import json
import os
import shutil
import socket
import subprocess
import sys

import pytest

from tests.repository import ROOT
from tools import setup_environment

SCRIPT = ROOT / "tools" / "setup_environment.py"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project in a folder with a space, whose installations are recorded and not made."""
    root = tmp_path / "many heads"
    python = root / ".venv" / "bin" / "python"
    root.mkdir()
    for name in ("pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, root)
    monkeypatch.setattr(setup_environment, "PROJECT", str(root))
    monkeypatch.setattr(setup_environment, "VENV", str(root / ".venv"))
    monkeypatch.setattr(setup_environment, "VENV_PYTHON", str(python))
    monkeypatch.setattr(
        setup_environment, "STAMP", str(root / ".venv" / "many-heads-installed.json")
    )
    commands: list[str] = []

    def record(command, what, advice=""):
        commands.append(what)
        if what == "Making .venv":
            python.parent.mkdir(parents=True, exist_ok=True)
            python.unlink(missing_ok=True)
            python.symlink_to(sys.executable)
        elif (root / "fail").exists():
            raise setup_environment.Trouble("Installing failed")

    monkeypatch.setattr(setup_environment, "run", record)
    return root, commands


def test_a_second_installation_installs_nothing(project):
    _, commands = project
    setup_environment.install(["grading"])
    assert commands == ["Making .venv", "Installing"]
    setup_environment.install(["grading"])
    setup_environment.install([])
    assert commands == ["Making .venv", "Installing"]


def test_further_extras_join_those_that_are_there(project):
    root, commands = project
    setup_environment.install(["grading"])
    setup_environment.install(["tests"])
    assert commands[2:] == ["Installing"]
    stamp = json.loads((root / ".venv" / "many-heads-installed.json").read_text())
    assert stamp["extras"] == ["grading", "tests"]


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt"])
def test_a_changed_list_of_packages_is_installed(project, name):
    root, commands = project
    setup_environment.install([])
    with (root / name).open("a") as file:
        file.write("# changed\n")
    setup_environment.install([])
    assert commands == ["Making .venv", "Installing", "Installing"]


def test_an_interrupted_installation_does_not_count(project):
    root, commands = project
    setup_environment.install([])
    (root / "constraints.txt").write_text("changed\n")
    (root / "fail").touch()
    with pytest.raises(setup_environment.Trouble):
        setup_environment.install([])
    (root / "fail").unlink()
    (root / "constraints.txt").write_bytes((ROOT / "constraints.txt").read_bytes())
    setup_environment.install([])
    assert commands[2:] == ["Installing", "Installing"]


def test_a_moved_project_starts_afresh(project, monkeypatch):
    root, commands = project
    setup_environment.install([])
    stamp = root / ".venv" / "many-heads-installed.json"
    stamp.write_text(stamp.read_text().replace("many heads", "elsewhere"))
    setup_environment.install([])
    assert commands[2:] == ["Making .venv", "Installing"]


def test_a_broken_environment_is_made_again(project):
    root, commands = project
    setup_environment.install([])
    (root / ".venv" / "bin" / "python").unlink()
    setup_environment.install([])
    assert commands[2:] == ["Making .venv", "Installing"]


def test_an_old_python_reads_the_script():
    ast.parse(SCRIPT.read_text(), feature_version=(3, 4))


def test_an_old_python_is_told_so(monkeypatch, capsys):
    monkeypatch.setattr(sys, "version_info", (3, 9, 1))
    assert setup_environment.main(["install"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("This is Python 3.9, and the course needs 3.11 or newer")
    assert said.count("\n") == 1


@pytest.mark.parametrize("module", ["ensurepip", "venv"])
def test_a_python_without_venv_is_told_so(tmp_path, module):
    (tmp_path / f"{module}.py").write_text("raise ImportError")
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "install"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("This Python comes without its venv module")
    assert "apt-get install python3-venv" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_machine_without_python_is_told_so():
    done = subprocess.run(
        ["make", "lab", "PYTHON=no-such-python"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode != 0
    assert done.stderr.startswith("There is no 'no-such-python' here: install Python 3.11 or newer")


def test_a_busy_port_is_told_so(capsys):
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        assert setup_environment.main(["lab", "--port", str(port)]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"Port {port} is in use")
    assert said.count("\n") == 1


@pytest.mark.parametrize("port", ["x", "70000", ""])
def test_what_is_no_port_is_told_so(port, capsys):
    assert setup_environment.main(["lab", "--port", port]) == 1
    assert "is not a port" in capsys.readouterr().err


def test_a_free_port_is_taken_and_no_other():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert setup_environment.port_arguments(str(port)) == [
        f"--port={port}",
        "--ServerApp.port_retries=0",
    ]
