"""Writing a student edition to a folder: what is renewed, what is kept, what is refused."""

import shutil
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from autograder.cli import main
from autograder.grading.places import KEPT, LIST, Project
from autograder.grading.placing import UnusableFolder, check_zip, place_edition, write_zip

EXERCISE = "exercises/01-one-head/01-exercises.ipynb"
LESSON = "course/01-one-head.ipynb"
FILES = {
    path: f"{path} as it was first".encode()
    for path in (
        "LICENSE",
        "README.md",
        "autograder/cli.py",
        "course/next_word.py",
        "course/storage.py",
        EXERCISE,
        LESSON,
    )
}


def files_in(folder: Path) -> dict[str, bytes]:
    """The files of a folder by path."""
    there = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in there}


@pytest.fixture
def placed(tmp_path: Path) -> Path:
    """A folder with an edition in it."""
    folder = tmp_path / "for the class"
    place_edition(folder, FILES)
    return folder


def test_what_is_placed(placed):
    there = files_in(placed)
    assert there[f"{KEPT}/{EXERCISE}"] == FILES[EXERCISE]
    assert {path: there[path] for path in FILES} == FILES
    assert there.keys() - FILES.keys() == {LIST, f"{KEPT}/{EXERCISE}"}


def test_a_later_edition_renews_what_nobody_has_changed(placed):
    (placed / EXERCISE).write_text("my work")
    (placed / "course" / "my notes.ipynb").write_text("notes")
    (placed / "README.md").unlink()
    (placed / "course" / "storage.py").write_text("mine")
    (placed / "LICENSE").write_text("mine too")
    later = {path: content for path, content in FILES.items() if path != "course/next_word.py"}
    for path in (EXERCISE, LESSON, "course/storage.py"):
        later[path] = b"later"
    done = place_edition(placed, later)
    there = files_in(placed)
    assert set(done.kept) == {"LICENSE", EXERCISE}
    assert there[EXERCISE] == b"my work"
    assert there["LICENSE"] == b"mine too"  # there was nothing to renew
    assert there[f"{KEPT}/{EXERCISE}"] == b"later"
    assert there[LESSON] == b"later"
    assert done.aside == {"course/storage.py": "course/storage.py.yours"}
    assert there["course/storage.py.yours"] == b"mine"
    assert there["course/storage.py"] == b"later"
    assert done.removed == ["course/next_word.py"]
    assert "course/next_word.py" not in there
    assert there["README.md"] == FILES["README.md"]
    assert there["course/my notes.ipynb"] == b"notes"
    again = place_edition(placed, later)
    assert (again.written, again.removed, again.aside) == ([], [], {})
    assert set(again.kept) == {"LICENSE", EXERCISE}
    assert files_in(placed) == there


def test_work_is_kept_when_its_exercise_is_no_longer_part_of_the_edition(placed):
    (placed / EXERCISE).write_text("my work")
    done = place_edition(placed, {"LICENSE": FILES["LICENSE"]})
    assert done.kept == [EXERCISE]
    assert set(files_in(placed)) == {"LICENSE", LIST, EXERCISE}
    assert place_edition(placed, FILES).kept == [EXERCISE]
    assert (placed / EXERCISE).read_text() == "my work"


def test_what_is_moved_aside_does_not_replace_what_was_moved_before(placed):
    for number in range(3):
        (placed / "course" / "storage.py").write_text(f"mine {number}")
        place_edition(placed, {**FILES, "course/storage.py": b"later %d" % number})
    there = files_in(placed)
    assert [there[f"course/storage.py.yours{end}"] for end in ("", "-2", "-3")] == [
        b"mine 0",
        b"mine 1",
        b"mine 2",
    ]


def test_a_run_that_was_cut_short_is_repeated(placed, monkeypatch):
    later = dict.fromkeys(FILES, b"later")
    written: list[Path] = []

    def write(path, content):
        if len(written) > 4:
            raise OSError(28, "No space left on device")
        written.append(path)
        path.write_bytes(content)

    with monkeypatch.context() as patch:
        patch.setattr("autograder.grading.placing.write_atomically", write)
        with pytest.raises(OSError, match="No space"):
            place_edition(placed, later)
    # What the first run had written already is nobody's work, for a still later edition either.
    done = place_edition(placed, dict.fromkeys(FILES, b"latest"))
    assert (done.kept, done.aside) == ([], {})
    assert set(files_in(placed).values()) == {b"latest", (placed / LIST).read_bytes()}


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("full", "is not empty, and holds no student edition"),
        ("file", "is a file"),
        ("inside", "lies inside the project"),
        ("linked", "lies inside the project"),
        ("project", "lies inside the project"),
        ("damaged", "cannot be read"),
        ("elsewhere", "cannot be read"),
    ],
)
def test_a_folder_that_is_somebodys_is_refused(new_school, monkeypatch, tmp_path, where, words):
    root = new_school.project.root
    folder = tmp_path / where
    if where == "full":
        folder.mkdir()
        (folder / "thesis.tex").write_text("mine")
    elif where == "file":
        folder.write_text("mine")
    elif where == "inside":
        folder = root / "new" / "folder"
    elif where == "linked":
        folder.symlink_to(root / "exercises")
    elif where == "project":
        folder = root
    else:
        (folder / KEPT).mkdir(parents=True)
        elsewhere = '{"format": 1, "files": {"../thesis.tex": ["x"]}}'
        (folder / LIST).write_text(elsewhere if where == "elsewhere" else "{")
    before = files_in(tmp_path)
    monkeypatch.chdir(root)
    done = CliRunner().invoke(main, ["student-edition", str(folder)], catch_exceptions=False)
    assert done.exit_code == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert files_in(tmp_path) == before
    assert not (root / "new").exists()


@pytest.mark.parametrize("what", ["folder", "file"])
def test_a_link_does_not_lead_the_edition_elsewhere(placed, tmp_path, what):
    elsewhere = tmp_path / "elsewhere"
    path = placed / ("course" if what == "folder" else "LICENSE")
    shutil.move(path, elsewhere)
    path.symlink_to(elsewhere)
    before = elsewhere.read_bytes() if what == "file" else files_in(elsewhere)
    with pytest.raises(UnusableFolder, match="link"):
        place_edition(placed, dict.fromkeys(FILES, b"later"))
    assert (elsewhere.read_bytes() if what == "file" else files_in(elsewhere)) == before


def test_a_folder_in_the_place_of_a_file_is_said_so(placed):
    (placed / "LICENSE").unlink()
    (placed / "LICENSE").mkdir()
    with pytest.raises(UnusableFolder, match="stand in each other's way"):
        place_edition(placed, FILES)


def test_a_zip_holds_the_edition_and_is_the_same_again(placed, tmp_path):
    path = tmp_path / "class.zip"
    write_zip(path, FILES)
    with zipfile.ZipFile(path) as archive:
        packed = {name: archive.read(name) for name in archive.namelist()}
    assert packed == {f"many-heads/{name}": data for name, data in files_in(placed).items()}
    first = path.read_bytes()
    write_zip(path, FILES)
    assert path.read_bytes() == first


@pytest.mark.parametrize("kind", ["no zip", "a zip of theirs", "cut short"])
def test_only_a_zip_of_an_edition_is_replaced(tmp_path, kind):
    project, path = Project(tmp_path / "project"), tmp_path / "marks of last year.zip"
    check_zip(project, path)
    write_zip(path, FILES)
    check_zip(project, path)
    if kind == "no zip":
        path.write_text("mine")
    elif kind == "cut short":
        path.write_bytes(path.read_bytes()[:-30])
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("marks.csv", "mine")
    with pytest.raises(UnusableFolder, match="no zip of a student edition"):
        check_zip(project, path)


def test_a_device_is_no_zip(tmp_path):
    with pytest.raises(UnusableFolder, match="no zip of a student edition"):
        check_zip(Project(tmp_path / "project"), Path("/dev/zero"))


def test_a_zip_that_is_refused_stays_and_nothing_is_written(new_school, monkeypatch, tmp_path):
    mine = tmp_path / "mine.zip"
    with zipfile.ZipFile(mine, "w") as archive:
        archive.writestr("marks.csv", "mine")
    inside = new_school.project.root / "class.zip"
    monkeypatch.chdir(new_school.project.root)
    for path, said in ((mine, "no zip of a student edition"), (inside, "lies inside the project")):
        before = files_in(tmp_path)
        words = ["student-edition", str(tmp_path / "new"), "--zip", str(path)]
        done = CliRunner().invoke(main, words, catch_exceptions=False)
        assert done.exit_code == 2
        assert said in done.stderr
        assert files_in(tmp_path) == before
