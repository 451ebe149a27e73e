"""What `nbgrader_config.py` configures: the command line, the formgrader and nbgrader share it."""

import os
from pathlib import Path
from typing import Any

import nbgrader
from traitlets.config import Config

from autograder.grading.gradebook import make_alembic_reachable
from autograder.grading.places import Classroom, Project, find_classroom

TEMPLATES = Path(__file__).parent / "templates"
OURS = "autograder.grading"
THEIRS = "nbgrader.preprocessors"

# None of nbgrader's own: what comes out of reading and repairing is a fresh notebook, without
# outputs, with the kernel of the course and with every labelled cell as the gradebook has it.
SANITIZE = [f"{OURS}.preprocessors.Sanitize"]
AUTOGRADE = [
    f"{OURS}.preprocessors.Judge",
    f"{THEIRS}.LimitOutput",
    f"{OURS}.saving.SaveGrades",
    f"{THEIRS}.AssignLatePenalties",
    f"{OURS}.keeping.SaveRecord",
]


def configure(c: Any, root: Path) -> None:
    """Configure nbgrader for the project in a folder. Doing it again changes nothing."""
    make_alembic_reachable()
    classroom = find_classroom(Project(root))
    # nbgrader takes its folders for patterns, but not its root: relative to the root, a "+"
    # in the path does no harm.
    inside = classroom.root.is_relative_to(root)
    where = classroom.root.relative_to(root) if inside else classroom.root
    c.CourseDirectory.root = str(root)
    c.CourseDirectory.source_directory = "solutions"
    c.CourseDirectory.release_directory = "exercises"
    c.CourseDirectory.submitted_directory = str(where / "submitted")
    c.CourseDirectory.autograded_directory = str(where / "autograded")
    c.CourseDirectory.feedback_directory = str(where / "feedback")
    c.CourseDirectory.solution_directory = str(where / "solution")
    c.CourseDirectory.db_url = classroom.db_url
    _plug_in(c)


def _plug_in(c: Any) -> None:
    c.Autograde.exporter_class = f"{OURS}.submission_exporting.SubmissionExporter"
    c.Autograde.sanitize_preprocessors = list(SANITIZE)
    c.Autograde.autograde_preprocessors = list(AUTOGRADE)
    c.Autograde.post_convert_hook = f"{OURS}.keeping.finish"
    c.GenerateFeedback.exporter_class = f"{OURS}.feedback_pages.FeedbackExporter"
    # The formgrader's pages ask nothing of the network: there, formulas stay as typed.
    theirs = Path(nbgrader.__file__).parent / "server_extensions" / "formgrader" / "templates"
    c.HTMLExporter.extra_template_basedirs = [str(TEMPLATES), str(theirs)]
    c.HTMLExporter.mathjax_url = ""
    c.HTMLExporter.require_js_url = ""
    c.HTMLExporter.jquery_url = ""


def load(project: Project, classroom: Classroom) -> Config:
    """The project's nbgrader_config.py, with all work done inside a classroom.

    What an instructor adds to the file (late penalties, time limits) holds here as well. The
    classroom is the root, so that no character in any path means anything to nbgrader.
    Raises UnusableSettings.
    """
    # Only now: nbgrader_config.py itself needs this module, and none of what settings are for.
    from autograder.grading.settings import read_settings

    config = read_settings(project)
    courses = config.CourseDirectory
    courses.root = str(classroom.root)
    courses.source_directory = os.path.relpath(project.solutions, classroom.root)
    courses.release_directory = os.path.relpath(project.exercises, classroom.root)
    courses.submitted_directory = classroom.staging.name
    courses.autograded_directory = classroom.autograded.name
    courses.feedback_directory = classroom.feedback.name
    courses.db_url = classroom.db_url
    return config
