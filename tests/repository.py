"""What is committed, as git's index has it.

People learn in their clone: they run cells, change exercises, leave outputs behind. The tests of
what is committed therefore read the index and not the working tree. In a plain folder (a download
without git, or a repository whose first files are not added yet) the files on disk are all there
is, and are read instead.
"""

import subprocess
from functools import cache
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]

# Folders that a plain folder may hold and that are never committed.
NOT_COMMITTED = {".git", ".venv", "__pycache__", "classroom", "build", "dist", "node_modules"}


def _git(*arguments: str) -> bytes | None:
    """What `git` prints when it runs in the project, or None when there is no git here."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, check=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout


def _on_disk() -> list[str]:
    paths = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
    return sorted(
        path.as_posix()
        for path in paths
        if not NOT_COMMITTED.intersection(path.parts)
        and not any(part.endswith(("_cache", ".egg-info")) for part in path.parts)
        and ".ipynb_checkpoints" not in path.parts
    )


@cache
def _index() -> frozenset[str]:
    """The paths in git's index; empty when the files on disk have to do."""
    if _git("rev-parse", "--show-prefix") != b"\n":  # no git, or a folder inside another project
        return frozenset()
    listing = _git("ls-files", "-z") or b""
    return frozenset(path for path in listing.decode().split("\0") if path)


def committed_files(pattern: str = "**/*") -> list[str]:
    """Paths, relative to the project and with forward slashes, that match a glob such as `*.py`.

    As in `PurePath.match`, a pattern without a slash is matched against the name alone.
    """
    paths = sorted(_index()) or _on_disk()
    return [path for path in paths if pattern == "**/*" or PurePosixPath(path).match(pattern)]


def read_committed(path: str) -> bytes:
    """The content of one of `committed_files`."""
    if path in _index():
        content = _git("show", f":{path}")
        if content is None:
            raise FileNotFoundError(f"git could not show {path} from its index")
        return content
    return (ROOT / path).read_bytes()
