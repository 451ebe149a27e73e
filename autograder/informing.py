"""The commands that tell a class what it needs: report for the instructor, student-edition."""

from collections.abc import Sequence
from pathlib import Path

import click

from autograder.commanding import (
    USAGE,
    Trouble,
    chosen_of,
    classroom_option,
    the_classroom,
    the_project,
)


@click.command()
@click.argument("assignments", nargs=-1)
@classroom_option
def report(assignments: Sequence[str], classroom: Path | None) -> None:
    """Write a report on the class, to read before class.

    DIR/reports/ASSIGNMENT.html, and a CSV beside it: how each exercise went, the most common
    mistakes and what to say about them, and who needs a look. Without ASSIGNMENTS, a page for each
    of them, and an overview, DIR/reports/index.html.
    """
    from autograder.grading.reporting import OVERVIEW, write_reports
    from autograder.grading.terminal import safe_text

    project = the_project()
    room = the_classroom(project, classroom, must_exist=True)
    chosen = chosen_of(project, assignments)
    for each in write_reports(project, room, chosen, overview=not assignments):
        click.echo(f"{each.assignment}  {safe_text(str(each.page))}")
        for sentence in each.sentences:
            click.echo(f"  {sentence}")
    if not assignments:
        click.echo(f"All of them: {safe_text(str(room.reports / OVERVIEW))}")


@click.command("student-edition")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--zip",
    "archive",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the edition to this zip as well, as it is before anybody works in it. An earlier "
    "edition's zip is replaced.",
)
def student_edition(folder: Path, archive: Path | None) -> None:
    """Write to DIR what a class receives.

    That is the lessons, the exercises and all that their checks need, without solutions. DIR is
    new or empty, or holds an earlier student edition, which is brought up to date: what somebody
    has changed there is kept. The reference implementations that lessons and checks use
    (course/attention) are part of it, so whoever reads them finds out how each function is written.
    """
    from autograder.grading.gradebook import GradebookFault
    from autograder.grading.placing import (
        UnusableFolder,
        check_folder,
        check_zip,
        place_edition,
        write_zip,
    )
    from autograder.grading.student_edition import NoEdition, edition_of
    from autograder.grading.terminal import safe_text

    project = the_project()
    try:
        check_folder(project, folder)
        if archive:
            check_zip(project, archive)
        files = edition_of(project)
        if archive:
            write_zip(archive, files)
        done = place_edition(folder, files)
    except UnusableFolder as unusable:
        raise Trouble(safe_text(str(unusable)), USAGE) from unusable
    except (NoEdition, GradebookFault) as reason:
        raise Trouble(safe_text(str(reason))) from reason
    for path in done.kept:
        click.echo(f"{safe_text(path)}  kept: somebody has changed it")
    for path, aside in done.aside.items():
        click.echo(
            f"{safe_text(path)}  renewed; what somebody had changed is now {safe_text(aside)}"
        )
    for path in done.removed:
        click.echo(f"{safe_text(path)}  removed: it is no longer part of the edition")
    same = len(files) - len(done.written) - sum(path in files for path in done.kept)
    click.echo(
        f"{safe_text(str(folder))}: {len(done.written)} files written, {same} as they were, "
        f"{len(done.kept)} kept."
    )
    if archive:
        click.echo(safe_text(str(archive)))
