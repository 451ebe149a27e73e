"""Which student's folder is meant: by the roster, else by the names that a source gives."""

import json
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autograder.grading.places import Classroom
from autograder.grading.records import write_atomically
from autograder.grading.roster import NAME_LIMIT, Person, same_name, squashed
from autograder.grading.submitters import Submitter

MEMORY = "collected.json"  # in a classroom: whose the folders of students without a roster are


@dataclass(frozen=True)
class Identified:
    """The folder of a student, and what is to be said about it.

    folder: "" where it is not clear whose it is; `remark` then says why.
    """

    folder: str
    remark: str = ""


def person_of(submitter: Submitter, people: Sequence[Person]) -> list[Person]:
    """Who of the roster it can be: by the platform's number or the id, else by the name."""
    if submitter.number and submitter.platform in ("moodle", "canvas"):
        for person in people:
            if submitter.number == getattr(person, submitter.platform):
                return [person]
    exact = [person for person in people if same_name(person.id) == same_name(submitter.name)]
    if exact:
        return exact
    wanted = {squashed(submitter.name)}
    bearing = [person for person in people if wanted & person.names]
    if not bearing and submitter.platform == "moodle" and "-" in submitter.name:
        # Moodle may put a group's name before the student's: "Group A-Ada Lovelace".
        parts = submitter.name.split("-")
        wanted = {squashed("-".join(parts[at:])) for at in range(1, len(parts))} - {""}
        bearing = [person for person in people if wanted & person.names]
    return bearing


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
    first keeps it, and the others have their number added. What cannot be told apart is refused.
    """

    def __init__(self, classroom: Classroom, people: Sequence[Person], assignment: str) -> None:
        self._people, self._assignment = people, assignment
        self._path = classroom.root / MEMORY
        self._memory = self._read()
        known = classroom.submitted.iterdir() if classroom.submitted.is_dir() else ()
        self._spelling = {same_name(path.name): path.name for path in known}
        self._said: dict[str, str] = {}

    def _read(self) -> dict[str, dict[str, str]]:
        try:
            kept = json.loads(self._path.read_text(encoding="utf-8"))
            return {
                str(kind): {str(number): str(folder) for number, folder in numbers.items()}
                for kind, numbers in kept.items()
            }
        except (OSError, ValueError, AttributeError):
            return {}

    def identify(self, submitters: Sequence[Submitter]) -> list[Identified]:
        """The folder for each; the order of the submitters does not matter."""
        numbers: dict[str, set[str]] = defaultdict(set)
        found = [person_of(submitter, self._people) for submitter in submitters]
        for submitter, people in zip(submitters, found, strict=True):
            if len(people) != 1:
                numbers[same_name(folder_name(submitter.name))].add(submitter.number)
        by_name = sorted(range(len(found)), key=lambda at: (submitters[at].name, at))
        identified = {at: self._one(submitters[at], found[at], numbers) for at in by_name}
        return [identified[at] for at in range(len(found))]

    def _one(
        self, submitter: Submitter, people: Sequence[Person], numbers: dict[str, set[str]]
    ) -> Identified:
        if len(people) == 1:
            return Identified(people[0].id)
        folder = folder_name(submitter.name)
        remark = "not in the roster" if self._people else ""
        if people:
            ids = ", ".join(person.id for person in people)
            remark = f"{len(people)} in the roster have this name ({ids}): rename the folder"
        if submitter.number:
            return Identified(self._numbered(submitter, folder, numbers, bool(people)), remark)
        return self._spelled(submitter.name, folder, remark)

    def _numbered(
        self, submitter: Submitter, folder: str, numbers: dict[str, set[str]], unclear: bool
    ) -> str:
        # Moodle numbers the students of each assignment anew.
        kind = submitter.platform
        kind += f" {self._assignment}" if kind == "moodle" else ""
        memory = self._memory.setdefault(kind, {})
        if submitter.number not in memory:
            taken = folder in memory.values() or len(numbers[same_name(folder)]) > 1
            name = f"{folder} {submitter.number}" if taken or unclear else folder
            memory[submitter.number] = self._spelling.get(same_name(name), name)
        return memory[submitter.number]

    def _spelled(self, name: str, folder: str, remark: str) -> Identified:
        key = same_name(folder)
        normal = unicodedata.normalize("NFC", name)
        other = self._said.setdefault(key, normal)
        if other != normal:
            why = f"{name} and {other} would share a folder: rename one of them, and collect again"
            return Identified("", why)
        return Identified(self._spelling.get(key, folder), remark)

    def remember(self) -> None:
        """Keep whose the folders are. Raises OSError."""
        if any(self._memory.values()) and self._memory != self._read():
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
