"""Configures nbgrader for this project: its command line, the formgrader, and `autograder`.

Add your own settings at the end, for example a deadline's penalty or
`c.Judge.cell_timeout = 60`. MANY_HEADS_CLASSROOM moves a class's files elsewhere.
"""

from pathlib import Path

from autograder.grading.config import configure

c = get_config()  # noqa: F821 (nbgrader provides it)

configure(c, Path(__file__).resolve().parent)
