"""The verdict on one implementation: what was found, as data and as sentences."""

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from autograder.declaring import Value

Outcome = Literal[
    "correct",
    "not attempted",
    "error",
    "wrong type",
    "wrong shape",
    "wrong values",
    "not allowed",
]
OUTCOMES: tuple[str, ...] = get_args(Outcome)


@dataclass(frozen=True)
class Example:
    """The smallest case on which an implementation fails, to be shown beside its verdict.

    arguments: what the function was called with.
    part: the returned part that differs, or "" when none came back.
    axes: the names of its last axes.
    yours, expected: that part, as returned and as it should be; None where there is none.
    at: index of the worst value.
    printed: what the function printed meanwhile.
    """

    case: str
    purpose: str
    arguments: dict[str, Any]
    part: str = ""
    axes: tuple[str, ...] = ()
    yours: Value | None = None
    expected: Value | None = None
    at: tuple[int, ...] = ()
    printed: str = ""


@dataclass(frozen=True)
class Verdict:
    """The judgement of one implementation of one exercise.

    outcome: one of OUTCOMES.
    mistake: the id of the recognised mistake, or None.
    score: the share of cases that hold, 0.0 … 1.0. Information; marks are all or nothing.
    what, why, advice: the sentences a learner reads, each "" when there is nothing to say.
    mend_first: the earlier exercise that this one calls and that is still wrong, or "".
    stopped: in grading, why it was never judged ("it ran for more than 30 seconds and was
        stopped"), or "". reached: whether the notebook came as far as this exercise.
    cases: for each case, its name and whether it holds.
    example: the smallest counterexample, or None.
    """

    exercise: str
    title: str
    outcome: Outcome
    mistake: str | None
    score: float
    what: str
    why: str = ""
    advice: str = ""
    mend_first: str = ""
    stopped: str = ""
    reached: bool = True
    cases: tuple[tuple[str, bool], ...] = ()
    example: Example | None = field(default=None, compare=False)

    @property
    def correct(self) -> bool:
        """Whether the implementation passes."""
        return self.outcome == "correct"

    @property
    def headline(self) -> str:
        """One line: the exercise and its outcome, and how many cases hold."""
        held = sum(holds for _, holds in self.cases)
        some = 0 < held < len(self.cases)
        count = f" ({held} of {len(self.cases)} cases hold)" if some else ""
        return f"{self.exercise}: {self.outcome}{count}"

    @property
    def message(self) -> str:
        """What a learner reads: what happened, the likely cause, what to try."""
        return "\n".join(text for text in (self.headline, *self.paragraphs) if text)

    @property
    def paragraphs(self) -> tuple[str, ...]:
        """The sentences of the message, without its headline."""
        mend = (
            f"Mend {self.mend_first} first: {self.exercise} calls it, and it is not right yet."
            if self.mend_first
            else ""
        )
        why = f"Likely cause: {self.why}" if self.why else ""
        advice = f"Try: {self.advice}" if self.advice else ""
        return tuple(text for text in (self.what, mend, why, advice) if text)
