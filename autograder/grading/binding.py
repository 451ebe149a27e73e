"""What of the host's files is in the sandbox: the system's and Python's libraries, read-only.

Of our own package only the part is there that runs beside student code.
"""

import contextlib
import sys
from collections.abc import Iterable
from pathlib import Path

import autograder
from autograder.running import BESIDE_STUDENT_CODE

PACKAGES = "/opt/many-heads"  # where the part of `autograder` lies that runs beside student code
# What is needed of a folder with programs and libraries. A project may lie in /usr/src, and a
# virtual environment may have been made in the project's own folder: the rest is not there.
PARTS = ("bin", "sbin", "lib", "lib32", "lib64", "libexec", "include", "share", "pyvenv.cfg")


def kept() -> dict[str, str]:
    """The folders of Python that a child's fresh /tmp would hide, and where else they are."""
    pythons = sorted({sys.base_prefix, sys.prefix})
    hidden = [path for path in pythons if Path(path).is_relative_to("/tmp")]
    return {path: f"/opt/python-{number}" for number, path in enumerate(hidden)}


def files() -> list[str]:
    """What of the host's files is there, read-only."""
    words: list[str] = []
    made: set[Path] = set()
    bound: set[Path] = set()

    def parents(path: Path) -> None:
        for parent in reversed(path.parents):  # bubblewrap itself makes them for one user only
            if parent != Path("/") and parent not in made:
                words.extend(["--perms", "0755", "--dir", str(parent)])
                made.add(parent)

    def bind(source: Path, target: Path | None = None) -> None:
        target = target or source
        parents(target)
        words.extend(["--ro-bind", str(source), str(target)])
        made.add(target)
        bound.add(target)

    def bind_parts(source: Path, target: Path | None = None) -> None:
        for part in PARTS:
            path, place = source / part, (target or source) / part
            if _within(place, bound):
                continue
            if path.is_symlink() and not path.readlink().is_absolute():
                parents(place)
                words.extend(["--symlink", str(path.readlink()), str(place)])
            elif path.exists():
                bind(path, place)

    for name in ("bin", "sbin", "lib", "lib64", "lib32"):
        path = Path("/", name)
        if path.is_symlink():
            words.extend(["--symlink", str(path.readlink()), str(path)])
        elif path.is_dir():
            bind(path)
    pythons = sorted({Path(sys.base_prefix), Path(sys.prefix)})
    for path in (Path("/usr"), Path("/usr/local"), *pythons):
        bind_parts(path)
    for path in map(
        Path, ("/etc/ld.so.cache", "/etc/alternatives", "/etc/fonts", "/etc/localtime")
    ):
        if path.exists():
            bind(path)
    processors = Path("/sys/devices/system/cpu")
    if processors.is_dir():
        bind(processors)
    for hidden, elsewhere in kept().items():
        bind_parts(Path(hidden), Path(elsewhere))
    for path in _others_packages():
        if _within(path, bound):
            words.extend(["--tmpfs", str(path), "--remount-ro", str(path)])
    ours = Path(autograder.__file__).parent
    # Where the project is installed as a package, its whole source lies among the libraries.
    for package in (ours, ours.with_name("course")):
        if package.is_dir() and _within(package, bound):
            words.extend(["--tmpfs", str(package), "--remount-ro", str(package)])
    for part in ("__init__", *BESIDE_STUDENT_CODE):
        source = ours / part
        if source.is_dir():
            bind(source, Path(PACKAGES, "autograder", part))
        else:
            bind(source.with_suffix(".py"), Path(PACKAGES, "autograder", f"{part}.py"))
    words += _font_list()
    return words


def _others_packages() -> list[Path]:
    """Where the Python that ours is made from keeps packages that ours does not see."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    places = [
        Path(base, "lib", lib, kind)
        for base in (sys.base_prefix, "/usr", "/usr/local")
        for lib in (version, "python3")
        for kind in ("site-packages", "dist-packages")
    ]
    seen = {Path(path) for path in sys.path}
    return [path for path in dict.fromkeys(places) if path.is_dir() and path not in seen]


def _within(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _font_list() -> list[str]:
    # Searching the system's fonts again takes matplotlib seconds.
    with contextlib.suppress(ImportError, OSError):
        import matplotlib

        found = sorted(Path(matplotlib.get_cachedir()).glob("fontlist-*.json"))
        if found:
            words = ["--dir", "/tmp/matplotlib"]
            for path in found:
                words += ["--ro-bind", str(path), f"/tmp/matplotlib/{path.name}"]
            return words
    return []
