"""The programs that the tests need and pip cannot install: a browser and a sandbox.

    python tools/system_packages.py

Installs what is missing where that is permitted (root on Debian or Ubuntu), and otherwise says in
one line what to type.
"""

import os
import shutil
import subprocess
import sys

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PACKAGES = {"chromium": "Chromium", "bubblewrap": "bubblewrap"}


def _starts(program: str) -> bool:
    """Whether a program is there and more than a stub (Ubuntu's chromium asks for a snap)."""
    try:
        return (
            subprocess.run([program, "--version"], capture_output=True, timeout=60).returncode == 0
        )
    except (OSError, subprocess.TimeoutExpired):
        return False


def find_chromium() -> str | None:
    """The path of Chromium or Chrome, or None."""
    for name in CHROMIUM_NAMES:
        path = shutil.which(name)
        if path and _starts(path):
            return path
    return None


def missing() -> list[str]:
    """The names of the Debian packages that are needed and not there."""
    there = {"chromium": find_chromium() is not None, "bubblewrap": _starts("bwrap")}
    return [package for package in PACKAGES if not there[package]]


def main() -> int:
    """Install or explain; return 0 when everything is there."""
    packages = missing()
    if not packages:
        return 0
    names = " and ".join(PACKAGES[package] for package in packages)
    if not sys.platform.startswith("linux"):
        print(
            f"The tests need {names}; bubblewrap exists on Linux alone: run `make test` in a Linux "
            "container, a virtual machine or WSL.",
            file=sys.stderr,
        )
        return 1
    update = ["apt-get", "update"]
    install = ["apt-get", "install", "--yes", "--no-install-recommends", *packages]
    if shutil.which("apt-get") is None:
        print(f"The tests need {names}: install them with your package manager.", file=sys.stderr)
        return 1
    if os.geteuid() != 0:
        line = f"sudo apt-get update && sudo {' '.join(install)}"
        print(f"The tests need {names}. Type:\n{line}", file=sys.stderr)
        return 1
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (update, install):
        if subprocess.run(command, env=environment).returncode != 0:
            print(f"`{' '.join(command)}` failed, for the reason above.", file=sys.stderr)
            return 1
    still = missing()
    if still:
        print(
            f"apt-get has no working {' or '.join(still)} for this system (Ubuntu's Chromium is a "
            "snap): install Google Chrome or Chromium yourself.",
            file=sys.stderr,
        )
    return len(still) and 1


if __name__ == "__main__":
    sys.exit(main())
