"""Making `exercises/` from `solutions/`: what a student receives."""

from collections.abc import Iterator

from autograder.grading.gradebook import release
from autograder.grading.places import Project
from autograder.grading.records import write_atomically

LEFT_BEHIND = {".ipynb_checkpoints", "__pycache__"}


def build_all(project: Project) -> dict[str, bytes]:
    """The content of `exercises/` as it should be, by path. Raises GradebookFault."""
    made: dict[str, bytes] = {}
    for assignment in project.assignments():
        files = release(project.solutions / assignment, assignment)
        made |= {f"{assignment}/{name}": content for name, content in files.items()}
    return made


def differences(project: Project, made: dict[str, bytes]) -> list[str]:
    """In what `exercises/` differs from what it should be, one sentence each."""
    there = {path: project.exercises / path for path in _paths(project)}
    said = []
    for path, content in made.items():
        if path not in there:
            said.append(f"exercises/{path} is missing.")
        elif there[path].read_bytes() != content:
            said.append(f"exercises/{path} differs from what solutions/{path} makes of it.")
    said += [f"exercises/{path} comes from no solution." for path in there if path not in made]
    return said


def write_all(project: Project, made: dict[str, bytes]) -> list[str]:
    """Bring `exercises/` up to date; the paths that changed. Raises OSError."""
    changed = []
    for path in _paths(project):
        if path not in made:
            (project.exercises / path).unlink()
            changed.append(path)
    for path, content in made.items():
        target = project.exercises / path
        if not target.is_file() or target.read_bytes() != content:
            write_atomically(target, content)
            changed.append(path)
    return changed


def _paths(project: Project) -> Iterator[str]:
    """The files in `exercises/`, without what editors and `autograder reset` leave there."""
    for path in sorted(project.exercises.rglob("*")):
        relative = path.relative_to(project.exercises)
        ours = not LEFT_BEHIND.intersection(relative.parts) and ".backup" not in path.name
        if path.is_file() and ours:
            yield relative.as_posix()
