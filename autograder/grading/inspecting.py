"""Whether everything is here that grading needs: one sentence for each thing.

What learning needs is looked at by `course.environment`; here the rest is added.
"""

import importlib.metadata
import shutil
from collections.abc import Iterator

from autograder.phrasing import ended
from course.environment import Finding, inspect

PACKAGES = ("nbgrader", "nbconvert", "nh3", "rich")


def inspect_all() -> Iterator[Finding]:
    """The findings of the course, those that only a notebook can have left out, and ours."""
    yield from (finding for finding in inspect() if finding.state != "waiting")
    yield _packages()
    yield _gradebook()
    yield _sandbox()


def _packages() -> Finding:
    here, missing = [], []
    for name in PACKAGES:
        try:
            here.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        advice = "install them with `pip install -e '.[grading]'`, or start `make lab` once"
        return Finding("Grading", "to do", f"{', '.join(missing)} missing: {advice}.")
    return Finding("Grading", "fine", f"All {len(here)} packages are here: {', '.join(here)}.")


def _gradebook() -> Finding:
    try:
        from autograder.grading.gradebook import make_alembic_reachable
    except ImportError as problem:
        return Finding("Gradebook", "to do", f"nbgrader cannot be loaded ({problem}).")
    make_alembic_reachable()
    if shutil.which("alembic") is None:
        return Finding(
            "Gradebook",
            "to do",
            "nbgrader cannot make a new gradebook without the program `alembic`: install it "
            "with `pip install alembic`.",
        )
    return Finding("Gradebook", "fine", "nbgrader can make and open a gradebook.")


def _sandbox() -> Finding:
    try:
        from autograder.grading.sandbox import NoSandbox, Worker

        worker = Worker()
        try:
            worker.wait_until_ready()
        finally:
            worker.close()
    except ImportError as problem:
        return Finding("Sandbox", "to do", f"Grading cannot be loaded ({problem}).")
    except NoSandbox as problem:
        why = ended(str(problem))
        return Finding("Sandbox", "to do", f"{why} Until then only --trust-submissions grades.")
    return Finding("Sandbox", "fine", "Student code is confined when it is graded.")
