"""Which student's folder is meant: by the roster, else by the names that a source gives."""

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.grading.places import Classroom
from autograder.grading.records import write_atomically
from autograder.grading.roster import NAME_LIMIT, Person, same_name, squashed
from autograder.grading.submitters import Submitter

MEMORY = "collected.json"  # in a classroom: whose folders the platforms' numbers stand for
IN_ROSTER = " in the roster"  # of the numbers that were found to be somebody's in the roster


_Numbers = defaultdict[tuple[str, str], set[str]]  # by whoever would share a folder


@dataclass(frozen=True)
class Identified:
    """The folder of a student, and what is to be said about it.

    folder: "" where it is not clear whose it is; `remark` then says why.
    """

    folder: str
    remark: str = ""


@dataclass(frozen=True)
class Match:
    """Who of the roster a submitter can be.

    people: one, where it is clear. by_number: whether the platform's number says so.
    without: what was left out at the beginning of the name to find them, or "".
    """

    people: tuple[Person, ...] = ()
    by_number: bool = False
    without: str = ""


def match_of(
    submitter: Submitter, people: Sequence[Person], bearing: Mapping[str, tuple[Person, ...]]
) -> Match:
    """Who of the roster it can be: by the platform's number or the id, else by the name.

    bearing: who bears each name, squashed.
    """
    if submitter.number and submitter.platform in ("moodle", "canvas"):
        for person in people:
            if submitter.number == getattr(person, submitter.platform):
                return Match((person,), by_number=True)
    exact = [person for person in people if same_name(person.id) == same_name(submitter.name)]
    if exact:
        return Match(tuple(exact))
    if named := bearing.get(squashed(submitter.name)):
        return Match(named)
    if submitter.platform == "moodle":
        # Moodle may put a group's name before the student's: "Group A-Ada Lovelace".
        for hyphen in re.finditer("-", submitter.name):
            if named := bearing.get(squashed(submitter.name[hyphen.end() :])):
                return Match(named, without=submitter.name[: hyphen.end()])
    return Match()


def folder_name(name: str) -> str:
    """A name that can be a folder's everywhere, as like it as can be."""
    plain = unicodedata.normalize("NFC", " ".join(name.split()))
    kept = "".join(
        letter if letter.isprintable() and letter not in '/\\:*?"<>|' else "_" for letter in plain
    )
    while len(kept.encode()) > NAME_LIMIT:
        kept = kept[:-1]
    return kept.strip(" .") or "unnamed"


class Identifier:
    """Finds the folder of each submitter in a source, the same one whenever it is asked.

    Two students of one name are told apart by the numbers of their platform: whose folder it was
    first keeps it, and the others have their number added. What cannot be told apart is refused,
    as two numbers are that lead, by their names, to one student of the roster.
    """

    def __init__(self, classroom: Classroom, people: Sequence[Person], assignment: str) -> None:
        self._people, self._assignment = people, assignment
        self._bearing: dict[str, tuple[Person, ...]] = {}
        for person in people:
            for name in person.names:
                self._bearing[name] = (*self._bearing.get(name, ()), person)
        self._path = classroom.root / MEMORY
        self._memory = _read(self._path)
        known = classroom.submitted.iterdir() if classroom.submitted.is_dir() else ()
        self._folders = sorted(path.name for path in known if path.is_dir())
        self._spelling = {same_name(name): name for name in self._folders}
        self._said: dict[str, set[str]] = defaultdict(set)

    def identify(self, submitters: Sequence[Submitter]) -> list[Identified]:
        """The folder for each; the order of the submitters does not matter."""
        numbers: _Numbers = defaultdict(set)
        found = self._matches(submitters)
        for submitter, match in zip(submitters, found, strict=True):
            numbers[self._crowd(submitter, match)].add(submitter.number)
            if not submitter.number and len(match.people) != 1:
                name = unicodedata.normalize("NFC", submitter.name)
                self._said[same_name(folder_name(name))].add(name)
        by_name = sorted(range(len(found)), key=lambda at: (submitters[at].name, at))
        identified = {at: self._one(submitters[at], found[at], numbers) for at in by_name}
        return [identified[at] for at in range(len(found))]

    def _matches(self, submitters: Sequence[Submitter]) -> list[Match]:
        """Who each can be: beside Pierre Serre himself, Jean-Pierre Serre is not he."""
        found = [match_of(submitter, self._people, self._bearing) for submitter in submitters]
        surely = {match.people for match in found if not match.without}
        return [
            Match()
            if match.without and surely.issuperset((one,) for one in match.people)
            else match
            for match in found
        ]

    def _crowd(self, submitter: Submitter, match: Match) -> tuple[str, str]:
        """Whoever shares it would share a folder, were it not for their numbers."""
        if len(match.people) == 1:
            return self._kind(submitter), match.people[0].id
        return "", same_name(folder_name(submitter.name))

    def _one(self, submitter: Submitter, match: Match, numbers: _Numbers) -> Identified:
        people, alike = match.people, numbers[self._crowd(submitter, match)]
        if len(people) == 1:
            return self._listed(submitter, match, alike)
        folder = folder_name(submitter.name)
        remark = "not in the roster" if self._people else ""
        if people:
            ids = ", ".join(person.id for person in people)
            remark = f"{len(people)} in the roster have this name ({ids}): rename the folder"
        if submitter.number:
            return Identified(self._numbered(submitter, folder, alike, bool(people)), remark)
        return self._spelled(submitter.name, folder, remark)

    def _listed(self, submitter: Submitter, match: Match, numbers: set[str]) -> Identified:
        """The folder of somebody in the roster, which is no second student's as well."""
        (person,), number = match.people, submitter.number
        if number:
            memory = self._memory.setdefault(f"{self._kind(submitter)}{IN_ROSTER}", {})
            owned = {known for known, owner in memory.items() if owner == person.id}
            if match.by_number:
                for other in owned - {number}:  # the roster knows better
                    del memory[other]
            elif number not in owned and len(numbers | owned) > 1:
                return Identified("", _shared(submitter, person, numbers | owned))
            memory[number] = person.id
        remark = f"taken for {person.name or person.id}, without {match.without!r}"
        folder = self._spelling.get(same_name(person.id), person.id)
        return Identified(folder, remark if match.without else "")

    def _kind(self, submitter: Submitter) -> str:
        # Moodle numbers the students of each assignment anew.
        return submitter.platform + f" {self._assignment}" * (submitter.platform == "moodle")

    def _numbered(self, submitter: Submitter, folder: str, alike: set[str], unclear: bool) -> str:
        memory = self._memory.setdefault(self._kind(submitter), {})
        if submitter.number not in memory:
            taken = folder in memory.values() or len(alike) > 1
            name = f"{folder} {submitter.number}" if taken or unclear else folder
            memory[submitter.number] = self._spelling.get(same_name(name), name)
        return memory[submitter.number]

    def _spelled(self, name: str, folder: str, remark: str) -> Identified:
        """The folder of a name. Where several names lead to it, it is that of the same name."""
        key, normal = same_name(folder), unicodedata.normalize("NFC", name)
        same = {each for each in self._said[key] if each == folder_name(each)}
        others = sorted(self._said[key] - {normal})
        if others and same != {normal}:
            why = f"{name} and {others[0]} would share a folder: rename one of them"
            return Identified("", f"{why}, and collect again")
        return Identified(self._spelling.get(key, folder), remark)

    def remember(self) -> None:
        """Keep whose the folders are. Raises OSError."""
        if any(self._memory.values()) and self._memory != _read(self._path):
            text = json.dumps(self._memory, indent=1, ensure_ascii=False, sort_keys=True)
            write_atomically(self._path, text)

    def _numbered_as(self, folder: str) -> list[Person]:
        """Who of the roster has the number of a folder that was made for a number."""
        kinds = {f"moodle {self._assignment}": "moodle", "canvas": "canvas"}
        made = {
            (platform, number)
            for kind, platform in kinds.items()
            for number, owned in self._memory.get(kind, {}).items()
            if owned == folder
        }
        return [
            person
            for person in self._people
            if any(getattr(person, platform) == number for platform, number in made)
        ]

    def misplaced(self) -> Iterator[tuple[str, Person]]:
        """Folders from before the roster, and who of the roster they seem to belong to."""
        ids = {same_name(person.id) for person in self._people}
        for key, folder in sorted(self._spelling.items()):
            if key in ids:
                continue
            bearing = [person for person in self._people if squashed(folder) in person.names]
            bearing = bearing or self._numbered_as(folder)
            if len(bearing) == 1:
                yield folder, bearing[0]

    def doubled(self) -> Iterator[tuple[str, ...]]:
        """Folders whose names differ in case alone: of one student, as everything else sees it."""
        alike: dict[str, list[str]] = defaultdict(list)
        for folder in self._folders:
            alike[same_name(folder)].append(folder)
        yield from (tuple(folders) for folders in alike.values() if len(folders) > 1)


def numbers_seen(classroom: Classroom, assignment: str) -> set[str]:
    """The participant numbers under which Moodle's downloads had work for an assignment."""
    memory = _read(classroom.root / MEMORY)
    kind = f"moodle {assignment}"
    return {*memory.get(kind, {}), *memory.get(f"{kind}{IN_ROSTER}", {})}


def _shared(submitter: Submitter, person: Person, numbers: set[str]) -> str:
    """Why it is not clear whose work it is, and what would tell."""
    platform = submitter.platform.capitalize()
    file = "gradebook" if submitter.platform == "canvas" else "grading worksheet of this assignment"
    return (
        f"{len(numbers)} students of {platform} ({', '.join(sorted(numbers))}) would share the "
        f"folder {person.id}: give {platform}'s {file} with --roster, or a roster with the numbers "
        f"in a column `{submitter.platform}`"
    )


def _read(path: Path) -> dict[str, dict[str, str]]:
    """Whose the folders were, as far as it is known."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        return {
            str(kind): {str(number): str(folder) for number, folder in numbers.items()}
            for kind, numbers in kept.items()
        }
    except (OSError, ValueError, AttributeError):
        return {}
