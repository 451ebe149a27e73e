"""What students handed in: finding it in the classroom's folders, whatever is in them."""

import difflib
import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.grading.places import Classroom, Project
from autograder.grading.reading import SIZE_LIMIT

TIMESTAMP = "timestamp.txt"
TIMESTAMP_LIMIT = 200  # bytes
NOT_COLLECTED = "not-collected.txt"  # why there is no notebook, written by `collect`
REASON_LIMIT = 2000  # bytes


@dataclass(frozen=True)
class Submission:
    """One student's folder for one assignment.

    data: the notebook's bytes; empty when there is a problem.
    problem: why there is no notebook to grade, in words for the student, or "".
    timestamp: the text of nbgrader's timestamp.txt, or "".
    """

    student: str
    assignment: str
    notebook: str
    data: bytes = b""
    problem: str = ""
    timestamp: str = ""

    @property
    def hash(self) -> str:
        """A hash of everything that decides how it is graded."""
        return hash_of(self.data, self.problem, self.timestamp)


def hash_of(data: bytes, problem: str, timestamp: str) -> str:
    """The hash of a notebook's bytes, or of why there are none, and of its timestamp."""
    whole = hashlib.sha256(data)
    whole.update(f"\0{problem}\0{timestamp}".encode("utf-8", "replace"))
    return whole.hexdigest()


def folders(classroom: Classroom) -> Iterator[tuple[str, str]]:
    """Student and assignment of every folder that was handed in, in order."""
    for student in _folders_in(classroom.submitted):
        for assignment in _folders_in(student):
            yield student.name, assignment.name


def submissions_of(classroom: Classroom, assignments: Sequence[str]) -> list[tuple[str, str]]:
    """Student and assignment of everything that was handed in for these assignments."""
    return [
        (student, assignment)
        for student, assignment in folders(classroom)
        if assignment in assignments
    ]


@dataclass(frozen=True)
class Unmatched:
    """Something among the submissions that is nobody's folder for an assignment.

    student, place: the folder of the student and what lies in it; "" where there is none.
    why: what is wrong with it, and what to do.
    """

    student: str
    place: str
    why: str


def unmatched(classroom: Classroom, assignments: Sequence[str]) -> Iterator[Unmatched]:
    """Whatever nobody would grade: somebody may be waiting for its marks."""
    for stray in _notebooks_in(classroom.submitted):
        why = "The file lies in no student's folder. Move it to STUDENT/ASSIGNMENT/."
        yield Unmatched("", stray.name, why)
    for hidden in _folders_in(classroom.submitted, hidden=True):
        if any(folder.name in assignments for folder in _folders_in(hidden)):
            why = "The folder's name begins with a dot, as those of hidden ones do. Rename it."
            yield Unmatched(hidden.name, "", why)
    for student in _folders_in(classroom.submitted):
        if not os.access(student, os.R_OK | os.X_OK):
            why = "The folder cannot be read. Change its permissions, and grade again."
            yield Unmatched(student.name, "", why)
            continue
        inside = _folders_in(student)
        strays = _notebooks_in(student)
        for folder in inside:
            if folder.name not in assignments:
                close = difflib.get_close_matches(folder.name, assignments, n=1, cutoff=0.5)
                hint = f"; is it {close[0]}?" if close else "."
                why = f"The folder bears no assignment's name{hint} Rename it."
                yield Unmatched(student.name, folder.name, why)
        for stray in strays:
            why = "The file lies in no assignment's folder. Move it into one, for example "
            yield Unmatched(student.name, stray.name, f"{why}{student.name}/{assignments[-1]}/.")
        if not inside and not strays:
            yield Unmatched(student.name, "", "The student's folder is empty.")


def _notebooks_in(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.glob("*.ipynb") if not path.is_dir())


def _folders_in(folder: Path, *, hidden: bool = False) -> list[Path]:
    try:
        found = (path for path in folder.iterdir() if path.name.startswith(".") == hidden)
        return sorted(path for path in found if path.is_dir())
    except OSError:  # not there, or not ours to read: `unmatched` says so
        return []


def read_submission(
    project: Project, classroom: Classroom, student: str, assignment: str
) -> Submission:
    """Read one folder. Raises OSError when the machine, and not the student, is at fault."""
    return read_folder(
        project, classroom, classroom.submitted / student / assignment, student, assignment
    )


def read_folder(
    project: Project, classroom: Classroom, folder: Path, student: str, assignment: str
) -> Submission:
    """Read a folder as if it were what was handed in: an earlier submission, kept aside."""
    notebook = project.notebook(assignment)
    data, problem = _read_notebook(classroom, folder, notebook, project)
    return Submission(student, assignment, notebook, data, problem, read_timestamp(folder))


def _read_notebook(
    classroom: Classroom, folder: Path, notebook: str, project: Project
) -> tuple[bytes, str]:
    if folder.is_symlink() or folder.parent.is_symlink():
        return b"", "The folder is a link to another place. Hand in the notebook itself."
    wanted = f"{notebook}.ipynb"
    found = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".ipynb")
    path = folder / wanted
    if path not in found:
        if not found:
            why = _text_of(folder / NOT_COLLECTED, REASON_LIMIT)
            return b"", why or f"There is no notebook in what was handed in. Hand in {wanted}."
        if len(found) > 1:
            names = ", ".join(path.name for path in found)
            return b"", (
                f"There are several notebooks ({names}), and none is called {wanted}. "
                "Hand in only the one that counts."
            )
        path = found[0]  # renamed, and there is no doubt which one is meant
    about = path.lstat()
    if not stat.S_ISREG(about.st_mode):
        return b"", no_file(path)
    if about.st_size > SIZE_LIMIT:
        return b"", (
            f"{path.name} has {about.st_size // 2**20} MB, too much for a notebook of this "
            "course. Clear its outputs (Edit > Clear Outputs of All Cells), save it and hand "
            "it in again."
        )
    return path.read_bytes(), ""


def no_file(path: Path) -> str:
    """What is said of a notebook that is a link, a folder or anything else but a file."""
    return f"{path.name} is no ordinary file. Hand in the notebook itself."


def read_timestamp(folder: Path) -> str:
    """The text of nbgrader's timestamp.txt in a folder, or ""."""
    return _text_of(folder / TIMESTAMP, TIMESTAMP_LIMIT)


def _text_of(path: Path, limit: int) -> str:
    if not path.is_file() or path.is_symlink() or path.stat().st_size > limit:
        return ""
    return path.read_text(encoding="utf-8", errors="replace").strip()
