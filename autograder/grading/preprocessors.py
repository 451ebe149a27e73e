"""Our steps in nbgrader's two lists of preprocessors: sanitize what came in, run and judge it."""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import nbformat
from nbformat.notebooknode import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import is_grade, is_solution
from traitlets import Bool, Integer

from autograder import exercises
from autograder.declaring import Exercise
from autograder.exercises import UnknownExercise
from autograder.expecting import make_cases
from autograder.grading.driving import CellRun, CheckCell, CodeCell, Limits, drive
from autograder.grading.marking import failed, judge_runs, mark
from autograder.grading.outputs import (
    as_markdown,
    clean_markdown,
    clean_outputs,
    clean_text,
    stream,
)
from autograder.grading.repairing import CHECK, Known, defines, known_cells, repair
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
    """In the place of Execute: runs the notebook in a process of its own, judges outside.

    Every check cell ends with exactly one output, whose text is the number that nbgrader
    stores and whose HTML is what the student would have seen.
    """

    trust_submissions = Bool(
        False, help="Whether to run student code on this machine without a sandbox."
    ).tag(config=True)
    partial_credit = Bool(
        False, help="Whether a wrong answer earns the share of cases that hold."
    ).tag(config=True)
    cell_timeout = Integer(30, help="Seconds that one cell or check may take.").tag(config=True)
    notebook_timeout = Integer(300, help="Seconds that a whole notebook may take.").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        """Run and judge one notebook; the record goes into the resources.

        Raises RunnerFault when the process for student code cannot be started, and
        UnknownExercise when a check cell of the assignment names no exercise: faults of
        ours, and nobody's zero.
        """
        seed = secrets.randbits(62)
        code = [cell for cell in nb.cells if cell.cell_type == "code"]
        checks = {id(cell): _exercise_of(cell) for cell in code if _is_check(cell)}
        for cell in code:
            cell.outputs = [_number(0.0)] if id(cell) in checks else []
        problem = nb.metadata[KEY]["problem"]
        if problem:
            verdicts = {e.name: failed(e, problem) for e in checks.values()}
        else:
            runs = self._run(code, checks, seed)
            for cell, run in zip(code, runs, strict=True):
                if id(cell) not in checks:
                    _show(cell, run)
            by_name = {
                checks[id(cell)].name: run
                for cell, run in zip(code, runs, strict=True)
                if id(cell) in checks
            }
            verdicts = judge_runs(by_name, list(checks.values()), seed, _reasons(code, runs))
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

    def _run(
        self, code: Sequence[NotebookNode], checks: Mapping[int, Exercise], seed: int
    ) -> list[CellRun]:
        cells: list[CodeCell | CheckCell] = []
        for cell in code:
            exercise = checks.get(id(cell))
            if exercise is None:
                cells.append(CodeCell(cell.source))
            else:
                cells.append(CheckCell(exercise.name, make_cases(exercise, seed)))
        limits = Limits(cell=self.cell_timeout, notebook=self.notebook_timeout)
        return drive(cells, limits)


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
    cell.outputs = clean_outputs(run.outputs)
    cell.execution_count = run.count
    if run.note:
        cell.outputs.append(stream("stderr", f"In grading: {clean_text(run.note)}.\n"))


def _reasons(code: Sequence[NotebookNode], runs: Sequence[CellRun]) -> dict[str, str]:
    """By exercise, why the cell that should define it did not, as far as it can be told."""
    reasons = {}
    for cell, run in zip(code, runs, strict=True):
        name = _label_of(cell)
        errors = [output for output in cell.outputs if output.output_type == "error"]
        if name and run.note:
            reasons[name] = f"its cell did not finish, {run.note}."
        elif name and errors:
            # IPython appends the cell's internal file name to a syntax error's words.
            said = errors[-1].evalue.partition(" (<ipython-")[0].partition(" (<string>")[0]
            reasons[name] = f"its cell stopped with {errors[-1].ename}: {said}"
        elif name and cell.source.strip().startswith("# This cell ("):
            reasons[name] = "the cell for it was missing."
        elif name and not cell.source.strip():
            reasons[name] = "its cell is empty."
        elif name and _has_no_code(cell.source):
            reasons[name] = "its cell contains only comments."
        elif name:
            reasons[name] = "its cell ran, and defined something else."
    return reasons


def _has_no_code(source: str) -> bool:
    return all(line.strip().startswith("#") or not line.strip() for line in source.splitlines())
