"""What was handed in is collected, from folders and from the zips of platforms."""

import filelock
import pytest
from click.testing import CliRunner

from autograder.cli import main
from autograder.grading.locking import AlreadyGrading
from autograder.grading.submissions import read_submission
from tests.grading.handing_in import folder_of, states, work, zipped
from tests.grading.notebooks import ONE, START

NAME = "01-exercises.ipynb"


def test_moodle_in_folders_and_flat(take, kept):
    done = take(
        {
            "Ada Lovelace_123456_assignsubmission_file_/01-exercises.ipynb": work("ada"),
            "Bo O'Brien_123457_assignsubmission_file/01-exercises (1).ipynb": work("bo"),
            "Zoë Müller-Lüdenscheidt_123458_assignsubmission_file_01-exercises.ipynb": work("zoë"),
            "Jean-Pierre Serre_123459_assignsubmission_file_/deep/er/mine.ipynb": work("serre"),
            "Ada Lovelace_123456_assignsubmission_onlinetext_/onlinetext.html": "<p>hello",
            "王 小明_123460_assignsubmission_file_/work.zip": zipped(
                {"many-heads/exercises/01-one-head/01-exercises.ipynb": work("王")}
            ),
        }
    )
    assert kept() == {
        "Ada Lovelace": {NAME: "ada"},
        "Bo O'Brien": {NAME: "bo"},
        "Zoë Müller-Lüdenscheidt": {NAME: "zoë"},
        "Jean-Pierre Serre": {"mine.ipynb": "serre"},
        "王 小明": {NAME: "王"},
    }
    assert set(states(done).values()) == {"new"}
    assert not any(one.remark for one in done.collected)  # a text beside it is no other version
    ((path, trouble),) = [(one.path, one.trouble) for one in done.ignored]
    assert path.endswith("onlinetext.html")
    assert not trouble


def test_canvas(take, kept):
    done = take(
        {
            "lovelaceada_LATE_1234_56789_01-exercises-1.ipynb": work("second"),
            "lovelaceada_1234_56000_01-exercises.ipynb": work("first"),
            "lovelaceada_1234_56001_notes.pdf": "%PDF",
            "müllerzoë_1235_56790_01-exercises.ipynb": work("zoë"),
            "anon_x7Gh2_56791_01-exercises.ipynb": work("hidden"),
            "bo_1236_56792_work.zip": zipped({"x/01-exercises.ipynb": work("bo")}),
        }
    )
    assert kept() == {
        "lovelaceada": {NAME: "second"},
        "müllerzoë": {NAME: "zoë"},
        "anon_x7Gh2": {NAME: "hidden"},
        "bo": {NAME: "bo"},
    }
    (ada,) = [one for one in done.collected if one.student == "lovelaceada"]
    assert ada.remark == "the latest of 2; late, says Canvas"


def test_nbgraders_exchange_with_the_latest_attempt_and_its_time(take, kept, tmp_path):
    before = f"ada+{ONE}+2026-01-30 12:00:00.000000 UTC+abc"
    after = f"ada+{ONE}+2026-01-31 09:00:00.000000 UTC+xyz"
    source = folder_of(
        tmp_path / "inbound",
        {
            f"{before}/{NAME}": work("old"),
            f"{before}/timestamp.txt": "2026-01-30 12:00:00.000000 UTC\n",
            f"{after}/{NAME}": work("new"),
            f"{after}/timestamp.txt": "2026-01-31 09:30:00.000000 UTC\n",
            f"bo+{ONE}+2026-01-31 10:00:00 UTC/{NAME}": work("bo"),
            f"bo+{START}+2026-01-31 10:00:00 UTC/00-exercises.ipynb": work("other"),
        },
    )
    done = take(source)
    assert kept() == {
        "ada": {NAME: "new", "timestamp.txt": "2026-01-31 09:30:00.000000 UTC"},
        "bo": {NAME: "bo", "timestamp.txt": "2026-01-31 10:00:00.000000 UTC"},
    }
    assert [one.why for one in done.ignored] == [f"it is for {START}"]
    assert not done.troubled


@pytest.mark.parametrize(
    "files",
    [
        {"ada/01-exercises.ipynb": "ada", "bo, jr./01-exercises.ipynb": "bo"},
        {"class 3/ada/01-exercises.ipynb": "ada", "class 3/bo, jr./01-exercises.ipynb": "bo"},
        {f"ada/{ONE}/01-exercises.ipynb": "ada", f"bo, jr./{ONE}/01-exercises.ipynb": "bo"},
        {f"x/{ONE}/ada/01-exercises.ipynb": "ada", f"x/{ONE}/bo, jr./01-exercises.ipynb": "bo"},
        {
            f"x/ada/exercises/{ONE}/01-exercises.ipynb": "ada",
            f"x/bo, jr./exercises/{ONE}/01-exercises.ipynb": "bo",
        },
        {"ada_01-exercises.ipynb": "ada", "01-exercises (bo, jr).ipynb": "bo"},
        {"x/ada.ipynb": "ada", "x/ada (1).ipynb": "ada", "x/01-exercises bo, jr.ipynb": "bo"},
    ],
)
def test_plain_folders_and_archives(take, kept, tmp_path, files):
    contents = {path: work(text) for path, text in files.items()}
    for source in (contents, folder_of(tmp_path / "plain", contents)):
        done = take(source)
        texts = {who.removesuffix("."): [*files.values()] for who, files in kept().items()}
        assert texts == {"ada": ["ada"], "bo, jr": ["bo"]}
        assert not done.troubled
    assert set(states(done).values()) == {"unchanged"}


def test_the_only_student_of_an_archive(take, kept):
    take({f"submitted/ada/{ONE}/01-exercises.ipynb": work("ada")})
    assert kept() == {"ada": {NAME: "ada"}}


def test_a_flat_file_that_names_nobody_is_listed_with_what_to_do(take, kept):
    done = take({NAME: work("whose?"), "01-exercises (2).ipynb": work("?"), "ada.ipynb": work("a")})
    assert [*kept()] == ["ada"]
    assert [one.path for one in done.ignored] == [NAME, "01-exercises (2).ipynb"]
    assert all("put it into a folder" in one.why for one in done.ignored)
    assert done.troubled


def test_a_time_is_kept_only_where_the_source_says_when_it_was_handed_in(take, kept, tmp_path):
    take({"ada/01-exercises.ipynb": work("ada"), "ada/timestamp.txt": "2026-01-31 09:00:00 UTC"})
    assert kept()["ada"]["timestamp.txt"] == "2026-01-31 09:00:00.000000 UTC"
    student = "Bo B_123_assignsubmission_file_"
    take({f"{student}/{NAME}": work("bo"), f"{student}/timestamp.txt": "2020-01-01 09:00:00 UTC"})
    assert kept()["Bo B"] == {NAME: "bo"}  # there, the student wrote it
    take({"cy/01-exercises.ipynb": work("cy"), "cy/timestamp.txt": "yesterday"})
    assert kept()["cy"] == {NAME: "cy"}


def test_again_and_again(take, kept, new_school):
    classroom = new_school.classroom
    take({"ada/01-exercises.ipynb": work("1"), "bo/01-exercises.ipynb": work("bo")})
    before = {path: path.stat().st_mtime_ns for path in classroom.root.rglob("*.ipynb")}
    done = take({"ada/01-exercises.ipynb": work("1"), "bo/01-exercises.ipynb": work("bo")})
    assert states(done) == {"ada": "unchanged", "bo": "unchanged"}
    assert {path: path.stat().st_mtime_ns for path in classroom.root.rglob("*.ipynb")} == before
    assert states(take({"ada/01-exercises.ipynb": work("2")})) == {"ada": "replaced"}
    assert states(take({"ada/01-exercises.ipynb": work("3")})) == {"ada": "replaced"}
    assert kept() == {"ada": {NAME: "3"}, "bo": {NAME: "bo"}}
    earlier = sorted((classroom.earlier / "ada" / ONE).glob("*/*.ipynb"))
    assert [path.read_bytes() for path in earlier] == [work("1"), work("2")]
    assert not (classroom.root / ".collecting").exists()


def test_an_older_attempt_does_not_replace_a_later_one(take, kept):
    late, early = (f"ada+{ONE}+2026-01-{day} 12:00:00 UTC" for day in (31, 30))
    take({f"{late}/{NAME}": work("late")})
    assert states(take({f"{early}/{NAME}": work("early")})) == {"ada": "older"}
    assert kept()["ada"][NAME] == "late"
    done = take({"ada/01-exercises.ipynb": work("late")})  # the same, from elsewhere
    assert states(done) == {"ada": "unchanged"}
    assert "timestamp.txt" in kept()["ada"]


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
    done = take({"Ada/01-exercises.ipynb": work("1"), "ada/01-exercises.ipynb": work("2")})
    assert [*kept()] == ["Ada"]
    assert [one.path for one in done.ignored] == ["ada/01-exercises.ipynb"]
    assert "rename one of them" in done.ignored[0].why
    take({"ada/01-exercises.ipynb": work("later")})
    assert kept() == {"Ada": {NAME: "later"}}


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


def test_who_handed_in_no_notebook_gets_a_reason(take, kept, new_school):
    student = "Ada L_5_assignsubmission_file_"
    done = take({f"{student}/essay.pdf": "%PDF", f"{student}/essay.docx": "PK"})
    assert states(done) == {"Ada L": "no notebook"}
    assert done.troubled
    submission = read_submission(new_school.project, new_school.classroom, "Ada L", ONE)
    assert submission.problem == (f"What was handed in (essay.pdf) is no notebook. Hand in {NAME}.")
    take({f"{student}/{NAME}": work("at last")})
    assert kept() == {"Ada L": {NAME: "at last"}}
    assert states(take({f"{student}/essay.pdf": "%PDF"})) == {"Ada L": "older"}
    assert kept() == {"Ada L": {NAME: "at last"}}


def test_which_of_several_notebooks_counts(take, kept):
    done = take(
        {
            "ada/notes.ipynb": work("notes"),
            "ada/01-exercises.ipynb": work("this"),
            "ada/00-exercises.ipynb": work("other"),
            "bo/a.ipynb": work("a"),
            "bo/b.ipynb": work("b"),
            "bo/00-exercises.ipynb": work("other"),
            "readme.txt": "hello",
            "ada/.ipynb_checkpoints/01-exercises-checkpoint.ipynb": work("checkpoint"),
            "__MACOSX/ada/._01-exercises.ipynb": "x",
        }
    )
    assert kept() == {"ada": {NAME: "this"}, "bo": {"a.ipynb": "a", "b.ipynb": "b"}}
    assert len(done.ignored) == 4
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


def test_two_programs_do_not_meet(take, new_school):
    new_school.classroom.root.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(new_school.classroom.root / ".grading.lock")
    with lock, pytest.raises(AlreadyGrading):
        take({"ada/01-exercises.ipynb": work("ada")})


def test_the_command(new_school, monkeypatch, tmp_path):
    monkeypatch.chdir(new_school.project.root)
    source = tmp_path / "x.zip"
    source.write_bytes(zipped({"ada/01-exercises.ipynb": work("a"), "bo/notes.txt": "\x1b"}))
    (tmp_path / "r.csv").write_text("id,name\nada,Ada\nbo,Bo Bold\n")

    def run(*arguments: str):
        return CliRunner().invoke(main, ["collect", *arguments], catch_exceptions=False)

    done = run(str(source), "1", "--roster", str(tmp_path / "r.csv"))
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines() == [
        f"ada  {ONE}  new",
        "bo/notes.txt  ignored: it is no notebook",
        f"bo (Bo Bold)  {ONE}  not handed in",
        f"{ONE}: 1 new, 1 not handed in.",
    ]
    source.write_bytes(zipped({NAME: work("whose?")}))
    done = run(str(source), ONE)
    assert done.exit_code == 1
    assert f"{NAME}  NOT COLLECTED  its name does not say whose it is" in done.stdout
    assert run(str(tmp_path / "none"), ONE).exit_code == 2
    assert run(str(source), ONE, "--roster", str(tmp_path / "no.csv")).exit_code == 2
    assert run(str(source), "no-such").exit_code == 2
