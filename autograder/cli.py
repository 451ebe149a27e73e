"""The command line: build, collect, grade, report, feedback, export, explain, reset, doctor.

And student-edition, which is what a class receives.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autograder.appealing import explain
from autograder.commanding import (
    BROKEN,
    USAGE,
    Commands,
    Trouble,
    chosen_of,
    classroom_option,
    cores,
    one_of,
    the_classroom,
    the_project,
)
from autograder.exchanging import collect, export
from autograder.informing import report, student_edition

if TYPE_CHECKING:
    from rich.console import Console

    from autograder.grading.batch import Graded
    from autograder.grading.places import Classroom, Project

# jsonschema loads, where it finds one, a grammar of web addresses that takes seconds to build
# and that no notebook needs. For this program, and the processes that it starts, there is none.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

STOPPED = "Stopped. What has been graded stands; `autograder grade` goes on from there."
STOPPED_AGAIN = (
    "Stopped. What has been graded again stands, the rest has its marks from before: only another "
    "--regrade grades that again."
)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="many-heads", message="%(version)s")
def main() -> None:
    """Build, grade and give back the exercises of Many Heads."""


@main.command()
@click.option("--check", is_flag=True, help="Change nothing; say what differs, and exit with 1.")
def build(check: bool) -> None:
    """Make exercises/ from solutions/."""
    from autograder.grading.building import build_all, differences, write_all
    from autograder.grading.gradebook import GradebookFault

    project = the_project()
    try:
        made = build_all(project)
    except GradebookFault as fault:
        raise Trouble(str(fault)) from fault
    if check:
        said = differences(project, made)
        click.echo("\n".join(said) or "exercises/ is what solutions/ makes of it.")
        if said:
            click.echo("Run `autograder build`, and commit what changes.")
        sys.exit(BROKEN if said else 0)
    changed = write_all(project, made)
    click.echo("\n".join(f"exercises/{path}" for path in changed) or "Nothing has changed.")


@main.command()
@click.argument("assignments", nargs=-1)
@classroom_option
@click.option("--regrade", is_flag=True, help="Also grade what has not changed since last time.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="How many submissions are run at a time [default: one per processor core].",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Run them on a Dask cluster instead, such as tcp://10.0.0.5:8786.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@click.option("--trust-submissions", is_flag=True, help="Run student code without the sandbox.")
def grade(
    assignments: Sequence[str],
    classroom: Path | None,
    regrade: bool,
    jobs: int | None,
    scheduler: str | None,
    as_json: bool,
    trust_submissions: bool,
) -> None:
    """Grade what was handed in: DIR/submitted/STUDENT/ASSIGNMENT/*.ipynb.

    Writes DIR/gradebook.db and DIR/marks.csv. What has been graded stands, however the program
    ends; run again, it goes on from there. The exit code is 0 when every submission was graded,
    1 when something of ours stood in the way, 2 for wrong usage.
    """
    if jobs and scheduler:
        raise Trouble("--jobs is for this machine, --scheduler for a cluster: choose one.", USAGE)
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

    from autograder.grading.locking import AlreadyGrading
    from autograder.grading.sandbox import NoSandbox
    from autograder.grading.starting import start_early
    from autograder.grading.submissions import submissions_of

    project = the_project()
    chosen = chosen_of(project, assignments)
    room = the_classroom(project, classroom, must_exist=True)
    waiting = submissions_of(room, chosen)
    at_a_time = min(jobs or cores(), max(len(waiting), 1))
    if waiting and not scheduler and not trust_submissions:
        start_early(at_a_time)

    from autograder.grading.batch import grade as grade_class
    from autograder.grading.workers import NoCluster

    # A quiet console beside JSON: then only the JSON is on stdout.
    console = Console(soft_wrap=True, highlight=False, quiet=as_json)
    # Beside JSON these go to stderr: nobody shall be forgotten.
    aside = Console(soft_wrap=True, highlight=False, stderr=True) if as_json else console
    _say_what_is_not_graded(aside, room, project)
    columns = (
        *Progress.get_default_columns()[:-1],
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task("Grading", total=len(waiting))

        def report(graded: "Graded") -> None:
            _say_result(progress.console, graded)
            progress.advance(task)

        try:
            results = grade_class(
                project,
                room,
                chosen,
                jobs=at_a_time,
                scheduler=scheduler or "",
                trust_submissions=trust_submissions,
                regrade=regrade,
                report=report,
            )
        except (AlreadyGrading, NoSandbox, NoCluster) as refusal:
            raise Trouble(str(refusal)) from refusal
        except KeyboardInterrupt as stop:
            raise Trouble(STOPPED_AGAIN if regrade else STOPPED) from stop
    if as_json:
        click.echo(json.dumps([_as_json(graded) for graded in results], indent=1))
    elif not results:
        console.print(
            f"There is nothing to grade: no folder {room.submitted}/STUDENT/ASSIGNMENT "
            f"with ASSIGNMENT one of {', '.join(chosen)}.",
            markup=False,
        )
    else:
        console.print(f"Marks: {room.marks}", markup=False)
    sys.exit(BROKEN if any(graded.fault for graded in results) else 0)


def _say_result(console: "Console", graded: "Graded") -> None:
    from autograder.grading.terminal import safe_text

    who = f"{safe_text(graded.student)}  {safe_text(graded.assignment)}"
    record = graded.record
    if record is None:
        line = f"{who}  NOT GRADED  {safe_text(graded.fault)}"
    else:
        total = sum(row.max_points for row in record.rows)
        wrong = [
            f"{row.exercise}: {row.outcome}{f' ({row.mistake})' if row.mistake else ''}"
            for row in record.rows
            if row.outcome != "correct"
        ]
        said = "; ".join(wrong) if wrong else "all correct"
        notes = {row.note for row in record.rows}
        if wrong and len(notes) == 1 and len(record.rows) > 1:  # one reason for all of them
            said = notes.pop()
        again = "" if graded.fresh else "  (unchanged)"
        again += "  (with points given by hand)" if graded.by_hand else ""
        late = f" after a late penalty of {graded.penalty:g}" if graded.penalty else ""
        line = f"{who}  {graded.final:g}/{total:g}{late}  {safe_text(said)}{again}"
    console.print(line, markup=False)


def _as_json(graded: "Graded") -> dict[str, Any]:
    from autograder.grading.records import as_json

    record = graded.record
    return {
        "student": graded.student,
        "assignment": graded.assignment,
        "graded": record is not None,
        "fresh": graded.fresh,
        "fault": graded.fault,
        "points": graded.points if record else None,
        "penalty": graded.penalty if record else None,
        "final": graded.final if record else None,
        "record": as_json(record) if record else None,
    }


def _say_what_is_not_graded(console: "Console", room: "Classroom", project: "Project") -> None:
    from autograder.grading.submissions import unmatched
    from autograder.grading.terminal import safe_text

    for stray in unmatched(room, project.assignments()):
        where = safe_text("/".join(filter(None, (stray.student, stray.place))))
        console.print(f"{where}  NOT GRADED  {safe_text(stray.why)}", markup=False)


@main.command()
@click.argument("assignments", nargs=-1)
@classroom_option
def feedback(assignments: Sequence[str], classroom: Path | None) -> None:
    """Write a page for every graded submission: DIR/feedback/STUDENT/ASSIGNMENT/*.html.

    Says of each where it is, and why when it is not about what was handed in last.
    """
    from autograder.grading.feedback import write_feedback
    from autograder.grading.terminal import safe_text

    project = the_project()
    room = the_classroom(project, classroom, must_exist=True)
    pages = write_feedback(project, room, chosen_of(project, assignments))
    for page in pages:
        said = f"{page.path}  ({page.why})" if page.path and page.why else page.path or page.why
        click.echo(f"{safe_text(page.student)}  {page.assignment}  {safe_text(str(said))}")
    if not pages:
        click.echo(f"There is nobody to write to: no submissions in {room.submitted}.")
    sys.exit(BROKEN if any(page.fault for page in pages) else 0)


@main.command()
@click.argument("number")
def reset(number: str) -> None:
    """Restore the exercise notebook of lesson NUMBER (01, or its whole name)."""
    from autograder.grading.gradebook import GradebookFault
    from autograder.grading.resetting import reset as reset_exercise

    project = the_project(of_students=True)
    assignment = one_of(project, number)
    try:
        backup = reset_exercise(project, assignment)
    except GradebookFault as fault:
        raise Trouble(str(fault)) from fault
    click.echo(
        f"exercises/{assignment} is fresh again. If the notebook is open in JupyterLab, close it "
        'and open it again, and choose "Revert" if you are asked.'
    )
    if backup:
        click.echo(f"Your version is kept as {backup.relative_to(project.root)}.")


@main.command()
def doctor() -> None:
    """Say whether everything is here, and what to do about what is missing."""
    from autograder.grading.inspecting import inspect_all

    troubled = False
    for finding in inspect_all():
        click.echo(str(finding))
        troubled = troubled or finding.state == "to do"
    sys.exit(BROKEN if troubled else 0)


main.add_command(collect)
main.add_command(export)
main.add_command(explain)
main.add_command(report)
main.add_command(student_edition)

if __name__ == "__main__":
    main()
