"""The command line: what it says, and its exit codes."""

import csv
import json
import os
import shutil
import subprocess
import sys
from datetime import datetime

import pytest
from click.testing import CliRunner, Result
from nbgrader.api import Gradebook

from autograder.cli import main
from autograder.grading.sandbox import NoSandbox
from tests.grading.notebooks import ONE, OVERFLOWING, START, released, solved
from tests.repository import ROOT


@pytest.fixture
def command(new_school, monkeypatch):
    """Run a command in the project's folder, in this process."""
    monkeypatch.chdir(new_school.project.root)

    def run(*arguments: str) -> Result:
        # With colour, or else the runner would take out what steers a terminal.
        return CliRunner().invoke(main, arguments, catch_exceptions=False, color=True)

    return run


def test_grade_prints_one_line_per_student(command, new_school):
    new_school.hand_in("ada", solved())
    new_school.hand_in("evil \x1b[2J name", solved())
    new_school.hand_in("bo", solved(softmax=OVERFLOWING))
    new_school.hand_in("bo", solved(), "01-one-haed", name="any")
    done = command("grade", "--jobs", "1")
    assert done.exit_code == 1  # one folder has a name that nothing can keep
    lines = done.stdout.splitlines()
    assert lines[0].startswith("bo/01-one-haed  NOT GRADED  The folder bears no assignment's name")
    assert "is it 01-one-head?" in lines[0]
    assert lines[1] == f"ada  {ONE}  7/7  all correct"
    assert lines[2].startswith(f"bo  {ONE}  1/7  softmax: wrong values (overflow); ")
    assert lines[3].startswith(f"evil \\x1b[2J name  {ONE}  NOT GRADED  ")
    assert "\x1b" not in done.stdout


def test_points_given_by_hand_count_on_the_line(command, new_school):
    new_school.hand_in("bo", solved(softmax=OVERFLOWING))
    command("grade", "--jobs", "1")
    with Gradebook(new_school.classroom.db_url) as gradebook:
        grade = gradebook.find_grade("check-softmax", "01-exercises", ONE, "bo")
        grade.manual_score = 1.5
        gradebook.db.commit()
    (line,) = command("grade", "--jobs", "1").stdout.splitlines()[:1]
    assert line.startswith(f"bo  {ONE}  2.5/7  softmax: wrong values (overflow); ")
    assert line.endswith("(unchanged)  (with points given by hand)")


def test_a_late_penalty_is_on_the_line_and_in_the_json(command, new_school, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    (new_school.project.root / "per_day.py").write_text(
        "from nbgrader.plugins import BasePlugin\n\n"
        "class PerDay(BasePlugin):\n"
        "    def late_submission_penalty(self, student_id, score, total_seconds_late):\n"
        "        return 1.25 * (total_seconds_late // 86400)\n"
    )
    with new_school.project.config.open("a") as config:
        config.write("\nc.AssignLatePenalties.plugin_class = 'per_day.PerDay'\n")
    for student, day in (("ada", "03"), ("bo", "02"), ("cy", "01")):
        notebook = solved(softmax=OVERFLOWING) if student == "bo" else solved()
        folder = new_school.hand_in(student, notebook)
        (folder / "timestamp.txt").write_text(f"2026-01-{day} 12:00:00 UTC")
    command("grade", "--jobs", "1")
    with Gradebook(new_school.classroom.db_url) as gradebook:
        gradebook.update_or_create_assignment(ONE, duedate=datetime(2026, 1, 1, 12))
    lines = command("grade", "--jobs", "1", "--regrade").stdout.splitlines()
    said = f"ada  {ONE}  4.5/7 after a late penalty of 2.5  all correct"
    assert lines[0] == said
    assert lines[1].startswith(f"bo  {ONE}  0/7 after a late penalty of 1  softmax: wrong values")
    assert lines[2] == f"cy  {ONE}  7/7  all correct"
    assert command("grade", "--jobs", "1").stdout.startswith(f"{said}  (unchanged)\n")
    ada, *_ = json.loads(command("grade", "--json").stdout)
    assert (ada["points"], ada["penalty"], ada["final"]) == (7, 2.5, 4.5)


def test_what_lies_in_the_wrong_place_gets_a_row_with_a_reason(command, new_school):
    submitted = new_school.classroom.submitted
    new_school.hand_in("ada", solved())
    new_school.hand_in("bo", solved(), "Assignment 1", name="any")
    (submitted / "cy").mkdir()
    (submitted / "cy" / "01-exercises.ipynb").write_text("{}")
    (submitted / "di").mkdir()
    (submitted / "stray.ipynb").write_text("{}")
    (submitted / ".ed" / ONE).mkdir(parents=True)
    (submitted / ".ipynb_checkpoints").mkdir()
    done = command("grade")
    assert done.exit_code == 0
    assert done.stdout.count("NOT GRADED") == 5
    with new_school.classroom.marks.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if not row["exercise"]]
    assert [(row["student"], row["assignment"]) for row in rows] == [
        ("", "stray.ipynb"),
        (".ed", ""),
        ("bo", "Assignment 1"),
        ("cy", "01-exercises.ipynb"),
        ("di", ""),
    ]
    assert all(row["points"] == "" and row["outcome"] == "error" for row in rows)
    assert all(row["note"].startswith("not graded: ") for row in rows)


def test_grade_without_a_sandbox_says_why_not(command, new_school, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda program: None)
    new_school.hand_in("ada", solved())
    done = command("grade")
    assert done.exit_code == 1
    assert "needs bubblewrap" in done.stderr


@pytest.mark.parametrize(
    ("options", "said"), [((), "goes on from there"), (("--regrade",), "another")]
)
def test_ctrl_c_says_what_stands(command, new_school, monkeypatch, options, said):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    new_school.hand_in("ada", solved(START), START)
    monkeypatch.setattr("autograder.cli._say_result", interrupted)
    done = command("grade", "--jobs", "1", *options)
    assert done.exit_code == 1
    assert done.stderr.startswith("Error: Stopped. What has been graded ")
    assert said in done.stderr
    assert f"ada,{START}," in new_school.classroom.marks.read_text(encoding="utf-8")


def test_a_reader_that_goes_is_no_fault(new_school):
    new_school.hand_in("ada", solved(START), START)
    new_school.grade()
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "autograder", "explain", "ada", "weighted_average"],
        cwd=new_school.project.root,
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert done.returncode == 1
    assert done.stderr == b""


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("c.Judge.cell_timeout = 'long'", "expected an int, not the str 'long'. Mend it,"),
        ("c.Judge.cell_timeut = 5", "sets c.Judge.cell_timeut, which is no option. Is it cell_tim"),
        ("c.LateSubmissionPlugin.penalty_method = 'half'", "expected any of ['none', 'zero']"),
        ("c.LateSubmissionPlugin.penalty = 'zero'", "Is it penalty_method?"),
        ("c.AssignLatePenalties.plugin_class = 'zero'", "trait of AssignLatePenalties instance"),
        ("c.Judge.partial_credit = = True", "SyntaxError: invalid syntax (nbgrader_config.py, "),
    ],
)
def test_settings_that_cannot_be_used_are_one_sentence(command, new_school, line, said):
    new_school.hand_in("ada", solved())
    with new_school.project.config.open("a") as config:
        config.write(f"\n{line}\n")
    done = command("grade")
    assert done.exit_code == 1
    assert done.stderr.startswith("Error: nbgrader_config.py ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not done.stdout


def test_doctor_ends_the_reason_before_it_goes_on(command, monkeypatch):
    def refuse(*_: object) -> None:
        raise NoSandbox("The sandbox does not start here: no space left")

    monkeypatch.setattr("autograder.grading.sandbox.Worker", refuse)
    done = command("doctor")
    assert "here: no space left. Until then only --trust-submissions grades." in done.stdout


def test_grade_of_nothing_says_where_it_looked(command, new_school):
    done = command("grade")
    assert done.exit_code == 0
    assert str(new_school.classroom.submitted) in done.stdout


@pytest.mark.parametrize("name", ["01-one-haed", "one-head", "7", ""])
def test_an_unknown_assignment_is_answered_with_those_that_are_close(command, name):
    done = command("grade", name)
    assert done.exit_code == 2
    assert ONE in done.stderr


def test_wrong_usage(command):
    assert command("grade", "--no-such-option").exit_code == 2
    assert command("reset").exit_code == 2


@pytest.mark.parametrize(
    "words",
    [["grade"], ["report"], ["feedback"], ["export", "canvas"], ["explain", "ada", "softmax"]],
)
def test_a_classroom_that_is_not_there_is_not_made(command, tmp_path, monkeypatch, words):
    typo = tmp_path / "clasroom"
    done = command(*words, "--classroom", str(typo))
    assert done.exit_code == 2
    assert f"There is no folder {typo}. Which" in done.stderr
    monkeypatch.setenv("MANY_HEADS_CLASSROOM", str(typo))
    done = command(*words)
    assert done.exit_code == 2
    assert f"There is no folder {typo} (MANY_HEADS_CLASSROOM names it)" in done.stderr
    assert not typo.exists()


@pytest.mark.parametrize(
    "words",
    [
        ["collect", ".", "1"],
        ["grade"],
        ["report"],
        ["feedback"],
        ["export", "canvas"],
        ["explain", "ada", "softmax"],
    ],
)
def test_a_student_edition_has_no_class(tmp_path, monkeypatch, words):
    fresh = tmp_path / ".student-edition" / "exercises" / ONE
    fresh.mkdir(parents=True)
    (fresh / "01-exercises.ipynb").write_text(json.dumps(released()))
    (fresh.parents[1] / "files.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, words, catch_exceptions=False)
    assert done.exit_code in (1, 2)
    assert "This is a student edition" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [".student-edition"]


@pytest.mark.parametrize("words", [["reset", "1"], ["collect", "x.zip", "01"]])
def test_a_number_that_two_assignments_have_is_asked_about(command, new_school, words):
    shutil.copytree(new_school.project.solutions / ONE, new_school.project.solutions / "01-bonus")
    done = command(*words)
    assert done.exit_code == 2
    assert f"{words[-1]} may be 01-bonus or {ONE}: type the whole name." in done.stderr


def test_the_whole_name_is_one_assignment_also_where_it_is_a_number(command, new_school):
    (new_school.project.solutions / ONE).rename(new_school.project.solutions / "01")
    shutil.copytree(new_school.project.solutions / "01", new_school.project.solutions / "01-bonus")
    assert command("collect", "x.zip", "01").stderr == "Error: There is no file or folder x.zip.\n"


def test_a_project_without_solutions_is_spoken_of(command, new_school):
    shutil.rmtree(new_school.project.solutions)
    new_school.project.solutions.mkdir()
    done = command("grade", "1")
    assert done.exit_code == 2
    assert "There are no assignments in " in done.stderr


def test_json_is_all_there_is_on_stdout(command, new_school):
    new_school.hand_in("ada", solved(START), START)
    done = command("grade", "0", "--json")
    (result,) = json.loads(done.stdout)
    assert (result["student"], result["graded"]) == ("ada", True)
    assert result["record"]["rows"][0]["outcome"] == "correct"


def test_exercises_are_what_solutions_make_of_them(command):
    done = command("build", "--check")
    assert done.exit_code == 0, done.output


def test_build_says_and_mends_what_differs(command, new_school):
    path = new_school.project.exercises / ONE / "01-exercises.ipynb"
    good = path.read_bytes()
    path.write_bytes(good.replace(b"softmax", b"softmix"))
    (path.parent / "extra.txt").write_text("x")
    (path.parent / "01-exercises.backup-2026-01-01-000000.ipynb").write_text("mine")
    checked = command("build", "--check")
    assert checked.exit_code == 1
    assert f"exercises/{ONE}/01-exercises.ipynb differs" in checked.stdout
    assert f"exercises/{ONE}/extra.txt comes from no solution" in checked.stdout
    assert command("build").exit_code == 0
    assert path.read_bytes() == good
    assert sorted(p.name for p in path.parent.iterdir()) == [
        "01-exercises.backup-2026-01-01-000000.ipynb",
        "01-exercises.ipynb",
    ]


def test_released_notebooks_contain_no_solution():
    for assignment in (START, ONE):
        text = json.dumps(released(assignment))
        assert "BEGIN SOLUTION" not in text
        assert "NotImplementedError" in text


def test_reset_restores_and_keeps_the_old_one(command, new_school):
    path = new_school.project.exercises / ONE / "01-exercises.ipynb"
    good = path.read_bytes()
    path.write_text("my work")
    done = command("reset", "1")
    assert done.exit_code == 0, done.output
    assert path.read_bytes() == good
    (backup,) = path.parent.glob("*.backup-*.ipynb")
    assert backup.read_text() == "my work"
    assert backup.name in done.stdout
    assert command("reset", "1").exit_code == 0
    assert len(list(path.parent.glob("*.backup-*.ipynb"))) == 1


def test_reset_prefers_what_git_has(command, new_school):
    root = new_school.project.root
    path = new_school.project.exercises / ONE / "01-exercises.ipynb"
    path.write_text("what was committed")
    for arguments in (["init", "--quiet"], ["add", "exercises"]):
        subprocess.run(["git", *arguments], cwd=root, check=True, timeout=60)
    path.write_text("my work")
    assert command("reset", ONE).exit_code == 0
    assert path.read_text() == "what was committed"


def test_doctor_has_a_line_for_everything(command):
    done = command("doctor")
    for word in ("Python", "Packages", "Grading", "Gradebook", "Sandbox", "Device"):
        assert word in done.stdout


def test_outside_a_project_the_one_it_is_installed_from_is_meant(tmp_path, monkeypatch):
    from autograder.grading.places import find_project

    monkeypatch.chdir(tmp_path)
    assert find_project().root == ROOT
