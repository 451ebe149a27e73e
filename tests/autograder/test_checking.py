"""check, hint and progress as a learner calls them, in a real IPython shell."""

import json
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from autograder import check, exercises, hint, judge, progress
from autograder.checking import CheckFailed
from course.attention import one_head


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MANY_HEADS_HOME", str(tmp_path))
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    return tmp_path


def kept(home: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((home / "progress.json").read_text())
    return loaded


def test_a_right_answer_is_shown_and_kept(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check("softmax", one_head.softmax)
    assert "softmax: correct" in capsys.readouterr().out
    assert kept(home)["softmax"]["passed"]
    assert progress().following is not None
    assert "softmax: passed" in repr(progress())


def test_a_wrong_answer_raises_one_line(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CheckFailed) as failed:
        check("softmax", lambda scores: scores)
    assert failed.value._render_traceback_() == [str(failed.value)]
    assert "wrong values" in capsys.readouterr().out
    assert kept(home)["softmax"] == {"tries": 1}


def test_a_pass_stays_a_pass(home: Path) -> None:
    check("softmax", one_head.softmax)
    first = kept(home)["softmax"]["passed"]
    with pytest.raises(CheckFailed):
        check("softmax", lambda scores: scores)
    check("softmax", one_head.softmax)
    assert kept(home)["softmax"] == {"tries": 3, "passed": first}


def test_judge_and_grading_keep_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judge("softmax", one_head.softmax)
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    check("softmax", one_head.softmax)
    hint("softmax")
    assert not (home / "progress.json").exists()


def test_an_untouched_stub_does_not_count_as_a_try(home: Path) -> None:
    def stub(scores: Any) -> Any:
        raise NotImplementedError

    with pytest.raises(CheckFailed, match="not attempted"):
        check("softmax", stub)
    assert not (home / "progress.json").exists()


def test_a_damaged_file_is_set_aside_with_a_sentence(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "progress.json").write_text("{oops")
    check("softmax", one_head.softmax)
    assert "was damaged" in capsys.readouterr().out
    assert [p.read_text() for p in home.glob("progress.damaged-*.json")] == ["{oops"]
    assert kept(home)["softmax"]["passed"]


@pytest.mark.parametrize("content", ['{"softmax": 3}', '{"softmax": {"tries": "x"}}', "[]"])
def test_an_edited_file_does_no_harm(home: Path, content: str) -> None:
    (home / "progress.json").write_text(content)
    assert "not started" in repr(progress())
    check("softmax", one_head.softmax)
    assert kept(home)["softmax"]["tries"] == 1


def test_progress_names_what_is_next(home: Path) -> None:
    assert "0 of" in progress().summary
    first, second, *_ = (exercise.name for exercise in exercises.iterate())
    assert f"Next: {first}." in progress().summary
    check(first, pkgutil.resolve_name(exercises.find(first).reference))
    assert f"Next: {second}." in progress().summary
    assert "One head" in progress()._repr_html_()


def test_hints_climb_the_ladder(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = []
    for _ in range(4):
        hint("softmax")
        shown.append(capsys.readouterr().out.splitlines()[0][:11])
    assert shown == ["Hint 1 of 3", "Hint 2 of 3", "Hint 3 of 3", "Hint 3 of 3"]
    hint("softmax", 1)
    assert "Hint 1 of 3" in capsys.readouterr().out
    hint("softmax", np.int64(2))
    assert "Hint 2 of 3" in capsys.readouterr().out


@pytest.mark.parametrize("number", [9, 0, -1, 1.0, "1", [1], np.ones(2)])
def test_a_hint_that_does_not_exist(number: object) -> None:
    with pytest.raises(CheckFailed, match="hints 1 to 3"):
        hint("softmax", number)


@pytest.mark.parametrize("name", [["softmax"], {}, None, np.ones(2), one_head.softmax])
def test_a_hint_for_no_name(name: object) -> None:
    with pytest.raises(CheckFailed, match="by its name in quotes"):
        hint(name)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("softmx", one_head.softmax), "'softmax'"),
        (("softmax",), "name in quotes and your function"),
        ((one_head.softmax,), 'check("softmax", softmax)'),
        ((), 'check("softmax", softmax)'),
        (("softmax", one_head.softmax, 3), "takes two things"),
        ((["softmax"], one_head.softmax), "name in quotes and your function"),
        (("x" * 100_000, one_head.softmax), "xxx…"),
        ((one_head.softmax, "softmax"), "name in quotes and your function"),
        (("", one_head.softmax), "The exercises are"),
    ],
)
def test_a_wrong_call_is_answered_with_a_sentence(arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises(CheckFailed) as failed:
        check(*arguments)
    assert words in str(failed.value)


def test_in_a_notebook(home: Path) -> None:
    """The verdict is HTML and text, a failure one line, and a missing cell a sentence."""
    program = """
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
shell = InteractiveShell.instance()
def run(source):
    with capture_output() as captured:
        shell.run_cell(source)
    print(captured.stdout)
    for output in captured.outputs:
        print(sorted(output.data), output.data["text/plain"])
run("from autograder import check")
run("check('softmax', softmax)")
run("something_else")
run("def softmax(scores): return None")
run("check('softmax', softmax)")
run("def softmax(scores) return None")
run("check('softmax', softmax)")
run("def softmax(scores): return scores")
run("check('softmax', softmax)")
run("def softmax(scores):\\n    raise KeyboardInterrupt")
run("check('softmax', softmax)")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120
    )
    out = done.stdout
    assert done.returncode == 0, done.stderr
    assert "softmax is not defined yet. Run the cell that defines it" in out
    assert "name 'something_else' is not defined" in out
    assert "['text/html', 'text/plain']" in out
    assert "softmax: wrong type. The box above says what to try." in out
    assert out.count("ended with SyntaxError when it was run last") == 1
    assert "softmax was stopped at `raise KeyboardInterrupt`" in out
    assert out.count("Traceback") == 1, "only the NameError that is none of ours"


def test_this_process_has_no_shell() -> None:
    """The tests above print text because they run outside IPython."""
    assert not InteractiveShell.initialized()
    with capture_output() as captured:
        print("x")
    assert captured.stdout == "x\n"
