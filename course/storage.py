"""The learner's own small files: predictions, progress.

They lie in the user-data folder of the platform (`platformdirs`), or in the folder
named by the environment variable MANY_HEADS_HOME. Losing one must never stop a
lesson: a damaged file is set aside, an unwritable folder is reported, and both
become a `StorageWarning`, whose text a learner can act on.
"""

import json
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import platformdirs
from filelock import FileLock, Timeout

Record = dict[str, Any]

LOCK_SECONDS = 5.0
"""How long one kernel waits for another that is writing the same file."""


class StorageWarning(UserWarning):
    """Something about the learner's files: what happened, and where the file is."""


def home() -> Path:
    """The folder that holds the learner's files; it need not exist yet."""
    chosen = os.environ.get("MANY_HEADS_HOME")
    return Path(chosen).expanduser() if chosen else platformdirs.user_data_path("many-heads")


def path_of(name: str) -> Path:
    """Where the file called `name` lies. Raises ValueError for a name that is a path."""
    if not name or not all(letter.isalnum() or letter in "-_" for letter in name):
        raise ValueError(
            f"{name!r} is no name for a file here: letters, digits, '-' and '_' only. "
            "Try 'predictions'."
        )
    return home() / f"{name}.json"


def read(name: str) -> Record:
    """What is stored under `name`; an empty dict when there is nothing.

    A damaged file is renamed and a `StorageWarning` says where it is now.
    """
    path = path_of(name)
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(stored, dict):
            return stored
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as problem:
        _warn(f"{path} cannot be read ({_reason(problem)}), so the lesson goes on without it.")
        return {}
    except ValueError:  # not JSON, or not UTF-8
        pass
    _set_aside(path)
    return {}


def update(name: str, function: Callable[[Record], Record | None]) -> Record:
    """Change what is stored under `name`, safely beside other kernels.

    `function` receives the stored dict and either changes it in place (returning
    None) or returns a new one. Returns the dict that now holds. When it cannot be
    written, a `StorageWarning` says why, and the new dict is returned all the same:
    the lesson goes on with it, but will not find it again next time.
    """
    path = path_of(name)
    changed: Record | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Reading belongs inside the lock: two kernels that both read before either
        # writes would lose one of the two changes.
        with FileLock(path.with_suffix(".lock"), timeout=LOCK_SECONDS):
            changed = _applied(function, read(name))
            _write(path, changed)
            return changed
    except Timeout:
        problem = f"another notebook has held it for {LOCK_SECONDS:.0f} seconds"
    except OSError as error:
        problem = _reason(error)
    _warn(
        f"{path} cannot be written ({problem}), so this is not kept. The lesson goes on. "
        "To keep it, set MANY_HEADS_HOME to a folder that you may write to."
    )
    return _applied(function, read(name)) if changed is None else changed


@contextmanager
def sentences() -> Iterator[list[str]]:
    """Collect the `StorageWarning`s raised inside, for a view that shows them itself.

    The list is complete when the block has ended. Other warnings pass as usual.
    """
    heard: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", StorageWarning)
        yield heard
    for warning in caught:
        if issubclass(warning.category, StorageWarning):
            heard.append(str(warning.message))
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )


def _applied(function: Callable[[Record], Record | None], stored: Record) -> Record:
    changed = function(stored)
    return stored if changed is None else changed


def _write(path: Path, content: Record) -> None:
    """Replace the file in one step: a reader sees the old content or the new, never half."""
    text = json.dumps(content, ensure_ascii=False, indent=1)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(temporary).unlink()
        raise


def _set_aside(path: Path) -> None:
    moment = datetime.now().strftime("%Y%m%d-%H%M%S-%f")
    aside = path.with_name(f"{path.stem}.damaged-{moment}.json")
    try:
        path.replace(aside)
    except FileNotFoundError:
        return  # another kernel was quicker, and has said so
    except OSError as problem:
        _warn(f"{path} is damaged and cannot be moved ({_reason(problem)}); it is not used.")
        return
    _warn(f"{path.name} was damaged. It now lies in {aside}, and an empty one takes its place.")


def _reason(problem: OSError) -> str:
    return problem.strerror or type(problem).__name__


def _warn(sentence: str) -> None:
    # Three frames up is the caller of read() or update(); exactness matters less than
    # that the default filter shows the same sentence again after the next change.
    warnings.warn(sentence, StorageWarning, stacklevel=3)
