from pathlib import Path
from typing import Any

import pytest

from course import storage
from course.explorers.panel import Panel
from course.questions import predict, question, quiz, recall, right, wrong


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MANY_HEADS_HOME", str(tmp_path))


def answer(panel: Panel, value: Any) -> None:
    """What the browser sends when the button is pressed: an index, or the typed text."""
    panel.children[0]._handle_custom_msg({"kind": "record", "answer": value}, [])


def test_a_choice_is_recorded_and_shown_again() -> None:
    panel = predict("word", "Which word?", ["cat", "street"])
    assert panel.children[0].answer is None
    answer(panel, 0)
    assert panel.voice.sentence.startswith("Recorded: cat.")
    kept = storage.read("predictions")["word"]
    assert (kept["answer"], kept["question"]) == ("cat", "Which word?")
    assert kept["at"].startswith("20")
    again = predict("word", "Which word?", ["cat", "street"])
    assert again.voice.sentence.startswith("You predicted cat, on ")
    assert again.children[0].answer == 0


@pytest.mark.parametrize(("typed", "number"), [("0.5", 0.5), (" −1,25 ", -1.25), ("3", 3.0)])
def test_a_number_is_recorded(typed: str, number: float) -> None:
    answer(predict("weight", "How large?"), typed)
    assert storage.read("predictions")["weight"]["answer"] == number


@pytest.mark.parametrize("typed", ["", "half", "nan", "inf"])
def test_no_number_is_asked_for_again(typed: str) -> None:
    panel = predict("weight", "How large?")
    answer(panel, typed)
    assert panel.voice.sentence.startswith("Type a number")
    assert storage.read("predictions") == {}


def test_no_choice_is_asked_for_again() -> None:
    panel = predict("word", "Which word?", ["cat", "street"])
    for nothing in (-1, None, 2, "0"):
        answer(panel, nothing)
        assert storage.read("predictions") == {}
    assert panel.voice.sentence.startswith("Choose an answer")


def test_a_prediction_from_an_older_wording_does_not_hinder() -> None:
    storage.update("predictions", lambda _: {"word": {"answer": "gone"}, "odd": 3})
    assert predict("word", "Which?", ["cat", "street"]).voice.sentence.startswith("You predicted")
    assert predict("odd", "Which?", ["cat", "street"]).voice.sentence == ""
    assert predict("word", "How large?").voice.sentence.startswith("You predicted gone")


def test_where_nothing_can_be_kept_the_lesson_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MANY_HEADS_HOME", str(tmp_path / "file" / "home"))
    panel = predict("word", "Which word?", ["cat", "street"])
    answer(panel, 0)
    assert panel.voice.error == ""
    assert "not kept" in panel.voice.sentence


def test_recall_sets_prediction_beside_measurement() -> None:
    assert str(recall("word", "cat")).startswith("Measured: cat.")
    answer(predict("word", "Which word?", ["cat", "street"]), 1)
    assert recall("word", "cat") == "You predicted street; measured: cat."
    assert recall("word", "street") == "You predicted street; measured: street. As you predicted."
    answer(predict("weight", "How large?"), "0.5")
    assert recall("weight", 0.6667123) == "You predicted 0.5; measured: 0.6667."
    assert recall("weight", 0.51).endswith("As you predicted.")


def test_a_remark_is_shown_without_quotation_marks() -> None:
    remark = recall("<word>", "`q @ k`")
    assert remark._repr_html_().startswith("<p>Measured: <code>q @ k</code>.")


QUESTIONS = [
    question(
        "What do the `weights` of one query sum to?",
        right("1", "Softmax shares out 1."),
        wrong("the number of words", "That would be so if each were 1."),
    ),
    question("And < the scores?", wrong("1", "No."), right("anything", "Yes.")),
]


def test_the_page_is_given_escaped_text_and_every_reason() -> None:
    first, second, _ = quiz(QUESTIONS).children
    assert first.text == "1. What do the <code>weights</code> of one query sum to?"
    assert [choice["right"] for choice in first.choices] == [True, False]
    assert first.choices[1]["reason"] == "That would be so if each were 1."
    assert second.text == "2. And &lt; the scores?"
    assert not first.recorded


def test_a_quiz_can_be_read_where_widgets_do_not_run() -> None:
    page = quiz(QUESTIONS)._repr_mimebundle_()
    assert page["text/html"].count("<details>") == 2
    assert "And &lt; the scores?" in page["text/html"]
    assert "And < the scores?" in page["text/plain"]
    assert "Which word?" in predict("w", "Which word?", ["a", "b"])._repr_mimebundle_()["text/html"]


@pytest.mark.parametrize(
    "choices",
    [[right("1", "")], [right("1", ""), right("2", "")], [wrong("1", ""), wrong("2", "")]],
)
def test_a_question_has_one_right_answer(choices: Any) -> None:
    with pytest.raises(ValueError, match="exactly one right"):
        question("?", *choices)


def test_other_mistakes_of_an_author_are_told() -> None:
    with pytest.raises(ValueError, match="the same choice twice"):
        question("?", right("1", ""), wrong("1", ""))
    with pytest.raises(ValueError, match="no questions"):
        quiz([])
    for choices in ("yes", ["yes"], ["yes", "yes"]):
        with pytest.raises(ValueError, match="different answers"):
            predict("x", "?", choices)
