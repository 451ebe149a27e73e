"""Who needs a look, and why.

Pure functions of a `Survey`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autograder.grading.driving import is_overtime
from autograder.grading.surveying import Found, Member, Survey
from autograder.grading.tallying import own_mistake

SEVERAL = 3  # mistakes of one's own from which on somebody needs a look


@dataclass(frozen=True)
class Look:
    """A reason to look at somebody's work, and at whose.

    about: each student, with a remark or "". For what lies in nobody's place, the student is None.
    """

    why: str
    about: tuple[tuple[Member | None, str], ...]

    @property
    def groups(self) -> list[tuple[str, list[Member]]]:
        """Each remark once, and all of whom it is true; what most share comes first."""
        found: dict[str, list[Member]] = {}
        for member, remark in self.about:
            found.setdefault(remark, []).extend([member] if member else [])
        return sorted(found.items(), key=lambda each: -len(each[1]))


def who_needs_a_look(found: Survey) -> list[Look]:
    """The reasons that somebody has, those first that stand between a student and marks.

    What nobody has handed in yet, nobody has failed to hand in.
    """
    members = found.members if found.handed_in else ()
    looks = [
        Look(why, tuple((member, remark(member)) for member in members if holds(member)))
        for why, holds, remark in REASONS
    ]
    strays = tuple(
        (None, f"{'/'.join(filter(None, (stray.student, stray.place)))}: {stray.why}")
        for stray in found.strays
    )
    looks.insert(1, Look("Lies where nobody grades it", strays))
    return [look for look in looks if look.about]


def concerned(looks: Sequence[Look]) -> int:
    """How many students appear in these lists."""
    return len({member.id for look in looks for member, _ in look.about if member is not None})


def _rows(member: Member, holds: Callable[[Found], bool]) -> list[Found]:
    return [row for row in member.rows if holds(row)]


def _slow(row: Found) -> bool:
    return is_overtime(row.stopped)


def _ended(row: Found) -> bool:
    return bool(row.stopped) and not _slow(row)


def _first(rows: Sequence[Found]) -> str:
    """Where a notebook stopped, and why: what comes after it only follows."""
    return f"{rows[0].exercise}: {rows[0].stopped}" if rows else ""


def _mistakes(member: Member) -> list[Found]:
    return _rows(member, lambda row: own_mistake(member, row))


def _struck(member: Member) -> bool:
    several = len(_mistakes(member))
    return several >= SEVERAL or (several > 1 and not any(row.correct for row in member.rows))


def _names(rows: Sequence[Found]) -> str:
    return ", ".join(row.exercise for row in rows)


def _nothing_tried(member: Member) -> bool:
    return member.graded and not any(row.tried for row in member.rows)


def _forbidden(row: Found) -> bool:
    return row.outcome == "not allowed" and not row.follows


Reason = tuple[str, Callable[[Member], bool], Callable[[Member], str]]

REASONS: tuple[Reason, ...] = (
    (
        "Not graded for a fault of the machine or of ours",
        lambda member: bool(member.fault),
        lambda member: member.fault + (" (marks from before stand)" if member.graded else ""),
    ),
    (
        "Handed in and not graded yet",
        lambda member: member.handed_in and not member.graded and not member.fault,
        lambda member: "",
    ),
    (
        "Handed in again since it was graded",
        lambda member: member.change == "another submission" and not member.fault,
        lambda member: "",
    ),
    (
        "Another hand-in time than when it was graded (only timestamp.txt has changed)",
        lambda member: member.change == "timestamp" and not member.fault,
        lambda member: "",
    ),
    (
        "Graded, and not in submitted/ any more",
        lambda member: member.change == "gone",
        lambda member: "",
    ),
    (
        "Could not be read",
        lambda member: bool(member.unreadable),
        lambda member: member.unreadable,
    ),
    ("Not handed in", lambda member: not member.handed_in, lambda member: ""),
    ("Nothing attempted", _nothing_tried, lambda member: ""),
    (
        "Stopped because it took too long",
        lambda member: bool(_rows(member, _slow)),
        lambda member: _first(_rows(member, _slow)),
    ),
    (
        "Ended before its time (crash, memory, exit)",
        lambda member: bool(_rows(member, _ended)),
        lambda member: _first(_rows(member, _ended)),
    ),
    (
        "Called what is not allowed",
        lambda member: bool(_rows(member, _forbidden)),
        lambda member: _names(_rows(member, _forbidden)),
    ),
    ("Waits for marks by hand", lambda member: member.waiting, lambda member: ""),
    (
        "Struck by several mistakes",
        _struck,
        lambda member: f"{len(_mistakes(member))} mistakes",
    ),
    ("Not in the roster", lambda member: not member.listed, lambda member: ""),
)
