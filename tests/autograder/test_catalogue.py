"""Every exercise is complete: a declaration, a reference, mistakes, a pair of cells."""

import json
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from autograder import exercises
from autograder.declaring import Exercise
from autograder.expecting import mistakes_of
from tests.autograder.variants import VARIANTS
from tests.repository import committed_files, read_committed

EXERCISES = {exercise.name: exercise for exercise in exercises.iterate()}


def cells() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in committed_files("solutions/*/*.ipynb"):
        for cell in json.loads(read_committed(path))["cells"]:
            yield str(path), cell


def graded(kind: str) -> dict[str, tuple[str, dict[str, Any]]]:
    found = {}
    for path, cell in cells():
        metadata = cell["metadata"].get("nbgrader", {})
        if metadata.get(kind):
            assert metadata["grade_id"] not in found, f"{metadata['grade_id']} twice"
            found[metadata["grade_id"]] = (path, cell)
    return found


def test_every_declaration_has_its_pair_of_cells() -> None:
    missing = set(EXERCISES) - set(graded("solution"))
    assert not missing, (
        f"declared, but without a solution cell in solutions/ as git has it: {sorted(missing)}"
    )
    unchecked = {f"check-{name}" for name in EXERCISES} - set(graded("grade"))
    assert not unchecked, f"declared, but without a check cell in solutions/: {sorted(unchecked)}"


def test_every_pair_of_cells_has_its_declaration() -> None:
    undeclared = set(graded("solution")) - set(EXERCISES)
    assert not undeclared, f"in solutions/, but declared nowhere: {sorted(undeclared)}"
    unknown = set(graded("grade")) - {f"check-{name}" for name in EXERCISES}
    assert not unknown, f"check cells in solutions/ of no declared exercise: {sorted(unknown)}"


def definition(exercise: Exercise) -> list[str]:
    """The lines with which a learner's solution begins, and its methods."""
    if not exercise.is_class:
        return [f"def {exercise.signature}:"]
    built = exercise.signature.partition("(")[2]
    methods = [method.replace("(", "(self, ", 1) for method in exercise.methods]
    return [
        f"class {exercise.name}(",
        f"def __init__(self, {built}:",
        *(f"def {method}:" for method in methods),
    ]


@pytest.mark.parametrize("name", EXERCISES)
def test_the_cells_say_what_the_declaration_says(name: str) -> None:
    exercise = EXERCISES[name]
    solutions, checks = graded("solution"), graded("grade")
    assert name in solutions and f"check-{name}" in checks, f"{name} lacks its pair of cells"
    path, solution = solutions[name]
    check_path, check = checks[f"check-{name}"]
    assert path == check_path
    assert f"/{exercise.lesson:02}-exercises.ipynb" in path
    for line in definition(exercise):
        assert line in "".join(solution["source"])
    assert "### BEGIN SOLUTION" in "".join(solution["source"])
    assert f'check("{name}", {name})' in "".join(check["source"])
    metadata = check["metadata"]["nbgrader"]
    assert metadata["points"] == exercise.points and metadata["locked"]


@pytest.mark.parametrize("name", EXERCISES)
def test_the_declaration_is_complete(name: str) -> None:
    exercise = EXERCISES[name]
    missing = []
    try:
        assert callable(pkgutil.resolve_name(exercise.reference))
    except (AttributeError, ImportError):
        missing.append(f"its reference {exercise.reference}")
    try:
        if len({mistake.id for mistake in mistakes_of(exercise)}) < 3:
            missing.append("three mistakes at least")
    except (KeyError, AttributeError, ImportError):
        missing.append(f"its mistakes {exercise.mistakes}")
    if len(exercise.hints) < 2 or not all(hint[-1:] in ".?" for hint in exercise.hints):
        missing.append("two hints at least, each ending in a full stop or question mark")
    if len(VARIANTS.get(name, ())) < 3:
        missing.append("three right versions in tests/autograder/variants/")
    unknown = set(exercise.axes) - set(exercise.returns)
    if not exercise.recipe and any(not part.startswith("gradient of ") for part in unknown):
        missing.append(f"a returned part for the axes of {sorted(unknown)}")
    if not set(exercise.uses) <= set(EXERCISES):
        missing.append(f"the exercises that it uses, {exercise.uses}")
    assert not missing, f"{name} still lacks: {'; '.join(missing)}"


def test_names_are_unique_and_in_reading_order() -> None:
    listed = list(exercises.iterate())
    assert len(listed) == len(EXERCISES)
    assert [e.lesson for e in listed] == sorted(e.lesson for e in listed)
    assert exercises.of_lesson(1) == tuple(e for e in listed if e.lesson == 1)


def test_exercises_are_observed_without_the_course() -> None:
    """What runs beside student code needs neither references nor the judging side."""
    program = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "course" or name.startswith("autograder.mistakes"):
            raise ImportError(name + " is not for this process")
sys.meta_path.insert(0, Refuse())
import numpy as np
from autograder import exercises
from autograder.observing import observe
for exercise in exercises.iterate():
    cases = exercise.cases(np.random.default_rng(0))
    def implementation(*arguments):
        return arguments[0]
    import inspect
    implementation.__signature__ = inspect.Signature([
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        for name in exercise.parameters])
    if exercise.is_class:
        methods = [method.partition("(")[0] for method in exercise.methods]
        implementation = type(exercise.name, (), {
            name: lambda self, *arguments, **more: None for name in ("__init__", *methods)})
    seen = observe(exercise, implementation, cases)
    assert not seen.refusal, seen.refusal
    assert len(seen.by_case) == len(cases)
    assert all(o.values or o.problem for o in seen.by_case.values())
for module in ("autograder.judging", "autograder.comparing", "autograder.mistakes", "course"):
    assert module not in sys.modules, module
print("observed")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "observed\n", done.stderr
