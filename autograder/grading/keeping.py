"""The last steps of grading a submission with nbgrader: keep a record, and let it count."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nbformat.notebooknode import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor

from autograder.grading.marks import forget_fault, write_marks
from autograder.grading.places import Classroom, classroom_of, find_project
from autograder.grading.preprocessors import KEY
from autograder.grading.records import Record, Row, complete, write_pending


class SaveRecord(NbGraderPreprocessor):
    """Last of `Autograde.autograde_preprocessors`: keeps the record, once marks are stored."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        """Write the record of one submission; it counts once the notebook is written too."""
        about, found, state = resources["nbgrader"], resources[KEY], nb.metadata[KEY]
        record = Record(
            student=about["student"],
            assignment=about["assignment"],
            notebook=about["notebook"],
            submission=state["submission"],
            solutions=state["solutions"],
            seed=found["seed"],
            graded=datetime.now(UTC).isoformat(timespec="seconds"),
            rows=tuple(Row.of(each) for each in found["marks"]),
            repairs=tuple(state["repairs"]),
            problem=state["problem"],
        )
        exporter: Any = self.parent
        write_pending(classroom_of(exporter.parent.coursedir).verdicts, record)
        return nb, resources


def finish(assignment: str, student: str, notebooks: Sequence[str]) -> None:
    """`Autograde.post_convert_hook`: everything is stored, so the record counts from now on."""
    for notebook in notebooks:
        folder = Path(notebook).parent  # <classroom>/<submitted>/<student>/<assignment>
        classroom = Classroom(folder.parents[2])
        if complete(classroom.verdicts, folder.parent.name, folder.name):
            forget_fault(classroom.verdicts, folder.parent.name, folder.name)
            write_marks(classroom, find_project().all_exercises())
