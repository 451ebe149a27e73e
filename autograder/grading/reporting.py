"""The class report: a page and a table for each assignment, and an overview of all of them."""

import csv
import io
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment
from markupsafe import Markup, escape

from autograder.grading.looking import Look, who_needs_a_look
from autograder.grading.marks import safe_cell
from autograder.grading.pages import POLICY, templates, time_said
from autograder.grading.places import Classroom, Project
from autograder.grading.platforms import number
from autograder.grading.records import write_atomically
from autograder.grading.summing_up import counted, share, summary
from autograder.grading.surveying import Member, Survey, survey
from autograder.grading.talking import TalkingPoints, talking_points
from autograder.grading.tallying import (
    ExerciseTally,
    MistakeTally,
    declared_mistake,
    hardest,
    tally_exercises,
    tally_mistakes,
)
from autograder.grading.terminal import safe_text
from autograder.verdicts import OUTCOMES

OVERVIEW = "index.html"
NAME_LIMIT = 48  # characters of a name on the page; the table has all of it
WORDS_LIMIT = 300  # characters of what was found or went wrong
SHOWN = 5  # mistakes that are explained; further ones are listed
AT_ONCE = 12  # names in a row; further ones are folded
COLUMNS = (
    "assignment",
    "exercise",
    "outcome",
    "mistake",
    "mend_first",
    "students",
    "graded",
    "share_percent",
    "sentence",
    "hint",
)
BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"  # by which a spreadsheet knows that the table is UTF-8


@dataclass(frozen=True)
class Report:
    """What was written for one assignment, and its sentences."""

    assignment: str
    page: Path
    table: Path
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class _Told:
    """A mistake, and what to say about it."""

    tally: MistakeTally
    talk: TalkingPoints


@dataclass(frozen=True)
class _Counted:
    """A survey, and everything that was counted in it."""

    found: Survey
    exercises: list[ExerciseTally]
    mistakes: list[MistakeTally]
    looks: list[Look]
    sentences: list[str]

    @staticmethod
    def of(found: Survey) -> "_Counted":
        tallies, mistakes = tally_exercises(found), tally_mistakes(found)
        looks = who_needs_a_look(found)
        return _Counted(found, tallies, mistakes, looks, summary(found, tallies, mistakes, looks))


def write_reports(
    project: Project, classroom: Classroom, assignments: Sequence[str], *, overview: bool = False
) -> list[Report]:
    """Write a page and a table for each of these assignments, and perhaps one page over all.

    Raises UnusableGradebook, OSError.
    """
    folder = classroom.reports
    everything = [_Counted.of(found) for found in survey(project, classroom, assignments)]
    reports = []
    for counted_ in everything:
        assignment = counted_.found.assignment
        page, table = folder / f"{assignment}.html", folder / f"{assignment}.csv"
        write_atomically(page, _page(counted_, folder, overview))
        write_atomically(table, _table(counted_))
        reports.append(Report(assignment, page, table, tuple(counted_.sentences)))
    if overview:
        write_atomically(folder / OVERVIEW, _overview(everything))
    return reports


def _page(counted_: _Counted, folder: Path, overview: bool) -> str:
    found = counted_.found
    named = [tally for tally in counted_.mistakes if tally.id]
    often = [tally for tally in named if tally.count > 1] or named
    told = often[:SHOWN]
    shown = {id(tally) for tally in told}
    seen = {outcome for tally in counted_.exercises for outcome, n in tally.outcomes.items() if n}
    return (
        _templates(folder)
        .get_template("page.html.j2")
        .render(
            report=counted_,
            found=found,
            outcomes=[each for each in OUTCOMES if each in seen or each == "correct"],
            told=[_Told(tally, talking_points(tally.exercise, tally.id)) for tally in told],
            further=[tally for tally in counted_.mistakes if id(tally) not in shown],
            unread=sum(bool(member.unreadable) for member in found.graded),
            penalties=any(member.penalty for member in found.members),
            overview=OVERVIEW if overview else "",
        )
    )


def _overview(everything: Sequence[_Counted]) -> str:
    lines = [
        {
            "report": counted_,
            "right": sum(member.all_correct for member in counted_.found.graded),
            "hardest": hardest(counted_.exercises),
            "mistake": next((tally for tally in counted_.mistakes if tally.id), None),
        }
        for counted_ in everything
    ]
    return _templates(Path()).get_template("overview.html.j2").render(lines=lines)


def _templates(folder: Path) -> Environment:
    """The templates, and the few words that they need. folder: where the page will lie."""
    made = templates("report")
    made.globals.update(
        policy=POLICY,
        at_once=AT_ONCE,
        made=time_said(datetime.now(UTC)),
        bar=_bar,
        link=lambda member: _link(folder, member),
    )
    made.filters.update(
        shown=_shown,
        words=_words,
        code=_code,
        share=share,
        counted=counted,
        number=number,
        cap=_capital,
    )
    return made


def _shown(member: Member) -> str:
    """A name that does no harm to a page: nothing invisible in it, and not too long."""
    name = safe_text(member.name or member.id)
    return name if len(name) <= NAME_LIMIT else f"{name[:NAME_LIMIT]}…"


def _words(text: str) -> str:
    """Words that may come from a student, on one line."""
    line = safe_text(" ".join(text.split()))
    return line if len(line) <= WORDS_LIMIT else f"{line[:WORDS_LIMIT]}…"


def _code(text: str) -> Markup:
    """Words with what stands in back-ticks set as code."""
    pieces = _words(text).split("`")
    if len(pieces) % 2 == 0:  # one of them has no partner
        return escape(_words(text))
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if at % 2 else piece
        for at, piece in enumerate(pieces)
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _link(folder: Path, member: Member) -> str:
    """The address of a student's feedback page, from where the report lies; "" without one."""
    if member.feedback is None:
        return ""
    parts = Path(os.path.relpath(member.feedback, folder)).parts
    return "/".join(part if part == ".." else quote(os.fsencode(part)) for part in parts)


def _bar(tally: ExerciseTally) -> list[dict[str, Any]]:
    """The parts of a bar, in percent from the left: right, not right, not attempted."""
    stubs = tally.outcomes["not attempted"]
    parts = (("right", tally.right), ("wrong", tally.graded - tally.right - stubs), ("none", stubs))
    left, made = 0.0, []
    for kind, count in parts:
        width = 100 * count / tally.graded if tally.graded else 0.0
        made.append(
            {"kind": kind, "count": count, "left": round(left, 2), "width": round(width, 2)}
        )
        left += width
    return made


def _table(counted_: _Counted) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in _rows(counted_.found):
        writer.writerow([safe_cell(cell) for cell in row])
    return BOM + text.getvalue()


def _rows(found: Survey) -> Iterator[tuple[str, ...]]:
    """For each exercise how many have which outcome, for which reason; outcomes as in marks.csv."""
    for exercise, _ in found.exercises:
        rows = [row for member in found.graded for row in member.rows if row.exercise == exercise]
        times = Counter((row.outcome, row.mistake, row.follows) for row in rows)
        times.setdefault(("correct", "", ""), 0)

        def place(key: tuple[str, str, str], times: Counter[Any] = times) -> tuple[Any, ...]:
            known = OUTCOMES.index(key[0]) if key[0] in OUTCOMES else len(OUTCOMES)
            return known, -times[key], key

        for key in sorted(times, key=place):
            outcome, mistake, follows = key
            declared = declared_mistake(exercise, mistake)
            yield (
                found.assignment,
                exercise,
                outcome,
                mistake,
                follows,
                str(times[key]),
                str(len(rows)),
                f"{100 * times[key] / len(rows):.1f}" if rows else "",
                declared.happened if declared else "",
                declared.advice if declared else "",
            )
