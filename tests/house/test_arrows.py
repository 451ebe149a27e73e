"""Which part of the house may import which."""

import ast
import json
import pkgutil
import subprocess
import sys
from pathlib import PurePosixPath

import pytest

import autograder.exercises
from autograder.running import BESIDE_STUDENT_CODE
from tests.house.notebooks import imports
from tests.repository import committed_files, read_committed

# What runs beside student code. Every other module of `autograder` is the judging side.
SANDBOX = {
    "autograder",
    "autograder.capturing",
    "autograder.confining",
    "autograder.declaring",
    "autograder.exercises",
    "autograder.halting",
    "autograder.keeping",
    "autograder.module_moving",
    "autograder.module_probing",
    "autograder.noticing",
    "autograder.observing",
    "autograder.overhearing",
    "autograder.packing",
    "autograder.probing",
    "autograder.recording",
    "autograder.refusing",
    "autograder.restoring",
    "autograder.running",
    "autograder.watching",
    "autograder.wire",
    "autograder.working",
    *(
        module.name
        for module in pkgutil.walk_packages(autograder.exercises.__path__, "autograder.exercises.")
    ),
}

# Imports the modules named on the command line where `course` does not exist, and prints all
# modules of the project that this has loaded.
IMPORT_WITHOUT_COURSE = """
import importlib, json, sys
class NoCourse:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] == "course":
            raise ModuleNotFoundError("there is no course in the sandbox", name=name)
sys.meta_path.insert(0, NoCourse)
for name in sys.argv[1:]:
    importlib.import_module(name)
print(json.dumps([name for name in sys.modules if name.partition(".")[0] == "autograder"]))
"""


def modules_of(package: str) -> list[str]:
    return [path for path in committed_files("*.py") if path.startswith(f"{package}/")]


def import_without_course(names: list[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", IMPORT_WITHOUT_COURSE, *names]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_the_course_never_imports_the_grader():
    modules = modules_of("course")
    assert modules
    guilty = [
        path
        for path in modules
        if any(
            name.partition(".")[0] == "autograder"
            for name in imports(ast.parse(read_committed(path)))
        )
    ]
    assert guilty == []


def test_what_runs_in_the_sandbox_imports_neither_course_nor_judge():
    done = import_without_course(sorted(SANDBOX))
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)) - SANDBOX == set()


def test_the_runner_lets_through_what_it_needs_and_no_more():
    """While a notebook is graded, students can import what runs beside their code."""
    top = {name.split(".")[1] for name in SANDBOX if "." in name}
    assert set(BESIDE_STUDENT_CODE) == top


def test_the_judging_side_is_seen_when_it_is_imported():
    done = import_without_course(["autograder.judging"])
    assert done.returncode != 0 or not set(json.loads(done.stdout)) <= SANDBOX


def clashes(package: str, init: str, stems: set[str]) -> set[str]:
    """The modules of a package that bear the name of something public in its `__init__.py`."""
    public: set[str] = set()
    modules: set[str] = set()
    for node in ast.parse(init).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            public.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            of_package = (node.level == 1 and node.module is None) or node.module == package
            names = {alias.asname or alias.name for alias in node.names}
            (modules if of_package else public).update(names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {target.id for target in targets if isinstance(target, ast.Name)}
            public |= names
            if "__all__" in names and node.value is not None:
                public |= set(ast.literal_eval(node.value))
    return (public - modules) & stems


def test_no_module_bears_the_name_of_a_public_function():
    paths = [PurePosixPath(path) for path in modules_of("course") + modules_of("autograder")]
    found = {}
    for path in paths:
        if path.name == "__init__.py":
            beside = {other.stem for other in paths if other.parent == path.parent}
            beside |= {other.parent.name for other in paths if other.parent.parent == path.parent}
            package = ".".join(path.parent.parts)
            found[package] = clashes(package, read_committed(str(path)).decode(), beside)
    assert {package: names for package, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "init",
    [
        "from autograder.check import check",
        "from .check import check",
        "def check(): ...",
        "check = 1",
        "__all__ = ['check']",
        "from autograder.checking import verify as check",
    ],
)
def test_a_clash_is_noticed(init):
    assert clashes("autograder", init, {"check"}) == {"check"}


@pytest.mark.parametrize(
    "init", ["from autograder import check", "from . import check\n__all__ = ['check']", ""]
)
def test_a_module_under_its_own_name_is_no_clash(init):
    assert clashes("autograder", init, {"check"}) == set()
