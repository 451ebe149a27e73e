"""Our steps in nbgrader's two lists of preprocessors: sanitize what came in, run and judge it."""

import secrets
from collections.abc import Sequence
from typing import Any

import nbformat
from nbformat.notebooknode import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import is_grade, is_solution
from traitlets import Bool, Float, Integer

from autograder import exercises
from autograder.declaring import Exercise
from autograder.exercises import UnknownExercise
from autograder.grading.driving import CellRun, CodeCell, Limits
from autograder.grading.marking import failed, mark
from autograder.grading.outputs import (
    as_markdown,
    clean_markdown,
    clean_text,
    stream,
)
from autograder.grading.repairing import CHECK, Known, defines, known_cells, repair
from autograder.grading.sandbox import Allowance
from autograder.grading.working_out import Task, work
from autograder.rendering import to_html

KEY = "many_heads"  # our corner of a notebook's metadata, and of nbconvert's resources


class Sanitize(NbGraderPreprocessor):
    """First of `Autograde.sanitize_preprocessors`: restores labels and missing cells."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        """Repair a notebook in place, and note what was repaired."""
        about = resources["nbgrader"]
        with Gradebook(about["db_url"]) as gradebook:
            known = known_cells(gradebook, about["notebook"], about["assignment"])
        state = nb.metadata[KEY]
        if not state["problem"]:
            state["problem"] = _other_assignment(nb, known)
        if state["problem"]:
            said = nbformat.v4.new_markdown_cell(
                f"**This could not be graded.** {state['problem']}"
            )
            nb.cells = [said]
            repair(nb, known)
        else:
            state["repairs"] = repair(nb, known)
        ours = {cell.name: cell.source for cell in known}
        for cell in nb.cells:
            if cell.cell_type == "raw":
                _become_markdown(cell)
            elif cell.cell_type == "markdown" and cell.source != ours.get(_label_of(cell)):
                cell.source = clean_markdown(cell.source)
        return nb, resources


def _label_of(cell: NotebookNode) -> str:
    """The name by which nbgrader knows a cell, or "", whatever its metadata contain."""
    label = cell.metadata.get("nbgrader")
    name = label.get("grade_id") if isinstance(label, dict) else None
    return name if isinstance(name, str) else ""


def _become_markdown(cell: NotebookNode) -> None:
    """Show a student's raw cell as it is: nbgrader's pages would take it for HTML."""
    if _label_of(cell):
        return
    fresh = nbformat.v4.new_markdown_cell(as_markdown(cell.source), id=cell.id)
    cell.clear()
    cell.update(fresh)


def _other_assignment(nb: NotebookNode, known: Sequence[Known]) -> str:
    """A sentence when a notebook is that of another assignment, else ""."""
    own = [cell.name for cell in known if cell.solution]
    labels = {_label_of(cell) for cell in nb.cells}
    sources = [cell.source for cell in nb.cells if cell.cell_type == "code"]

    def holds(name: str) -> bool:
        return name in labels or any(defines(source, name) for source in sources)

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


class Judge(NbGraderPreprocessor):
    """In the place of Execute: has the notebook run in the sandbox, and judged outside it.

    Every check cell ends with exactly one output, whose text is the number that nbgrader
    stores and whose HTML is what the student would have seen.
    """

    trust_submissions = Bool(
        False, help="Whether to run student code on this machine without the sandbox."
    ).tag(config=True)
    partial_credit = Bool(
        False, help="Whether a wrong answer earns the share of cases that hold."
    ).tag(config=True)
    cell_timeout = Integer(30, help="Seconds that one cell or check may take.").tag(config=True)
    notebook_timeout = Integer(300, help="Seconds that a whole notebook may take.").tag(config=True)
    memory = Float(2.0, help="GB of memory that a submission may hold.").tag(config=True)
    disk = Float(0.25, help="GB of temporary files that a submission may write.").tag(config=True)
    processes = Integer(64, help="Processes and threads that a submission may have.").tag(
        config=True
    )

    def task(self, nb: NotebookNode, seed: int) -> Task:
        """What there is to run and judge in a sanitized notebook. Raises UnknownExercise."""
        code = _code(nb)
        allowance = Allowance(int(self.memory * 2**30), int(self.disk * 2**30), self.processes)
        return Task(
            tuple(_exercise_of(c).name if _is_check(c) else CodeCell(c.source) for c in code),
            tuple("" if _is_check(c) else _label_of(c) for c in code),
            seed,
            Limits(cell=self.cell_timeout, notebook=self.notebook_timeout),
            None if self.trust_submissions else allowance,
        )

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        """Run and judge one notebook; the record goes into the resources.

        Raises RunnerFault when the process for student code cannot be started, and
        UnknownExercise when a check cell of the assignment names no exercise: faults of
        ours, and nobody's zero.
        """
        problem = nb.metadata[KEY]["problem"]
        seed = secrets.randbits(62)
        code = _code(nb)
        checks = {id(cell): _exercise_of(cell) for cell in code if _is_check(cell)}
        for cell in code:
            cell.outputs = [_number(0.0)] if id(cell) in checks else []
        if problem:
            verdicts = {e.name: failed(e, problem) for e in checks.values()}
        else:
            answer = work(self.task(nb, seed))
            for cell, run in zip(code, answer.runs, strict=True):
                if id(cell) not in checks:
                    _show(cell, run)
            verdicts = dict(answer.verdicts)
        marks = []
        for cell in code:
            if id(cell) in checks:
                points = float(cell.metadata["nbgrader"]["points"])
                verdict = verdicts[checks[id(cell)].name]
                found = mark(verdict, points, partial_credit=self.partial_credit)
                cell.outputs = [_number(found.points, to_html(verdict))]
                marks.append(found)
        resources[KEY] = {"seed": seed, "marks": marks}
        return nb, resources


def _code(nb: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in nb.cells if cell.cell_type == "code"]


def _is_check(cell: NotebookNode) -> bool:
    return bool(is_grade(cell)) and not is_solution(cell)


def _exercise_of(cell: NotebookNode) -> Exercise:
    grade_id = cell.metadata["nbgrader"]["grade_id"]
    if not grade_id.startswith(CHECK):
        raise UnknownExercise(
            f"The graded cell {grade_id} names no exercise: a check is called {CHECK}<exercise>."
        )
    return exercises.find(grade_id.removeprefix(CHECK))


def _number(points: float, page: str = "") -> NotebookNode:
    # The one form in which nbgrader reads a score from an output without doubt.
    data = {"text/plain": repr(float(points))}
    if page:
        data["text/html"] = page
    return nbformat.v4.new_output("execute_result", data=data, execution_count=None)


def _show(cell: NotebookNode, run: CellRun) -> None:
    cell.outputs = list(run.outputs)
    cell.execution_count = run.count
    if run.note:
        cell.outputs.append(stream("stderr", f"In grading: {clean_text(run.note)}.\n"))
