"""Questions in the lessons: predict first, recall later, and check yourself.

`predict` records what a learner expects *before* they see the picture, `recall` sets
the prediction beside what was measured, and `quiz` asks questions whose every choice
has a reason. They need no network, no mouse, and leave a readable page where widgets
do not run.
"""

import html
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from course import storage
from course.explorers.panel import Panel

HERE = Path(__file__).parent
PREDICTIONS = "predictions"
"""The file in the user-data folder: question id → {"answer", "question", "at"}."""


@dataclass(frozen=True)
class Choice:
    """One answer of a quiz question, and why it is right or wrong."""

    text: str
    reason: str
    is_right: bool = False


@dataclass(frozen=True)
class Question:
    """A quiz question with at least two choices, one of them right."""

    text: str
    choices: Sequence[Choice]

    def __post_init__(self) -> None:
        right = sum(choice.is_right for choice in self.choices)
        if len(self.choices) < 2 or right != 1:
            raise ValueError(
                f"{self.text!r} has {len(self.choices)} choices, {right} of them right; a question "
                "needs at least two, and exactly one right. Make them with right() and wrong()."
            )
        texts = [choice.text for choice in self.choices]
        if len(set(texts)) < len(texts):
            raise ValueError(f"{self.text!r} offers the same choice twice. Reword one of them.")


def right(text: str, reason: str) -> Choice:
    """The right answer to a quiz question, and why it is right."""
    return Choice(text, reason, is_right=True)


def wrong(text: str, reason: str) -> Choice:
    """A wrong answer to a quiz question, and what it overlooks."""
    return Choice(text, reason)


def question(text: str, *choices: Choice) -> Question:
    """A quiz question: `question("…?", right("…", "because …"), wrong("…", "but …"))`."""
    return Question(text, choices)


def predict(name: str, text: str, choices: Sequence[str] = ()) -> Panel:
    """Ask for a prediction and keep it, with its time, in the learner's user-data folder.

    `name` identifies the question, for `recall`; `choices` are the answers to choose
    from, and without them the answer is a number. Running the cell again shows what was
    predicted; another prediction replaces it.
    """
    if isinstance(choices, str) or len(set(choices)) < len(choices) or len(choices) == 1:
        raise ValueError(
            f"predict({name!r}) got choices {choices!r}; a list of different answers is needed, "
            "or none at all for a number. Try choices=['higher', 'lower']."
        )
    with storage.sentences() as troubles:
        earlier = _prediction(name)
    given = earlier.get("answer")
    asked = _Asked(text, [{"text": _marked_up(choice)} for choice in choices])
    asked.recorded = True
    if choices:
        asked.answer = next((i for i, choice in enumerate(choices) if choice == given), None)
    else:
        asked.answer = _spoken(given) if _is_number(given) else ""
    panel = Panel([asked], lambda: _still_prediction(text, choices), text)

    def keep(sent: str | int) -> None:
        predicted = _choice(choices, sent) if choices else _number(str(sent))
        if predicted is None:
            wanted = "Choose an answer" if choices else "Type a number, such as 0.5,"
            panel.say(f"{wanted} first; a guess is welcome.")
            return
        kept = {"answer": predicted, "question": text, "at": _now()}
        with storage.sentences() as troubles:
            storage.update(PREDICTIONS, lambda stored: stored | {name: kept})
        done = f"Recorded: {_spoken(predicted)}. Now look, and see whether it holds."
        panel.say(" ".join(troubles) or done)

    asked.on_record(panel.guarded(keep))
    if earlier:
        panel.say(f"You predicted {_spoken(given)}, on {_day(earlier)}. You may change it.")
    if troubles:
        panel.say(" ".join(troubles))
    return panel


class Remark(str):
    """A sentence that a notebook shows as text, without quotation marks."""

    def _repr_html_(self) -> str:
        return f"<p>{_marked_up(self)}</p>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


def recall(name: str, answer: object) -> Remark:
    """Set the prediction beside the measured `answer` (text or a number), in a sentence."""
    measured = _spoken(answer)
    earlier = _prediction(name)
    if not earlier:
        return Remark(f"Measured: {measured}. (No prediction is on record.)")
    predicted = earlier.get("answer")
    verdict = " As you predicted." if _same(predicted, answer) else ""
    return Remark(f"You predicted {_spoken(predicted)}; measured: {measured}.{verdict}")


def quiz(questions: Sequence[Question]) -> Panel:
    """Multiple-choice questions. Choosing an answer shows at once why it is right or wrong."""
    if not questions:
        raise ValueError("quiz() got no questions. Pass a list: quiz([question(…), …]).")
    parts = [
        _Asked(
            f"{number}. {asked.text}",
            [
                {
                    "text": _marked_up(choice.text),
                    "reason": _marked_up(choice.reason),
                    "right": choice.is_right,
                }
                for choice in asked.choices
            ],
        )
        for number, asked in enumerate(questions, start=1)
    ]
    return Panel(parts, lambda: _still_quiz(questions), _plain_quiz(questions))


class _Asked(anywidget.AnyWidget):
    """One question on the page. Choices are dicts of HTML: text, and in a quiz its reason."""

    _esm = (HERE / "questions.js").read_text(encoding="utf-8")
    _css = (HERE / "questions.css").read_text(encoding="utf-8")

    text = traitlets.Unicode("").tag(sync=True)
    choices = traitlets.List(traitlets.Dict()).tag(sync=True)
    recorded = traitlets.Bool(False).tag(sync=True)
    answer = traitlets.Any(None).tag(sync=True)  # the index of a choice, or what is in the field

    def __init__(self, text: str, choices: Sequence[dict[str, Any]]) -> None:
        super().__init__(text=_marked_up(text), choices=list(choices))

    def on_record(self, function: Callable[[Any], None]) -> None:
        """Call `function(answer)` when the learner presses the button."""

        def receive(_: object, content: dict[str, Any], __: object) -> None:
            if content.get("kind") == "record":
                function(content.get("answer"))

        self.on_msg(receive)


def _choice(choices: Sequence[str], index: object) -> str | None:
    return choices[index] if isinstance(index, int) and 0 <= index < len(choices) else None


def _prediction(name: str) -> dict[str, Any]:
    kept = storage.read(PREDICTIONS).get(name)
    return kept if isinstance(kept, dict) else {}


def _marked_up(text: str) -> str:
    """HTML of plain text in which `backticks` mark code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def _still_prediction(text: str, choices: Sequence[str]) -> str:
    listed = "".join(f"<li>{_marked_up(choice)}</li>" for choice in choices)
    return f"<p>{_marked_up(text)}</p>" + (f"<ul>{listed}</ul>" if listed else "")


def _verdict(choice: Choice) -> str:
    return f"<b>{'Right' if choice.is_right else 'Not quite'}:</b> {_marked_up(choice.reason)}"


def _still_quiz(questions: Sequence[Question]) -> str:
    items = []
    for asked in questions:
        choices = "".join(f"<li>{_marked_up(choice.text)}</li>" for choice in asked.choices)
        reasons = "".join(
            f"<li>{_marked_up(choice.text)}. {_verdict(choice)}</li>" for choice in asked.choices
        )
        items.append(
            f"<li><p>{_marked_up(asked.text)}</p><ul>{choices}</ul>"
            f"<details><summary>Answers</summary><ul>{reasons}</ul></details></li>"
        )
    return f"<ol>{''.join(items)}</ol>"


def _number(text: str) -> float | None:
    """The number a learner typed, with a decimal point or comma; None if it is none."""
    try:
        number = float(text.strip().replace("−", "-").replace(",", "."))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _plain_quiz(questions: Sequence[Question]) -> str:
    return "\n".join(
        "\n".join([f"{number}. {asked.text}", *(f"   - {c.text}" for c in asked.choices)])
        for number, asked in enumerate(questions, start=1)
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _same(predicted: object, measured: object) -> bool:
    """Equal, or numbers within 5 % of each other."""
    if _is_number(predicted) and _is_number(measured):
        return math.isclose(predicted, measured, rel_tol=0.05, abs_tol=1e-9)  # type: ignore[arg-type]
    return str(predicted) == str(measured)


def _spoken(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}".replace("-", "−")
    return str(value)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _day(kept: dict[str, Any]) -> str:
    try:
        moment = datetime.fromisoformat(str(kept.get("at"))).astimezone()
    except ValueError:
        return "an earlier day"
    return f"{moment.day} {moment:%B %Y, %H:%M}"
