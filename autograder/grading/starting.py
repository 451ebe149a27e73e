"""Starting early what grading will wait for: half of a start is imports, in several processes.

Imports little itself, so that the others begin before this one has loaded nbgrader.
"""

import contextlib
import functools
import multiprocessing
import sys
from multiprocessing import forkserver
from multiprocessing.context import BaseContext

from autograder.grading.sandbox import Allowance, NoSandbox, at_hand

PRELOADED = ["autograder.grading.workers", "torch"]


def start_early(jobs: int) -> None:
    """Start what `jobs` submissions at a time will need, and wait for nothing.

    For one at a time, the sandbox of this process, otherwise the process that workers are forked
    from. What goes wrong here is said by whoever needs it.
    """
    if jobs == 1:
        with contextlib.suppress(NoSandbox):
            at_hand(Allowance())
    elif context().get_start_method() == "forkserver":
        forkserver.ensure_running()


@functools.cache
def context() -> BaseContext:
    """How worker processes are made.

    Not by a fork of this process: a fork of a process with threads, as torch has them, may hang.
    They are forked from one that has imported what they need, and has done nothing with it.
    """
    chosen = multiprocessing.get_context("forkserver" if sys.platform == "linux" else "spawn")
    chosen.set_forkserver_preload(PRELOADED)
    return chosen
