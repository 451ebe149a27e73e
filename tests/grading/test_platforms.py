"""Marks for Moodle and Canvas: in their shapes, with nbgrader's final scores."""

import csv
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from nbgrader.api import Gradebook

from autograder.cli import main
from autograder.grading.collecting import collect
from autograder.grading.gradebook import fill
from autograder.grading.places import Classroom, Project
from autograder.grading.platforms import NothingToExport, export
from autograder.grading.records import Record, complete, path_of, read, write_pending
from autograder.grading.scores import Score, change_since
from autograder.grading.submissions import read_submission, read_timestamp
from autograder.grading.submitters import parsed_time
from tests.grading.conftest import School
from tests.grading.handing_in import of_moodle, work, zipped
from tests.grading.notebooks import FULL, ONE, START, released, solved
from tests.grading.test_roster import CANVAS, MOODLE


def grade(school, student: str, points: dict[str, float], penalty: float = 0) -> None:
    """What grading leaves: the scores in nbgrader's gradebook, and the record."""
    classroom = school.classroom
    source = school.project.solutions / ONE
    fill(source, ONE, classroom.db_url, classroom.stamps)
    with Gradebook(classroom.db_url) as gradebook:
        gradebook.update_or_create_student(student)
        written = parsed_time(read_timestamp(classroom.submitted / student / ONE))
        time = written.replace(tzinfo=None) if written else None
        submission = gradebook.update_or_create_submission(ONE, student, timestamp=time)
        (notebook,) = submission.notebooks
        notebook.late_submission_penalty = penalty
        for row in notebook.grades:
            row.auto_score = points.get(row.name.removeprefix("check-"), 0)
            row.needs_manual_grade = False
        gradebook.db.commit()
    folder = classroom.submitted / student / ONE
    hashed = (
        read_submission(school.project, classroom, student, ONE).hash if folder.exists() else ""
    )
    record = Record(student, ONE, "01-exercises", hashed, "", 1, "", ())
    write_pending(classroom.verdicts, record)
    complete(classroom.verdicts, student, ONE)


def table(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


@pytest.fixture(scope="module")
def graded(school):
    """Ada has 7 points and half a point of penalty, Bo one by hand; Cy is not graded yet."""
    for student in ("ada", "bo@uni.org", "cy"):
        school.hand_in(student, solved())
    grade(school, "ada", dict(FULL), penalty=0.5)
    grade(school, "bo@uni.org", {"softmax": 2})
    with Gradebook(school.classroom.db_url) as gradebook:
        row = gradebook.find_grade("check-attention", "01-exercises", ONE, "bo@uni.org")
        row.manual_score = 1.25
        gradebook.db.commit()
    return school


@pytest.fixture
def school_now(graded, tmp_path):
    """The same for one test alone."""
    root = tmp_path / "a course"
    shutil.copytree(graded.project.root, root)
    return School(Project(root), Classroom(root / "classroom"))


def test_canvas_from_its_own_gradebook(school_now):
    school_now.classroom.roster.write_text(
        CANVAS + '"=HYPERLINK(1), Di",1236,S-3,di,Section 1,,\n', encoding="utf-8"
    )
    done = export(school_now.project, school_now.classroom, "canvas")
    assert done.paths == [school_now.classroom.exports / "canvas.csv"]
    assert table(done.paths[0]) == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "01-one-head (98765)"],
        ["    Points Possible", "", "", "", "", "7"],
        ["Lovelace, Ada", "1234", "S-1", "ada", "Section 1, Monday", "6.5"],
        ["O'Brien, Bo", "1235", "S-2", "bo@uni.org", "Section 2", "3.25"],
        ["'=HYPERLINK(1), Di", "1236", "S-3", "di", "Section 1", "0"],
    ]
    assert done.notes == [
        "Not in the roster, and so in no file: cy.",
        f"Handed in and not graded, left empty: cy ({ONE}). Grade, and export again.",
    ]


def test_canvas_without_its_gradebook(school_now):
    school_now.classroom.roster.write_text("id,name,canvas\nada,Ada Lovelace,1234\ncy,Cy,\n")
    done = export(school_now.project, school_now.classroom, "canvas", [ONE])
    assert table(done.paths[0]) == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", ONE],
        ["    Points Possible", "", "", "", "", "7"],
        ["Ada Lovelace", "1234", "", "ada", "", "6.5"],
        ["Cy", "", "", "cy", "", ""],
    ]


def test_other_points_on_the_platform_are_spoken_of_and_not_changed(school_now):
    school_now.classroom.roster.write_text(CANVAS.replace("Possible,,,,,7", "Possible,,,,,100"))
    done = export(school_now.project, school_now.classroom, "canvas")
    assert table(done.paths[0])[1][-1] == "100"
    assert any(f"{ONE} has 7 points here, and 100 on Canvas" in note for note in done.notes)
    other = CANVAS.replace("01-one-head (98765)", "Something else (98765)")
    school_now.classroom.roster.write_text(other)
    done = export(school_now.project, school_now.classroom, "canvas")
    assert table(done.paths[0])[0][-1] == ONE
    assert any("no column 01-one-head" in note for note in done.notes)


def test_moodle_worksheet_is_filled_in_and_otherwise_as_it_was(school_now, tmp_path):
    school_now.classroom.roster.write_text("id,email\nada,ada@uni.org\nbo@uni.org,bo@uni.org\n")
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(MOODLE.replace("ada@uni.org", "ada"), encoding="utf-8")
    done = export(school_now.project, school_now.classroom, "moodle", [ONE], sheet)
    path = school_now.classroom.exports / f"moodle-worksheet-{ONE}.csv"
    assert path in done.paths
    before, after = table(sheet), table(path)
    at = before[0].index("Grade")
    assert [row[at] for row in after] == ["Grade", "6.5", "3.25"]
    for old, new in zip(before, after, strict=True):
        same = [n for n in range(len(old)) if n != at and old[n] == new[n]]
        assert len(same) == len(old) - 1 - (old[1] == "=cmd|A1")
    assert after[2][1] == "'=cmd|A1"
    assert after[1][-1] == "- well\ndone"


def test_moodle_worksheet_with_another_maximum(school_now, tmp_path):
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(MOODLE.replace("7.00", "100.00"), encoding="utf-8")
    done = export(school_now.project, school_now.classroom, "moodle", [ONE], sheet)
    assert any("100.00 on Moodle" in note for note in done.notes)


def test_moodle_gradebook(school_now):
    school_now.classroom.roster.write_text(
        "id,name,email\nada,Ada Lovelace,ada@uni.org\nbo@uni.org,@Bo,+bo@uni.org\ndi,Di,d@x.org\n"
    )
    done = export(school_now.project, school_now.classroom, "moodle")
    assert [path.name for path in done.paths] == ["moodle-gradebook.csv"]
    assert table(done.paths[0]) == [
        ["Full name", "ID", "Email address", ONE],
        ["Ada Lovelace", "ada", "ada@uni.org", "6.5"],
        ["'@Bo", "bo@uni.org", "+bo@uni.org", "3.25"],
        ["Di", "di", "d@x.org", "0"],
    ]


def test_without_a_roster_everybody_who_handed_in_has_a_row(school_now):
    done = export(school_now.project, school_now.classroom, "moodle")
    assert [row[1:2] + row[3:] for row in table(done.paths[0])[1:]] == [
        ["ada", "6.5"],
        ["bo@uni.org", "3.25"],
        ["cy", ""],
    ]


def test_without_a_roster_no_name_of_a_folder_becomes_a_formula(new_school):
    for name in ("=1+cmd", "@SUM(1)", "+1", "-rf", " =2", "x;=1+1;", 'x; "=2', "a\x1b[2Jb\u202e"):
        new_school.hand_in(name, solved())
        grade(new_school, name, dict(FULL))
    for platform in ("canvas", "moodle"):
        path = export(new_school.project, new_school.classroom, platform).paths[0]
        # Where commas are decimal, spreadsheets part fields at semicolons.
        for delimiter in ",;":
            for row in csv.reader(path.read_text("utf-8").splitlines(), delimiter=delimiter):
                assert not any(cell.lstrip().startswith(("=", "+", "-", "@")) for cell in row)
        assert "\x1b" not in path.read_text("utf-8")
        assert "\u202e" not in path.read_text("utf-8")


def test_a_roster_of_other_people_overwrites_nothing(school_now, tmp_path):
    export(school_now.project, school_now.classroom, "canvas", [ONE])
    before = (school_now.classroom.exports / "canvas.csv").read_bytes()
    others = tmp_path / "others.csv"
    others.write_text("id,name,email\nzoe,Zoe,zoe@uni.org\n")
    with pytest.raises(NothingToExport, match="Nobody who handed in is in the roster"):
        export(school_now.project, school_now.classroom, "canvas", [ONE], others)
    assert (school_now.classroom.exports / "canvas.csv").read_bytes() == before


def test_what_was_handed_in_again_is_spoken_of(school_now):
    school_now.hand_in("ada", released())
    done = export(school_now.project, school_now.classroom, "canvas")
    assert any(
        note.startswith(f"Handed in again since these marks were made: ada ({ONE})")
        for note in done.notes
    )


ADA = f"ada ({ONE})."


def notes_of(school, platform: str = "canvas", *options) -> list[str]:
    return export(school.project, school.classroom, platform, [ONE], *options).notes


def test_a_time_that_was_added_is_no_other_submission(school_now):
    folder = school_now.classroom.submitted / "ada" / ONE
    (folder / "timestamp.txt").write_text("2026-01-31 09:00:00.000000 UTC\n")
    notes = notes_of(school_now)
    assert any("only the time of handing in (timestamp.txt)" in note for note in notes)
    assert not any("Handed in again" in note for note in notes)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("2026-01-31 09:00:00.250000 UTC", "2026-02-01 09:00:00 UTC"),
        ("2026-01-31 09:00:00 UTC", None),
        ("2026-01-31 09:00:00", "never"),
    ],
)
def test_nor_is_a_time_that_was_changed_or_removed(school_now, before, after):
    path = school_now.classroom.submitted / "ada" / ONE / "timestamp.txt"
    path.write_text(before)
    grade(school_now, "ada", dict(FULL))
    assert not any(ADA in note for note in notes_of(school_now))
    if after is None:
        path.unlink()
    else:
        path.write_text(after)
    assert any("timestamp.txt" in note and ADA in note for note in notes_of(school_now))
    school_now.hand_in("ada", released())
    notes = notes_of(school_now)
    assert any(note.startswith("Handed in again") and ADA in note for note in notes)


def test_what_was_removed_is_not_called_handed_in_again(school_now):
    shutil.rmtree(school_now.classroom.submitted / "ada")
    done = export(school_now.project, school_now.classroom, "canvas")
    assert f"No longer in submitted/, and here with the marks from before: {ADA}" in done.notes
    assert not any("Handed in again" in note for note in done.notes)
    assert [row[-1] for row in table(done.paths[0]) if row[0] == "ada"] == ["6.5"]


def test_what_cannot_be_read_just_now_is_nothing_else(school_now, monkeypatch):
    def refuse(*_: object) -> None:
        raise PermissionError("not yours")

    record = read(path_of(school_now.classroom.verdicts, "ada", ONE))
    assert record is not None
    monkeypatch.setattr("autograder.grading.scores.read_submission", refuse)
    assert change_since(school_now.project, school_now.classroom, record, Score(1)) == ""


def test_two_folders_of_one_student_have_no_mark_that_somebody_chose(school_now):
    school_now.hand_in("Ada", solved())
    grade(school_now, "Ada", {"softmax": 2})
    for roster in ("", "id,name\nada,Ada Lovelace\n"):
        if roster:
            school_now.classroom.roster.write_text(roster)
        done = export(school_now.project, school_now.classroom, "moodle", [ONE])
        rows = [row for row in table(done.paths[0]) if row[1].casefold() == "ada"]
        assert [row[-1] for row in rows] == [""]
        assert any(f"left empty: Ada and ada ({ONE})" in note for note in done.notes)
    shutil.rmtree(school_now.classroom.submitted / "Ada")
    done = export(school_now.project, school_now.classroom, "moodle", [ONE])
    assert [row[-1] for row in table(done.paths[0]) if row[1] == "ada"] == ["6.5"]


def test_canvas_columns_are_found_whatever_their_case(school_now):
    school_now.classroom.roster.write_text("student,id,section,note\nLovelace Ada,ada,A,x\n")
    done = export(school_now.project, school_now.classroom, "canvas", [ONE])
    assert table(done.paths[0])[0] == ["student", "id", "section", ONE]
    assert table(done.paths[0])[2] == ["Lovelace Ada", "ada", "A", "6.5"]


def sheet_of(school, name: str = "") -> Path:
    return school.classroom.exports / f"moodle-worksheet-{name or ONE}.csv"


def test_the_rosters_worksheet_may_be_that_of_another_assignment(school_now):
    school_now.classroom.roster.write_text(MOODLE.replace("ada@uni.org", "ada"), encoding="utf-8")
    notes = notes_of(school_now, "moodle")
    assert any(f"name the worksheet of {ONE} with --worksheet" in note for note in notes)
    assert sheet_of(school_now).is_file()


def test_other_numbers_are_those_of_another_assignment(school_now, tmp_path, take_from):
    take_from({of_moodle("Ada Lovelace", 5): work("ada")}, MOODLE)
    notes = notes_of(school_now, "moodle")
    assert any("roster.csv has other participant numbers" in note for note in notes)
    assert not sheet_of(school_now).exists()
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(MOODLE)
    notes = notes_of(school_now, "moodle", sheet)
    assert any("is it the worksheet of another assignment?" in note for note in notes)
    assert sheet_of(school_now).is_file()  # it was named


def test_the_numbers_that_were_collected_are_those_of_the_assignment(school_now, take_from):
    take_from({of_moodle("Ada Lovelace", 123456): work("ada")}, MOODLE)
    assert not any("worksheet" in note for note in notes_of(school_now, "moodle"))
    assert sheet_of(school_now).is_file()


@pytest.fixture
def take_from(school_now, tmp_path):
    """Collect a zip of files, with a roster."""

    def take_from(files, roster: str) -> None:
        source, people = tmp_path / "moodle.zip", tmp_path / "class.csv"
        source.write_bytes(zipped(files))
        people.write_text(roster, encoding="utf-8")
        collect(school_now.project, school_now.classroom, source, ONE, people)

    return take_from


def test_a_worksheet_without_grades_replaces_nothing(school_now, tmp_path):
    sheet_of(school_now).parent.mkdir()
    sheet_of(school_now).write_text("from before")
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("Identifier,Full name,Email address\nParticipant 1,Ada Lovelace,ada\n")
    done = export(school_now.project, school_now.classroom, "moodle", [ONE], sheet)
    assert [path.name for path in done.paths] == ["moodle-gradebook.csv"]
    assert sheet_of(school_now).read_text() == "from before"
    assert any("sheet.csv has no column Grade" in note for note in done.notes)


def test_an_assignment_that_nobody_handed_in_is_nobodys_zero(school_now):
    done = export(school_now.project, school_now.classroom, "moodle", [START, ONE])
    assert table(done.paths[0])[0] == ["Full name", "ID", "Email address", ONE]
    assert f"Handed in by nobody, and so in no file: {START}." in done.notes
    done = export(school_now.project, school_now.classroom, "moodle")
    assert not any("by nobody" in note for note in done.notes)  # nobody asked for it
    with pytest.raises(NothingToExport, match="Collect and grade first"):
        export(school_now.project, school_now.classroom, "moodle", [START])


def test_the_command(school_now, monkeypatch):
    monkeypatch.chdir(school_now.project.root)

    def run(*arguments: str):
        return CliRunner().invoke(main, ["export", *arguments], catch_exceptions=False)

    done = run("canvas", "1")
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[0] == str(school_now.classroom.exports / "canvas.csv")
    assert "Handed in and not graded" in done.stdout
    assert run("canvas", "0").exit_code == 2
    assert run("blackboard").exit_code == 2
    school_now.classroom.roster.write_text("colour\nred\n")
    done = run("moodle")
    assert done.exit_code == 2
    assert "no column `id`" in done.stderr
