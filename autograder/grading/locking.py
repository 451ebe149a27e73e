"""One program at a time in a classroom."""

import contextlib
from collections.abc import Iterator

import filelock

from autograder.grading.places import Classroom


class AlreadyGrading(RuntimeError):
    """Another process is grading this classroom, or is collecting into it."""


@contextlib.contextmanager
def alone_in(classroom: Classroom) -> Iterator[None]:
    """Keep other graders and collectors out, as long as the block lasts. Raises AlreadyGrading."""
    classroom.root.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(classroom.root / ".grading.lock")
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        raise AlreadyGrading(
            f"Another process is grading {classroom.root}. Wait until it has finished."
        ) from None
    try:
        yield
    finally:
        lock.release()
