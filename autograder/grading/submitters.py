"""Whose file is it? Read off its path, as nbgrader, Moodle, Canvas and people name things.

The patterns follow the source of the platforms: mod/assign/classes/downloader.php of Moodle,
lib/content_zipper.rb of Canvas, exchange/default/submit.py of nbgrader.

A name begins with what the platform wrote and ends with what the student chose: only the prefix
that lies furthest left is the platform's.
"""

import contextlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath

from nbgrader.utils import parse_utc

from autograder.grading.sources import Found

# Each pattern's prefix is atomic, (?>…): once it fits, what stands behind it, the student's part,
# cannot make the match move on to a second prefix.
# nbgrader's exchange: ada+02-scaling+2026-01-31 12:00:00 UTC+something
EXCHANGE = re.compile(
    r"(?>(?P<name>.+?)\+(?P<assignment>[^+]+)"
    r"\+(?P<time>\d{4}-\d\d-\d\d \d\d[:_]\d\d[:_]\d\d[^\s+]*( [A-Za-z]\w*)?))(\+.*)?",
    re.DOTALL,
)
# Moodle: "Ada Lovelace_123456_assignsubmission_file_", as a folder or before the file's name.
MOODLE = re.compile(
    r"(?>(?P<name>.+?)_(?P<number>[0-9]{1,18})_assignsubmission_)[a-z0-9]*_?(?P<file>.*)", re.DOTALL
)
# Canvas: lovelaceada_LATE_1234_56789_02-exercises-1.ipynb; the second number is the file's and
# grows with time. Where names are hidden: anon_x7Gh2_56789_02-exercises.ipynb
CANVAS = re.compile(
    r"(?>((?P<late_hidden>LATE_)?(?P<hidden>anon_(?=[0-9]*[a-z])[a-z0-9]{5})"
    r"|(?P<name>.+?)_(?P<late>LATE_)?(?P<number>[0-9]{1,18}))_(?P<file_number>[0-9]{1,18})_)"
    r"(?P<file>.+\.\w{1,5})",
    re.IGNORECASE | re.DOTALL,
)
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


def on_platform(one: Found, at: int) -> Submitter | None:
    """Whose a file is, going by one part of its path, where a platform has named that part."""
    part, own = one.path.parts[at], one.path.name
    is_file = at == len(one.path.parts) - 1
    folder = PurePosixPath(*one.path.parts[: at + 1])
    if not is_file and (found := EXCHANGE.fullmatch(part)):
        time, what = parsed_time(found["time"].replace("_", ":")), found["assignment"]
        return Submitter(found["name"], own, folder, "exchange", time=time, assignment=what)
    moodle, canvas = MOODLE.fullmatch(part), CANVAS.fullmatch(part)
    if moodle and canvas:  # the one whose prefix comes first; the other is in the student's part
        first = moodle.end("name") < max(canvas.end("name"), canvas.end("hidden"))
        moodle, canvas = (moodle, None) if first else (None, canvas)
    if moodle:
        own = (moodle["file"] if is_file else "") or own
        root = folder.parent if is_file else folder
        return Submitter(moodle["name"], own, root, "moodle", moodle["number"])
    if canvas:
        own = canvas["file"] if is_file else own
        number, serial = canvas["number"] or canvas["hidden"], int(canvas["file_number"])
        name, late = canvas["name"] or number, bool(canvas["late"] or canvas["late_hidden"])
        return Submitter(name, own, folder.parent, "canvas", number, serial, late)
    return None


def from_file_name(path: PurePosixPath, notebook: str) -> Submitter | None:
    """Whose a file is, going by its own name, where no folder tells."""
    name, serial = name_in(path.name, notebook)
    file = f"{notebook}{path.suffix}"
    return Submitter(name, file, path.parent, serial=serial) if name else None


def name_in(file: str, notebook: str) -> tuple[str, int]:
    """The student in ada.ipynb, ada_02-exercises.zip, 02-exercises (Ada Lovelace) (1).ipynb.

    And the number that tells copies. The name is "" where there is none.
    """
    stem = PurePosixPath(file).stem
    again = re.search(r" ?\(([0-9]{1,9})\)$", stem)
    stem = stem[: again.start()] if again else stem
    number = notebook.partition("-")[0]
    name = re.sub(re.escape(notebook), " ", stem, flags=re.IGNORECASE)
    name = re.sub(rf"^{re.escape(number)}[-_ ]|[-_ ]{re.escape(number)}$", "", name)
    name = name.strip(" -_()[].,")
    return "" if NO_NAME.fullmatch(name) else name, int(again[1]) if again else 0


def own_name(submitter: Submitter, notebook: str) -> str:
    """The name of the file itself, without what a platform or a browser adds to tell copies."""
    return without_serial(submitter.file, notebook)[0]


def without_serial(file: str, notebook: str) -> tuple[str, int]:
    """A file's own name, and the number by which a platform or a browser tells copies."""
    found = re.fullmatch(
        r"(?P<stem>.+?)( ?\((?P<a>[0-9]{1,99})\)|-(?P<b>[0-9]{1,99}))(\.ipynb)", file, re.I
    )
    if found and found["stem"].lower() == notebook.lower():
        return f"{notebook}.ipynb", int((found["a"] or found["b"])[:9])
    return (f"{notebook}.ipynb", 0) if file.lower() == f"{notebook}.ipynb".lower() else (file, 0)


def parsed_time(text: str) -> datetime | None:
    """A time as nbgrader writes it, in UTC; None where it is none."""
    with contextlib.suppress(ValueError, OverflowError, TypeError, AttributeError):
        time = parse_utc(text.strip()) if text.strip() else None
        return None if time is None else time.replace(tzinfo=UTC)
    return None
