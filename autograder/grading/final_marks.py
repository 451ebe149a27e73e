"""The mark of every student that a platform is to have, and what to know about it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from autograder.grading.places import Classroom, Project
from autograder.grading.records import path_of, read
from autograder.grading.roster import same_name
from autograder.grading.scores import Change, change_since, scores_of
from autograder.grading.submissions import folders


@dataclass(frozen=True)
class Mark:
    """The final score of a submission: marks by hand and late penalties are in it.

    points: None while it has not been graded, or where it is not clear which folder counts.
    waiting: for marks by hand. change: what has become of what was handed in since.
    alike: the folders that the platforms would take for one student's, where there are several.
    """

    student: str
    points: float | None
    waiting: bool = False
    change: Change = ""
    alike: str = ""


def final_marks(
    project: Project, classroom: Classroom, assignments: Sequence[str]
) -> dict[tuple[str, str], Mark]:
    """The marks by student and assignment, for a student's name as `same_name` has it.

    Raises UnusableGradebook, OSError.
    """
    here = [each for each in folders(classroom) if each[1] in assignments]
    scores = scores_of(classroom, assignments)
    found: dict[tuple[str, str], list[Mark]] = {}
    for student, assignment in dict.fromkeys([*here, *scores]):
        record = read(path_of(classroom.verdicts, student, assignment))
        score = scores.get((student, assignment))
        mark = Mark(student, None)
        if record and score:
            change = change_since(project, classroom, record, score)
            mark = Mark(student, score.final, score.waiting, change)
        elif (student, assignment) not in here:  # begun, and never finished
            continue
        found.setdefault((same_name(student), assignment), []).append(mark)
    return {key: _the_one(marks) for key, marks in found.items()}


def _the_one(marks: Sequence[Mark]) -> Mark:
    """The mark that counts. Of several folders only one that alone is still there is meant."""
    still = [mark for mark in marks if mark.change != "gone"] or marks
    if len(still) == 1:
        return still[0]
    return Mark(still[0].student, None, alike=" and ".join(mark.student for mark in still))


def what_to_know(marks: Mapping[tuple[str, str], Mark]) -> Iterator[str]:
    """What is missing, and what is no longer as it was graded, in sentences."""
    kinds: tuple[tuple[str, Callable[[Mark], object]], ...] = (
        (
            "Several folders that are one student's to the platforms, left empty: {}. Move what "
            "counts into one folder of submitted/, remove the other, grade, and export again.",
            lambda mark: mark.alike,
        ),
        (
            "Handed in and not graded, left empty: {}. Grade, and export again.",
            lambda mark: mark.points is None and not mark.alike,
        ),
        ("Waiting for marks by hand in nbgrader's formgrader: {}.", lambda mark: mark.waiting),
        (
            "Handed in again since these marks were made: {}. Grade, and export again.",
            lambda mark: mark.change == "another submission",
        ),
        (
            "Since these marks were made, only the time of handing in (timestamp.txt) has "
            "changed, and with it perhaps a late penalty: {}. Grade, and export again.",
            lambda mark: mark.change == "timestamp",
        ),
        (
            "No longer in submitted/, and here with the marks from before: {}.",
            lambda mark: mark.change == "gone",
        ),
    )
    for sentence, concerns in kinds:
        concerned = [
            f"{mark.alike or mark.student} ({assignment})"
            for (_, assignment), mark in sorted(marks.items(), key=lambda each: each[0])
            if concerns(mark)
        ]
        if concerned:
            yield sentence.format(", ".join(concerned))
