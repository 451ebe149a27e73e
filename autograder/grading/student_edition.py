"""The student edition: the folder that a class receives.

What it hides: the model answers in `solutions/`, the tests, and everything of a class (gradebook,
submissions, marks). It also leaves out git's history, the instructor's settings
(`nbgrader_config.py`) and what only people who work on the project need.

What it does not hide, because lessons and checks need it: the reference implementations in
`course/attention`, which are part of the lessons; the functions of earlier lessons that later
exercises give in a locked cell; the cases, hints and recognised mistakes in `autograder`; and the
grader's own code. Whoever reads all that finds out how each function is written. Marks still come
from inputs that nobody has seen, so what is handed in has to compute; that a student wrote it
without looking it up is nothing that an edition can see to.

What goes in is decided file by file: a file must be known to git (where there is no git, be there)
and fit one of the patterns of `RECEIVED`. A new kind of file stays behind until it is added there.
"""

import fnmatch
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from autograder.grading.building import build_all, differences
from autograder.grading.places import Project

TEMPLATES = Path(__file__).parent / "templates" / "student_edition"
RECEIVED = (
    ".gitignore",
    "LICENSE",
    "constraints.txt",
    "environment.yml",
    "pyproject.toml",
    "tools/setup_environment.py",
    "course/[0-9][0-9]-*.ipynb",
    "course/*.py",
    "course/*.css",
    "course/*.js",
    "course/attention/*.py",
    "course/explorers/*.py",
    "course/explorers/*.css",
    "course/explorers/*.js",
    "course/pictures/*.png",
    "course/pictures/*.svg",
    "exercises/[0-9][0-9]-*/[0-9][0-9]-exercises.ipynb",
    "autograder/*.py",
    "autograder/exercises/*.py",
    "autograder/mistakes/*.py",
    # The command line is whole: `doctor` and `reset` are for students, and the rest of it asks for
    # a classroom and for solutions/.
    "autograder/grading/*.py",
    "autograder/grading/templates/*/*.j2",
)
MADE = ("Makefile", "README.md")  # made from the project's own
TARGETS = ("help", "lab", "clean", "python")  # of the Makefile, those that students need
SIGNS = ("### BEGIN SOLUTION", "### END SOLUTION")


class NoEdition(RuntimeError):
    """The edition cannot be made from what is here. The message says why, and what to try."""


def edition_of(project: Project) -> dict[str, bytes]:
    """The files of the student edition by path, with forward slashes.

    Notebooks are without outputs. Raises NoEdition, GradebookFault, OSError.
    """
    said = differences(project, build_all(project))
    if said:
        more = f" and {len(said) - 3} more" if len(said) > 3 else ""
        raise NoEdition(
            f"The exercises are not up to date: {' '.join(said[:3])}{more} Run `autograder build`, "
            "and try again."
        )
    files = {path: _content(project, path) for path in received(known_files(project.root))}
    missing = sorted(set(MADE) - set(known_files(project.root)))
    if missing:
        raise NoEdition(f"The project has no {' and no '.join(missing)}. Restore it from git.")
    files["Makefile"] = makefile(_text(project, "Makefile")).encode()
    files["README.md"] = readme(_text(project, "README.md")).encode()
    for path, content in files.items():
        if path.endswith(".ipynb") and any(sign.encode() in content for sign in SIGNS):
            raise NoEdition(f"{path} contains a solution. Run `autograder build`, and try again.")
    return files


def received(paths: list[str]) -> list[str]:
    """Those of these files that students receive as they are."""
    return [path for path in paths if any(_fits(path, pattern) for pattern in RECEIVED)]


def _fits(path: str, pattern: str) -> bool:
    """Whether a path fits a pattern in which * and ? do not stand for a slash."""
    parts, patterns = path.split("/"), pattern.split("/")
    return len(parts) == len(patterns) and all(map(fnmatch.fnmatchcase, parts, patterns))


def known_files(root: Path) -> list[str]:
    """The files that git knows in a project, else those that are there; with forward slashes."""
    top = _git(root, "rev-parse", "--show-prefix")
    listing = _git(root, "ls-files", "-z") if top == b"\n" else None
    if listing:  # else no git, an index still empty, or a folder inside another project
        return sorted({path for path in listing.decode().split("\0") if path})
    return sorted(
        path.relative_to(root).as_posix()
        for path in root.rglob("*")
        if path.is_file() and path.relative_to(root).parts[0] not in (".git", ".venv")
    )


def _git(root: Path, *arguments: str) -> bytes | None:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, check=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout


def _content(project: Project, path: str) -> bytes:
    place = project.root / path
    if not place.resolve().is_relative_to(project.root.resolve()) or place.is_symlink():
        raise NoEdition(f"{path} is a link. Put the file itself in its place.")
    if not place.is_file():
        raise NoEdition(f"{path} is known to git, and not there. Restore it with `git restore`.")
    content = place.read_bytes()
    return without_outputs(path, content) if path.endswith(".ipynb") else content


def _text(project: Project, path: str) -> str:
    return _content(project, path).decode("utf-8")


def without_outputs(path: str, content: bytes) -> bytes:
    """A notebook as nobody has run it yet. One that is so already stays as it is, byte by byte."""
    try:
        notebook = json.loads(content)
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        if not any(cell.get("outputs") or cell.get("execution_count") for cell in cells):
            return content
        for cell in cells:
            cell["outputs"], cell["execution_count"] = [], None
    except (ValueError, KeyError, TypeError) as error:
        raise NoEdition(
            f"{path} is no notebook ({error}). Restore it with `git restore`."
        ) from error
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()


def makefile(text: str) -> str:
    """The Makefile with the targets for students alone."""
    kept = []
    for block in text.strip().split("\n\n"):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        target = lines[0].partition(":")[0] if lines else ""
        if target.isidentifier() and ":=" not in lines[0] and target not in TARGETS:
            continue  # a rule
        if lines and lines[0].startswith("TEST_ARGS"):
            continue
        kept.append(block)
    return "\n\n".join(_phony(kept)) + "\n"


def _phony(blocks: list[str]) -> Iterator[str]:
    for block in blocks:
        yield "\n".join(
            f".PHONY: {' '.join(TARGETS)}" if line.startswith(".PHONY:") else line
            for line in block.splitlines()
        )


def readme(text: str) -> str:
    """The README for students: how to begin, and what the project's own says to learners.

    Raises NoEdition when the project's README does not have the sections any more.
    """
    _, cpu, ways = _section(text, "Two commands").partition("**Only a CPU?**")
    if not cpu:
        raise NoEdition('README.md has no paragraph "Only a CPU?". Mend one or the other.')
    environment = Environment(  # Markdown: nothing is escaped, and nothing here is a student's
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        autoescape=False,
        keep_trailing_newline=True,
    )
    return environment.get_template("README.md.j2").render(
        other_ways=(cpu + ways).strip(),
        learning="## Learning\n\n" + _section(text, "Learning"),
        handing_in="## Handing in\n\n" + _section(text, "Handing in"),
    )


def _section(text: str, title: str) -> str:
    _, found, rest = text.partition(f"\n## {title}\n")
    if not found:
        raise NoEdition(
            f'README.md has no section "{title}" any more, and the README for students is made of '
            "it. Give it that title, or change autograder/grading/student_edition.py."
        )
    return rest.partition("\n## ")[0].strip()
