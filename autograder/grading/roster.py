"""The roster of a class: who is in it, and under which names the platforms know them.

A CSV with a column `id` (the name of the student's folder) and, as far as there are such,
`name` or `first_name` and `last_name`, `email`, `moodle` (the participant number), `canvas`
(the user number). What Canvas exports as its gradebook and Moodle as its grading worksheet, in
English, is understood as it is. Without an id, the e-mail address or the name serves as one.
"""

import csv
import io
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.grading.terminal import is_plain

SIZE_LIMIT = 16 * 2**20  # bytes
NAME_LIMIT = 150  # bytes of the name of a folder
POINTS_POSSIBLE = "points possible"  # Canvas's row with the points of each assignment


class UnusableRoster(ValueError):
    """The roster cannot be read. The message says where and why, and what to try."""


@dataclass(frozen=True)
class Person:
    """One student.

    id: the name of the folder. The rest as the platforms have it, or "". cells: the row of the
    roster.
    """

    id: str
    name: str = ""
    email: str = ""
    moodle: str = ""
    canvas: str = ""
    cells: tuple[str, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """Everything by which somebody may have called this student, made comparable."""
        words = self.name.replace(",", " ").split()
        turned = (" ".join(words[at:] + words[:at]) for at in range(len(words)))
        local = self.email.partition("@")[0]
        said = (self.id, self.email, local, *turned)
        return frozenset(squashed(each) for each in said if squashed(each))


@dataclass(frozen=True)
class Roster:
    """Everybody in a class, in the roster's order.

    platform: "canvas" for a gradebook, "moodle" for a grading worksheet, else "".
    points: the row of a Canvas gradebook with the points possible, or ().
    """

    people: tuple[Person, ...] = ()
    header: tuple[str, ...] = ()
    platform: str = ""
    points: tuple[str, ...] = ()


def squashed(name: str) -> str:
    """A name without case, accents' ways of writing, spaces and punctuation."""
    plain = unicodedata.normalize("NFKC", name).casefold()
    return "".join(letter for letter in plain if letter.isalnum())


def same_name(name: str) -> str:
    """What the names of two folders share that some file systems take for one."""
    return unicodedata.normalize("NFC", name).casefold()


ALIASES = {
    "id": ("id", "student_id", "student id", "username", "login", "id number", "student number"),
    "name": ("name", "full name", "fullname", "student"),
    "first_name": ("first_name", "first name", "firstname", "given name"),
    "last_name": ("last_name", "last name", "lastname", "surname", "family name"),
    "email": ("email", "email address", "e-mail", "mail"),
    "moodle": ("moodle", "participant", "identifier"),
    "canvas": ("canvas", "canvas_id", "lms_user_id"),
}
OF_PLATFORM: dict[str, dict[str, tuple[str, ...]]] = {
    "canvas": {"id": ("sis login id", "sis user id", "id"), "canvas": ("id",)},
    "moodle": {"id": ("username", "id number")},
}


def read_roster(path: Path) -> Roster:
    """Everybody in a roster. Raises UnusableRoster, OSError."""
    rows = _rows(path)
    if not rows:
        raise UnusableRoster(f"{path.name} is empty. Name a CSV with a column `id`.")
    header = [title.strip().casefold() for title in rows[0]]
    platform = _platform(header)
    columns = _columns(header, platform)
    if not columns.keys() & {"id", "email", "name", "first_name", "last_name", "moodle"}:
        raise UnusableRoster(
            f"{path.name} has no column `id`; it has {', '.join(rows[0])[:200]}. Name the column "
            "with the names of the students' folders `id`; what Canvas or Moodle exports is "
            "understood when the platform is set to English."
        )
    points: tuple[str, ...] = ()
    people = []
    for row in rows[1:]:
        if platform == "canvas" and _is_nobody(row, header):
            points = tuple(row) if row[0].strip().casefold() == POINTS_POSSIBLE else points
            continue
        if person := _person(row, header, columns):
            people.append(person)
    return Roster(_unique(people, path.name), tuple(rows[0]), platform, points)


def _is_nobody(row: Sequence[str], header: Sequence[str]) -> bool:
    """Whether a row of Canvas's gradebook is about the columns, or of the Test Student."""
    first, second = [cell.strip().casefold() for cell in [*row, ""][:2]]
    if header[0] == "lastname":
        return first == POINTS_POSSIBLE or (first, second) in (("", ""), ("student", "test"))
    return first in ("", POINTS_POSSIBLE, "student, test")


def _rows(path: Path) -> list[list[str]]:
    if path.stat().st_size > SIZE_LIMIT:
        raise UnusableRoster(f"{path.name} is too large for a roster. Name a CSV of students.")
    data = path.read_bytes()
    marked = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    for encoding in ("utf-16" if marked else "utf-8-sig", "cp1252"):
        try:
            text = data.decode(encoding)
            break
        except UnicodeDecodeError:
            continue
    else:
        raise UnusableRoster(f"{path.name} is no text. Save it as CSV (UTF-8).")
    if "\0" in text:
        raise UnusableRoster(f"{path.name} is no text, but a spreadsheet. Save it as CSV (UTF-8).")
    try:
        first = next(csv.reader(io.StringIO(text, newline="")), [])
        lines = ",".join(first)
        delimiter = max(",;\t", key=lambda sign: len(next(csv.reader([lines], delimiter=sign))))
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except (csv.Error, StopIteration) as error:
        raise UnusableRoster(f"{path.name} is no CSV ({error}). Save it as CSV (UTF-8).") from error
    return [row for row in rows if any(cell.strip() for cell in row)]


def _platform(header: Sequence[str]) -> str:
    if "section" in header and "id" in header and {"student", "lastname"} & {*header[:1]}:
        return "canvas"
    return "moodle" if "identifier" in header else ""


def _columns(header: Sequence[str], platform: str) -> dict[str, list[int]]:
    """The columns that may say something, by kind, those that say it best first."""
    wanted = {**ALIASES, **OF_PLATFORM.get(platform, {})}
    found = {
        kind: [at for alias in aliases for at, title in enumerate(header) if title == alias]
        for kind, aliases in wanted.items()
    }
    return {kind: places for kind, places in found.items() if places}


def _person(
    row: Sequence[str], header: Sequence[str], columns: Mapping[str, Sequence[int]]
) -> Person | None:
    def value(kind: str) -> str:
        given = (row[at].strip() for at in columns.get(kind, ()) if at < len(row))
        return next((each for each in given if each), "")

    name = value("name") or f"{value('first_name')} {value('last_name')}".strip()
    moodle = "".join(re.findall(r"\d+", value("moodle")))
    email = value("email")
    identity = value("id") or email or name or value("moodle")
    if not identity:
        return None
    cells = tuple(row) + ("",) * (len(header) - len(row))
    return Person(identity, name, email, moodle, value("canvas"), cells)


def _unique(people: Sequence[Person], file: str) -> tuple[Person, ...]:
    times = Counter(same_name(person.id) for person in people)
    seen: set[str] = set()
    for_all = []
    for person in people:
        number = person.moodle or person.canvas
        if times[same_name(person.id)] > 1 and person.id == person.name and number:
            person = replace(person, id=f"{person.id} {number}")  # a name that two bear
        key = same_name(person.id)
        if key in seen:
            raise UnusableRoster(
                f"{file} has the id {person.id!r} twice (case does not count). An id stands for "
                "one student: change one of them, or remove the row."
            )
        long = len(person.id.encode()) > NAME_LIMIT
        unfit = not is_plain(person.id) or person.id.startswith(".") or long
        if unfit or any(sign in person.id for sign in '/\\:*?"<>|'):
            raise UnusableRoster(
                f"{file} has the id {person.id[:NAME_LIMIT]!r}, which cannot be the name of a "
                "folder. Give the student another id."
            )
        seen.add(key)
        for_all.append(person)
    return tuple(for_all)
