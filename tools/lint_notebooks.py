"""Check style and types of the notebooks: part of `make lint`.

Reads the notebooks from git's index, as the tests of what is committed do: people work in their
clone, and what they write in a lesson is nobody's business. `git add` a notebook to have an edit
checked. `exercises/` is left out: it is made from `solutions/`, by taking code away.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.repository import ROOT, committed_files, read_committed

# In a notebook a name may be defined again, step by step, and cells are not functions.
TYPES = ["--disable-error-code=no-redef", "--no-warn-unused-ignores", "--no-error-summary"]

CACHE = ROOT / ".mypy_cache" / "notebooks"  # of its own: other options make mypy start afresh


def main() -> int:
    """Run the tools on a copy; return 0 when none has anything to say."""
    notebooks = [path for path in committed_files("*.ipynb") if not path.startswith("exercises/")]
    if not notebooks:
        return 0
    with tempfile.TemporaryDirectory() as folder:
        # Below `notebooks`, so that `course` remains the name of the package alone.
        copies = [Path(folder, "notebooks", path) for path in notebooks]
        for path, copy in zip(notebooks, copies, strict=True):
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(read_committed(path))
        shutil.copy(ROOT / "pyproject.toml", folder)
        names = [copy.relative_to(folder).as_posix() for copy in copies]
        python = [sys.executable, "-m"]
        commands = [
            [*python, "ruff", "check", "--no-cache", *names],
            [*python, "ruff", "format", "--no-cache", "--check", *names],
            [
                *python,
                "nbqa",
                "mypy",
                *names,
                *TYPES,
                f"--cache-dir={ROOT / '.mypy_cache/notebooks'}",
            ],
        ]
        environment = {**os.environ, "MYPYPATH": str(ROOT)}
        return max(
            subprocess.run(command, cwd=folder, env=environment).returncode for command in commands
        )


if __name__ == "__main__":
    sys.exit(main())
