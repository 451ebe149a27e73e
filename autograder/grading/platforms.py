"""Marks for learning platforms: the CSV files that Moodle and Canvas import.

The shapes follow the platforms' own source: lib/gradebook_importer.rb and gradebook_exporter.rb of
Canvas; mod/assign/feedback/offline/importgradeslib.php (the grading worksheet) and the gradebook's
CSV import of Moodle.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autograder.grading.final_marks import Mark, final_marks, what_to_know
from autograder.grading.identifying import numbers_seen
from autograder.grading.marks import FORMULA, safe_cell
from autograder.grading.places import Classroom, Project
from autograder.grading.records import write_atomically
from autograder.grading.roster import Person, Roster, read_roster, same_name, squashed

# Columns by which a platform finds a student: they stay as the roster has them.
KEYS = {"id", "identifier", "id number", "username", "email address", "sis user id", "sis login id"}
OWN = ("feedback",)  # columns whose words are the instructor's, and are imported again
POINTS_POSSIBLE = "    Points Possible"  # as Canvas writes it
OF_CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")


class NothingToExport(ValueError):
    """There are no marks. The message says where they would come from."""


@dataclass
class Exported:
    """The files written, and what to know before they are imported."""

    paths: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Class:
    """What an export is made from. maxima: the points possible of each assignment."""

    roster: Roster
    people: tuple[Person, ...]
    maxima: Mapping[str, float]
    marks: Mapping[tuple[str, str], Mark]

    def cell(self, person: Person, assignment: str) -> str:
        """The points of somebody: 0 for nothing handed in, empty for not graded yet."""
        mark = self.marks.get((same_name(person.id), assignment), Mark(person.id, 0.0))
        return "" if mark.points is None else number(mark.points)

    def safe(self, header: Sequence[str], cells: Sequence[str]) -> Iterator[str]:
        """The cells, with what a spreadsheet would take for a formula neutralised.

        Without a roster an id is the name of a folder, which a student may have chosen.
        """
        theirs = bool(self.roster.people)
        for title, cell in zip(header, cells, strict=False):
            name = title.strip().casefold()
            harmless = not FORMULA.search(cell) or cell.strip() == "-"
            kept = theirs and (name in KEYS or name.startswith(OWN) or harmless)
            yield cell if kept else safe_cell(cell.lstrip())


def export(
    project: Project,
    classroom: Classroom,
    platform: str,
    assignments: Sequence[str] = (),
    worksheet: Path | None = None,
) -> Exported:
    """Write the marks of assignments, all that were handed in by default, for a platform.

    platform: "moodle" or "canvas".
    worksheet: the platform's own export, to be filled in; the classroom's roster by default,
    unless it is the grading worksheet of another assignment.
    Raises NothingToExport, UnusableRoster, UnusableGradebook, OSError.
    """
    done = Exported()
    path = worksheet or classroom.roster
    roster = read_roster(path) if worksheet or path.is_file() else Roster()
    wanted = [*(assignments or project.assignments())]
    marks = final_marks(project, classroom, wanted)
    chosen = [name for name in wanted if any(name == assignment for _, assignment in marks)]
    if not chosen:
        raise NothingToExport(
            f"There are no marks in {classroom.root} for {', '.join(wanted)}. "
            "Collect and grade first."
        )
    nobodys = [name for name in assignments if name not in chosen]
    if nobodys:
        done.notes.append(f"Handed in by nobody, and so in no file: {', '.join(nobodys)}.")
    maxima = {name: sum(points for _, points in project.exercises_of(name)) for name in chosen}
    people = _people(roster, marks, done)
    graded = _Class(roster, people, maxima, marks)
    done.notes += what_to_know(marks)
    if platform == "canvas":
        _write(classroom.exports / "canvas.csv", _canvas(graded, done), done)
        return done
    _write(classroom.exports / "moodle-gradebook.csv", _moodle_gradebook(graded), done)
    if roster.platform == "moodle" and len(chosen) == 1:
        if _fits(classroom, roster, chosen[0], path, done, named=worksheet is not None):
            path = classroom.exports / f"moodle-worksheet-{chosen[0]}.csv"
            _write(path, _moodle_worksheet(graded, chosen[0], done), done)
    elif roster.platform == "moodle":
        done.notes.append(
            "A grading worksheet is of one assignment: name one to have it filled in."
        )
    return done


def _people(
    roster: Roster, marks: Mapping[tuple[str, str], Mark], done: Exported
) -> tuple[Person, ...]:
    """Everybody who gets a row: of the roster, else everybody who handed in something."""
    students = {mark.student for mark in marks.values()}
    if not roster.people:
        one_each = {same_name(name): name for name in sorted(students, reverse=True)}
        return tuple(Person(name, name) for name in sorted(one_each.values()))
    listed = {same_name(person.id) for person in roster.people}
    strangers = sorted(name for name in students if same_name(name) not in listed)
    if strangers and len(strangers) == len(students):
        raise NothingToExport(
            "Nobody who handed in is in the roster, so nothing was written. Name the platform's "
            "own export of this class with --worksheet."
        )
    if strangers:
        done.notes.append(f"Not in the roster, and so in no file: {', '.join(strangers)}.")
    return roster.people


def _fits(
    classroom: Classroom,
    sheet: Roster,
    assignment: str,
    path: Path,
    done: Exported,
    *,
    named: bool,
) -> bool:
    """Whether a grading worksheet can be filled in, as far as one can tell.

    It has participant numbers of one assignment, and a column for grades only where Moodle lets
    grades be changed in it. named: whether it was given for this assignment.
    """
    if "grade" not in [title.strip().casefold() for title in sheet.header]:
        done.notes.append(
            f"{path.name} has no column Grade, so no grading worksheet was written: allow in "
            "Moodle that grades are changed in it, and download it again."
        )
        return False
    seen = numbers_seen(classroom, assignment)
    if seen & {person.moodle for person in sheet.people}:
        return True
    if named and not seen:
        return True
    other = f"{path.name} has other participant numbers than what was collected for {assignment}"
    ask = f"Name the worksheet of {assignment} with --worksheet."
    if named:
        done.notes.append(f"{other}: is it the worksheet of another assignment?")
    elif seen:
        done.notes.append(f"{other}, so no grading worksheet was written. {ask}")
    else:
        done.notes.append(
            f"The grading worksheet is {path.name}, filled in. Moodle numbers students anew for "
            f"each assignment, so if it is another's: {ask[0].lower()}{ask[1:]}"
        )
    return named or not seen


def _canvas(graded: _Class, done: Exported) -> Iterator[Sequence[str]]:
    """Canvas's gradebook: the columns about the student as Canvas has them, and the marks."""
    roster = graded.roster
    ours = roster.platform == "canvas"
    titles_of_theirs = [title.strip().casefold() for title in roster.header]
    at = titles_of_theirs.index("section") + 1 if ours else 0
    header = [*roster.header[:at]] if ours else [*OF_CANVAS]
    titles, points = [], []
    for assignment, maximum in graded.maxima.items():
        column = _column(roster.header[at:], assignment) if ours else None
        titles.append(assignment if column is None else roster.header[at + column])
        possible = number(maximum)
        if column is not None and roster.points[at + column :][:1]:
            possible = roster.points[at + column].strip() or possible
            _compare(assignment, possible, maximum, "Canvas", done)
        elif ours:
            done.notes.append(
                f"The gradebook has no column {assignment}: Canvas will ask which assignment is "
                "meant, or make a new one."
            )
        points.append(possible)
    yield [*header, *titles]
    yield [POINTS_POSSIBLE, *[""] * (len(header) - 1), *points]
    for person in graded.people:
        cells = [*person.cells[:at]]
        if not ours:
            cells = [person.name or person.id, person.canvas, "", person.id, ""]
        marks = [graded.cell(person, assignment) for assignment in graded.maxima]
        yield [*graded.safe(header, cells), *marks]


def _column(titles: Sequence[str], assignment: str) -> int | None:
    """The column of an assignment, which Canvas calls "Title (12345)"."""
    names = [squashed(title.rpartition(" (")[0] or title) for title in titles]
    return names.index(squashed(assignment)) if squashed(assignment) in names else None


def _moodle_gradebook(graded: _Class) -> Iterator[Sequence[str]]:
    """For Moodle's Grades > Import > CSV, where the columns are mapped by hand."""
    header = ["Full name", "ID", "Email address"]
    yield [*header, *graded.maxima]
    for person in graded.people:
        marks = [graded.cell(person, assignment) for assignment in graded.maxima]
        yield [*graded.safe(header, [person.name, person.id, person.email]), *marks]


def _moodle_worksheet(graded: _Class, assignment: str, done: Exported) -> Iterator[Sequence[str]]:
    """The grading worksheet with its grades filled in, and everything else as it was."""
    header = graded.roster.header
    names = [title.strip().casefold() for title in header]
    at = names.index("grade")
    maximum = names.index("maximum grade") if "maximum grade" in names else None
    yield header
    compared = maximum is None
    for person in graded.people:
        cells = [*graded.safe(header, person.cells)]
        cells[at] = graded.cell(person, assignment)
        if maximum is not None and not compared:
            _compare(assignment, cells[maximum], graded.maxima[assignment], "Moodle", done)
            compared = True
        yield cells


def _compare(assignment: str, theirs: str, ours: float, platform: str, done: Exported) -> None:
    try:
        same = abs(float(theirs.replace(",", ".")) - ours) < 0.005
    except ValueError:
        same = False
    if not same:
        done.notes.append(
            f"{assignment} has {number(ours)} points here, and {theirs or 'none'} on {platform}. "
            f"Marks are written as they are here: set the maximum on {platform} to {number(ours)}."
        )


def number(points: float) -> str:
    """Points as the platforms write them: at most two decimals, with a point."""
    return f"{points:.2f}".rstrip("0").rstrip(".")


def _write(path: Path, rows: Iterator[Sequence[str]], done: Exported) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    write_atomically(path, text.getvalue())
    done.paths.append(path)
