"""The roster: what people and platforms write is understood, and what is no roster is refused."""

import csv

import pytest

from autograder.grading.marks import MISSING, write_marks
from autograder.grading.records import Record, Row, complete, write_pending
from autograder.grading.roster import UnusableRoster, read_roster, squashed
from tests.grading.notebooks import FULL, ONE, START, solved

CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,01-one-head (98765),Final Score\n"
    ",,,,,Manual Posting,\n"
    "    Points Possible,,,,,7,(read only)\n"
    '"Lovelace, Ada",1234,S-1,ada,"Section 1, Monday",,\n'
    '"O\'Brien, Bo",1235,S-2,bo@uni.org,Section 2,5,71\n'
    '"Student, Test",99,,1f2e3d,Section 1,,\n'
)
MOODLE = (
    'Identifier,"Full name","Email address",Status,Grade,"Maximum Grade","Grade can be changed",'
    '"Last modified (submission)","Last modified (grade)","Feedback comments"\n'
    '"Participant 123456","Ada Lovelace",ada@uni.org,"Submitted for grading",,7.00,Yes,'
    '"Saturday, 31 January 2026, 9:00 AM",-,"- well\ndone"\n'
    '"Participant 123457","=cmd|A1",bo@uni.org,"No submission",,7.00,Yes,-,-,\n'
)


@pytest.fixture
def roster(tmp_path):
    """Read a roster from a text or from bytes."""

    def roster(content: str | bytes):
        path = tmp_path / "class.csv"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_roster(path)

    return roster


def test_a_roster_of_ones_own(roster):
    people = roster(
        "ID, first_name,Last Name,email\nada,Ada,Lovelace,ada@x.org\n\nbo,Bo,,\n"
    ).people
    assert people[0].id == "ada"
    assert [person.name for person in people] == ["Ada Lovelace", "Bo"]
    assert {squashed("Lovelace, Ada"), "ada", "adaxorg"} <= people[0].names


def test_of_two_columns_of_one_title_the_one_that_says_something_counts(roster):
    people = roster("id,id,name,name\nada,,Ada,\n,bo,,Bo\n").people
    assert [(person.id, person.name) for person in people] == [("ada", "Ada"), ("bo", "Bo")]


@pytest.mark.parametrize(
    "content",
    [
        "id;name\nzoë;Müller, Zoë\n".encode("utf-8-sig"),
        "id\tname\r\nzoë\tMüller, Zoë\r\n".encode("utf-16"),
        'name,id\n"Müller, Zoë",zoë\n'.encode("cp1252"),
        b'"id","name"\r\n"zo\xc3\xab","M\xc3\xbcller, Zo\xc3\xab"',
    ],
)
def test_as_spreadsheets_save_it(roster, content):
    (person,) = roster(content).people
    assert (person.id, person.name) == ("zoë", "Müller, Zoë")
    assert squashed("zoë müller") in person.names


def test_canvas_gradebook(roster):
    found = roster(CANVAS)
    assert found.platform == "canvas"
    assert [(person.id, person.canvas) for person in found.people] == [
        ("ada", "1234"),
        ("bo@uni.org", "1235"),
    ]
    assert squashed("lovelaceada") in found.people[0].names
    assert found.points[5] == "7"


def test_canvas_gradebook_with_last_names_first(roster):
    found = roster(
        "LastName,FirstName,ID,SIS User ID,SIS Login ID,Section,01-one-head (98765)\n"
        ",,,,,,Manual Posting\n"
        "    Points Possible,,,,,,7\n"
        "Lovelace,Ada,1234,S-1,ada,A,\n"
        ",Bo,1235,S-2,bo,A,\n"
        "Student,Test,99,,1f2e,A,\n"
        "Student,Tess,98,,tess,A,\n"
    )
    assert found.platform == "canvas"
    assert [(one.id, one.name) for one in found.people] == [
        ("ada", "Ada Lovelace"),
        ("bo", "Bo"),
        ("tess", "Tess Student"),
    ]
    assert found.points[6] == "7"


def test_moodle_grading_worksheet(roster):
    found = roster(MOODLE)
    assert found.platform == "moodle"
    assert found.people[0].id == "ada@uni.org"
    assert found.people[0].moodle == "123456"
    assert found.people[0].cells[-1] == "- well\ndone"
    hidden = roster("Identifier,Status,Grade\nParticipant 5,Submitted,\n")
    assert [(one.id, one.moodle) for one in hidden.people] == [("Participant 5", "5")]


def test_two_of_one_name_in_a_worksheet(roster):
    people = roster(
        "Identifier,Full name,Status\nParticipant 1,Ada L,x\nParticipant 2,Ada L,x\n"
    ).people
    assert [person.id for person in people] == ["Ada L 1", "Ada L 2"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("colour,shape\nred,round\n", "no column `id`; it has colour, shape"),
        ("Kennung,Vollständiger Name\n5,Ada\n", "the platform is set to English"),
        ("id\nada\nADA\n", "the id 'ADA' twice"),
        ("id\n../ada\n", "cannot be the name of a folder"),
        ("id\n.ada\n", "cannot be the name of a folder"),
        ("id\nad\x1b[2Ja\n", "cannot be the name of a folder"),
        (f"id\n{'x' * 400}\n", "cannot be the name of a folder"),
        (b"PK\x03\x04\x00\x00", "a spreadsheet"),
        (b"id\n\x81\x8d\n", "no text"),
        ('id\n"ada\n', "is no CSV"),
        (f"id\n{'x' * 200_000}\n", "is no CSV"),
    ],
)
def test_what_is_no_roster_is_refused_with_a_sentence(roster, content, words):
    with pytest.raises(UnusableRoster, match=r"class\.csv") as refused:
        roster(content)
    assert words in str(refused.value)
    assert str(refused.value).endswith(".")


def graded(school, student: str, assignment: str = ONE) -> None:
    """A record as grading leaves it."""
    rows = tuple(
        Row(name, points, points, "correct", "", 1.0, "", "") for name, points in FULL.items()
    )
    verdicts = school.classroom.verdicts
    write_pending(verdicts, Record(student, assignment, "01-exercises", "", "", 1, "", rows))
    complete(verdicts, student, assignment)


def test_who_handed_in_nothing_has_rows(new_school):
    school = new_school
    school.hand_in("Ada", solved())
    graded(school, "Ada")
    school.hand_in("cy", b"not graded yet")
    school.classroom.roster.write_text("id,name\nada,Ada\nbo,Bo\ncy,Cy\n", encoding="utf-8")
    write_marks(school.classroom, school.project.all_exercises())
    with school.classroom.marks.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    of_bo = [row for row in rows if row["student"] == "bo"]
    assert {row["exercise"]: row["max_points"] for row in of_bo} == {
        name: f"{points:g}" for name, points in FULL.items()
    }
    assert {(row["assignment"], row["points"], row["outcome"]) for row in of_bo} == {
        (ONE, "0", MISSING)
    }
    assert [row["points"] for row in rows if row["student"] == "Ada"] == ["1", "2", "2", "2"]
    assert {row["student"] for row in rows} == {"Ada", "bo"}
    school.hand_in("bo", b"x", START)
    write_marks(school.classroom, school.project.all_exercises())
    text = school.classroom.marks.read_text(encoding="utf-8")
    assert f"ada,{START},weighted_average,0,0,{MISSING},," in text
    assert f"bo,{START}" not in text


def test_a_roster_that_cannot_be_read_stops_nobodys_marks(new_school):
    new_school.hand_in("ada", solved())
    graded(new_school, "ada")
    new_school.classroom.roster.write_text("colour\nred\n")
    write_marks(new_school.classroom, new_school.project.all_exercises())
    text = new_school.classroom.marks.read_text(encoding="utf-8")
    assert "roster.csv" in text
    assert f"ada,{ONE},softmax,2,2,correct" in text
