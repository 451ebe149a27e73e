"""Hostile and damaged archives and folders are collected from as far as that is safe."""

import io
import os
import stat
import struct
import zipfile

import pytest

from autograder.grading import sources
from autograder.grading.sources import UnusableSource
from tests.grading.handing_in import folder_of, states, work, zipped

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
