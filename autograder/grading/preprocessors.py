"""Our steps in nbgrader's two lists of preprocessors: sanitize what came in, run and judge it."""

import secrets
from typing import Any

import nbformat
from nbformat.notebooknode import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Bool, Float, Integer

from autograder.grading.bounding import Room
from autograder.grading.driving import CellRun, Limits
from autograder.grading.marking import failed, mark
from autograder.grading.outputs import (
    as_markdown,
    clean_markdown,
    clean_text,
    new_output,
    stream,
)
from autograder.grading.preparing import (
    code_cells,
    exercise_of,
    is_check,
    label_of,
    prepare,
    task_of,
)
from autograder.grading.repairing import known_cells, repair
from autograder.grading.sandbox import Allowance
from autograder.grading.working_out import SEED_BITS, beforehand, work
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
            state["problem"], state["repairs"] = prepare(nb, known)
        if state["problem"]:
            said = nbformat.v4.new_markdown_cell(
                f"**This could not be graded.** {state['problem']}"
            )
            nb.cells = [said]
            repair(nb, known)
        ours = {cell.name: cell.source for cell in known}
        room = Room()
        for cell in nb.cells:
            if cell.cell_type == "raw":
                _become_markdown(cell)
            elif cell.cell_type == "markdown" and cell.source != ours.get(label_of(cell)):
                cell.source = clean_markdown(cell.source, room)
        return nb, resources


def _become_markdown(cell: NotebookNode) -> None:
    """Show a student's raw cell as it is: nbgrader's pages would take it for HTML."""
    if label_of(cell):
        return
    fresh = nbformat.v4.new_markdown_cell(as_markdown(cell.source), id=cell.id)
    cell.clear()
    cell.update(fresh)


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

    @property
    def limits(self) -> Limits:
        """How long things may take."""
        return Limits(cell=self.cell_timeout, notebook=self.notebook_timeout)

    @property
    def allowance(self) -> Allowance | None:
        """What a submission may use; None without the sandbox."""
        if self.trust_submissions:
            return None
        return Allowance(int(self.memory * 2**30), int(self.disk * 2**30), self.processes)

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        """Run and judge one notebook; the record goes into the resources.

        Raises RunnerFault when the process for student code cannot be started, and
        UnknownExercise when a check cell of the assignment names no exercise: faults of
        ours, and nobody's zero.
        """
        problem = nb.metadata[KEY]["problem"]
        done = beforehand.get()
        seed = done.seed if done else secrets.randbits(SEED_BITS)
        code = code_cells(nb)
        checks = {id(cell): exercise_of(cell) for cell in code if is_check(cell)}
        for cell in code:
            cell.outputs = [_number(0.0)] if id(cell) in checks else []
        if problem:
            verdicts = {e.name: failed(e, problem) for e in checks.values()}
        else:
            task = task_of(nb, seed, self.limits, self.allowance)
            answer = done.answer if done and done.task == task else work(task)
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


def _number(points: float, page: str = "") -> NotebookNode:
    # The one form in which nbgrader reads a score from an output without doubt.
    data = {"text/plain": repr(float(points))}
    if page:
        data["text/html"] = page
    return new_output("execute_result", data=data, metadata={}, execution_count=None)


def _show(cell: NotebookNode, run: CellRun) -> None:
    cell.outputs = list(run.outputs)
    cell.execution_count = run.count
    if run.note:
        cell.outputs.append(stream("stderr", f"In grading: {clean_text(run.note)}.\n"))
