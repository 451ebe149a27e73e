"""What a learner calls in a notebook: check, hint, progress."""

import contextlib
import html
import operator
import re
import time
from typing import Any

from autograder import exercises, standing
from autograder.exercises import UnknownExercise
from autograder.judging import judge
from autograder.observing import code_of
from autograder.recording import record_problem
from autograder.rendering import hint_to_html, to_html, to_text, waiting_to_html

_MISSING = object()

WAITING = "Looking for the cause…"
PATIENCE = 0.5  # seconds for which nobody wonders why there is no answer


class CheckFailed(Exception):
    """A check that did not pass. IPython shows one line for it, not a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class CheckStopped(KeyboardInterrupt):
    """A check that the learner stopped. One line, as for CheckFailed."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class _Stale:
    """Which functions are older than their cells, because the cell failed when it was run last.

    Then the notebook still holds the version before, and a verdict on it would mislead.
    """

    def __init__(self) -> None:
        self._failed: dict[str, str] = {}

    def note(self, name: str) -> str:
        """A sentence for the verdict, or ""."""
        if name not in self._failed:
            return ""
        return (
            f"The cell that defines {name} ended with {self._failed[name]} when it was run last, "
            "so this is the verdict on the version before."
        )

    def after_cell(self, result: Any) -> None:
        """IPython calls this after every cell."""
        source = getattr(getattr(result, "info", None), "raw_cell", None) or ""
        error = result.error_before_exec or result.error_in_exec
        for name in re.findall(r"^(?:def|class)\s+(\w+)", source, re.MULTILINE):
            if error is None:
                self._failed.pop(name, None)
            elif not isinstance(error, CheckFailed | KeyboardInterrupt):
                self._failed[name] = type(error).__name__


_STALE = _Stale()


def check(name: object = _MISSING, implementation: object = _MISSING, *more: object) -> None:
    """Check an implementation and show the verdict.

    name: the exercise, "softmax".
    implementation: your function itself, without parentheses: softmax.

    Raises CheckFailed when it is not correct yet, so that "Run All" stops here.
    """
    if type(name) is not str or implementation is _MISSING or more:
        raise CheckFailed(
            "check takes two things, the exercise's name in quotes and your function without "
            'parentheses: check("softmax", softmax).'
        )
    waiting = _Waiting()
    try:
        verdict = judge(name, implementation, meanwhile=waiting)
    except UnknownExercise as unknown:
        raise CheckFailed(str(unknown)) from None
    except KeyboardInterrupt as stop:
        if waiting.begun is not None:  # the learner's own code had come to its end
            said = f"{name} is not correct yet. The search for the cause was stopped"
            waiting.replace({"text/html": waiting_to_html(said + "."), "text/plain": said + "."})
            raise CheckStopped(f"{said}; check again to read it.") from None
        line = record_problem(stop, code_of(implementation)).line
        where = f" at `{line}`" if line else ""
        raise CheckStopped(f"{name} was stopped{where}. Is there a loop without an end?") from None
    notes = (_STALE.note(name), standing.remember_check(verdict))
    _display(to_text(verdict), to_html(verdict), " ".join(filter(None, notes)), waiting)
    if not verdict.correct:
        raise CheckFailed(
            f"{verdict.headline}. The box above says {'what to try' if verdict.advice else 'why'}."
        )


class _Waiting:
    """Says, in a notebook, that a cause is looked for, once that takes longer than a moment.

    Called while it is. The line is an output with an id, in whose place the verdict is put, so
    that nothing of it is left, neither on the screen nor in the saved notebook. A terminal and a
    script could not take it back, and show nothing.
    """

    def __init__(self) -> None:
        self.begun: float | None = None  # when the search began, on the monotonic clock
        self._handle: Any = None

    def __call__(self) -> None:
        now = time.monotonic()
        if self.begun is None:
            self.begun = now
        if self._handle is None and now - self.begun > PATIENCE and _in_notebook():
            from IPython.display import display

            shown = {"text/html": waiting_to_html(WAITING), "text/plain": WAITING}
            self._handle = display(shown, raw=True, display_id=True)

    def replace(self, data: dict[str, str]) -> bool:
        """Show something else where the line stands. Returns False if there is none."""
        if self._handle is None:
            return False
        self._handle.update(data, raw=True)
        return True


def _display(text: str, page: str, note: str, waiting: _Waiting | None = None) -> None:
    """Show a text, in a notebook as HTML; the note says what could not be kept, if anything."""
    if note:
        text, page = f"{text}\n{note}", f"{page}<p>{html.escape(note)}</p>"
    data = {"text/html": page, "text/plain": text}
    if waiting is not None and waiting.replace(data):
        return
    if _shell() is not None:
        from IPython.display import display

        display(data, raw=True)
    else:
        print(text)


def _in_notebook() -> bool:
    """Whether outputs go to a notebook, where they can be replaced."""
    return getattr(_shell(), "kernel", None) is not None


def _shell() -> Any:
    """The IPython shell that this runs in, or None."""
    with contextlib.suppress(ImportError):
        from IPython.core.getipython import get_ipython

        return get_ipython()
    return None


def hint(name: object = _MISSING, number: object = None) -> None:
    """Show the next hint for an exercise, or the one with this number.

    name: the exercise, "softmax".
    number: 1 is the mildest. Without it, each call shows one hint more.

    Raises CheckFailed for a name or number that does not exist.
    """
    try:
        exercise = exercises.find(name)
    except UnknownExercise as unknown:
        raise CheckFailed(str(unknown)) from None
    ladder = exercise.hints
    chosen = _whole(number)
    if number is None:
        chosen = min(standing.hints_seen(exercise.name) + 1, len(ladder))
    elif chosen not in range(1, len(ladder) + 1):
        raise CheckFailed(
            f"{exercise.name} has hints 1 to {len(ladder)}. Ask for one by its number, "
            f'hint("{exercise.name}", 1), or for the next one: hint("{exercise.name}").'
        )
    more = (
        f'Run hint("{exercise.name}") again for the next one.'
        if chosen < len(ladder)
        else "That was the last and strongest one."
    )
    note = standing.remember_hint(exercise.name, chosen)
    text = f"Hint {chosen} of {len(ladder)}: {ladder[chosen - 1]}\n{more}"
    _display(text, hint_to_html(text), note)


def _whole(number: object) -> int:
    """A whole number that was meant as one, or 0."""
    try:
        return operator.index(number)  # type: ignore[arg-type]
    except TypeError:
        return 0


def progress() -> standing.Standing:
    """Where you stand in the course: what is passed, what comes next. Shown when returned."""
    return standing.read()


def _explain_missing_name(
    shell: Any, kind: type[BaseException], error: NameError, trace: Any, tb_offset: Any = None
) -> None:
    """IPython's handler for NameError: one sentence if the name is an exercise's."""
    name = error.name or ""
    with contextlib.suppress(UnknownExercise):
        exercises.find(name)
        sentence = f"{name} is not defined yet. Run the cell that defines it, then this one again."
        error._render_traceback_ = lambda: [sentence]  # type: ignore[attr-defined]
    shell.showtraceback((kind, error, trace), tb_offset=tb_offset)


def _install_in_ipython() -> None:
    # `check("softmax", softmax)` fails before check is entered when softmax is missing, so the
    # shell itself has to be told what to say.
    shell = _shell()
    if shell is not None:
        shell.set_custom_exc((NameError,), _explain_missing_name)
        shell.events.register("post_run_cell", _STALE.after_cell)


_install_in_ipython()
