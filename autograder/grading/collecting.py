"""Collecting what was handed in, into the classroom's folders: one attempt per student."""

import shutil
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path

from autograder.grading.attempts import Attempt, Ignored, attempts_in
from autograder.grading.identifying import Identifier
from autograder.grading.locking import alone_in
from autograder.grading.places import Classroom, Project
from autograder.grading.records import write_atomically
from autograder.grading.roster import Person, Roster, read_roster, same_name
from autograder.grading.sources import UnusableSource, opened
from autograder.grading.submissions import NOT_COLLECTED, TIMESTAMP, read_timestamp
from autograder.grading.submitters import parsed_time

COLLECTING = ".collecting"  # in a classroom: what is being written just now


@dataclass(frozen=True)
class Collected:
    """What became of one student's submission.

    state: "new", "replaced" (the earlier one is kept aside), "unchanged", "older" (what was there
    before is the later one), or "no notebook". remark: what else there is to say, or "".
    """

    student: str
    state: str
    remark: str = ""


@dataclass
class Collection:
    """What a source held.

    collected: one for each student, by name. ignored: files that were left alone.
    missing: who of the roster has nothing for the assignment, from any source.
    notes: what else the one who collects should know.
    """

    collected: list[Collected] = field(default_factory=list)
    ignored: list[Ignored] = field(default_factory=list)
    missing: list[Person] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def troubled(self) -> bool:
        """Whether somebody's work may have been left behind."""
        without = any(one.state == "no notebook" for one in self.collected)
        return without or any(one.trouble for one in self.ignored)


def collect(
    project: Project,
    classroom: Classroom,
    source: Path,
    assignment: str,
    roster: Path | None = None,
) -> Collection:
    """Copy each student's latest notebook to submitted/<student>/<assignment>/.

    What was collected before and is replaced is kept in the classroom's folder `earlier`; doing
    it again changes nothing. A roster is kept as `roster.csv`, and used again.
    Raises UnusableSource, UnusableRoster, AlreadyGrading, OSError.
    """
    if source.resolve() in (classroom.root, classroom.submitted):
        raise UnusableSource(f"{source} is where submissions are collected to. Name another.")
    with alone_in(classroom), opened(source) as found:
        people = _roster(classroom, roster).people
        done = Collection()
        identifier = Identifier(classroom, people, assignment)
        known = frozenset[str]().union(*(person.names for person in people))
        attempts, done.ignored = attempts_in(project, found, assignment, known)
        try:
            _store_all(_by_student(attempts, identifier, done), classroom, assignment, done)
        finally:
            identifier.remember()
            shutil.rmtree(classroom.root / COLLECTING, ignore_errors=True)
    here = {same_name(path.parent.name) for path in classroom.submitted.glob(f"*/{assignment}")}
    done.missing = [person for person in people if same_name(person.id) not in here]
    for folders in identifier.doubled():
        done.notes.append(
            f"{' and '.join(folders)} are one student everywhere else: move what counts into one "
            "of these folders in submitted/, and remove the other."
        )
    for folder, person in identifier.misplaced():
        done.notes.append(
            f"{folder} was collected before the roster, where it seems to be {person.id}: "
            "move or remove that folder in submitted/."
        )
    return done


def _roster(classroom: Classroom, given: Path | None) -> Roster:
    if given is not None:
        roster = read_roster(given)
        if given.resolve() != classroom.roster.resolve():
            write_atomically(classroom.roster, given.read_bytes())
        return roster
    return read_roster(classroom.roster) if classroom.roster.is_file() else Roster()


def _by_student(
    attempts: Sequence[Attempt], identifier: Identifier, done: Collection
) -> dict[str, list[tuple[Attempt, str]]]:
    """All attempts of each student, the latest last, with what is to be said of the student.

    What several owners claim for one student is nobody's: dates, which students can write, and
    the order of names tell nothing about which of them is the student.
    """
    by_student: dict[str, list[tuple[Attempt, str]]] = defaultdict(list)
    spelling: dict[str, str] = {}
    identified = identifier.identify([attempt.submitter for attempt in attempts])
    for attempt, who in zip(attempts, identified, strict=True):
        if who.folder:
            folder = spelling.setdefault(same_name(who.folder), who.folder)
            by_student[folder].append((attempt, who.remark))
        else:
            done.ignored += [Ignored(path, who.remark, True) for path in _paths(attempt)]
    clear = {}
    for folder, tries in by_student.items():
        tries.sort(key=lambda each: each[0].order)
        claimants = [attempt for attempt, _ in tries if attempt.notebooks]
        claimants = claimants or [attempt for attempt, _ in tries]
        if len({attempt.whose for attempt in claimants}) > 1:
            done.ignored += _claimed(folder, claimants)
        else:
            clear[folder] = tries
    return clear


def _paths(attempt: Attempt) -> list[str]:
    """What is told of an attempt that is left out: its notebooks, or a file where it has none."""
    files = [*attempt.notebooks.values()] or [one for _, one in attempt.files[:1]]
    return [str(one.path) for one in files]


def _claimed(folder: str, claimants: Sequence[Attempt]) -> Iterator[Ignored]:
    for attempt in claimants:
        others = [_paths(each)[0] for each in claimants if each.whose != attempt.whose]
        why = (
            f"it and {others[0]} both seem to be {folder}'s, and nothing says which is: rename "
            "what is somebody else's, or remove what shall not count, and collect again"
        )
        yield from (Ignored(path, why, True) for path in _paths(attempt))


def _store_all(
    by_student: dict[str, list[tuple[Attempt, str]]],
    classroom: Classroom,
    assignment: str,
    done: Collection,
) -> None:
    for student in sorted(by_student):
        tries = by_student[student]
        attempt, remark = tries[-1]
        remarks = [remark] if remark else []
        count = sum(each.tries for each, _ in tries if each.notebooks)
        if count > 1:
            remarks.append(f"the latest of {count}")
        if any(who.late for who, _ in attempt.files):
            remarks.append("late, says Canvas")
        contents = {}
        for name, one in attempt.notebooks.items():
            try:
                contents[name] = one.read()
            except (UnusableSource, OSError) as error:
                done.ignored.append(Ignored(str(one.path), str(error), True))
                attempt.reason = f"What was handed in could not be read: {error}. Hand it in again."
        if not contents:
            remarks.append(attempt.reason)
        state = _store(classroom, student, assignment, contents, attempt)
        done.collected.append(Collected(student, state, "; ".join(remarks)))


def _store(
    classroom: Classroom,
    student: str,
    assignment: str,
    contents: dict[str, bytes],
    attempt: Attempt,
) -> str:
    """Write a submission where it belongs, and keep what was there; what has become of it."""
    folder = classroom.submitted / student / assignment
    before = _contents(folder) if folder.is_dir() else {}
    if not contents:
        if any(name.lower().endswith(".ipynb") for name in before):
            return "older"  # what is there is better than nothing
        contents = {NOT_COLLECTED: f"{attempt.reason}\n".encode()}
    time = attempt.time
    if time is not None:
        written = time.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f UTC")
        contents = {**contents, TIMESTAMP: f"{written}\n".encode()}
    state = "no notebook" if NOT_COLLECTED in contents else "new"
    if before:
        times = {TIMESTAMP} if time is None else set()
        if {name: data for name, data in before.items() if name not in times} == contents:
            return "unchanged" if state == "new" else state
        earlier = parsed_time(read_timestamp(folder))
        if earlier and time and earlier > time:
            return "older"
        state = "replaced" if state == "new" else state
    fresh = classroom.root / COLLECTING / student / assignment
    shutil.rmtree(fresh, ignore_errors=True)
    for name, data in contents.items():
        write_atomically(fresh / name, data)
    if folder.exists() or folder.is_symlink():
        kept = classroom.earlier / student / assignment
        kept.mkdir(parents=True, exist_ok=True)
        taken = [int(path.name) for path in kept.iterdir() if path.name.isdecimal()]
        folder.rename(kept / str(1 + max(taken, default=0)))
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh.rename(folder)
    return state


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
