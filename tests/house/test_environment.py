"""environment.yml, constraints.txt and pyproject.toml agree, on every platform."""

import importlib.metadata
import re
import subprocess
import sys
import tomllib

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.repository import ROOT, read_committed
from tools import setup_environment

PROJECT = tomllib.loads(read_committed("pyproject.toml").decode())["project"]
LINES = read_committed("constraints.txt").decode().splitlines()
PINS = [Requirement(line) for line in LINES if line and not line.startswith("#")]


def needed() -> set[str]:
    """Every package that the project's dependencies and extras bring here, direct or not."""
    extras = PROJECT["optional-dependencies"].values()
    queue = [Requirement(line) for lines in (PROJECT["dependencies"], *extras) for line in lines]
    seen: set[tuple[str, frozenset[str]]] = set()
    while queue:
        requirement = queue.pop()
        key = (canonicalize_name(requirement.name), frozenset(requirement.extras))
        if key in seen:
            continue
        seen.add(key)
        extras_asked = key[1] or {""}
        for line in importlib.metadata.requires(requirement.name) or []:
            further = Requirement(line)
            marker = further.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras_asked):
                queue.append(further)
    return {name for name, _ in seen}


def test_conda_installs_what_make_lab_installs():
    environment = yaml.safe_load(read_committed("environment.yml"))
    assert set(environment) == {"name", "channels", "dependencies"}
    assert environment["name"] == "many-heads"
    python, pip, packages = environment["dependencies"]
    assert re.fullmatch(r"python=3\.\d+", python)
    assert Version(python.removeprefix("python=")) in SpecifierSet(PROJECT["requires-python"])
    assert pip == "pip"
    extras = ",".join(setup_environment.LAB_EXTRAS)
    assert packages == {"pip": ["-c constraints.txt", f"-e .[{extras}]"]}


def test_every_constraint_is_one_public_release():
    for pin in PINS:
        (specifier,) = pin.specifier
        assert specifier.operator == "=="
        assert not specifier.version.endswith("*"), pin
        assert Version(specifier.version).local is None, pin
        assert pin.url is None, pin
        assert not pin.extras, pin


def test_everybody_has_the_same_torch():
    assert [str(pin) for pin in PINS if pin.name == "torch"] == ["torch==2.13.0"]


def test_nothing_is_pinned_twice():
    names = [canonicalize_name(pin.name) for pin in PINS]
    assert len(names) == len(set(names))


def test_everything_that_is_installed_is_pinned():
    assert needed() - {canonicalize_name(pin.name) for pin in PINS} == set()


@pytest.mark.parametrize(
    ("system", "package"), [("darwin", "appnope"), ("win32", "colorama"), ("linux", "triton")]
)
def test_what_only_one_platform_needs_is_pinned_there_alone(system, package):
    (pin,) = [pin for pin in PINS if pin.name == package]
    assert pin.marker is not None
    places = ("linux", "darwin", "win32")
    holds = {place: pin.marker.evaluate({"sys_platform": place}) for place in places}
    assert holds == {place: place == system for place in places}


def test_pip_reads_the_constraints():
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-index", "--no-deps"]
    done = subprocess.run(
        [*command, "--constraint", "constraints.txt", "click"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
