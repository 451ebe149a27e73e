"""What each student handed in at one time, and which of its notebooks counts."""

import unicodedata
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

from autograder.grading.owners import submitters_of
from autograder.grading.places import Project
from autograder.grading.sources import Found, UnusableSource
from autograder.grading.submissions import TIMESTAMP, TIMESTAMP_LIMIT
from autograder.grading.submitters import Submitter, own_name, parsed_time, without_serial

ARCHIVES = {".zip", ".7z", ".rar", ".tar", ".tgz", ".gz", ".xz", ".bz2"}
BEGINNING = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Ignored:
    """A file that was left alone. trouble: whether somebody's work may be in it."""

    path: str
    why: str
    trouble: bool


@dataclass
class Attempt:
    """What one student handed in at one time.

    notebooks: those that count, by the names they will have. time: when it was handed in, where
    the source says so. reason: why there is no notebook, in words for the student, or "".
    tries: how many versions of the notebook there were.
    """

    submitter: Submitter
    files: list[tuple[Submitter, Found]] = field(default_factory=list)
    notebooks: dict[str, Found] = field(default_factory=dict)
    time: datetime | None = None
    reason: str = ""
    tries: int = 1

    @property
    def order(self) -> tuple[bool, datetime, int, float, str]:
        """Sorts attempts: those with a notebook last, and the latest of them last."""
        serial = max((who.serial for who, _ in self.files), default=0)
        changed = max((one.changed for one in self.notebooks.values()), default=0.0)
        when = self.time or BEGINNING
        return bool(self.notebooks), when, serial, changed, str(self.submitter.root)

    @property
    def whose(self) -> tuple[str, str, str]:
        """Tells whether two attempts are surely of one student, as far as a source can say it."""
        who = self.submitter
        if who.number:
            return who.platform, who.number, ""
        place = "" if who.platform else str(who.root)
        return who.platform, unicodedata.normalize("NFC", who.name), place


def attempts_in(
    project: Project, found: Sequence[Found], assignment: str, known: Set[str] = frozenset()
) -> tuple[list[Attempt], list[Ignored]]:
    """All attempts at an assignment in the files of a source, and the files left alone.

    known: names that students go by, squashed.
    """
    notebook = project.notebook(assignment)
    others = {f"{project.notebook(name)}.ipynb".lower() for name in project.assignments()}
    others -= {f"{notebook}.ipynb".lower()}
    attempts: dict[tuple[str, str, str, str], Attempt] = {}
    ignored: list[Ignored] = []
    whose = submitters_of(found, assignment, notebook, known)
    for one, submitter in zip(found, whose, strict=True):
        if isinstance(submitter, str):
            ignored.append(_ignored(one, one.refused or (submitter if one.is_notebook else "")))
        elif submitter.assignment not in ("", assignment):
            ignored.append(Ignored(str(one.path), f"it is for {submitter.assignment}", False))
        else:
            key = (submitter.platform, submitter.name, submitter.number, str(submitter.root))
            attempts.setdefault(key, Attempt(submitter)).files.append((submitter, one))
    for attempt in attempts.values():
        ignored += _choose(attempt, assignment, notebook, others)
    return [attempt for attempt in attempts.values() if attempt.files], ignored


def _ignored(one: Found, why: str = "") -> Ignored:
    packed = one.path.suffix.lower() in ARCHIVES
    if packed and not why:
        why = "it is an archive of another kind than zip: unpack it"
    may_be_theirs = one.refused and len(one.path.parts) == 1  # a link to a student's folder
    trouble = bool(one.is_notebook or packed or may_be_theirs)
    return Ignored(str(one.path), why or "it is no notebook", trouble)


def _choose(
    attempt: Attempt, assignment: str, notebook: str, others: set[str]
) -> Iterator[Ignored]:
    """Decide which notebooks of an attempt count; the files that do not."""
    wanted_name = f"{notebook}.ipynb"
    good, bad = [], []
    attempt.time = attempt.submitter.time
    for submitter, one in attempt.files:
        if one.path.name == TIMESTAMP and _is_by_nbgrader(submitter, one):
            attempt.time = _written_time(one) or attempt.time
        elif one.is_notebook and not one.refused:
            good.append((own_name(submitter, notebook), submitter, one))
        else:
            bad.append(_ignored(one, one.refused))
    yield from bad
    wanted = [each for each in good if each[0] == wanted_name]
    if wanted:
        best = max(wanted, key=lambda each: _rank(each[1], each[2], assignment, notebook))
        attempt.notebooks = {wanted_name: best[2]}
        attempt.tries = len(wanted)
        for name, submitter, one in good:
            if one is not best[2]:
                beside = name == wanted_name and (
                    _is_elsewhere(submitter, one, best[2]) or _is_as_late(submitter, one, best[2])
                )
                yield Ignored(str(one.path), f"{best[2].path} is the one that counts", beside)
    else:
        yield from _keep_all(attempt, good, others)
    if not attempt.notebooks:
        _explain(attempt, wanted_name, bad)


def _keep_all(
    attempt: Attempt, good: Sequence[tuple[str, Submitter, Found]], others: set[str]
) -> Iterator[Ignored]:
    """None is called as it should be: keep those that may be meant."""
    meant = [each for each in good if each[0].lower() not in others] or good
    taken: set[str] = set()
    for name, _, one in good:
        plain = _plain_name(name)
        if not any(one is each[2] for each in meant):
            yield Ignored(str(one.path), "it is another assignment's notebook", False)
        elif plain.casefold() in taken:
            yield Ignored(str(one.path), f"there is another {plain} beside it", True)
        else:
            taken.add(plain.casefold())
            attempt.notebooks[plain] = one


def _explain(attempt: Attempt, wanted_name: str, bad: Sequence[Ignored]) -> None:
    """Say why there is no notebook, or forget the attempt when nobody may have handed it in."""
    troubles = [one for one in bad if one.trouble] or bad
    first = troubles[0] if troubles else None
    if first is None or not (attempt.submitter.platform or first.trouble):
        attempt.files = []  # a plain folder without any notebook need not be a student's
        return
    name = PurePosixPath(first.path).name
    why = f"What was handed in ({name}) could not be read: {first.why}."
    if not first.trouble:
        why = f"What was handed in ({name}) is no notebook."
    attempt.reason = f"{why} Hand in {wanted_name}."


def _rank(submitter: Submitter, one: Found, assignment: str, notebook: str) -> tuple[Any, ...]:
    at_home = one.path.parent.name == assignment
    copy = without_serial(submitter.file, notebook)[1]  # which a browser has numbered
    return at_home, -len(one.path.parts), submitter.serial, one.changed, copy, str(one.path)


def _is_as_late(submitter: Submitter, one: Found, best: Found) -> bool:
    """Whether nothing but a copy's number tells which of two in a folder is the later one."""
    beside = one.path.parent == best.path.parent
    numbered = submitter.platform in ("moodle", "exchange")  # by the student's own browser
    return numbered and beside and one.changed == best.changed


def _is_elsewhere(submitter: Submitter, one: Found, best: Found) -> bool:
    """Whether a plain folder holds it in another place: the folder may be that of a group."""
    return not submitter.platform and not one.inner and one.path.parent != best.path.parent


def _is_by_nbgrader(submitter: Submitter, one: Found) -> bool:
    # In what a student uploads to a platform, the student wrote it.
    return submitter.platform in ("", "exchange") and not one.inner and not one.refused


def _written_time(one: Found) -> datetime | None:
    try:
        data = one.read()
    except (UnusableSource, OSError):
        return None
    text = data.decode("utf-8", "replace")
    return parsed_time(text) if len(data) <= TIMESTAMP_LIMIT else None


def _plain_name(name: str) -> str:
    kept = "".join(c if c.isprintable() and c not in '/\\:*?"<>|' else "_" for c in name)
    stem = PurePosixPath(kept.lstrip(".")).stem
    while len(stem.encode()) > TIMESTAMP_LIMIT:
        stem = stem[:-1]
    return f"{stem or 'notebook'}.ipynb"
