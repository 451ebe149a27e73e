"""The commands that deal with learning platforms: collect, export."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autograder.commanding import (
    BROKEN,
    USAGE,
    Trouble,
    chosen_of,
    classroom_option,
    one_of,
    the_classroom,
    the_project,
)

if TYPE_CHECKING:
    from autograder.grading.attempts import Ignored
    from autograder.grading.collecting import Collection

FILES_SHOWN = 5  # files ignored for one reason that are listed one by one
LINES_SHOWN = 30  # about files that were ignored


@click.command()
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("assignment")
@classroom_option
@click.option(
    "--roster",
    type=click.Path(dir_okay=False, path_type=Path),
    help="CSV of the class: id, name, email; or what Canvas or Moodle exports.",
)
def collect(source: Path, assignment: str, classroom: Path | None, roster: Path | None) -> None:
    """Collect what was handed in from SOURCE: a folder, or a zip of Moodle or Canvas.

    Copies the latest notebook of every student to DIR/submitted/STUDENT/ASSIGNMENT/; what that
    replaces is kept in DIR/earlier/. The exit code is 0 when everything was collected, 1 when
    somebody's work may have been left behind, 2 for wrong usage.
    """
    from autograder.grading.collecting import collect as collect_from
    from autograder.grading.locking import AlreadyGrading
    from autograder.grading.roster import UnusableRoster
    from autograder.grading.sources import UnusableSource
    from autograder.grading.terminal import safe_text

    project = the_project()
    chosen = one_of(project, assignment)
    room = the_classroom(project, classroom)
    try:
        done = collect_from(project, room, source, chosen, roster)
    except (UnusableSource, UnusableRoster) as unusable:
        raise Trouble(safe_text(str(unusable)), USAGE) from unusable
    except FileNotFoundError as missing:
        name = safe_text(str(missing.filename))
        raise Trouble(f"There is no file {name}.", USAGE) from missing
    except AlreadyGrading as busy:
        raise Trouble(str(busy)) from busy
    _say_collected(done, chosen, source)
    sys.exit(BROKEN if done.troubled or not done.collected else 0)


def _say_collected(done: "Collection", chosen: str, source: Path) -> None:
    from autograder.grading.terminal import safe_text

    for one in done.collected:
        remark = f"  ({safe_text(one.remark)})" if one.remark else ""
        click.echo(f"{safe_text(one.student)}  {chosen}  {one.state}{remark}")
    for each in done.ignored:
        if each.trouble:
            click.echo(f"{safe_text(each.path)}  NOT COLLECTED  {safe_text(each.why)}")
    for line in _ignored_lines([each for each in done.ignored if not each.trouble]):
        click.echo(line)
    for person in done.missing:
        name = f" ({safe_text(person.name)})" if person.name not in ("", person.id) else ""
        click.echo(f"{safe_text(person.id)}{name}  {chosen}  not handed in")
    for note in done.notes:
        click.echo(safe_text(note))
    states = [one.state for one in done.collected]
    said = [f"{states.count(state)} {state}" for state in dict.fromkeys(states)]
    said += [f"{len(done.missing)} not handed in"] * bool(done.missing)
    click.echo(f"{chosen}: {', '.join(said) or 'nothing found in ' + safe_text(str(source))}.")


def _ignored_lines(ignored: "Sequence[Ignored]") -> list[str]:
    """What was ignored, reason by reason, and of each reason no more files than one reads."""
    from autograder.grading.terminal import safe_text

    by_reason: dict[str, list[str]] = {}
    for each in ignored:
        by_reason.setdefault(safe_text(each.why), []).append(safe_text(each.path))
    lines: list[str] = []
    told = 0
    for why, paths in by_reason.items():
        shown = paths if len(paths) <= FILES_SHOWN + 1 else paths[:FILES_SHOWN]
        said = [f"{path}  ignored: {why}" for path in shown]
        if len(shown) < len(paths):
            said.append(f"… and {len(paths) - len(shown)} more files  ignored: {why}")
        if len(lines) + len(said) > LINES_SHOWN:
            lines.append(f"… and {len(ignored) - told} more files, ignored for other reasons.")
            break
        lines += said
        told += len(paths)
    return lines


@click.command()
@click.argument("platform", type=click.Choice(["moodle", "canvas"]))
@click.argument("assignments", nargs=-1)
@classroom_option
@click.option(
    "--worksheet",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The platform's own export, to be filled in [default: DIR/roster.csv].",
)
def export(
    platform: str, assignments: Sequence[str], classroom: Path | None, worksheet: Path | None
) -> None:
    """Write the marks as Moodle or Canvas imports them, into DIR/exports/.

    Marks are nbgrader's final scores, with marks given by hand and late penalties. Who handed in
    nothing gets 0, and what is not graded yet stays empty.
    """
    from autograder.grading.platforms import NothingToExport
    from autograder.grading.platforms import export as export_to
    from autograder.grading.roster import UnusableRoster
    from autograder.grading.terminal import safe_text

    project = the_project()
    room = the_classroom(project, classroom, must_exist=True)
    chosen = chosen_of(project, assignments) if assignments else ()
    try:
        done = export_to(project, room, platform, chosen, worksheet)
    except (NothingToExport, UnusableRoster) as reason:
        raise Trouble(safe_text(str(reason)), USAGE) from reason
    for path in done.paths:
        click.echo(safe_text(str(path)))
    for note in done.notes:
        click.echo(safe_text(note))
