"""What was handed in is collected, from folders and from the zips of platforms."""

import filelock
import pytest
from click.testing import CliRunner

from autograder.cli import main
from autograder.grading.locking import AlreadyGrading
from autograder.grading.sources import UnusableSource
from autograder.grading.submissions import read_submission
from tests.grading.handing_in import folder_of, of_moodle, states, work, zipped
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


@pytest.mark.parametrize("root", ["", "hand-ins/", f"x/{ONE}/"])
@pytest.mark.parametrize("roster", ["", "id,name\nada,Ada\nbo,Bo\n"])
def test_zips_named_after_students(take, kept, tmp_path, root, roster):
    files = {
        f"{root}ada.zip": zipped({f"many-heads/exercises/{ONE}/{NAME}": work("ada")}),
        f"{root}bo_01-exercises.zip": zipped({NAME: work("old"), "data.csv": "1,2"}),
        f"{root}bo_01-exercises (1).zip": zipped({NAME: work("bo")}),
    }
    for source in (files, folder_of(tmp_path / "plain", files)):
        done = take(source, roster=roster)
        assert kept() == {"ada": {NAME: "ada"}, "bo": {NAME: "bo"}}
        assert not done.troubled


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


@pytest.mark.parametrize(
    "inside", [{}, {".ipynb_checkpoints/01-exercises-checkpoint.ipynb": "x"}, {"__MACOSX/x": "x"}]
)
def test_an_empty_zip_is_somebodys_hand_in(take, kept, tmp_path, inside):
    files = {of_moodle("Ada L", 5, "work.zip"): zipped(inside)}
    for source in (files, folder_of(tmp_path / "unpacked", files)):
        done = take(source)
        assert states(done) == {"Ada L": "no notebook"}
        assert done.troubled
    assert kept()["Ada L"]["not-collected.txt"] == (
        f"What was handed in (work.zip) could not be read: there is no file in the zip. "
        f"Hand in {NAME}."
    )


def test_a_whole_edition_is_collected_from(take, kept, tmp_path):
    exercise = f"exercises/{ONE}/{NAME}"
    files: dict[str, bytes | str] = {
        f"ada/many-heads/{exercise}": work("ada"),
        f"ada/many-heads/.student-edition/{exercise}": work("fresh"),
        f"ada/many-heads/.venv/lib/{NAME}": work("installed"),
        "bo/many-heads/README.md": "# Many Heads",
    }
    for source in (files, folder_of(tmp_path / "unpacked", files)):
        done = take(source)
        assert kept() == {"ada": {NAME: "ada"}}
        assert [(one.student, one.remark) for one in done.collected] == [("ada", "")]
        assert not done.troubled


def test_one_notebook_is_no_source(take, tmp_path):
    path = tmp_path / "ada_01-exercises.ipynb"
    path.write_bytes(work("ada"))
    with pytest.raises(UnusableSource, match=r"is one notebook, .* Put it into a folder"):
        take(path)


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


@pytest.mark.parametrize(
    "folder",
    [
        "Gu Ru_7_assignsubmission_file_/",
        "Gu Ru_7_assignsubmission_file_",
        "Gu Ru+01-one-head+2026-11-02 12:00:00 UTC/",
    ],
)
def test_of_two_copies_of_one_date_the_later_number_counts_and_somebody_looks(take, kept, folder):
    done = take(
        {
            f"{folder}01-exercises.ipynb": work("old"),
            f"{folder}01-exercises (10).ipynb": work("new"),
            f"{folder}01-exercises (2).ipynb": work("between"),
        }
    )
    assert kept()["Gu Ru"][NAME] == "new"
    assert done.troubled


def test_a_link_in_the_place_of_a_students_folder_is_told_of(take, tmp_path):
    source = folder_of(tmp_path / "exchange", {"ada/01-exercises.ipynb": work("ada")})
    (source / "max+01-one-head+2026-11-02 12:00:00 UTC").symlink_to(tmp_path)
    done = take(source)
    assert [each.path for each in done.ignored if each.trouble] == [
        "max+01-one-head+2026-11-02 12:00:00 UTC"
    ]


def test_somebody_may_be_called_a_dot(take, kept):
    take({of_moodle(".", 7): work("dot"), of_moodle("Ada", 8): work("ada")})
    assert {"dot", "ada"} == {text for files in kept().values() for text in files.values()}


def test_two_programs_do_not_meet(take, new_school):
    new_school.classroom.root.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(new_school.classroom.root / ".grading.lock")
    with lock, pytest.raises(AlreadyGrading):
        take({"ada/01-exercises.ipynb": work("ada")})


def test_the_command(new_school, monkeypatch, tmp_path):
    monkeypatch.chdir(new_school.project.root)
    source = tmp_path / "x.zip"
    source.write_bytes(zipped({"ada/01-exercises.ipynb": work("a"), "bo/n\x1b[2Jotes.txt": "x"}))
    (tmp_path / "r.csv").write_text("id,name\nada,Ada\nbo,Bo Bold\n")

    def run(*arguments: str):
        # With colour, or else the runner would take out what steers a terminal.
        arguments = ("collect", *arguments)
        return CliRunner().invoke(main, arguments, catch_exceptions=False, color=True)

    done = run(str(source), "1", "--roster", str(tmp_path / "r.csv"))
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines() == [
        f"ada  {ONE}  new",
        r"bo/n\x1b[2Jotes.txt  ignored: it is no notebook",
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
    odd = run(str(tmp_path / "n\x1b[2Jone"), ONE)
    assert odd.exit_code == 2
    assert "\x1b" not in odd.stderr


def test_what_two_owners_claim_is_told_and_overwrites_nothing(new_school, monkeypatch, tmp_path):
    monkeypatch.chdir(new_school.project.root)
    (tmp_path / "r.csv").write_text("id,name\nps,Pierre Serre\nada,Ada Lovelace\n")
    roster = ("--roster", str(tmp_path / "r.csv"))
    source = tmp_path / "x.zip"

    def run(files, *options: str):
        source.write_bytes(zipped(files))
        return CliRunner().invoke(main, ["collect", str(source), ONE, *options])

    folder, packed = (
        {f"ada/{NAME}": work("folder")},
        {"Ada Lovelace.zip": zipped({NAME: work("z")})},
    )
    assert run(folder, *roster).exit_code == 0
    done = run({f"ada/{NAME}": work("later"), **packed})
    assert done.exit_code == 1
    assert f"ada/{NAME}  NOT COLLECTED  it and Ada Lovelace.zip/{NAME} both seem" in done.stdout
    kept = new_school.classroom.submitted / "ada" / ONE / NAME
    assert kept.read_bytes() == work("folder")
    assert not new_school.classroom.earlier.exists()


def test_what_was_ignored_is_told_reason_by_reason(new_school, monkeypatch, tmp_path):
    monkeypatch.chdir(new_school.project.root)
    inbound = {f"s{n}+{ONE}+2026-01-31 10:00:00 UTC/{NAME}": work(str(n)) for n in range(6)}
    other = {f"s{n}+{START}+2026-01-31 10:00:00 UTC/00-exercises.ipynb": "x" for n in range(40)}
    notes = {f"s{n}+{ONE}+2026-01-31 10:00:00 UTC/notes.txt": "x" for n in range(6)}
    source = folder_of(tmp_path / "inbound", {**inbound, **other, **notes})
    done = CliRunner().invoke(main, ["collect", str(source), ONE], catch_exceptions=False)
    lines = done.stdout.splitlines()
    assert done.exit_code == 0, done.output
    assert f"… and 35 more files  ignored: it is for {START}" in lines
    assert sum(line.endswith("ignored: it is no notebook") for line in lines) == 6
    assert "that are no notebooks" not in done.stdout
    many = {
        of_moodle(f"s{n}", n, f"v{v}/{NAME}"): work(str(v)) for n in range(20) for v in range(3)
    }
    (tmp_path / "many.zip").write_bytes(zipped(many))
    done = CliRunner().invoke(main, ["collect", str(tmp_path / "many.zip"), ONE])
    assert done.stdout.count("  ignored: ") == 30
    assert "… and 10 more files, ignored for other reasons." in done.stdout.splitlines()
