import json
import multiprocessing
import os
import stat
import warnings
from pathlib import Path
from typing import Any

import pytest

from course import storage


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    monkeypatch.setenv("MANY_HEADS_HOME", str(folder))
    return folder


def test_what_was_updated_is_read_again(home: Path) -> None:
    storage.update("predictions", lambda stored: stored | {"word": "cat", "词": "小猫"})
    storage.update("predictions", lambda stored: stored.update(second=2))
    assert storage.read("predictions") == {"word": "cat", "词": "小猫", "second": 2}
    assert "小猫" in (home / "predictions.json").read_text(encoding="utf-8")


def test_nothing_stored_is_an_empty_dict_and_makes_no_folder(home: Path) -> None:
    assert storage.read("progress") == {}
    assert not home.exists()


def test_without_the_variable_the_platform_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MANY_HEADS_HOME")
    assert storage.home().name == "many-heads"


@pytest.mark.parametrize("name", ["", "../secret", "a/b", "a.b"])
def test_a_name_is_not_a_path(name: str) -> None:
    with pytest.raises(ValueError, match="letters, digits"):
        storage.read(name)


@pytest.mark.parametrize("content", [b'{"half": ', b"[1, 2]", b"\xff\xfe\x00", b""])
def test_a_damaged_file_is_set_aside_and_reported(home: Path, content: bytes) -> None:
    home.mkdir()
    (home / "progress.json").write_bytes(content)
    with pytest.warns(storage.StorageWarning, match="damaged") as said:
        assert storage.read("progress") == {}
    (aside,) = home.glob("progress.damaged-*.json")
    assert aside.read_bytes() == content
    assert str(aside) in str(said[0].message)
    storage.update("progress", lambda stored: {"new": 1})
    assert storage.read("progress") == {"new": 1}


def test_a_failing_update_leaves_the_file_and_no_litter(home: Path) -> None:
    storage.update("progress", lambda stored: {"kept": 1})
    with pytest.raises(TypeError):
        storage.update("progress", lambda stored: {"no JSON": object()})
    with pytest.raises(ZeroDivisionError):
        storage.update("progress", lambda stored: {"never": 1 / 0})
    assert storage.read("progress") == {"kept": 1}
    assert not list(home.glob(".*.tmp"))


def test_a_folder_that_cannot_be_made_is_reported_and_the_lesson_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "a-file"
    blocked.write_text("")
    monkeypatch.setenv("MANY_HEADS_HOME", str(blocked / "home"))
    with pytest.warns(storage.StorageWarning, match="MANY_HEADS_HOME"):
        assert storage.update("progress", lambda stored: {"now": 1}) == {"now": 1}


def test_a_full_or_read_only_disk_is_reported(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage.update("progress", lambda stored: {"kept": 1})

    def refuse(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.warns(storage.StorageWarning, match="No space left"):
        assert storage.update("progress", lambda stored: stored | {"more": 2})["more"] == 2
    assert storage.read("progress") == {"kept": 1}
    assert not list(home.glob(".*.tmp"))


def test_an_unreadable_file_is_reported(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home.mkdir()
    (home / "progress.json").mkdir()  # reading a folder is an OSError on every system
    with pytest.warns(storage.StorageWarning, match="cannot be read"):
        assert storage.read("progress") == {}


def test_a_file_that_another_notebook_holds_is_reported(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "LOCK_SECONDS", 0.05)
    home.mkdir()
    with (
        storage.FileLock(home / "progress.lock"),
        pytest.warns(storage.StorageWarning, match="another notebook"),
    ):
        storage.update("progress", lambda stored: {"now": 1})


def _count(home: str, key: str) -> None:
    os.environ["MANY_HEADS_HOME"] = home
    storage.LOCK_SECONDS = 60.0

    def add(stored: dict[str, Any]) -> None:
        stored[key] = stored.get(key, 0) + 1
        stored["all"] = stored.get("all", 0) + 1

    for _ in range(20):
        storage.update("progress", add)


def test_two_kernels_do_not_lose_each_others_changes(home: Path) -> None:
    context = multiprocessing.get_context("spawn")
    kernels = [context.Process(target=_count, args=(str(home), key)) for key in ("a", "b")]
    for kernel in kernels:
        kernel.start()
    for kernel in kernels:
        kernel.join(120)
    assert [kernel.exitcode for kernel in kernels] == [0, 0]
    assert storage.read("progress") == {"a": 20, "b": 20, "all": 40}


def test_the_file_is_replaced_in_one_step(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the new file is being written, a reader still finds the old one whole."""
    storage.update("progress", lambda stored: {"old": 1})
    found: list[Any] = []
    flush = os.fsync

    def look(handle: int) -> None:
        found.append(json.loads((home / "progress.json").read_text()))
        flush(handle)

    monkeypatch.setattr(os, "fsync", look)
    storage.update("progress", lambda stored: {"new": 1})
    assert found == [{"old": 1}]


def test_nothing_is_warned_about_when_all_is_well() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        storage.update("progress", lambda stored: {"a": 1})
        storage.read("progress")


def test_only_the_learner_can_read_the_file(home: Path) -> None:
    storage.update("progress", lambda stored: {"a": 1})
    if os.name == "posix":
        assert stat.S_IMODE((home / "progress.json").stat().st_mode) == 0o600
