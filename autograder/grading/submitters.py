"""Whose file is it? Read off its path, as nbgrader, Moodle, Canvas and people name things.

The patterns follow the source of the platforms: mod/assign/classes/downloader.php of Moodle,
lib/content_zipper.rb of Canvas, exchange/default/submit.py of nbgrader.
"""

import contextlib
import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath

from nbgrader.utils import parse_utc

from autograder.grading.roster import squashed
from autograder.grading.sources import Found, common_folders

# nbgrader's exchange: ada+02-scaling+2026-01-31 12:00:00 UTC+something
EXCHANGE = re.compile(
    r"(?P<name>.+)\+(?P<assignment>[^+]+)"
    r"\+(?P<time>\d{4}-\d\d-\d\d \d\d[:_]\d\d[:_]\d\d\S*?( [A-Za-z]\w*)?)(\+.*)?"
)
# Moodle: "Ada Lovelace_123456_assignsubmission_file_", as a folder or before the file's name.
MOODLE = re.compile(
    r"(?P<name>.+)_(?P<number>\d+)_assignsubmission_(file|onlinetext)(_(?P<file>.*))?"
)
# Canvas: lovelaceada_LATE_1234_56789_02-exercises-1.ipynb; the second number is the file's and
# grows with time. Where names are hidden: anon_x7Gh2_56789_02-exercises.ipynb
CANVAS = re.compile(
    r"((?P<name>.+?)_(?P<late>LATE_)?(?P<number>\d+)|(LATE_)?(?P<hidden>anon_\w{5}))"
    r"_(?P<file_number>\d+)_(?P<file>.+\.(ipynb|zip|\w{1,5}))",
    re.IGNORECASE,
)
GENERIC = {"exercises", "submitted", "submissions", "solutions", "source", "release", "many-heads"}
NO_NAME = re.compile(r"[\W\d_]*|copy|copy of|final|untitled\d*", re.IGNORECASE)


@dataclass(frozen=True)
class Submitter:
    """Whose a file is, and which attempt.

    name: as the platform writes it.
    file: the file's own name. root: the folder that holds everything of this attempt.
    platform: "exchange", "moodle", "canvas" or "". number: the platform's for the student, or "".
    serial: tells which of two files is later. late: whether the platform says that it was late.
    time: when it was handed in, where the path says so. assignment: for what, where it says so.
    """

    name: str
    file: str
    root: PurePosixPath
    platform: str = ""
    number: str = ""
    serial: int = 0
    late: bool = False
    time: datetime | None = None
    assignment: str = ""


def submitter_on(path: PurePosixPath) -> Submitter | None:
    """Whose the file at a path is, where nbgrader or a platform has named it; else None."""
    for at, part in enumerate(path.parts):
        root = PurePosixPath(*path.parts[: at + 1])
        if found := EXCHANGE.fullmatch(part):
            time, what = parsed_time(found["time"].replace("_", ":")), found["assignment"]
            return Submitter(found["name"], path.name, root, "exchange", time=time, assignment=what)
        if found := MOODLE.fullmatch(part):
            own = found["file"] if part == path.name and found["file"] else path.name
            root = root.parent if part == path.name else root
            return Submitter(found["name"], own, root, "moodle", found["number"])
        if found := CANVAS.fullmatch(part):
            own = found["file"] if part == path.name else path.name
            number, serial = found["number"] or found["hidden"], int(found["file_number"])
            name, late = found["name"] or number, "_LATE_" in f"_{part}"
            return Submitter(name, own, root.parent, "canvas", number, serial, late)
    return None


def plain_submitters(
    found: Sequence[Found], assignment: str, notebook: str, known: Set[str] = frozenset()
) -> list[Submitter | None]:
    """Whose each file of a plain folder or archive is: of the folder with the student's name.

    Folders around everything are left out of account, and so are those of the course. Where all
    notebooks lie in one folder, their own names tell.
    known: names that students go by, squashed.
    """
    notebooks = [one.path for one in found if one.is_notebook]
    around = common_folders([_without(path, assignment) for path in notebooks])
    flat = len(notebooks) > 1 and len({path.parent for path in notebooks}) == 1
    flat = flat and all(path.stem.lower() != notebook.lower() for path in notebooks)
    submitters: list[Submitter | None] = []
    for one in found:
        folders = [] if flat else [*_without(one.path, assignment).parts[around:-1]]
        named = [name for name in one.path.parts[:-1] if squashed(name) in known]
        if named and not flat:
            folders = named
        if folders:
            root = PurePosixPath(*one.path.parts[: one.path.parts.index(folders[0]) + 1])
            own, serial = _without_serial(one.path.name, notebook)
            submitters.append(Submitter(folders[0], own, root, serial=serial))
        else:
            submitters.append(_from_file_name(one.path, notebook))
    return submitters


def _without(path: PurePosixPath, assignment: str) -> PurePosixPath:
    """The path without folders that are no student's."""
    names = (name for name in path.parts[:-1] if name != assignment and name.lower() not in GENERIC)
    return PurePosixPath(*names, path.name)


def _from_file_name(path: PurePosixPath, notebook: str) -> Submitter | None:
    """ada.ipynb, ada_02-exercises.ipynb, 02-exercises (Ada Lovelace) (1).ipynb."""
    again = re.search(r" ?\((\d+)\)$", path.stem)
    stem = path.stem[: again.start()] if again else path.stem
    number = notebook.partition("-")[0]
    name = re.sub(re.escape(notebook), " ", stem, flags=re.IGNORECASE)
    name = re.sub(rf"^{re.escape(number)}[-_ ]|[-_ ]{re.escape(number)}$", "", name)
    name = name.strip(" -_()[].,")
    if NO_NAME.fullmatch(name):
        return None
    serial = int(again[1]) if again else 0
    return Submitter(name, f"{notebook}{path.suffix}", path.parent, serial=serial)


def own_name(submitter: Submitter, notebook: str) -> str:
    """The name of the file itself, without what a platform or a browser adds to tell copies."""
    return _without_serial(submitter.file, notebook)[0]


def _without_serial(file: str, notebook: str) -> tuple[str, int]:
    found = re.fullmatch(r"(?P<stem>.+?)( ?\((?P<a>\d+)\)|-(?P<b>\d+))(\.ipynb)", file, re.I)
    if found and found["stem"].lower() == notebook.lower():
        return f"{notebook}.ipynb", int((found["a"] or found["b"])[:9])
    return (f"{notebook}.ipynb", 0) if file.lower() == f"{notebook}.ipynb".lower() else (file, 0)


def parsed_time(text: str) -> datetime | None:
    """A time as nbgrader writes it, in UTC; None where it is none."""
    with contextlib.suppress(ValueError, OverflowError, TypeError, AttributeError):
        time = parse_utc(text.strip()) if text.strip() else None
        return None if time is None else time.replace(tzinfo=UTC)
    return None
