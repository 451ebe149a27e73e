"""The student edition: what is in it and what is not, that it works, and how it is renewed."""

import ast
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import pytest
from click.testing import CliRunner, Result

from autograder.cli import main
from autograder.grading.places import KEPT, Project
from autograder.grading.placing import place_edition
from autograder.grading.student_edition import NoEdition, edition_of, readme, received
from tests.grading.notebooks import ONE, RIGHT, solved
from tests.repository import ROOT, committed_files, read_committed

NOTEBOOK = f"exercises/{ONE}/01-exercises.ipynb"
LINK = re.compile(r"\]\(([^)\s]+)\)")
SOLUTION = re.compile(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", re.DOTALL)


def copy_project(root: Path) -> Project:
    """The committed project in another folder, without git."""
    for path in committed_files():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(read_committed(path))
    return Project(root)


def files_in(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The project as it is committed; tests leave it as they find it."""
    return copy_project(tmp_path_factory.mktemp("project") / "a course [2025] +50%")


@pytest.fixture(scope="module")
def files(project: Project) -> dict[str, bytes]:
    """The files of the edition."""
    return edition_of(project)


@pytest.fixture(scope="module")
def edition(files: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An edition on disk; tests leave it as they find it."""
    folder = tmp_path_factory.mktemp("edition") / "for the class"
    place_edition(folder, files)
    return folder


@pytest.fixture
def placed(files: dict[str, bytes], tmp_path: Path) -> Path:
    """An edition for one test alone."""
    folder = tmp_path / "for the class"
    place_edition(folder, files)
    return folder


@pytest.fixture
def command(project: Project, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run a command in the project's folder, in this process."""
    monkeypatch.chdir(project.root)

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, arguments, catch_exceptions=False)

    return run


@pytest.fixture
def opened(project: Project) -> Iterator[Project]:
    """The project for a test that changes it; put back afterwards."""
    before = {path: (project.root / path).read_bytes() for path in files_in(project.root)}
    yield project
    for path in files_in(project.root) - before.keys():
        (project.root / path).unlink()
    for path, content in before.items():
        (project.root / path).write_bytes(content)
    shutil.rmtree(project.root / ".git", ignore_errors=True)


def run_in(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run this Python in an edition, with the edition's own packages."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_what_is_in_it(edition):
    there = files_in(edition)
    assert {path.partition("/")[0] for path in there} == {
        ".gitignore",
        KEPT,
        "LICENSE",
        "Makefile",
        "README.md",
        "autograder",
        "constraints.txt",
        "course",
        "environment.yml",
        "exercises",
        "pyproject.toml",
        "tools",
    }
    assert {path for path in there if path.startswith("tools/")} == {"tools/setup_environment.py"}
    words = ("solutions/", "gradebook.db", "nbgrader_config", "test_", "conftest", "CONTRIBUTING")
    assert [path for path in there if any(word in path for word in words)] == []
    for path in committed_files("exercises/*/*.ipynb"):
        assert (edition / path).read_bytes() == read_committed(path)


def test_nothing_of_the_lessons_the_exercises_and_the_package_stays_behind():
    """Whoever adds a new kind of file decides whether students receive it."""
    parts = [p for p in committed_files() if p.startswith(("course/", "exercises/", "autograder/"))]
    assert set(parts) - set(received(parts)) == set()


def lines_of(code: str) -> set[str]:
    return {line.strip() for line in code.splitlines() if line.strip()}


def test_no_solution_is_in_it(edition):
    """Whatever stands between the markers, all lines of it, in no cell of any notebook.

    Later exercises give functions of earlier lessons in a locked cell, as the syllabus wants it.
    """
    blocks = [
        (PurePosixPath(path), lines_of(block))
        for path in committed_files("solutions/*/*.ipynb")
        for cell in json.loads(read_committed(path))["cells"]
        for block in SOLUTION.findall("".join(cell["source"]))
    ]
    assert len(blocks) > 20
    for path in sorted(edition.rglob("*.ipynb")):
        for cell in json.loads(path.read_bytes())["cells"]:
            source = "".join(cell["source"])
            assert "SOLUTION" not in source
            label = cell["metadata"].get("nbgrader", {})
            given = label.get("locked") and not label.get("grade")
            for solution, lines in blocks:
                earlier = path.name > solution.name
                assert not lines <= lines_of(source) or (given and earlier), (path, solution)


@pytest.mark.parametrize(
    "path",
    [
        "course/notes.md",
        "course/01-one-head-solved.ipynb.bak",
        "course/attention/old/functional.py",
        "autograder/solutions.json",
        "autograder/grading/templates/readme.txt",
        "solutions/01-one-head/01-exercises.ipynb",
        "exercises/01-one-head/01-solved.ipynb",
        "tools/secrets.py",
        "classroom/marks.csv",
        "session-plan.md",
    ],
)
def test_a_stray_file_is_not_received(path):
    assert received([path]) == []


def test_what_git_does_not_know_stays_behind(opened):
    for arguments in (["init", "--quiet"], ["add", "."]):
        subprocess.run(["git", *arguments], cwd=opened.root, check=True, timeout=60)
    (opened.root / "course" / "my_solution.py").write_text("secret")
    (opened.root / "course" / "07-secret.ipynb").write_text("{}")
    made = edition_of(opened)
    assert not [path for path in made if "my_solution" in path or "07-secret" in path]
    assert "course/01-one-head.ipynb" in made


def test_what_git_knows_and_is_gone_or_a_link_is_said_so(opened):
    path = opened.root / "course" / "questions.css"
    for arguments in (["init", "--quiet"], ["add", "."]):
        subprocess.run(["git", *arguments], cwd=opened.root, check=True, timeout=60)
    path.unlink()
    with pytest.raises(NoEdition, match=r"course/questions\.css is known to git, and not there"):
        edition_of(opened)
    path.symlink_to("/etc/hostname")
    with pytest.raises(NoEdition, match=r"course/questions\.css is a link"):
        edition_of(opened)
    path.unlink()


def test_lessons_come_without_outputs(opened):
    path = opened.root / "course" / "01-one-head.ipynb"
    clean = path.read_bytes()
    notebook = json.loads(clean)
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    code[0]["execution_count"] = 7
    code[0]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["mine"]}]
    path.write_text(json.dumps(notebook), encoding="utf-8")
    made = edition_of(opened)["course/01-one-head.ipynb"]
    assert json.loads(made) == json.loads(clean)


def test_exercises_that_are_not_up_to_date_are_refused(command, opened, tmp_path):
    path = opened.exercises / ONE / "01-exercises.ipynb"
    path.write_bytes(path.read_bytes().replace(b"softmax", b"softmix"))
    done = command("student-edition", str(tmp_path / "new"))
    assert done.exit_code == 1
    assert f"exercises/{ONE}/01-exercises.ipynb differs" in done.stderr
    assert "autograder build" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "new").exists()


def test_a_readme_that_has_lost_a_section_is_said_so():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    with pytest.raises(NoEdition, match='no section "Handing in"'):
        readme(text.replace("## Handing in", "## Submitting"))


def test_links_lead_to_files_that_are_there(edition):
    checked = 0
    for path in [edition / "README.md", *edition.glob("course/*.ipynb")] + [
        *edition.glob("exercises/*/*.ipynb")
    ]:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".ipynb":
            cells = json.loads(text)["cells"]
            text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
        for link in LINK.findall(text):
            if not link.startswith(("http://", "https://", "#")):
                assert (path.parent / link.partition("#")[0]).is_file(), f"{path}: {link}"
                checked += 1
    assert checked > 20


def test_every_command_of_the_readme_is_there(edition):
    text = (edition / "README.md").read_text(encoding="utf-8")
    makefile = (edition / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"(?:^|`)make ([a-z]+)", text, re.MULTILINE))
    assert targets == {"lab"}
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    commands = set(re.findall(r"bin/autograder ([a-z-]+)", text))
    assert commands == {"reset"}
    assert commands <= set(main.commands)
    assert "setup_environment.py lab" in text
    for word in ("make test", "solutions", "tests/", "classroom", "CONTRIBUTING", "bubblewrap"):
        assert word not in text
    notebooks = set(re.findall(r"(?:course|exercises)/[\w/-]+\.ipynb", text))
    assert notebooks
    assert all((edition / path).is_file() for path in notebooks)


def test_make_lab_finds_what_it_needs(edition):
    dry = subprocess.run(["make", "-n", "lab"], cwd=edition, capture_output=True, text=True)
    assert dry.returncode == 0, dry.stderr
    assert "python3 tools/setup_environment.py lab" in dry.stdout
    helped = subprocess.run(["make", "help"], cwd=edition, capture_output=True, text=True)
    assert re.findall(r"^make (\w+)", helped.stdout, re.MULTILINE) == ["help", "lab", "clean"]


def test_the_environment_can_be_set_up_there(edition):
    place = edition / "tools" / "setup_environment.py"
    spec = importlib.util.spec_from_file_location("students_setup", place)
    assert spec is not None
    assert spec.loader is not None
    setup = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(setup)
    assert Path(setup.PROJECT) == edition
    assert setup.fingerprint()
    assert (edition / setup.FIRST_NOTEBOOK).is_file()
    environment = (edition / "environment.yml").read_text()
    assert "constraints.txt" in environment
    assert (edition / "constraints.txt").is_file()


def test_pip_can_install_it(edition, tmp_path):
    folder = tmp_path / "copy"  # building leaves files behind
    shutil.copytree(edition, folder)
    command = ["-m", "pip", "install", "--dry-run", "--no-deps", "--no-index"]
    done = run_in(folder, *command, "--no-build-isolation", "--target", str(tmp_path / "t"), ".")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Would install many-heads" in done.stdout


def test_the_lessons_imports_work(edition):
    found = set()
    for path in sorted(edition.glob("*/**/*.ipynb")):
        for cell in json.loads(path.read_bytes())["cells"]:
            if cell["cell_type"] == "code":
                source = "".join(cell["source"])
                tree = ast.parse("\n".join(x for x in source.splitlines() if x[:1] not in "%!"))
                found |= {
                    ast.unparse(node)
                    for node in ast.walk(tree)
                    if isinstance(node, ast.Import | ast.ImportFrom)
                }
    assert any("course" in line for line in found)
    ours = "import autograder, course; print(autograder.__file__, course.__file__, sep='\\n')"
    done = run_in(edition, "-c", "\n".join([*sorted(found), ours]))
    assert done.returncode == 0, done.stderr
    assert all(Path(line).is_relative_to(edition) for line in done.stdout.splitlines())


def test_checks_in_an_exercise_work(edition):
    cells = "\n".join(
        "".join(cell["source"])
        for cell in solved(softmax=RIGHT["softmax"])["cells"]
        if cell["cell_type"] == "code"
    )
    done = run_in(edition, "-c", f"{cells}\nprint(repr(progress()))")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("cases hold") == 4
    wrong = "import numpy as np\nfrom autograder import judge\n"
    wrong += (
        "print(judge('softmax', lambda s: np.exp(s) / np.exp(s).sum(-1, keepdims=True)).mistake)"
    )
    assert run_in(edition, "-c", wrong).stdout.strip() == "overflow"


def test_doctor_and_help_work(edition):
    done = run_in(edition, "-m", "autograder", "doctor")
    for word in ("Python", "Packages", "Grading", "Device"):
        assert word in done.stdout, done.stderr
    assert run_in(edition, "-m", "autograder", "--help").returncode == 0


def test_reset_restores_the_exercise(placed, monkeypatch):
    monkeypatch.chdir(placed)
    fresh = (placed / NOTEBOOK).read_bytes()
    (placed / NOTEBOOK).write_text("my work")
    done = CliRunner().invoke(main, ["reset", "1"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert (placed / NOTEBOOK).read_bytes() == fresh
    (backup,) = (placed / NOTEBOOK).parent.glob("*.backup-*")
    assert backup.read_text() == "my work"
    assert CliRunner().invoke(main, ["reset", "9"]).exit_code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["build"],
        ["collect", "handed-in", "1"],
        ["grade", "1"],
        ["feedback"],
        ["report", "1"],
        ["export", "canvas"],
        ["explain", "ada", "softmax"],
        ["student-edition", "../new"],
    ],
)
def test_what_only_instructors_can_do_is_answered_in_a_sentence(placed, monkeypatch, arguments):
    monkeypatch.chdir(placed)
    (placed / "handed-in" / "ada").mkdir(parents=True)
    (placed / "handed-in" / "ada" / "01-exercises.ipynb").write_bytes(
        (placed / NOTEBOOK).read_bytes()
    )
    before = {path: (placed / path).read_bytes() for path in files_in(placed)}
    done = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert done.exit_code == 2
    assert "This is a student edition" in done.stderr
    assert {path: (placed / path).read_bytes() for path in files_in(placed)} == before
    assert not (placed / "classroom").exists()


def test_the_command_writes_it_and_says_so(command, edition, tmp_path):
    folder, archive = tmp_path / "new" / "class", tmp_path / "class.zip"
    done = command("student-edition", str(folder), "--zip", str(archive))
    assert done.exit_code == 0, done.output
    assert files_in(folder) == files_in(edition)
    number = len([path for path in files_in(folder) if not path.startswith(KEPT)])
    assert f"{number} files written, 0 as they were, 0 kept." in done.stdout
    with zipfile.ZipFile(archive) as packed:
        assert set(packed.namelist()) == {f"many-heads/{path}" for path in files_in(folder)}
        for path in files_in(folder):
            assert packed.read(f"many-heads/{path}") == (folder / path).read_bytes()
    first = archive.read_bytes()
    (folder / NOTEBOOK).write_text("my work")
    again = command("student-edition", str(folder), "--zip", str(archive))
    assert again.exit_code == 0
    assert f"{NOTEBOOK}  kept: somebody has changed it" in again.stdout
    assert f"0 files written, {number - 1} as they were, 1 kept." in again.stdout
    assert (folder / NOTEBOOK).read_text() == "my work"
    assert archive.read_bytes() == first
