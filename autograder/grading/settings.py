"""Reads `nbgrader_config.py`, and says what in it cannot be used before anything is graded."""

import difflib
import re
import sys
from collections.abc import Iterator, Sequence

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
    tools = (judge, late, plugin)
    for said in filter(None, [_no_section(tools, config), *(_misspelt(t, config) for t in tools)]):
        raise UnusableSettings(f"{name} sets {said}")
    return config


def _no_section(tools: Sequence[Configurable], config: Config) -> str:
    """A section that is nobody's, and nearly that of a tool of ours; or "".

    Others stay alone: nbgrader has more sections than those that are loaded here.
    """
    ours = [type(tool).__name__ for tool in tools]
    known = {each.__name__ for each in _all_below(Configurable)}
    for section in config:
        folded = {name.casefold(): name for name in ours}
        close = difflib.get_close_matches(section.casefold(), folded, n=1, cutoff=0.75)
        if section not in known and close:
            return f"c.{section}, which nobody reads. Is it c.{folded[close[0]]}?"
    return ""


def _all_below(kind: type[Configurable]) -> Iterator[type[Configurable]]:
    below: list[type[Configurable]] = kind.__subclasses__()
    for each in below:
        yield each
        yield from _all_below(each)


def _misspelt(tool: Configurable, config: Config) -> str:
    """An option that a tool does not have, which traitlets would pass over; or ""."""
    section = type(tool).__name__
    known = type(tool).class_trait_names(config=True)
    for option in config.get(section, {}):
        if option not in known:
            close = difflib.get_close_matches(option, known, n=1) or [", ".join(sorted(known))]
            return f"c.{section}.{option}, which is no option. Is it {close[0]}?"
    return ""
