"""Grading a class: `autograder grade --jobs 2` beside plain `nbgrader autograde`, in one run.

    python -m tests.bench.bench_grading --students 32 --rounds 2

Both grade the same submissions of lesson 02: for plain nbgrader with asserts in the place of
`check`, run in a kernel, and what the notebook says of itself is the mark. Rounds alternate. Net
of start-up is what the class takes beyond a class of four, for each submission. The marks of
both are compared. Then: one submission alone, the memory of all processes together (each page
that several share counted by its share), and how time grows with the class.
"""

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median

import psutil
from nbgrader.api import Gradebook

from tests.grading.conftest import School, make_school
from tests.grading.notebooks import NOTEBOOKS, from_solutions, label

ASSIGNMENT = "02-scaling"
FEW = 4  # the class whose time counts as start-up
JOBS = "2"
PLAIN = """
c = get_config()
c.CourseDirectory.root = {root!r}
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "exercises"
c.CourseDirectory.submitted_directory = "classroom/submitted"
c.CourseDirectory.autograded_directory = "classroom/autograded"
c.CourseDirectory.db_url = "sqlite:///{root}/classroom/gradebook.db"
"""
ASSERTS = {
    "check-dot_product_variance": """
def found(d_k):
    return dot_product_variance(d_k, 20_000, torch.Generator().manual_seed(d_k))

assert found(16).shape == ()
assert abs(found(16) - 16) < 1 and abs(found(64) - 64) < 4
""",
    "check-scaled_dot_product_attention": """
q, k, v = torch.randn(2, 3, 8), torch.randn(2, 5, 8), torch.randn(2, 5, 4)
output, weights = scaled_dot_product_attention(q, k, v)
expected = (q @ k.mT / 8**0.5).softmax(-1)
assert torch.allclose(weights, expected, atol=1e-5)
assert torch.allclose(output, expected @ v, atol=1e-5)
""",
    "check-softmax_jacobian": """
scores = torch.randn(5, dtype=torch.float64)
expected = torch.autograd.functional.jacobian(lambda s: s.softmax(-1), scores)
assert torch.allclose(softmax_jacobian(scores.softmax(-1)), expected)
assert softmax_jacobian(torch.full((2, 3, 4), 0.25)).shape == (2, 3, 4, 4)
""",
    "check-attention_entropy": """
weights = torch.tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])
assert torch.allclose(attention_entropy(weights), torch.tensor([2.0, 1.0]).log())
""",
}
UNSCALED = """
def scaled_dot_product_attention(q, k, v):
    weights = torch.softmax(q @ k.transpose(-2, -1), dim=-1)
    return weights @ v, weights
"""
NO_DIAGONAL = """
def softmax_jacobian(weights):
    return -weights.unsqueeze(-1) * weights.unsqueeze(-2)
"""
NOT_ZERO = """
def attention_entropy(weights):
    return -(weights * weights.log()).sum(dim=-1)
"""
STUB = "def {name}(*arguments):\n    raise NotImplementedError"
WRONG: tuple[dict[str, str], ...] = (
    {},
    {},
    {"attention_entropy": NOT_ZERO},
    {},
    {"softmax_jacobian": NO_DIAGONAL, "attention_entropy": STUB.format(name="attention_entropy")},
    {},
    {"scaled_dot_product_attention": UNSCALED},
    {},
)
"""What each student of eight gets wrong; the others are right."""


def make_class(root: Path, students: int, *, plain: bool) -> School:
    """A class that hands in right, wrong and half finished notebooks of lesson 02 in turn."""
    school = make_school(root)
    if plain:
        school.project.config.write_text(PLAIN.format(root=str(root)))
        with_asserts(school.project.solutions / ASSIGNMENT / f"{NOTEBOOKS[ASSIGNMENT]}.ipynb")
    for number in range(students):
        notebook = from_solutions(ASSIGNMENT)
        for cell in notebook["cells"]:
            wrong = WRONG[number % len(WRONG)].get(label(cell))
            if wrong:
                cell["source"] = wrong.strip()
            if plain:
                cell["source"] = ASSERTS.get(label(cell), cell["source"])
        school.hand_in(f"student-{number:03}", notebook, ASSIGNMENT)
    if plain:  # as `autograder grade` does by itself
        run(school, "nbgrader", "generate_assignment", ASSIGNMENT, "--force")
    return school


def with_asserts(path: Path) -> None:
    """Put asserts in the place of the checks of a notebook in `solutions/`."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        cell["source"] = ASSERTS.get(label(cell), cell["source"])
    path.write_text(json.dumps(notebook), encoding="utf-8")


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


@contextmanager
def a_class(students: int, *, plain: bool = False) -> Iterator[School]:
    """A class of its own, in a folder that is removed afterwards."""
    root = Path(tempfile.mkdtemp()) / "course"
    try:
        yield make_class(root, students, plain=plain)
    finally:
        shutil.rmtree(root.parent, ignore_errors=True)


def grade(school: School, *, plain: bool = False) -> float:
    """Grade a class; the seconds that it took."""
    if plain:
        return run(school, "nbgrader", "autograde", ASSIGNMENT)
    return run(school, "autograder", "grade", ASSIGNMENT, "--jobs", JOBS)


Marks = dict[tuple[str, str], float]


def marks(school: School, *, plain: bool = False) -> Marks:
    """The points by student and check."""
    if not plain:
        with school.classroom.marks.open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        return {(row["student"], row["exercise"]): float(row["points"]) for row in rows}
    with Gradebook(school.classroom.db_url) as gradebook:
        return {
            (submission.student_id, grade.name.removeprefix("check-")): float(grade.score)
            for submission in gradebook.assignment_submissions(ASSIGNMENT)
            for notebook in submission.notebooks
            for grade in notebook.grades
        }


def seconds(students: int, *, plain: bool = False) -> tuple[float, Marks]:
    """What grading a fresh class takes, and its marks."""
    with a_class(students, plain=plain) as school:
        taken = grade(school, plain=plain)
        return taken, marks(school, plain=plain)


def peak_memory(students: int) -> float:
    """GB that the grader and all its processes hold together at most."""
    highest = 0
    over = threading.Event()

    def look() -> None:
        nonlocal highest
        while not over.wait(0.2):
            held = 0
            for process in psutil.Process().children(recursive=True):
                with suppress(psutil.Error):
                    held += process.memory_full_info().pss
            highest = max(highest, held)

    with a_class(students) as school:
        watcher = threading.Thread(target=look)
        watcher.start()
        try:
            grade(school)
        finally:
            over.set()
            watcher.join()
    return highest / 2**30


def main() -> None:
    """Measure, and print what came."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--growth", type=int, nargs="*", default=[8, 32, 128])
    options = parser.parse_args()
    students, more = options.students, options.students - FEW
    net: dict[bool, list[float]] = {True: [], False: []}
    whole: dict[bool, list[float]] = {True: [], False: []}
    found: dict[bool, Marks] = {}
    for _ in range(options.rounds):
        for plain in (True, False):
            start, _ = seconds(FEW, plain=plain)
            taken, found[plain] = seconds(students, plain=plain)
            whole[plain].append(taken)
            net[plain].append((taken - start) / more)
    print(f"{students} submissions of {ASSIGNMENT}, medians of {options.rounds} rounds")
    print(f"{'':30}{'all, s':>10}{'each, net, s':>14}")
    for plain, name in ((True, "plain nbgrader autograde"), (False, "autograder grade --jobs 2")):
        print(f"{name:30}{median(whole[plain]):10.1f}{median(net[plain]):14.3f}")
    print(f"Net of start-up: {median(net[True]) / median(net[False]):.1f} times the throughput.")
    same = sum(found[True][key] == points for key, points in found[False].items())
    print(f"The same mark for {same} of {len(found[True])} exercises.")
    print(f"One submission, cold: {median(seconds(1)[0] for _ in range(3)):.1f} s.")
    print(f"Memory at its highest: {peak_memory(students):.2f} GB.")
    for size in options.growth:
        taken, _ = seconds(size)
        print(f"{size:4} submissions: {taken:6.1f} s")


if __name__ == "__main__":
    main()
