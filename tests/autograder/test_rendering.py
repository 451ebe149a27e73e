"""Verdicts as HTML: well formed, without script, readable without seeing colours."""

import html.parser
from typing import Any

import numpy as np
import pytest

from autograder import exercises, judge
from autograder.expecting import mistakes_of
from autograder.rendering import hint_to_html, to_html, to_text

VOID = {"br", "img", "hr"}
# One way of each mistake: what is shown of the others is alike.
ALL = {(e.name, m.id): m for e in exercises.iterate() for m in mistakes_of(e)}


class Structure(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parse(page: str) -> Structure:
    structure = Structure()
    structure.feed(page)
    structure.close()
    assert not structure.open
    return structure


@pytest.mark.parametrize(("name", "id"), ALL)
def test_every_mistake_is_shown_as_sound_html(name: str, id: str) -> None:
    mistake = ALL[name, id]
    verdict = judge(name, mistake.implementation)
    structure = parse(to_html(verdict))
    assert "script" not in structure.seen and "style" not in structure.seen
    assert not [a for a, _ in structure.attributes if a.startswith("on") or a in ("src", "href")]
    assert structure.seen.count("figcaption") == structure.seen.count("table")
    said = to_text(verdict)
    assert mistake.happened.split("`")[0][:20] in said or "changes its input" in said


def test_what_students_write_is_escaped() -> None:
    def function(scores: Any) -> Any:
        raise ValueError("<img src=x onerror=alert(1)> `<script>`")

    page = to_html(judge("softmax", function))
    assert "<img" not in page and "<script" not in page
    parse(page)


def test_numbers_of_every_kind_are_shown() -> None:
    values = np.array([np.nan, np.inf, -np.inf])
    page = to_html(
        judge(
            "softmax",
            lambda s: np.broadcast_to(values[: s.shape[-1]], s.shape) if s.shape[-1] <= 3 else s,
        )
    )
    assert "NaN" in page and "∞" in page and "−∞" in page


def test_what_differs_is_marked_by_more_than_colour() -> None:
    def almost(scores: Any) -> Any:
        e = np.exp(scores - scores.max(-1, keepdims=True))
        result = e / e.sum(-1, keepdims=True)
        result[..., 0] += 0.1
        return result

    page = to_html(judge("softmax", almost))
    assert "≠" in page and "marks what differs" in page
    assert "yours" in page and "expected" in page


def test_hints_are_sound_html() -> None:
    for exercise in exercises.iterate():
        for hint in exercise.hints:
            parse(hint_to_html(hint))
