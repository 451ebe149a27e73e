"""A fresh exercise notebook; the old one is kept beside it."""

import shutil
import subprocess
from datetime import datetime
from pathlib import Path

from autograder.grading.gradebook import release
from autograder.grading.places import Project, fresh_exercise
from autograder.grading.records import write_atomically


def reset(project: Project, assignment: str) -> Path | None:
    """Restore the exercise notebook of an assignment; where the old one went, if it was there.

    The fresh copy is the one that git knows, else it is made from `solutions/`. Raises
    GradebookFault, OSError.
    """
    path = project.exercises / assignment / f"{project.notebook(assignment)}.ipynb"
    fresh = fresh_exercise(project, path) or _from_git(project, path)
    fresh = fresh or _from_solution(project, assignment, path.name)
    backup = None
    if path.exists() and path.read_bytes() != fresh:
        backup = _free_name(path)
        shutil.copy2(path, backup)
    write_atomically(path, fresh)
    return backup


def _free_name(path: Path) -> Path:
    stamp = datetime.now().strftime("%Y-%m-%d-%H%M%S")
    backup = path.with_name(f"{path.stem}.backup-{stamp}{path.suffix}")
    number = 1
    while backup.exists():
        number += 1
        backup = path.with_name(f"{path.stem}.backup-{stamp}-{number}{path.suffix}")
    return backup


def _from_git(project: Project, path: Path) -> bytes | None:
    """What git's index has, or None without git or when it does not know the file."""
    try:
        done = subprocess.run(
            ["git", "show", f":./{path.relative_to(project.root).as_posix()}"],
            cwd=project.root,
            capture_output=True,
            check=True,
            timeout=60,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout or None


def _from_solution(project: Project, assignment: str, name: str) -> bytes:
    return release(project.solutions / assignment, assignment)[name]
