"""From a graded notebook to the page that its student reads.

In the place of nbconvert's exporter of HTML, on every way to feedback: our command, nbgrader's,
and the formgrader's button. nbgrader adds points and comments to the notebook, and writes the
page.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup
from nbconvert.exporters import Exporter
from nbformat.notebooknode import NotebookNode
from nbgrader.utils import is_grade, is_solution, is_task
from traitlets import default

from autograder import exercises
from autograder.exercises import UnknownExercise
from autograder.grading.formulas import formulas_in_html, formulas_of_a_page, markdown_to_html
from autograder.grading.pages import code_to_html, document, printed_to_html, time_said
from autograder.grading.places import classroom_of
from autograder.grading.records import Record, Row, path_of, read
from autograder.grading.repairing import CHECK

OUR_LEVELS = 2  # of headings above those of the notebook
CELL_LEVEL = 3  # of the headings that say whose cell it is
SHOWN_FIRST = ("text/html", "text/latex", "image/png", "image/jpeg", "text/plain")
PICTURE = "Picture that the cell above shows."


@dataclass(frozen=True)
class Line:
    """What the summary says of one exercise. row: what the record says of it, or None."""

    name: str
    points: float
    max_points: float
    row: Row | None
    comment: bool = False

    @property
    def anchor(self) -> str:
        """The place of its verdict in the page."""
        return f"exercise-{self.name}"

    @property
    def title(self) -> str:
        """What the exercise is about, or ""."""
        try:
            return exercises.find(self.name).title
        except UnknownExercise:
            return ""

    @property
    def by_hand(self) -> bool:
        """Whether somebody has given other points than the grader."""
        return self.row is not None and self.row.points != self.points


class Outline:
    """The headings of a page, in order: below those of ours, and no level is left out."""

    def __init__(self, last: int) -> None:
        self._last = last

    def __call__(self, level: int) -> int:
        """The level in the page of the next heading, of a level of its author's choice."""
        self._last = min(level + OUR_LEVELS, self._last + 1, 6)
        return self._last

    def ours(self) -> None:
        """A heading of ours over a cell: what its author wrote stands below it."""
        self._last = CELL_LEVEL


class FeedbackExporter(Exporter):
    """Exports a graded notebook as a page."""

    output_mimetype = "text/html"

    @default("file_extension")
    def _file_extension_default(self) -> str:
        return ".html"

    def from_notebook_node(
        self, nb: NotebookNode, resources: Any = None, **more: Any
    ) -> tuple[Any, dict[str, Any]]:
        """The page for a notebook, after nbgrader has added points and comments."""
        nb, resources = super().from_notebook_node(nb, resources, **more)
        return self._page(nb, resources["nbgrader"]), resources

    def _page(self, nb: NotebookNode, about: Mapping[str, Any]) -> str:
        converter: Any = self.parent
        student, assignment = about["student"], about["assignment"]
        verdicts = classroom_of(converter.coursedir).verdicts
        record = read(path_of(verdicts, student, assignment))
        rows = {row.exercise: row for row in record.rows} if record else {}
        outline = Outline(OUR_LEVELS)
        cells = [cell for cell in nb.cells if not _is_empty(cell, record)]
        code = iter(code_to_html([each.source for each in cells if each.cell_type == "code"]))
        with formulas_of_a_page():
            shown = [_cell(cell, rows, outline, code) for cell in cells]
        return document(
            "feedback",
            f"Feedback on {assignment}",
            student,
            student=student,
            graded=time_said(record.graded) if record else "",
            problem=record.problem if record else "",
            repairs=record.repairs if record else (),
            score=f"{about['score']:g}",
            max_score=f"{about['max_score']:g}",
            late_penalty=f"{about['late_penalty']:g}" if about["late_penalty"] else "",
            lines=list(_lines(nb, rows)),
            cells=shown,
        )


def _is_empty(cell: NotebookNode, record: Record | None) -> bool:
    """Whether a cell says nothing that the summary does not: of a file that could not be read."""
    return record is not None and bool(record.problem) and not _label(cell).get("comment")


def _label(cell: NotebookNode) -> Mapping[str, Any]:
    label: Mapping[str, Any] = cell.metadata.get("nbgrader", {})
    return label


def _name(cell: NotebookNode) -> str:
    return str(_label(cell).get("grade_id", "")).removeprefix(CHECK)


def _is_marked(cell: NotebookNode) -> bool:
    return bool(is_grade(cell) or is_task(cell))


def _is_ours(cell: NotebookNode) -> bool:
    """Whether what a cell shows comes from the judge, and not from a student's process."""
    return bool(is_grade(cell)) and not is_solution(cell)


def _lines(nb: NotebookNode, rows: Mapping[str, Row]) -> Iterator[Line]:
    comments = {_name(cell) for cell in nb.cells if _label(cell).get("comment")}
    for cell in nb.cells:
        if _is_marked(cell):
            label, name = _label(cell), _name(cell)
            points, most = float(label["score"]), float(label["points"])
            yield Line(name, points, most, rows.get(name), name in comments)


def _cell(
    cell: NotebookNode, rows: Mapping[str, Row], outline: Outline, code: Iterator[Markup]
) -> dict[str, Any]:
    """What the template shows of a cell. code: the coloured sources that are not shown yet."""
    label, name = _label(cell), _name(cell)
    shown: dict[str, Any] = dict.fromkeys(("heading", "points", "anchor", "comment", "row"), "")
    shown["name"], shown["answer"] = name, bool(is_solution(cell))
    if is_solution(cell):
        shown["heading"] = "Your answer"
        outline.ours()
    if _is_marked(cell):
        outline.ours()
        shown["heading"] = "Verdict on" if _is_ours(cell) else "Your answer"
        shown["points"] = f"{float(label['score']):g} of {float(label['points']):g} points"
        shown["anchor"] = f"exercise-{name}"
        shown["row"] = rows.get(name, "")
    if label.get("comment"):
        shown["comment"] = Markup(markdown_to_html(label["comment"], outline))
    is_code = cell.cell_type == "code"
    shown["code"] = next(code) if is_code else ""
    shown["text"] = "" if is_code else Markup(markdown_to_html(cell.source, outline))
    shown["wide"] = _has_table(shown["text"])
    ours = _is_ours(cell)
    made = (_output(output, ours, outline) for output in cell.get("outputs", []))
    shown["outputs"] = [(each, not ours and _has_table(each)) for each in made if each]
    return shown


def _has_table(page: str) -> bool:
    """Whether something of a student's may be wider than a page, and cannot be wrapped."""
    return "<table" in page


def _output(output: NotebookNode, ours: bool, outline: Outline) -> Markup:
    kind = output.output_type
    if kind == "stream":
        return printed_to_html(output.text, "stderr" if output.name == "stderr" else "")
    if kind == "error":
        return printed_to_html("\n".join(output.traceback), "stderr")
    data = output.get("data", {})
    best = next((each for each in SHOWN_FIRST if each in data), "")
    if best == "text/html":
        page = data[best]
        return Markup(page if ours else formulas_in_html(page, outline))
    if best == "text/latex":
        return Markup(formulas_in_html(str(Markup.escape(data[best])), outline))
    if best.startswith("image/"):
        picture = "".join(data[best].split())
        return Markup('<img alt="{}" src="data:{};base64,{}">').format(PICTURE, best, picture)
    return printed_to_html(data[best]) if best else Markup()
