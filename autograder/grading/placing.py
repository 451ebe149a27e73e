"""Writing a student edition into a folder, and bringing an earlier one up to date.

Beside the edition's files lies `.student-edition/`: a list of the files with their hashes, by which
a later run tells what somebody has changed since, and fresh copies of the exercises, which
`autograder reset` restores.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from autograder.grading.places import KEPT, LIST, Project
from autograder.grading.records import write_atomically

FORMAT = 1
NAME = "many-heads"  # the folder in a zip


class UnusableFolder(ValueError):
    """The edition cannot be written there. The message says why, and what to try."""


@dataclass
class Placed:
    """What became of the edition's files, by path.

    written: new or renewed. removed: no longer part of the edition. kept: left alone, because
    somebody has changed them. aside: changed by somebody too, and renewed; where the old one went.
    """

    written: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    aside: dict[str, str] = field(default_factory=dict)


def with_list(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files, fresh copies of the exercises, and the list of them all."""
    copies = {
        f"{KEPT}/{path}": content
        for path, content in files.items()
        if path.startswith("exercises/")
    }
    everything = {**files, **copies}
    return {**everything, LIST: _listed({p: [_hash(c)] for p, c in everything.items()})}


def check_folder(project: Project, folder: Path) -> None:
    """See whether an edition may be written to a folder. Raises UnusableFolder, OSError."""
    place = folder.resolve()
    if _is_inside(project, folder):
        raise UnusableFolder(
            f"{folder} lies inside the project. Choose a folder outside of it, such as "
            "../many-heads-students."
        )
    if not place.exists():
        return
    if not place.is_dir():
        raise UnusableFolder(f"{folder} is a file. Choose another name.")
    if any(place.iterdir()) and not (place / LIST).is_file():
        raise UnusableFolder(
            f"{folder} is not empty, and holds no student edition. Choose a new or empty folder."
        )
    _known(place)


def place_edition(folder: Path, files: Mapping[str, bytes]) -> Placed:
    """Write an edition's files to a folder, or bring the edition that it holds up to date.

    What somebody has changed there is never lost: notebooks are left as they are, other files
    are moved aside. A run that is cut short can be repeated. Raises UnusableFolder, OSError.
    """
    root = folder.resolve()
    everything = with_list(files)
    before, done = _known(root), Placed()
    after = {path: [_hash(content)] for path, content in everything.items() if path != LIST}
    meanwhile = {path: [*before.get(path, []), *after.get(path, [])] for path in {*before, *after}}
    write_atomically(_inside(root, LIST), _listed(meanwhile))
    for path, content in everything.items():
        if path != LIST:
            _place(root, path, content, before.get(path, []), done)
    for path in sorted(before.keys() - after.keys()):
        _remove(root, path, before[path], done)
    write_atomically(_inside(root, LIST), everything[LIST])
    return done


def _place(root: Path, path: str, content: bytes, before: Iterable[str], done: Placed) -> None:
    """Write one file, unless somebody has changed what is there.

    before: the hashes of what this program wrote there.
    """
    target = _inside(root, path)
    if target.exists():
        there = target.read_bytes()
        if there == content:
            return
        if _hash(there) not in before:
            # Changed by hand; where the edition's own is as it was, there is nothing to renew.
            if path.endswith(".ipynb") or _hash(content) in before:
                done.kept.append(path)
                return
            done.aside[path] = _move_aside(root, target)
    write_atomically(target, content)
    if not path.startswith(f"{KEPT}/"):
        done.written.append(path)


def _remove(root: Path, path: str, before: Iterable[str], done: Placed) -> None:
    target = _inside(root, path)
    if not target.is_file():
        return
    if _hash(target.read_bytes()) in before:
        target.unlink()
        if not path.startswith(f"{KEPT}/"):
            done.removed.append(path)
    else:
        done.kept.append(path)


def _move_aside(root: Path, target: Path) -> str:
    number, aside = 1, target.with_name(f"{target.name}.yours")
    while aside.exists():
        number += 1
        aside = target.with_name(f"{target.name}.yours-{number}")
    target.rename(aside)
    return aside.relative_to(root).as_posix()


def _inside(root: Path, path: str) -> Path:
    """The place of a file. Raises UnusableFolder when a link leads out of the folder."""
    target = root / path
    if not target.parent.resolve().is_relative_to(root) or target.is_symlink():
        raise UnusableFolder(
            f"{target} is a link, or lies in one that leads elsewhere. Remove the link, and try "
            "again."
        )
    if target.is_dir() or any(
        parent.exists() and not parent.is_dir()
        for parent in target.parents
        if parent.is_relative_to(root)
    ):
        raise UnusableFolder(f"A file and a folder stand in each other's way at {target}.")
    return target


def _known(root: Path) -> dict[str, list[str]]:
    """By path, the hashes of what this program wrote to a folder. Raises UnusableFolder."""
    path = root / LIST
    if not path.is_file():
        return {}
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept["format"] != FORMAT:
            raise ValueError(f"its format is {kept['format']!r}")
        files = {
            str(name): [str(each) for each in hashes] for name, hashes in kept["files"].items()
        }
        if any(Path(name).is_absolute() or ".." in Path(name).parts for name in files):
            raise ValueError("it names files elsewhere")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnusableFolder(
            f"The list of the edition's files, {path}, cannot be read ({error}). Choose a new "
            "folder, and copy what is needed from this one."
        ) from error
    return files


def _listed(files: Mapping[str, Iterable[str]]) -> bytes:
    listed = {path: sorted(set(files[path])) for path in sorted(files)}
    return (json.dumps({"format": FORMAT, "files": listed}, indent=1) + "\n").encode()


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def check_zip(project: Project, path: Path) -> None:
    """See whether an edition may be written to a zip. Raises UnusableFolder, OSError."""
    if _is_inside(project, path):
        raise UnusableFolder(
            f"{path} lies inside the project. Choose a place outside of it, such as "
            "../many-heads-students.zip."
        )
    if path.exists() and not (path.is_file() and _holds_edition(path)):
        raise UnusableFolder(
            f"{path} is there, and is no zip of a student edition. Choose another name."
        )


def _is_inside(project: Project, path: Path) -> bool:
    return path.resolve().is_relative_to(project.root.resolve())


def _holds_edition(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return f"{NAME}/{LIST}" in archive.namelist()
    except zipfile.BadZipFile:
        return False


def write_zip(path: Path, files: Mapping[str, bytes]) -> None:
    """Write an edition as a zip with one folder in it; the same files make the same bytes.

    Replaces what is there: `check_zip` says whether it may. Raises OSError.
    """
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(with_list(files).items()):
            about = zipfile.ZipInfo(f"{NAME}/{name}")  # without a time of its own
            about.compress_type = zipfile.ZIP_DEFLATED
            about.external_attr = 0o100644 << 16
            archive.writestr(about, content)
    write_atomically(path, data.getvalue())
