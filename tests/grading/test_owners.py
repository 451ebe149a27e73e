"""Whose a hand-in is: the platform and the roster say it, and nobody takes another's place."""

import pytest

from tests.grading.handing_in import of_moodle, states, work
from tests.grading.notebooks import START

NAME = "01-exercises.ipynb"


def test_two_students_of_one_name_keep_their_folders(take, kept):
    first, second = (f"Ada Lovelace_{n}_assignsubmission_file_/x.ipynb" for n in (11, 22))
    take({first: work("first")})
    done = take({first: work("first"), second: work("second")})
    assert kept() == {
        "Ada Lovelace": {"x.ipynb": "first"},
        "Ada Lovelace 22": {"x.ipynb": "second"},
    }
    assert states(done) == {"Ada Lovelace": "unchanged", "Ada Lovelace 22": "new"}
    done = take({second: work("second")})
    assert states(done) == {"Ada Lovelace 22": "unchanged"}


def test_names_that_one_file_system_cannot_tell_apart(take, kept):
    take({"Ada/01-exercises.ipynb": work("before")})
    done = take({"Ada/01-exercises.ipynb": work("1"), "ada/01-exercises.ipynb": work("2")})
    assert kept() == {"Ada": {NAME: "before"}}
    assert [one.path for one in done.ignored] == [f"{name}/{NAME}" for name in ("Ada", "ada")]
    assert all("rename one of them" in one.why for one in done.ignored)
    assert done.troubled
    take({"ada/01-exercises.ipynb": work("later")})
    assert kept() == {"Ada": {NAME: "later"}}


def test_the_folder_of_a_name_is_that_of_the_same_name(take, kept):
    done = take({f"{name}/{NAME}": work(name) for name in (" ada ", "ada.", "ada", ".ada")})
    assert kept() == {"ada": {NAME: "ada"}}
    assert {one.path for one in done.ignored} == {
        f"{name}/{NAME}" for name in (" ada ", "ada.", ".ada")
    }
    assert done.troubled


def test_a_roster_says_who_it_is_and_who_is_missing(take, kept, new_school):
    roster = (
        "id,first_name,last_name,email,moodle,canvas\n"
        "al1,Ada,Lovelace,ada@x.org,123456,77\n"
        "bo2,Bo,O'Brien,bo@x.org,,78\n"
        "cy3,Cy,Young,cy@x.org,,\n"
        "em1,Emma,Jones,e1@x.org,,\n"
        "em2,Emma,Jones,e2@x.org,,\n"
    )
    done = take(
        {
            "Somebody Else_123456_assignsubmission_file_/x.ipynb": work("by number"),
            "Group A-Bo OBrien_9_assignsubmission_file_/x.ipynb": work("by name"),
            "Emma Jones_10_assignsubmission_file_/x.ipynb": work("which?"),
            "A Stranger_11_assignsubmission_file_/x.ipynb": work("stranger"),
        },
        roster=roster,
    )
    assert {who: [*files.values()] for who, files in kept().items()} == {
        "al1": ["by number"],
        "bo2": ["by name"],
        "Emma Jones 10": ["which?"],
        "A Stranger": ["stranger"],
    }
    remarks = {one.student: one.remark for one in done.collected}
    assert "2 in the roster have this name (em1, em2)" in remarks["Emma Jones 10"]
    assert remarks["A Stranger"] == "not in the roster"
    assert [person.id for person in done.missing] == ["cy3", "em1", "em2"]
    assert new_school.classroom.roster.read_text(encoding="utf-8") == roster
    done = take(
        {"x/youngcy_5_6_01-exercises.ipynb": work("cy"), "x/emmajones_7_8_a.ipynb": work("e")}
    )
    assert "cy3" in kept()  # the roster is used again
    assert [person.id for person in done.missing] == ["em1", "em2"]


CLASS = "id,name\nps,Pierre Serre\nada,Ada Lovelace\n"


def test_two_numbers_are_never_one_student_of_the_roster(take, kept):
    files = {of_moodle("Ada Lovelace", number): work(str(number)) for number in (11, 22)}
    done = take(files, roster=CLASS)
    assert kept() == {}
    assert [(one.path, one.trouble) for one in done.ignored] == [(path, True) for path in files]
    assert done.ignored[0].why.startswith(
        "2 students of Moodle (11, 22) would share the folder ada"
    )
    done = take(files, roster="id,name,moodle\nada,Ada Lovelace,22\n")
    assert kept() == {"ada": {NAME: "22"}}
    assert [one.path for one in done.ignored] == [of_moodle("Ada Lovelace", 11)]
    assert done.troubled


def test_nor_in_two_downloads_one_after_the_other(take, kept):
    first, second = (of_moodle("Ada Lovelace", number) for number in (11, 22))
    take({first: work("first")}, roster=CLASS)
    done = take({second: work("second")})
    assert kept() == {"ada": {NAME: "first"}}
    assert [one.path for one in done.ignored] == [second]
    assert states(take({first: work("again")})) == {"ada": "replaced"}
    take({second: work("second")}, roster="id,name,moodle\nada,Ada Lovelace,22\n")
    assert kept() == {"ada": {NAME: "second"}}  # for now it is known whose it is


def test_whose_work_was_refused_is_listed_also_without_a_notebook(take):
    files = {of_moodle("Ada Lovelace", number, "essay.pdf"): "%PDF" for number in (11, 22)}
    done = take(files, roster=CLASS)
    assert {one.path for one in done.ignored if one.trouble} == {*files}


def test_two_assignments_may_share_a_number(take, kept):
    take({of_moodle("Ada Lovelace", 5): work("ada")}, roster=CLASS)
    take({of_moodle("Pierre Serre", 5, "00-exercises.ipynb"): work("pierre")}, START)
    take({of_moodle("Ada Lovelace", 6, "00-exercises.ipynb"): work("ada")}, START)
    assert kept() == {"ada": {NAME: "ada"}}
    assert {who: [*files.values()] for who, files in kept(START).items()} == {
        "ps": ["pierre"],
        "ada": ["ada"],
    }


def test_a_first_name_is_not_taken_for_the_name_of_a_group(take, kept):
    done = take(
        {
            of_moodle("Jean-Pierre Serre", 5): work("jean-pierre"),
            of_moodle("Pierre Serre", 6): work("pierre"),
        },
        roster=CLASS,
    )
    assert kept() == {"Jean-Pierre Serre": {NAME: "jean-pierre"}, "ps": {NAME: "pierre"}}
    remarks = {one.student: one.remark for one in done.collected}
    assert remarks == {"Jean-Pierre Serre": "not in the roster", "ps": ""}


def test_a_name_of_which_a_part_was_left_out_is_spoken_of(take, kept):
    done = take({of_moodle("Group A-Pierre Serre", 5): work("pierre")}, roster=CLASS)
    assert kept() == {"ps": {NAME: "pierre"}}
    assert done.collected[0].remark == "taken for Pierre Serre, without 'Group A-'"


@pytest.mark.parametrize(
    "paths",
    [
        ("Ada Lovelace/x.ipynb", "Lovelace Ada/x.ipynb"),
        ("Ada/x.ipynb", "ada/x.ipynb"),
        ("monday/ada/x.ipynb", "tuesday/ada/x.ipynb"),
    ],
)
def test_folders_that_seem_to_be_one_students_are_nobodys(take, kept, paths):
    take({"ada/x.ipynb": work("before")}, roster=CLASS)
    done = take({path: work(path) for path in paths})
    assert kept() == {"ada": {"x.ipynb": "before"}}
    assert [one.path for one in done.ignored] == [*paths]
    assert done.ignored[0].why.startswith(f"it and {paths[1]} both seem to be ada's")
    assert done.troubled


def test_a_folder_keeps_its_case_whatever_the_roster_says(take, kept, new_school):
    take({"Ada/01-exercises.ipynb": work("1")})
    done = take({"ada/01-exercises.ipynb": work("2")}, roster=CLASS)
    assert kept() == {"Ada": {NAME: "2"}}
    assert states(done) == {"Ada": "replaced"}
    new_school.hand_in("ada", work("3"))
    done = take({"pierre serre/01-exercises.ipynb": work("p")})
    assert done.notes[0].startswith("Ada and ada are one student everywhere else")


def test_a_folder_from_before_the_roster_is_spoken_of(take):
    take({"Ada Lovelace/01-exercises.ipynb": work("ada")})
    done = take({"ada/01-exercises.ipynb": work("a")}, roster="id,name\nada,Ada Lovelace\n")
    assert done.notes[0].startswith("Ada Lovelace was collected before the roster")


def test_folders_of_one_name_from_before_the_roster_are_told_apart_by_number(take):
    files = {
        f"Jane Doe_{number}_assignsubmission_file/01-exercises.ipynb": work(number)
        for number in ("106", "107")
    }
    take(files)
    sheet = (
        "Identifier,Full name,Email address\n"
        "Participant 106,Jane Doe,jane@x.org\nParticipant 107,Jane Doe,doe@x.org\n"
    )
    done = take(files, roster=sheet)
    assert [note.partition(":")[0] for note in done.notes] == [
        "Jane Doe 106 was collected before the roster, where it seems to be jane@x.org",
        "Jane Doe 107 was collected before the roster, where it seems to be doe@x.org",
    ]


def test_a_roster_finds_students_in_folders_of_groups(take, kept):
    done = take(
        {
            "group 1/Lovelace Ada/01-exercises.ipynb": work("ada"),
            "group 1/bo/final/01-exercises.ipynb": work("bo"),
            "group 2/cy/01-exercises.ipynb": work("cy"),
        },
        roster="id,name\nal,Ada Lovelace\nbo,Bo\ncy,Cy\n",
    )
    assert {who: [*files.values()] for who, files in kept().items()} == {
        "al": ["ada"],
        "bo": ["bo"],
        "cy": ["cy"],
    }
    assert not done.troubled


def test_a_folder_with_several_students_work_is_spoken_of(take):
    done = take(
        {
            "group/x/01-exercises.ipynb": work("1"),
            "group/y/01-exercises.ipynb": work("2"),
            "ada/01-exercises.ipynb": work("3"),
        }
    )
    assert done.troubled
    assert "is the one that counts" in done.ignored[0].why
