"""From what was handed in to what is run: the same on every way to a mark.

The cleaned notebook is compared with what the gradebook knows of its assignment, repaired,
and turned into a task. Pure: asks neither the gradebook nor the disk.
"""

from collections.abc import Sequence

from nbformat.notebooknode import NotebookNode
from nbgrader.utils import is_grade, is_solution

from autograder import exercises
from autograder.declaring import Exercise
from autograder.exercises import UnknownExercise
from autograder.grading.defining import completed_later, defines, is_short
from autograder.grading.driving import CodeCell, Limits
from autograder.grading.repairing import CHECK, Known, repair
from autograder.grading.sandbox import Allowance
from autograder.grading.working_out import Piece, Task


def prepare(nb: NotebookNode, known: Sequence[Known]) -> tuple[str, list[str]]:
    """Repair a cleaned notebook in place.

    Returns why it cannot be graded, or "", and what was repaired, in sentences.
    """
    problem = _other_assignment(nb, known)
    return problem, [] if problem else repair(nb, known)


def code_cells(nb: NotebookNode) -> list[NotebookNode]:
    """The cells that a task has pieces for, in order."""
    return [cell for cell in nb.cells if cell.cell_type == "code"]


def is_check(cell: NotebookNode) -> bool:
    """Whether a cell stands for the check of an exercise."""
    return bool(is_grade(cell)) and not is_solution(cell)


def exercise_of(cell: NotebookNode) -> Exercise:
    """The exercise that a check cell is for. Raises UnknownExercise."""
    grade_id = cell.metadata["nbgrader"]["grade_id"]
    if not grade_id.startswith(CHECK):
        raise UnknownExercise(
            f"The graded cell {grade_id} names no exercise: a check is called {CHECK}<exercise>."
        )
    return exercises.find(grade_id.removeprefix(CHECK))


def label_of(cell: NotebookNode) -> str:
    """The name by which nbgrader knows a cell, or "", whatever its metadata contain."""
    label = cell.metadata.get("nbgrader")
    name = label.get("grade_id") if isinstance(label, dict) else None
    return name if isinstance(name, str) else ""


def task_of(nb: NotebookNode, seed: int, limits: Limits, allowance: Allowance | None) -> Task:
    """What there is to run and judge in a repaired notebook. Raises UnknownExercise."""
    code = code_cells(nb)
    pieces = tuple(exercise_of(c).name if is_check(c) else CodeCell(c.source) for c in code)
    return Task(
        pieces,
        tuple("" if is_check(c) else label_of(c) for c in code),
        seed,
        limits,
        allowance,
        _again(pieces),
    )


def _again(pieces: Sequence[Piece]) -> tuple[str, ...]:
    """The exercises that are not all there when their check is reached.

    In JupyterLab cells are run in any order, and run again: a check may have passed that stands
    above the function, or above a helper of it.
    """
    checks = [(piece, at) for at, piece in enumerate(pieces) if isinstance(piece, str)]
    sources = [piece.source if isinstance(piece, CodeCell) else None for piece in pieces]
    return tuple(completed_later(sources, checks))


def _other_assignment(nb: NotebookNode, known: Sequence[Known]) -> str:
    """A sentence when a notebook is that of another assignment, else ""."""
    own = [cell.name for cell in known if cell.solution]
    labels = {label_of(cell) for cell in nb.cells}
    sources = [cell.source for cell in nb.cells if cell.cell_type == "code"]
    parsing = is_short(sources)

    def holds(name: str) -> bool:
        return name in labels or any(defines(source, name, parsing=parsing) for source in sources)

    if not own or any(map(holds, own)):
        return ""
    for exercise in exercises.iterate():
        if exercise.name in labels:
            return (
                f"This is the notebook of lesson {exercise.lesson:02} (it contains "
                f"{exercise.name}), handed in for another one. Hand in the notebook that "
                f"contains {own[0]}."
            )
    return ""
