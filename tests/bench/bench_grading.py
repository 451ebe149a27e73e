"""Grading a class: `autograder grade` beside plain `nbgrader autograde`, in one run.

    python -m tests.bench.bench_grading --students 8

Both grade the same submissions of lesson 01. Plain nbgrader runs each notebook in a kernel
and takes the check cells' word for it; that is what its marks are worth. What starting takes is
measured with nothing left to grade, and subtracted.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.grading.conftest import School, make_school
from tests.grading.notebooks import ONE, OVERFLOWING, WRONG_AXIS, solved

PLAIN = """
c = get_config()
c.CourseDirectory.root = {root!r}
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "exercises"
c.CourseDirectory.submitted_directory = "classroom/submitted"
c.CourseDirectory.autograded_directory = "classroom/autograded"
c.CourseDirectory.db_url = "sqlite:///{root}/classroom/gradebook.db"
"""
KINDS: tuple[dict[str, str | None], ...] = (
    {},
    {"softmax": OVERFLOWING},
    {"softmax": WRONG_AXIS, "self_attention": None},
    {"attention": None, "self_attention": None},
)


def make_class(root: Path, students: int) -> School:
    """A class that hands in right, wrong and half finished notebooks in turn."""
    school = make_school(root)
    for number in range(students):
        school.hand_in(f"student-{number:03}", solved(**KINDS[number % len(KINDS)]))
    return school


def run(school: School, *command: str) -> float:
    """Run a command in the project's folder; the seconds that it took."""
    program = str(Path(sys.executable).with_name(command[0]))
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    began = time.perf_counter()
    done = subprocess.run(
        [program, *command[1:]],
        cwd=school.project.root,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return time.perf_counter() - began


def measure(students: int, *, plain: bool) -> float:
    """Seconds for each submission, without what starting takes."""
    root = Path(tempfile.mkdtemp()) / "course"
    try:
        school = make_class(root, students)
        first = school.classroom.submitted / "student-000"
        waiting = root / "waiting"
        command = ["autograder", "grade"]
        if plain:
            school.project.config.write_text(PLAIN.format(root=str(root)))
            run(school, "nbgrader", "generate_assignment", ONE, "--force")
            command = ["nbgrader", "autograde", ONE]
        # One submission first: it also fills the gradebook.
        school.classroom.submitted.rename(waiting)
        school.classroom.submitted.mkdir()
        shutil.move(waiting / first.name, first)
        run(school, *command)
        for folder in waiting.iterdir():
            shutil.move(folder, school.classroom.submitted / folder.name)
        rest = run(school, *command)
        starting = run(school, *command)  # nothing is left to do
        return (rest - starting) / (students - 1)
    finally:
        shutil.rmtree(root.parent, ignore_errors=True)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=8)
    students = parser.parse_args().students
    ours, theirs = measure(students, plain=False), measure(students, plain=True)
    print(f"{'':28}{'seconds per submission':>24}{'submissions per minute':>24}")
    for name, taken in (("autograder grade", ours), ("nbgrader autograde, plain", theirs)):
        print(f"{name:28}{taken:24.2f}{60 / taken:24.0f}")
    print(f"{students} submissions; autograder grade is {theirs / ours:.1f} times as fast.")


if __name__ == "__main__":
    main()
