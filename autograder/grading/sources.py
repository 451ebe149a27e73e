"""The files of what was handed in: from a folder, or from a zip as learning platforms make it.

Nothing is unpacked to where its path says: a path only tells whose a file is. Files are read one
by one, when they are asked for, and no more of them than the limits allow.
"""

import contextlib
import functools
import os
import stat
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from autograder.grading.archives import (
    DAMAGED,
    ENCRYPTED,
    UnusableSource,
    archive_in,
    changed_of,
    name_of,
    unpacked,
    unpacked_stream,
    unpacked_within,
)
from autograder.grading.reading import SIZE_LIMIT

__all__ = ["Found", "UnusableSource", "opened"]

FILES_LIMIT = 100_000  # in one source, those in zips within it included
DEPTH_LIMIT = 16  # folders inside each other
# Characters of one name on a path. Platforms put a student's name before that of a file, and file
# systems take 255 characters: nothing that was really handed in comes near.
PART_LIMIT = 1000
PART_SHOWN = 200  # characters that are kept of a longer one
NESTED_LIMIT = 64 * 2**20  # bytes of a zip inside a zip
# What one may hold: a whole environment of Python's has tens of thousands of files.
NESTED_FILES_LIMIT, NESTED_TOTAL_LIMIT = 2000, 256 * 2**20
TOTAL_LIMIT = 4 * 2**30  # bytes of all notebooks and inner zips of a source
# What programs keep for themselves; .student-edition is ours, with a fresh copy of each exercise.
NOISE = {
    "__MACOSX",
    ".DS_Store",
    ".ipynb_checkpoints",
    "Thumbs.db",
    "desktop.ini",
    "__pycache__",
    ".git",
    ".venv",
    ".student-edition",
}
NO_FILE = "it is no ordinary file, but a link or a device"


@dataclass(frozen=True)
class Found:
    """One file in a source.

    path: where it lies, relative to the source; a zip within counts as a folder.
    read: its bytes; raises UnusableSource, OSError.
    changed: tells which of two files is newer, and nothing else: in the zips of Moodle and Canvas
    it is when the zip was made, not when something was handed in.
    refused: why it is not read, or "".
    within: how many of the path's parts lead to the zip in the source that holds it; 0 for a file
    that lies in no such zip. What follows those parts was named by whoever made the zip.
    """

    path: PurePosixPath
    read: Callable[[], bytes]
    changed: float = 0
    refused: str = ""
    within: int = 0

    @property
    def inner(self) -> bool:
        """Whether it lies in a zip that lies in the source."""
        return self.within > 0

    @property
    def outside(self) -> tuple[str, ...]:
        """The parts of its path that lie outside of such a zip, the zip's own name included."""
        return self.path.parts[: self.within or None]

    @property
    def is_notebook(self) -> bool:
        """Whether it is called as a notebook."""
        return self.path.suffix.lower() == ".ipynb"

    @property
    def escapes(self) -> bool:
        """Whether its path says nothing, because it leads elsewhere."""
        return self.path.is_absolute() or ".." in self.path.parts


@contextlib.contextmanager
def opened(source: Path) -> Iterator[list[Found]]:
    """Every file in a folder or a zip, to be read as long as the block lasts.

    Raises UnusableSource, OSError.
    """
    with contextlib.ExitStack() as stack:
        if not source.exists():
            raise UnusableSource(f"There is no file or folder {source}.")
        if source.is_file() and source.suffix.lower() == ".ipynb":
            raise UnusableSource(
                f"{source.name} is one notebook, and not a folder or a zip. Put it into a folder, "
                "under a name that says whose it is (STUDENT.ipynb), and name the folder."
            )
        reader = _Reader()
        if source.is_dir():
            yield list(reader.in_folder(source))
            return
        try:
            archive = stack.enter_context(archive_in(stack.enter_context(source.open("rb"))))
            found = list(reader.in_zip(archive))
        except UnusableSource as error:
            raise UnusableSource(f"{source.name} cannot be used: {error}.") from error
        except OSError:
            raise
        except DAMAGED as error:
            raise UnusableSource(
                f"{source.name} is neither a folder nor a zip that can be read ({error}). Download "
                "it again, or unpack it, and name the folder."
            ) from error
        yield found


class _Reader:
    """Finds files, and counts what it finds."""

    def __init__(self) -> None:
        self._files = self._bytes = 0

    def _count(self) -> None:
        self._files += 1
        if self._files > FILES_LIMIT:
            raise UnusableSource(f"it contains more than {FILES_LIMIT} files")

    def _spend(self, size: int) -> None:
        self._bytes += size
        if self._bytes > TOTAL_LIMIT:
            raise UnusableSource(f"it unpacks to more than {TOTAL_LIMIT // 2**30} GB")

    def in_folder(self, source: Path) -> Iterator[Found]:
        """Every file in a folder; what cannot be looked into is refused."""
        closed: list[OSError] = []
        for folder, inner, names in os.walk(source, onerror=closed.append):
            inner[:] = sorted(name for name in inner if name not in NOISE)
            links = [name for name in inner if Path(folder, name).is_symlink()]
            for name in sorted([*names, *links]):
                path = Path(folder, name)
                inside = PurePosixPath(path.relative_to(source).as_posix())
                if not _is_noise(inside):
                    self._count()
                    yield from self._file(path, inside)
        for error in closed:
            inside = PurePosixPath(Path(error.filename).relative_to(source).as_posix())
            yield Found(inside, bytes, refused=f"it cannot be looked into ({error.strerror})")

    def _file(self, path: Path, inside: PurePosixPath) -> Iterator[Found]:
        about = path.lstat()
        if not stat.S_ISREG(about.st_mode):
            yield Found(inside, bytes, refused=NO_FILE)
        elif inside.suffix.lower() == ".zip":
            yield from self._within(lambda: path.open("rb"), inside, about.st_size)
        elif refused := _too_large(inside, about.st_size):
            yield Found(inside, bytes, refused=refused)
        else:
            yield Found(inside, path.read_bytes, about.st_mtime)

    def in_zip(self, archive: zipfile.ZipFile) -> Iterator[Found]:
        """Every file in an archive, and those in the zips that it contains."""
        for entry, found in self._entries(archive):
            if found.path.suffix.lower() == ".zip" and not found.refused:
                open_it = functools.partial(unpacked_stream, archive, entry)
                yield from self._within(open_it, found.path, entry.file_size)
            else:
                yield found

    def _entries(self, archive: zipfile.ZipFile) -> Iterator[tuple[zipfile.ZipInfo, Found]]:
        entries = archive.infolist()
        last = {entry.filename: number for number, entry in enumerate(entries)}
        for number, entry in enumerate(entries):
            path = PurePosixPath(name_of(entry))
            if entry.is_dir() or _is_noise(path):
                continue
            self._count()
            refused = _why_not(entry, path)
            path = _readable(path)
            if not refused and last[entry.filename] != number:
                refused = "the archive has this path again further on, and the last one counts"
            if not refused and path.suffix.lower() == ".ipynb":
                self._spend(entry.file_size)
            read = functools.partial(unpacked, archive, entry)
            yield entry, Found(path, read, changed_of(entry), refused)

    def _within(
        self, open_it: Callable[[], BinaryIO], path: PurePosixPath, size: int
    ) -> Iterator[Found]:
        """What is in a zip inside the source. It is opened anew for each file that is read."""
        if size > NESTED_LIMIT:
            too_large = f"the zip has {size // 2**20} MB: unpack it"
            yield Found(path, bytes, refused=too_large, within=len(path.parts))
            return
        self._spend(size)
        try:
            with open_it() as stream, archive_in(stream) as archive:
                entries = archive.infolist()
                unpacked_size = sum(entry.file_size for entry in entries)
                # Else one student's archive would use up what there is for all.
                if len(entries) > NESTED_FILES_LIMIT or unpacked_size > NESTED_TOTAL_LIMIT:
                    limits = f"{NESTED_FILES_LIMIT} files or {NESTED_TOTAL_LIMIT // 2**20} MB"
                    much = f"the zip holds more than {limits}: unpack what belongs to the work"
                    yield Found(path, bytes, refused=much, within=len(path.parts))
                    return
                inside = list(self._entries(archive))
        except DAMAGED as error:
            if self._bytes > TOTAL_LIMIT or self._files > FILES_LIMIT:
                raise  # of the whole source there is too much
            why = f"the zip cannot be read ({error})"
            yield Found(path, bytes, refused=why, within=len(path.parts))
            return
        if not inside:
            empty = "there is no file in the zip"
            yield Found(path, bytes, refused=empty, within=len(path.parts))
        for entry, one in inside:
            where = path / str(one.path).lstrip("/")
            again = functools.partial(unpacked_within, open_it, entry)
            refused = one.refused
            if where.suffix.lower() == ".zip":
                refused = refused or "it is a zip inside a zip inside a zip: unpack it"
            yield Found(where, again, one.changed, refused, len(path.parts))


def _why_not(entry: zipfile.ZipInfo, inside: PurePosixPath) -> str:
    """Why an entry of an archive is not read, or ""."""
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if inside.is_absolute() or ".." in inside.parts:
        return "its path leads out of the archive"
    if len(inside.parts) > DEPTH_LIMIT:
        return f"it lies in more than {DEPTH_LIMIT} folders inside each other"
    if any(len(part) > PART_LIMIT for part in inside.parts):
        return f"a name on its path has more than {PART_LIMIT} characters: give it a shorter one"
    if kind and kind != stat.S_IFREG:
        return NO_FILE
    if entry.flag_bits & ENCRYPTED:
        return "it is encrypted: unpack the zip with its password, and name the folder"
    return _too_large(inside, entry.file_size)


def _readable(path: PurePosixPath) -> PurePosixPath:
    """The path with what is beyond the limits left out: it is parsed, compared and printed."""
    parts = path.parts
    if len(parts) > DEPTH_LIMIT:
        between = ".." if ".." in parts else "…"
        parts = (*parts[: DEPTH_LIMIT - 2], between, parts[-1])
    return PurePosixPath(
        *(
            part if len(part) <= PART_LIMIT else part[:PART_SHOWN] + "…" + part[-10:]
            for part in parts
        )
    )


def _is_noise(path: PurePosixPath) -> bool:
    # What macOS keeps beside a file; where Moodle says whose it is, somebody is called ".".
    return any(
        part in NOISE or (part.startswith("._") and "_assignsubmission_" not in part)
        for part in path.parts
    )


def _too_large(path: PurePosixPath, size: int) -> str:
    if path.suffix.lower() != ".ipynb" or size <= SIZE_LIMIT:  # others are never read
        return ""
    return f"it has {size // 2**20} MB, too much for a notebook: have it saved without outputs"
