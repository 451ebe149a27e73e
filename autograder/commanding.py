"""What the commands share: their exit codes, their troubles, and which folder is meant."""

import difflib
import os
import select
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from autograder.grading.places import Classroom, Project

BROKEN, USAGE = 1, 2

classroom_option = click.option(
    "--classroom",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder with all state of a class [default: classroom/ in the project].",
)


class Trouble(click.ClickException):
    """One sentence for whoever typed the command, and the exit code."""

    def __init__(self, text: str, exit_code: int = BROKEN) -> None:
        super().__init__(text)
        vars(self)["exit_code"] = exit_code  # click declares it for the class


def nobody_reads(error: OSError) -> bool:
    """Whether whoever read what is printed has gone, as `| head` does once it has enough."""
    if not isinstance(error, BrokenPipeError):
        return False
    try:
        pipe = select.poll()
        pipe.register(sys.stdout, 0)  # that it is broken is told unasked
        return bool(pipe.poll(0))
    except (AttributeError, OSError, ValueError):  # there is no poll here, or no real stdout
        return False


def cores() -> int:
    """The processor cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # which not every system has
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def the_project() -> "Project":
    """The project that the current folder is in. Raises Trouble."""
    from autograder.grading.places import NoProject, find_project

    try:
        return find_project()
    except NoProject as missing:
        raise Trouble(str(missing), USAGE) from missing


def the_classroom(
    project: "Project", chosen: Path | None, *, must_exist: bool = False
) -> "Classroom":
    """The classroom named on the command line, or the project's own.

    must_exist: whether one that is named and not there is a slip. Raises Trouble.
    """
    from autograder.grading.places import find_classroom

    room = find_classroom(project, chosen)
    if must_exist and chosen and not room.root.is_dir():
        raise Trouble(f"There is no folder {room.root}. Which classroom is meant?", USAGE)
    return room


def chosen_of(project: "Project", names: Sequence[str]) -> list[str]:
    """The assignments meant; a number means the assignment that begins with it. Raises Trouble."""
    known = project.assignments()
    if not names:
        return known
    chosen = []
    for name in names:
        number = name.zfill(2) if name.isdigit() else name
        matching = [each for each in known if each == name or each.split("-")[0] == number]
        if not matching:
            close = difflib.get_close_matches(name, known, n=3, cutoff=0.4) or known
            raise Trouble(
                f"There is no assignment {name!r}. Did you mean {' or '.join(close)}?", USAGE
            )
        chosen += [each for each in matching if each not in chosen]
    return chosen
