"""The command for an appeal: explain."""

import difflib
import sys
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autograder.commanding import (
    BROKEN,
    USAGE,
    Trouble,
    chosen_of,
    classroom_option,
    the_classroom,
    the_project,
)

if TYPE_CHECKING:
    from autograder.grading.places import Classroom, Project
    from autograder.grading.records import Record, Row

SHOWN = 5  # names that are offered


@click.command()
@click.argument("student")
@click.argument("exercise")
@classroom_option
@click.option("--assignment", help="The assignment, when several have the exercise.")
@click.option("--trust-submissions", is_flag=True, help="Run student code without the sandbox.")
def explain(
    student: str,
    exercise: str,
    classroom: Path | None,
    assignment: str | None,
    trust_submissions: bool,
) -> None:
    """Grade EXERCISE of STUDENT once more, as it was graded, and explain the verdict.

    For appeals. Runs what the record is about with the recorded seed, and writes
    DIR/explanations/STUDENT/ASSIGNMENT/EXERCISE.html; marks and gradebook stay as they are. The
    exit code is 0 when the same verdict came out again, 1 when not, 2 for wrong usage.
    """
    project = the_project()
    room = the_classroom(project, classroom, must_exist=True)
    chosen = chosen_of(project, [assignment] if assignment else [])
    who = _the_student(room, student)
    record, row = _the_row(project, room, who, chosen, exercise)
    # Only now what takes a second to load: names may be mistyped.
    from autograder.exercises import UnknownExercise
    from autograder.grading.appeals import printed, write_page
    from autograder.grading.converting import ConversionFault
    from autograder.grading.driving import RunnerFault
    from autograder.grading.gradebook import GradebookFault
    from autograder.grading.repeating import repeat
    from autograder.grading.sandbox import NoSandbox
    from autograder.grading.terminal import safe_text

    try:
        repeated = repeat(project, room, record, row, trust=trust_submissions)
    except (ConversionFault, GradebookFault, NoSandbox, RunnerFault) as fault:
        raise Trouble(safe_text(str(fault))) from fault
    except UnknownExercise as unknown:
        raise Trouble(
            f"{safe_text(row.exercise)} is no exercise of this version of the grader any more, so "
            "its verdict cannot be explained. Use the version with which it was graded."
        ) from unknown
    click.echo(printed(repeated))
    click.echo(f"\nPage: {safe_text(str(write_page(room, repeated)))}")
    sys.exit(0 if repeated.reproduced else BROKEN)


def _the_student(room: "Classroom", typed: str) -> str:
    """The folder of the student that is meant. Raises Trouble."""
    from autograder.grading.roster import UnusableRoster, read_roster, same_name
    from autograder.grading.submissions import folders

    graded = {path.parent.name for path in room.verdicts.glob("*/*.json")}
    known = sorted(graded | {student for student, _ in folders(room)})
    if not known:
        raise Trouble(f"Nobody has handed in anything in {room.root}.", USAGE)
    if typed in known:  # also where it is another one's name: a folder is what marks go by
        return typed
    names = {name: {name} for name in known}
    alike = {same_name(name) for name in known}
    try:
        people = read_roster(room.roster).people if room.roster.is_file() else ()
    except UnusableRoster:  # it is only a help
        people = ()
    for person in people:
        theirs = {name for name in known if same_name(name) == same_name(person.id)}
        for name in (person.name, person.email):
            if theirs and name and same_name(name) not in alike:
                names[name] = names.get(name, set()) | theirs
    return _meant("student", typed, names)


def _meant(kind: str, typed: str, names: Mapping[str, Set[str]]) -> str:
    """What a name, as it was typed, stands for: the name, or the only one that begins so.

    names: by each name that is known, all that it stands for. Raises Trouble.
    """
    from autograder.grading.roster import same_name
    from autograder.grading.terminal import safe_text

    wanted = same_name(typed)
    folded = {name: same_name(name) for name in names}
    for fits, then in (
        (str.__eq__, "Type the one that is meant, as it stands here."),
        (str.startswith, f"Type more of the {kind}'s name."),
    ):
        found: set[str] = set()
        for name in names if wanted else ():
            found |= names[name] if fits(folded[name], wanted) else set()
        if len(found) == 1:
            return found.pop()
        if found:
            said = f"{typed!r} may be {_offered(sorted(found))}. {then}"
            raise Trouble(safe_text(said), USAGE)
    close = difflib.get_close_matches(wanted, folded.values(), n=SHOWN, cutoff=0.5)
    near = [name for each in close for name in names if folded[name] == each]
    alike = list(dict.fromkeys(one for name in near for one in sorted(names[name])))
    said = f"Did you mean {_offered(alike)}?" if alike else f"There are {_listed(names)}."
    raise Trouble(safe_text(f"There is no {kind} {typed!r}. {said}"), USAGE)


def _offered(names: Sequence[str]) -> str:
    more = f" or one of {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return " or ".join(names[:SHOWN]) + more


def _listed(names: Mapping[str, Set[str]]) -> str:
    kinds = list(dict.fromkeys(one for each in names.values() for one in sorted(each)))
    more = f" and {len(kinds) - SHOWN} more" if len(kinds) > SHOWN else ""
    return ", ".join(kinds[:SHOWN]) + more


def _the_row(
    project: "Project", room: "Classroom", student: str, chosen: Sequence[str], typed: str
) -> tuple["Record", "Row"]:
    """The record that has the exercise that is meant, and what it says of it. Raises Trouble."""
    from autograder.grading.records import path_of, read
    from autograder.grading.roster import same_name
    from autograder.grading.terminal import safe_text

    known = {name: {name} for each in chosen for name, _ in project.exercises_of(each)}
    records = [read(path_of(room.verdicts, student, each)) for each in chosen]
    rows = [(record, row) for record in records if record for row in record.rows]
    graded = {row.exercise: {row.exercise} for _, row in rows}
    # An abbreviation need only be clear among what this student has done.
    begins = any(same_name(name).startswith(same_name(typed)) for name in graded)
    likely = graded if begins else known
    exercise = _meant("exercise", typed, likely)
    found = [(record, row) for record, row in rows if row.exercise == exercise]
    if len(found) == 1:
        return found[0]
    if found:
        several = " or ".join(record.assignment for record, _ in found)
        raise Trouble(f"Several assignments have {exercise}: add --assignment {several}.", USAGE)
    raise Trouble(
        f"{safe_text(student)} has no verdict on {exercise}: nothing of theirs that contains it "
        "has been graded. See that it is in submitted/, and run `autograder grade`."
    )
