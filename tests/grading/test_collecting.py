"""What was handed in is collected, from folders and from the zips of platforms, hostile or not."""

import io
import json
import os
import stat
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path

import filelock
import pytest
from click.testing import CliRunner

from autograder.cli import main
from autograder.grading import sources
from autograder.grading.collecting import Collection, collect
from autograder.grading.locking import AlreadyGrading
from autograder.grading.sources import UnusableSource
from autograder.grading.submissions import read_submission
from tests.grading.notebooks import ONE, START

NAME = "01-exercises.ipynb"
Files = Mapping[str, bytes | str]


def work(text: str) -> bytes:
    """A notebook that differs from others by its text."""
    cell = {"cell_type": "markdown", "metadata": {}, "id": "a", "source": text}
    return json.dumps(
        {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    ).encode()


def zipped(files: Files) -> bytes:
    """A zip of files by path."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return data.getvalue()


def folder_of(root: Path, files: Files) -> Path:
    """A folder with files by path."""
    for path, content in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


@pytest.fixture
def take(new_school, tmp_path):
    """Collect from a zip of files, from a zip's bytes, or from a folder."""

    def take(source: Files | bytes | Path, assignment: str = ONE, roster: str = "") -> Collection:
        if isinstance(source, Path):
            place = source
        else:
            place = tmp_path / "handed in.zip"
            place.write_bytes(source if isinstance(source, bytes) else zipped(source))
        path = None
        if roster:
            path = tmp_path / "class.csv"
            path.write_text(roster, encoding="utf-8")
        return collect(new_school.project, new_school.classroom, place, assignment, path)

    return take


@pytest.fixture
def kept(new_school):
    """What the classroom has of an assignment: by student and file, the notebook's text."""

    def kept(assignment: str = ONE) -> dict[str, dict[str, str]]:
        return {
            folder.parent.name: {
                path.name: json.loads(path.read_bytes())["cells"][0]["source"]
                if path.suffix == ".ipynb"
                else path.read_text().strip()
                for path in folder.iterdir()
            }
            for folder in new_school.classroom.submitted.glob(f"*/{assignment}")
        }

    return kept


def states(done: Collection) -> dict[str, str]:
    return {one.student: one.state for one in done.collected}


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


def entry(path: str, kind: int = stat.S_IFREG) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(path)
    info.external_attr = (kind | 0o644) << 16
    return info


HOSTILE = [
    ("/etc/01-exercises.ipynb", "leads out"),
    ("../../bo/01-exercises.ipynb", "leads out"),
    ("ada/../../bo/01-exercises.ipynb", "leads out"),
    ("..\\bo\\01-exercises.ipynb", "leads out"),
    (f"{'deep/' * 40}01-exercises.ipynb", "folders inside each other"),
]


@pytest.mark.parametrize(("path", "words"), HOSTILE)
def test_paths_that_lead_elsewhere(take, kept, new_school, path, words):
    for source in ({path: work("x")}, {"bo_1_2_work.zip": zipped({path: work("x")})}):
        done = take({"ada/01-exercises.ipynb": work("ada"), **source})
        assert kept()["ada"] == {NAME: "ada"}
        assert words in "".join(one.why for one in done.ignored)
        assert done.troubled
    inside = new_school.project.root.resolve()
    assert not [p for p in inside.parent.rglob("bo") if inside not in p.resolve().parents]


def test_links_in_archives_and_folders(take, kept, tmp_path):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(entry("ada/01-exercises.ipynb", stat.S_IFLNK), "/etc/passwd")
        archive.writestr(entry("bo/01-exercises.ipynb"), work("bo"))
    done = take(data.getvalue())
    assert kept()["bo"] == {NAME: "bo"}
    assert "no ordinary file" in kept()["ada"]["not-collected.txt"]
    source = folder_of(tmp_path / "f", {"cy/01-exercises.ipynb": work("cy"), "di/x.txt": "x"})
    (source / "di" / NAME).symlink_to("/etc/passwd")
    (source / "ed").symlink_to("/etc")
    os.mkfifo(source / "cy" / "pipe.ipynb")
    done = take(source)
    assert kept()["cy"] == {NAME: "cy"}
    assert [*kept()["di"]] == ["not-collected.txt"]
    assert {"ed", "cy/pipe.ipynb"} < {one.path for one in done.ignored}


def test_bombs_and_crowds(take, monkeypatch):
    with zipfile.ZipFile(data := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ada/01-exercises.ipynb", b"0" * (sources.SIZE_LIMIT + 1))
        archive.writestr("bo/work.zip", b"0" * 1000)
    done = take(data.getvalue())
    reasons = [one.why for one in done.ignored]
    assert any("64 MB" in why for why in reasons)
    assert any("the zip cannot be read" in why for why in reasons)
    monkeypatch.setattr(sources, "TOTAL_LIMIT", 2 * 2**20)
    with pytest.raises(UnusableSource, match="unpacks to more than"):
        take({f"{n}/01-exercises.ipynb": b"0" * 2**20 for n in range(3)})
    with pytest.raises(UnusableSource, match="unpacks to more than"):
        take({f"{n}.zip": zipped({"a/x.ipynb": b"0" * 2**20}) for n in range(3)})
    monkeypatch.setattr(sources, "FILES_LIMIT", 5)
    with pytest.raises(UnusableSource, match="more than 5 files"):
        take({f"{n}/x.txt": "" for n in range(6)})
    with pytest.raises(UnusableSource, match="more than 5 files"):
        take({"a.zip": zipped({f"{n}.txt": "" for n in range(6)})})
    monkeypatch.setattr(sources, "DIRECTORY_LIMIT", 100)
    with pytest.raises(UnusableSource, match="more than 5 files"):
        take({f"{n}/x.txt": "" for n in range(4)})


def test_a_zip_inside_a_zip_inside_a_zip_is_listed(take):
    third = zipped({"x.ipynb": work("x")})
    done = take({"ada_1_2_w.zip": zipped({"again.zip": third})})
    assert done.ignored[0].why.startswith("it is a zip inside a zip inside a zip")
    assert states(done) == {"ada": "no notebook"}


def test_damaged_and_encrypted(take, kept, tmp_path):
    good = {"ada/01-exercises.ipynb": work("a" * 500), "bo/01-exercises.ipynb": work("bo")}
    data = bytearray(zipped(good))
    data[60:80] = b"\xff" * 20
    done = take(bytes(data))
    assert kept()["bo"] == {NAME: "bo"}
    assert "damaged in the zip" in kept()["ada"]["not-collected.txt"]
    assert done.troubled
    data = bytearray(zipped(good))
    at = data.index(b"PK\x01\x02")
    struct.pack_into("<H", data, at + 8, 1)
    done = take(bytes(data))
    assert "encrypted" in done.ignored[0].why
    for broken in (b"", b"PK\x03\x04 and nothing else", zipped(good)[:-30], b"Rar!\x1a\x07"):
        with pytest.raises(UnusableSource, match="neither a folder nor a zip"):
            take(broken)
    with pytest.raises(UnusableSource, match="no file or folder"):
        take(tmp_path / "nowhere")


def test_what_an_archive_holds_twice(take, kept):
    with zipfile.ZipFile(data := io.BytesIO(), "w") as archive:
        archive.writestr("ada/01-exercises.ipynb", work("first"))
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("ada/01-exercises.ipynb", work("last"))
    done = take(data.getvalue())
    assert kept() == {"ada": {NAME: "last"}}
    assert "the last one counts" in done.ignored[0].why


def test_odd_characters(take, kept):
    done = take(
        {
            "a\x1b[2Jb/01-exercises.ipynb": work("escape"),
            'c:*?"<>|/01-exercises.ipynb': work("signs"),
            "\u202eevil/01-exercises.ipynb": work("bidi"),
            f"{'x' * 400}/01-exercises.ipynb": work("long"),
            " . /01-exercises.ipynb": work("dots"),
            "d/\x07\u202e .ipynb": work("name"),
        }
    )
    assert len(kept()) == 6
    assert all(name.isprintable() and len(name.encode()) <= 150 for name in kept())
    assert not done.troubled
    mac = bytearray(zipped({"Zoe\u0308/01-exercises.ipynb": work("zoë")}))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # as macOS writes it
        struct.pack_into("<H", mac, mac.index(signature) + offset, 0)
    take(bytes(mac))
    assert "Zoë" in kept()


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
