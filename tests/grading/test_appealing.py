"""Whose work and which exercise is meant, however they are written, and nobody else's."""

from collections.abc import Sequence

import pytest
from click.testing import Result

from tests.grading.appealed import asked


@pytest.fixture(scope="module")
def class_of(school):
    """A class of hand-ins that cannot be read, which have a verdict all the same."""
    for student in ("ada", "adam", "bo", "eve <b>", "zed"):
        school.hand_in(student, b"")
    assert not [each.fault for each in school.grade().values() if each.fault]
    school.classroom.roster.write_text("id,name\nzed,Zoe Dragon\nada,Ada Lovelace\n")
    return school


@pytest.fixture
def explain(class_of, monkeypatch):
    """Run `autograder explain` in the project's folder."""
    monkeypatch.chdir(class_of.project.root)
    return asked


@pytest.mark.parametrize(
    ("student", "exercise", "found"),
    [
        ("zed", "soft", "zed  01-one-head  softmax"),
        ("ZE", "softmax", "zed  01-one-head  softmax"),
        ("zoe dragon", "softmax", "zed  01-one-head  softmax"),
        ("Zoe", "DOT", "zed  01-one-head  dot_product_scores"),
    ],
)
def test_names_may_be_shorter(explain, student, exercise, found):
    assert explain(student, exercise).stdout.splitlines()[0] == found


@pytest.mark.parametrize(
    ("student", "exercise", "said"),
    [
        ("adda", "softmax", "There is no student 'adda'. Did you mean ada or adam?"),
        ("a", "softmax", "'a' may be ada or adam. Type more of the student's name."),
        ("xxxxx", "softmax", "There is no student 'xxxxx'. There are ada, adam, bo, eve <b>, zed."),
        ("\x1b[2J", "softmax", "There is no student '\\x1b[2J'."),
        ("ada", "sofmax", "There is no exercise 'sofmax'. Did you mean softmax or masked_softmax"),
        ("ada", "s", "'s' may be self_attention or softmax. Type more of the exercise's name."),
        ("", "softmax", "There is no student ''."),
    ],
)
def test_names_that_are_not_clear_are_answered_with_close_ones(explain, student, exercise, said):
    done = explain(student, exercise)
    assert done.exit_code == 2
    assert said in done.stderr
    assert "\x1b" not in done.stderr


@pytest.fixture
def named(new_school, monkeypatch):
    """Run `explain` in a class of folders without anything in them, and of a roster."""
    monkeypatch.chdir(new_school.project.root)

    def run(student: str, folders: Sequence[str], roster: str = "") -> Result:
        for name in folders:
            new_school.hand_in(name, b"")
        new_school.classroom.roster.write_text(f"id,name,email\n{roster}")
        return asked(student, "softmax")

    return run


JONES = "em1,Emma Jones,emma@x.org\nem2,Emma Jones,e.jones@x.org\n"
NEVER = " has no verdict on softmax"


@pytest.mark.parametrize(
    ("student", "folders", "roster", "said"),
    [
        ("Emma Jones", ["em1", "em2"], JONES, "'Emma Jones' may be em1 or em2. Type the one that"),
        ("emma j", ["em1", "em2"], JONES, "'emma j' may be em1 or em2. Type more of the student"),
        ("Emma Jones", ["em2"], JONES, f"em2{NEVER}"),
        ("e.jones@x.org", ["em1", "em2"], JONES, f"em2{NEVER}"),
        ("bo", ["bo", "cy"], "bo,Bo B,\ncy,bo,\n", f"bo{NEVER}"),
        ("BO", ["bo", "cy"], "bo,Bo B,\ncy,bo,\n", f"bo{NEVER}"),
        ("Ada Lovelace", ["Ada"], "ada,Ada Lovelace,\n", f"Ada{NEVER}"),
        ("ada lovelace", ["ADA", "bo"], "ada,Ada Lovelace,\n", f"ADA{NEVER}"),
        ("ADa", ["Ada", "ada"], "", "'ADa' may be Ada or ada. Type the one that is meant"),
    ],
)
def test_nobody_is_taken_for_somebody_else(named, student, folders, roster, said):
    done = named(student, folders, roster)
    assert said in done.stderr, done.output


def test_no_name_of_a_folder_steers_the_terminal(named):
    done = named("evil", ["evil \x1b[2J 1", "evil \x1b[2J 2"])
    assert done.exit_code == 2
    assert "'evil' may be evil \\x1b[2J 1 or evil \\x1b[2J 2." in done.stderr
    assert "\x1b" not in done.output
