"""What the commands share: their exit codes, their troubles, and which folder is meant."""

import difflib
import os
import select
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from autograder.grading.places import Classroom, Project

BROKEN, USAGE = 1, 2

GRADING_MISSING = (
    "Grading needs packages that are not installed here ({error}). Install them with "
    "`pip install -e '.[grading]'` in the project's folder, or start `make lab` once."
)

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


class Commands(click.Group):
    """Turns the troubles that are to be expected into one sentence and an exit code."""

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] in ("autograder", "course"):
                raise
            raise Trouble(GRADING_MISSING.format(error=error)) from error
        except OSError as error:
            if nobody_reads(error):
                raise  # which click takes for an end
            from autograder.grading.gradebook import GradebookFault

            words = str(error)
            if not isinstance(error, GradebookFault):  # which is a whole sentence already
                words = f"The machine stands in the way: {words.rstrip('.')}."
            raise Trouble(words) from error


def cores() -> int:
    """The processor cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # which not every system has
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def the_project(*, of_students: bool = False) -> "Project":
    """The project that the current folder is in.

    of_students: whether a student edition will do, which has no solutions/. Raises Trouble.
    """
    from autograder.grading.places import NoProject, find_project

    try:
        project = find_project()
        if not of_students:
            _ = project.solutions  # which an edition refuses, and says why
        return project
    except NoProject as missing:
        raise Trouble(str(missing), USAGE) from missing


def the_classroom(
    project: "Project", chosen: Path | None, *, must_exist: bool = False
) -> "Classroom":
    """The classroom named on the command line or by the environment, or the project's own.

    must_exist: whether one that is named and not there is a slip. A student edition has none: it
    says where classes are kept. Raises Trouble, UnusableGradebook.
    """
    from autograder.grading.places import CLASSROOM_VARIABLE, NoProject, find_classroom
    from autograder.grading.terminal import safe_text

    try:
        _ = project.solutions
    except NoProject as refusal:
        raise Trouble(str(refusal), USAGE) from refusal
    room = find_classroom(project, chosen)
    named = chosen or os.environ.get(CLASSROOM_VARIABLE)
    if must_exist and named and not room.root.is_dir():
        by = "" if chosen else f" ({CLASSROOM_VARIABLE} names it)"
        raise Trouble(
            f"There is no folder {safe_text(str(room.root))}{by}. Which classroom is meant?", USAGE
        )
    return room


def chosen_of(project: "Project", names: Sequence[str]) -> list[str]:
    """The assignments meant; a number means the assignment that begins with it. Raises Trouble."""
    known = project.assignments()
    if not known:
        raise Trouble(
            f"There are no assignments in {project.root}. See that solutions/ is as git has it.",
            USAGE,
        )
    if not names:
        return known
    chosen = []
    for name in names:
        number = name.zfill(2) if name.isdigit() else name
        matching = [each for each in known if each == name]
        matching = matching or [each for each in known if each.split("-")[0] == number]
        if not matching:
            close = difflib.get_close_matches(name, known, n=3, cutoff=0.4) or known
            raise Trouble(
                f"There is no assignment {name!r}. Did you mean {' or '.join(close)}?", USAGE
            )
        chosen += [each for each in matching if each not in chosen]
    return chosen


def one_of(project: "Project", name: str) -> str:
    """The one assignment meant, where no more than one can be. Raises Trouble."""
    chosen = chosen_of(project, [name])
    if len(chosen) > 1:
        raise Trouble(f"{name} may be {' or '.join(chosen)}: type the whole name.", USAGE)
    return chosen[0]
