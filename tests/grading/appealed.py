"""Asking how something was graded, and what an appeal must leave alone."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup
from click.testing import CliRunner, Result

from autograder.cli import main
from tests.grading.notebooks import ONE


def asked(*arguments: str) -> Result:
    """Run `autograder explain` in the current folder, in this process."""
    # With colour, or click itself takes escape sequences away before a test could see them.
    return CliRunner().invoke(main, ["explain", *arguments], catch_exceptions=False, color=True)


def page_of(school, student: str, exercise: str, assignment: str = ONE) -> Any:
    folder = school.classroom.root / "explanations" / student / assignment
    return BeautifulSoup((folder / f"{exercise}.html").read_text(encoding="utf-8"), "html.parser")


def words(text: str) -> str:
    return " ".join(text.split())


def state(school) -> dict[str, bytes]:
    """Everything of a class that an appeal must leave alone."""
    room = school.classroom
    kept = [room.marks, *room.verdicts.rglob("*"), *room.autograded.rglob("*")]
    files = {str(path): path.read_bytes() for path in kept if path.is_file()}
    with sqlite3.connect(room.gradebook) as database:
        files["gradebook"] = "\n".join(database.iterdump()).encode()
    database.close()
    return files


@contextlib.contextmanager
def holding(path: Path, data: bytes) -> Iterator[None]:
    """Inside the block, the file holds something else."""
    kept = path.read_bytes()
    path.write_bytes(data)
    try:
        yield
    finally:
        path.write_bytes(kept)
