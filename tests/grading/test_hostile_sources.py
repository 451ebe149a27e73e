"""Hostile and damaged archives and folders are collected from as far as that is safe."""

import io
import os
import stat
import struct
import time
import zipfile

import pytest

from autograder.grading import archives, sources
from autograder.grading.sources import UnusableSource
from tests.grading.handing_in import folder_of, of_moodle, states, work, zipped
from tests.grading.notebooks import ONE

NAME = "01-exercises.ipynb"


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
    monkeypatch.setattr(archives, "DIRECTORY_LIMIT", 100)
    with pytest.raises(UnusableSource, match="list of contents"):
        take({f"{n}/x.txt": "" for n in range(4)})


def test_a_zip_with_too_much_in_it_is_refused_and_the_others_are_taken(take, monkeypatch):
    monkeypatch.setattr(sources, "NESTED_FILES_LIMIT", 5)
    monkeypatch.setattr(sources, "NESTED_TOTAL_LIMIT", 2**20)
    honest = {NAME: work("ada")}
    done = take(
        {
            "crowd.zip": zipped({f"{n}.txt": "" for n in range(6)}),
            "bomb.zip": zipped({"a/01-exercises.ipynb": b"0" * (2**20 + 1)}),
            "ada.zip": zipped(honest),
        }
    )
    assert sum("more than 5 files or 1 MB" in one.why for one in done.ignored) == 2
    states_of = states(done)
    assert (states_of["ada"], states_of["bomb"], states_of["crowd"]) == (
        "new",
        "no notebook",
        "no notebook",
    )


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


SHEET = "Identifier,Full name,Email address\nParticipant 12,Xena X,xena\nParticipant 77,Bob B,bob\n"
OF_CANVAS = "id,name,canvas,moodle\nbob,Bob B,77,77\nxena,Xena X,12,12\n"
TWO = "id,name\nada,Ada L\nbob,Bob B\n"
THREE = f"{TWO}xena,Xena X\n"
BOB_TO_MOODLE = "Bob B_77_assignsubmission_file_"
BOB_TO_THE_EXCHANGE = f"bob+{ONE}+2099-01-01 12:00:00 UTC+x"
XENA_TO_MOODLE = "Xena X_12_assignsubmission_file_"


@pytest.mark.parametrize("roster", [SHEET, ""])
@pytest.mark.parametrize(
    "chosen",
    [
        f"{BOB_TO_MOODLE}{NAME}",
        f"Q_77_assignsubmission_file_{NAME}",
        f"Q_77_assignsubmission_onlinetext_{NAME}",
        f"bobb_77_999_{NAME}",
        f"a+b_77_assignsubmission_file_{NAME}",
        f"{BOB_TO_THE_EXCHANGE}.ipynb",
        "work.zip",
    ],
)
def test_the_name_of_a_file_in_moodles_download_says_nothing_of_others(take, kept, roster, chosen):
    xenas = zipped({f"{BOB_TO_MOODLE}/{NAME}": work("xena")}) if ".zip" in chosen else work("xena")
    for prefix in (XENA_TO_MOODLE, f"{XENA_TO_MOODLE}/", "Xena X_12_assignsubmission_other_"):
        bob, xena = ("bob", "xena") if roster else ("Bob B", "Xena X")
        take({f"{BOB_TO_MOODLE}{NAME}": work("bob"), f"{prefix}{chosen}": xenas}, roster=roster)
        assert {who: [*files.values()] for who, files in kept().items()} == {
            bob: ["bob"],
            xena: ["xena"],
        }
        take({f"{prefix}{chosen}": work("again") if xenas == work("xena") else xenas})
        assert kept()[bob] == {NAME: "bob"}


@pytest.mark.parametrize(
    "chosen",
    [
        f"{BOB_TO_MOODLE}{NAME}",
        f"{BOB_TO_THE_EXCHANGE}.ipynb",
        f"LATE_77_99999999_{NAME}",
        f"_77_9_{NAME}",
        f"bobb_LATE_77_9_{NAME}",
    ],
)
def test_the_name_of_a_file_in_canvas_download_says_nothing_of_others(take, kept, chosen):
    files = {f"bobb_77_1001_{NAME}": work("bob"), f"xenax_12_1002_{chosen}": work("xena")}
    done = take(files, roster=OF_CANVAS)
    assert {who: [*files.values()] for who, files in kept().items()} == {
        "bob": ["bob"],
        "xena": ["xena"],
    }
    assert not any(one.remark for one in done.collected)  # nor whether it is late


def test_hidden_names_are_those_of_the_same_student_whatever_the_file_is_called(take, kept):
    for serial, name in enumerate(("02_exercises.ipynb", NAME, "7_8_9.ipynb"), start=56789):
        take(
            {f"anon_x7Gh2_{serial}_{name}": work(name), f"LATE_anon_Zz9aB_1_{NAME}": work("other")}
        )
        assert {who: [*files.values()] for who, files in kept().items()} == {
            "anon_x7Gh2": [name],
            "anon_Zz9aB": ["other"],
        }


@pytest.mark.parametrize(
    "path",
    [
        f"s123456/bob/{NAME}",
        f"s123456/Bob B/deep/{NAME}",
        f"s123456/{BOB_TO_MOODLE}/{NAME}",
        f"s123456/bobb_77_1001_{NAME}",
        f"s123456/{BOB_TO_THE_EXCHANGE}/{NAME}",
        f"s123456.zip/bob/{NAME}",
        f"s123456.zip/{BOB_TO_MOODLE}/{NAME}",
        f"s123456.zip/{BOB_TO_THE_EXCHANGE}/{NAME}",
        f"s123456/bob.zip/{NAME}",
    ],
)
@pytest.mark.parametrize("bobs", ["bob", "b0b"])
def test_a_folder_inside_ones_own_hand_in_says_nothing_of_others(take, kept, tmp_path, path, bobs):
    others = {f"{name}/{NAME}": work(name) for name in ("ada", bobs)}
    for source in (others | of(path), folder_of(tmp_path / "f", others | of(path))):
        take(source, roster=TWO)
        found = kept()
        assert [*found.pop("s123456", {"": "xena"}).values()] == ["xena"]
        assert found == {"ada": {NAME: "ada"}, bobs: {NAME: bobs}}
    take(others | of(path.replace("s123456", "xena")), roster=THREE)
    assert [*kept()["xena"].values()] == ["xena"]
    assert kept()[bobs] == {NAME: bobs}


def of(path: str) -> dict[str, bytes]:
    """What Xena hands in, in a zip where the path leads through one."""
    archive, packed, inside = path.partition(".zip/")
    return {f"{archive}.zip": zipped({inside: work("xena")})} if packed else {path: work("xena")}


@pytest.mark.parametrize("roster", [TWO, ""])
@pytest.mark.parametrize("inside", ["bob", BOB_TO_MOODLE, BOB_TO_THE_EXCHANGE])
def test_one_students_folder_alone_is_not_taken_for_one_around_students(take, kept, roster, inside):
    done = take({f"s123456/{inside}/{NAME}": work("xena")}, roster=roster)
    assert kept() == {}
    assert done.troubled
    assert "s123456 may be a student's folder, or one around bob" in done.ignored[0].why.lower()


def test_a_download_among_students_folders_is_nobodys(take, kept):
    inner = {of_moodle(name, number): work(name) for name, number in (("Ada", 1), ("Bob", 2))}
    done = take({f"cy/{NAME}": work("cy"), "moodle.zip": zipped(inner)})
    assert kept() == {"cy": {NAME: "cy"}}
    assert "moodle.zip looks like a download with the work of several" in done.ignored[0].why
    take({f"{day}/{path}": data for day, (path, data) in zip("ab", inner.items(), strict=True)})
    assert {*kept()} == {"cy", "Ada", "Bob"}  # downloads, each in a folder, and nothing else


@pytest.mark.parametrize("number", ["9" * 5000, "9" * 900, "9" * 90])
@pytest.mark.parametrize(
    "name",
    [
        "a_1_{}_x.ipynb",
        "a_{}_1_x.ipynb",
        "a_{}_assignsubmission_file_x.ipynb",
        "01-exercises ({}).ipynb",
        "01-exercises-{}.ipynb",
        "x ({}).ipynb",
        "cy+01-one-head+2026-01-01 12:00:{} UTC+x/x.ipynb",
        "{}/x.ipynb",
    ],
)
def test_numbers_of_any_length_stop_nobody(take, kept, name, number):
    for files in (
        {name.format(number): work("x")},
        {"xena.zip": zipped({name.format(number): work("x")})},
    ):
        take({f"ada/{NAME}": work("ada"), **files})
        assert kept()["ada"] == {NAME: "ada"}


def test_a_name_of_absurd_length_is_left_alone_with_a_reason(take, kept):
    for long in ("a-" * 8000 + "_1_assignsubmission_file_/x.ipynb", "a" * 60_000 + ".ipynb"):
        done = take({f"ada/{NAME}": work("ada"), long: work("x")}, roster=TWO)
        assert kept()["ada"] == {NAME: "ada"}
        (left,) = done.ignored
        assert left.trouble
        assert left.why.startswith("a name on its path has more than 1000 characters")
        assert len(left.path) < 500


@pytest.mark.parametrize(
    "part", ["a-", "_1", "+a", "+2026-01-01 12:00:00", "_1_assignsubmission_", "LATE_", "(1)", " "]
)
def test_names_made_to_be_slow_to_read_are_not(take, part):
    people = "".join(f"s{number},Person {number}\n" for number in range(300))
    long = (part * 1000)[: sources.PART_LIMIT - 10]
    files = {f"{long[:-3]}{number:03d}/x.ipynb": b"x" for number in range(40)}
    files |= {f"{long}{number}.ipynb": b"x" for number in range(40)}
    files |= {"deep/" * 10_000 + "x.ipynb": b"x"}
    began = time.process_time()
    take(files, roster=f"id,name\n{people}")
    assert time.process_time() - began < 20
