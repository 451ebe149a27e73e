"""Write constraints.txt anew: `make pins`.

uv resolves for every platform and every Python at once, which pip cannot.
"""

import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
CONSTRAINTS = PROJECT / "constraints.txt"


def resolve() -> str:
    """One `name==version ; marker` line for every package that any extra needs anywhere."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder) / ("Scripts" if sys.platform == "win32" else "bin") / "python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", "uv"], check=True)
        uv = [
            *(python, "-m", "uv", "pip", "compile", "pyproject.toml", "--quiet"),
            *("--universal", "--fork-strategy", "fewest", "--python-version", "3.11"),
            *("--all-extras", "--no-annotate", "--no-header", "--no-emit-index-url"),
        ]
        return subprocess.run(uv, cwd=PROJECT, check=True, capture_output=True, text=True).stdout


def main() -> None:
    """Replace the pins, keep the comment above them."""
    comment = re.match(r"(#.*\n)*", CONSTRAINTS.read_text(encoding="utf-8"))
    pins = resolve()
    CONSTRAINTS.write_text((comment.group() if comment else "") + pins, encoding="utf-8")


if __name__ == "__main__":
    main()
