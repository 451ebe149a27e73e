"""Reads `nbgrader_config.py`, and says what in it cannot be used before anything is graded."""

import difflib
import re
import sys

from nbgrader.plugins import BasePlugin
from nbgrader.preprocessors import AssignLatePenalties
from traitlets.config import Config, Configurable, PyFileConfigLoader

from autograder.grading.gradebook import GradebookFault, in_a_sentence
from autograder.grading.places import Project
from autograder.grading.preprocessors import Judge
from autograder.phrasing import ended

ADDRESS = re.compile(r"<[\w.]*?(\w+) object at 0x[0-9a-f]+>")


class UnusableSettings(GradebookFault, OSError):
    """What an instructor wrote into `nbgrader_config.py` cannot be used; the message says why."""


def read_settings(project: Project) -> Config:
    """The project's nbgrader_config.py. Raises UnusableSettings."""
    name, beside = project.config.name, str(project.root)
    if beside not in sys.path:  # nbgrader's own programs find plugins beside the file, too
        sys.path.append(beside)
    try:
        config: Config = PyFileConfigLoader(name, path=str(project.root)).load_config()
        judge, late = Judge(config=config), AssignLatePenalties(config=config)
        late.init_plugin()
    except Exception as error:  # the file is a program: it can fail in any way
        why = ended(ADDRESS.sub(r"\1", in_a_sentence(error)))
        raise UnusableSettings(f"{name} cannot be used. {why} Mend it, and try again.") from error
    plugin: BasePlugin = late.plugin_inst
    for tool in (judge, late, plugin):
        if said := _misspelt(tool, config):
            raise UnusableSettings(f"{name} sets {said}")
    return config


def _misspelt(tool: Configurable, config: Config) -> str:
    """An option that a tool does not have, which traitlets would pass over; or ""."""
    section = type(tool).__name__
    known = type(tool).class_trait_names(config=True)
    for option in config.get(section, {}):
        if option not in known:
            close = difflib.get_close_matches(option, known, n=1) or [", ".join(sorted(known))]
            return f"c.{section}.{option}, which is no option. Is it {close[0]}?"
    return ""
