"""Reading submissions for nbgrader's autograder: the place where nothing may go wrong.

`Autograde.exporter_class`. It reads each handed-in file tolerantly, fills the gradebook from
`solutions/`, and refuses where student code can neither be confined nor is vouched for.
"""

import contextlib
import os
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from traitlets import Unicode

from autograder.grading.gradebook import GradebookFault, fill, remove_unmarked
from autograder.grading.places import classroom_of
from autograder.grading.preprocessors import KEY, Judge
from autograder.grading.reading import Unreadable, read_notebook
from autograder.grading.records import path_of, read
from autograder.grading.sandbox import why_not
from autograder.grading.submissions import hash_of, no_file, read_timestamp
from autograder.grading.working_out import beforehand


class SubmissionExporter(NotebookExporter):
    """Exports notebooks as notebooks, and reads what students hand in tolerantly."""

    problem = Unicode(
        "", help="Why what was handed in cannot be graded, when that is known already."
    ).tag(config=True)
    submission = Unicode("", help="The hash of what was handed in, when it is known.").tag(
        config=True
    )

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        converter: Any = self.parent
        self._courses: CourseDirectory = converter.coursedir
        confined = not Judge(parent=self).trust_submissions and beforehand.get() is None
        reason = why_not() if confined else ""
        if reason:
            self._stop(reason)
        assignment = self._courses.assignment_id
        source = self._courses.format_path(self._courses.source_directory, ".", assignment)
        stamps = classroom_of(self._courses).stamps
        try:
            self._solutions = fill(Path(source), assignment, self._courses.db_url, stamps)
        except GradebookFault as fault:
            self._stop(str(fault))

    def _stop(self, why: str) -> None:
        self.log.error(why)
        raise NbGraderException(why)

    def from_filename(
        self, filename: str, resources: Any = None, **more: Any
    ) -> tuple[Any, dict[str, Any]]:
        """Read a notebook file and export it; never fails because of what is in the file."""
        try:
            return self._from_filename(filename, resources, **more)
        except Exception:
            if not self.submission:  # nbgrader's own command, which would leave zeros behind
                self._forget_first(resources["nbgrader"])
            raise

    def _forget_first(self, about: Any) -> None:
        student, assignment = about["student"], about["assignment"]
        verdicts = classroom_of(self._courses).verdicts
        if read(path_of(verdicts, student, assignment)) is None:
            with contextlib.suppress(GradebookFault):  # then there are no zeros in it either
                remove_unmarked(self._courses.db_url, student, assignment)

    def _from_filename(
        self, filename: str, resources: Any, **more: Any
    ) -> tuple[Any, dict[str, Any]]:
        if self._is_ours(filename, resources):
            return super().from_filename(filename, resources=resources, **more)
        path = Path(filename)
        self._remove_copies_of_links(path.parent, resources)
        link = no_file(path) if path.is_symlink() else ""
        data = b"" if link else path.read_bytes()
        problem = self.problem or link
        notebook = nbformat.v4.new_notebook()
        if not problem:
            try:
                notebook = read_notebook(data)
            except Unreadable as unreadable:
                problem = str(unreadable)
        notebook.metadata[KEY] = {
            "submission": self.submission or hash_of(data, link, read_timestamp(path.parent)),
            "solutions": self._solutions,
            "problem": problem,
            "repairs": [],
        }
        resources["metadata"] = {"name": path.stem, "path": str(path.parent)}
        return self.from_notebook_node(notebook, resources=resources, **more)

    def _remove_copies_of_links(self, folder: Path, resources: Any) -> None:
        """Nbgrader's own command copies what links lead to, which may be nobody's to see."""
        for link in filter(Path.is_symlink, folder.rglob("*")):
            (self._graded(resources) / link.relative_to(folder)).unlink(missing_ok=True)

    def _is_ours(self, filename: str, resources: Any) -> bool:
        """Whether this is the second reading: the sanitized notebook, written by nbgrader."""
        return self._graded(resources) == Path(os.path.normpath(Path(filename).parent))

    def _graded(self, resources: Any) -> Path:
        """The folder that nbgrader writes this submission to."""
        about = resources["nbgrader"]
        folder = self._courses.format_path(
            self._courses.autograded_directory, about["student"], about["assignment"]
        )
        return Path(os.path.normpath(folder))
