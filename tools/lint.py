"""Check style and types: `make lint`, and a test each in `make test`."""

import subprocess
import sys

from tests.repository import ROOT

PYTHON = [sys.executable, "-m"]
CHECKS = {
    "style": [*PYTHON, "ruff", "check", "."],
    "format": [*PYTHON, "ruff", "format", "--check", "."],
    "types": [*PYTHON, "mypy"],
    "notebooks": [*PYTHON, "tools.lint_notebooks"],
}


def main() -> int:
    """Run every check, also after one has failed; return 0 when none has anything to say."""
    return max(subprocess.run(command, cwd=ROOT).returncode for command in CHECKS.values())


if __name__ == "__main__":
    sys.exit(main())
