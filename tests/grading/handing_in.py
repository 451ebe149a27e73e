"""Zips and folders as students and platforms make them."""

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

from autograder.grading.collecting import Collection

Files = Mapping[str, bytes | str]


def work(text: str) -> bytes:
    """A notebook that differs from others by its text."""
    cell = {"cell_type": "markdown", "metadata": {}, "id": "a", "source": text}
    return json.dumps(
        {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    ).encode()


def zipped(files: Files) -> bytes:
    """A zip of files by path."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return data.getvalue()


def folder_of(root: Path, files: Files) -> Path:
    """A folder with files by path."""
    for path, content in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def states(done: Collection) -> dict[str, str]:
    return {one.student: one.state for one in done.collected}


def of_moodle(name: str, number: int, file: str = "01-exercises.ipynb") -> str:
    """The path of a file in what Moodle downloads."""
    return f"{name}_{number}_assignsubmission_file_/{file}"
