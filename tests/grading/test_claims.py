"""What a student's process says is weighed: too much is refused, and no words of its own count."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from autograder.capturing import COUNT_LIMIT as COUNT_LIMIT_OF_OUTPUTS
from autograder.declaring import Observation, Observations, Problem, Value
from autograder.grading import driving
from autograder.grading.driving import CALLS_LIMIT, CellRun, CheckCell, CodeCell, Limits, drive
from autograder.packing import COUNT_LIMIT, TEXT_LIMIT, pack_observations, unpack_observations
from autograder.wire import HEADER, WireError, decode, encode

Says = Callable[[Callable[[bytes], None]], None]


@dataclass
class Liar:
    """A runner that says what it likes, whatever it is asked."""

    connection: socket.socket
    hit: str = ""

    def interrupt(self) -> None:
        """Not heard."""

    def ended(self) -> int | None:
        return 0

    def kill(self) -> int | None:
        return 0

    def last_words(self) -> str:
        return ""


def lied_to(says: Says, *cells: CodeCell | CheckCell) -> list[CellRun]:
    """What the driver makes of a process that says this once it has its job."""

    @contextlib.contextmanager
    def start() -> Iterator[Liar]:
        ours, theirs = socket.socketpair()

        def talk() -> None:
            with contextlib.suppress(OSError), theirs:
                theirs.sendall(encode({"event": "ready"}))
                theirs.recv(2**20)
                says(theirs.sendall)
                theirs.shutdown(socket.SHUT_WR)
                while theirs.recv(2**20):
                    pass

        thread = threading.Thread(target=talk)
        thread.start()
        with ours:
            yield Liar(ours)
        thread.join()

    return drive(cells, Limits(cell=20, notebook=20), start)


def event(name: str, cell: int, **more: Any) -> bytes:
    return encode({"event": name, "cell": cell, **more})


SOFTMAX = CheckCell("softmax", [])
ONE = CodeCell("1")


def failing(**more: Any) -> str:
    """The note on a check whose process says that it failed, and this of why."""

    def says(send: Callable[[bytes], None]) -> None:
        send(event("started", 0))
        send(event("failed", 0, **more))

    return lied_to(says, SOFTMAX)[0].note


def test_a_reason_is_never_in_the_students_words():
    said = "the server was down. Please give full marks"
    claims: list[dict[str, Any]] = [
        {"why": said},
        {"why": "unobserved", "error": said},
        {"why": 5},
        {},
    ]
    for more in claims:
        note = failing(**more)
        assert note
        assert "full marks" not in note
    assert failing(why="unobserved", error="KeyError") == "KeyError while it was observed"


def test_an_answer_before_the_question_is_refused():
    def says(send: Callable[[bytes], None]) -> None:
        send(event("observed", 1, observations=pack_observations(Observations())))
        send(event("started", 0))

    first, second = lied_to(says, ONE, SOFTMAX)
    assert first.note.endswith("in the agreed order")  # a full stop is put behind it later
    assert second.observations is None
    assert "earlier cell" in second.note


@pytest.mark.parametrize(
    "events",
    [
        [{"event": "called", "name": f"name{n}"} for n in range(3)],
        [{"event": "called", "name": "torch.softmax"}] * (CALLS_LIMIT + 1),
        [{"event": "called", "name": ["torch.softmax"]}],
        [{"event": "called"}],
        [{"by_case": {"a": Observation(called=("somebody",))}}],
        [{"by_case": {"a": Observation(changed=("somebody",))}}],
    ],
    ids=["other names", "again and again", "a list", "no name", "called", "changed"],
)
def test_calls_and_changes_that_cannot_be_are_refused(events):
    def says(send: Callable[[bytes], None]) -> None:
        send(event("started", 0))
        for each in events:
            if "by_case" in each:
                observations = Observations(each["by_case"])
                send(event("observed", 0, observations=pack_observations(observations)))
            else:
                send(encode({"cell": 0, **each}))
        send(event("observed", 0, observations=pack_observations(Observations())))

    (run,) = lied_to(says, SOFTMAX)
    assert run.observations is None
    assert "cannot be read" in run.note


def test_more_outputs_than_an_honest_process_sends_are_left_out():
    text = {"output_type": "stream", "name": "stdout", "text": "x"}

    def says(send: Callable[[bytes], None]) -> None:
        send(event("started", 0))
        send(event("ran", 0, outputs=[text] * 5000))

    (run,) = lied_to(says, ONE)
    assert len(run.outputs) == COUNT_LIMIT_OF_OUTPUTS


def test_there_is_an_end_to_what_is_kept_of_all_answers(monkeypatch):
    monkeypatch.setattr(driving, "RECEIVED_LIMIT", 10 * 2**20)
    text = [{"output_type": "stream", "name": "stdout", "text": "x" * 4 * 2**20}]

    def says(send: Callable[[bytes], None]) -> None:
        for cell in range(5):
            send(event("started", cell))
            send(event("ran", cell, outputs=text))

    runs = lied_to(says, *[ONE] * 5)
    assert [bool(run.outputs) for run in runs] == [True, True, False, False, False]
    assert "10 MB in all" in runs[2].note


def test_a_message_that_would_fill_the_memory_is_refused():
    head = b'{"outputs":["list"' + b",{}" * 400_000 + b"]}"
    with pytest.raises(WireError, match="too many parts"):
        decode(HEADER.pack(b"MHw1", len(head), 0) + head)
    with pytest.raises(WireError, match="parts"):
        encode({"outputs": [{}] * 400_000})
    printed = "[1, [2, {3: '\"'}]]" * 200_000  # text may contain what it likes
    assert decode(encode({"text": printed}))["text"] == printed


@pytest.mark.parametrize(
    "claimed",
    [
        {"refusal": "x" * (TEXT_LIMIT + 1)},
        {"refers_to": ["x"] * (COUNT_LIMIT + 1)},
        {"refers_to": ["x" * 500]},
        {"by_case": {f"case {n}": {} for n in range(COUNT_LIMIT + 1)}},
        {"by_case": {"x" * 500: {}}},
    ],
    ids=["words", "names", "name", "cases", "case"],
)
def test_claims_beyond_all_measure_are_refused(claimed):
    with pytest.raises(WireError):
        unpack_observations({**pack_observations(Observations()), **claimed})


SAID = "All 18 cases hold. Full marks."


@pytest.mark.parametrize(
    "observations",
    [
        Observations(refusal=SAID),
        Observations({"a": Observation({"x": Value("other", description=SAID)})}),
        Observations({"a": Observation({"x": Value("other", description="a list\nFine")})}),
        Observations({"a": Observation(problem=Problem(SAID, ""))}),
        Observations({"a": Observation(problem=Problem("ValueError", "", raised_in=SAID))}),
        Observations({"a": Observation({SAID: Value("none")})}),
        Observations({"a": Observation({"x": Value("none", device=SAID)})}),
        Observations({"a": Observation(called=(SAID,))}),
        Observations({"a": Observation(changed=(SAID,))}),
    ],
    ids=["refusal", "words", "lines", "type", "where", "part", "device", "called", "changed"],
)
def test_nothing_that_stands_in_our_sentences_is_a_sentence_of_its_own(observations):
    with pytest.raises(WireError, match=r"than ours|something else|no such name"):
        unpack_observations(pack_observations(observations))


def test_large_results_are_described_and_small_ones_beside_them_still_sent():
    large = Value("array", np.zeros((400, 1000)), "float64", description="an array")
    small = Value("array", np.zeros(3), "float64", description="a small one")
    cases = {str(n): Observation({"large": large, "small": small}) for n in range(12)}
    packed = pack_observations(Observations(cases))
    arrived = unpack_observations(decode(encode(packed))).by_case
    kinds = [one.values["large"].kind for one in arrived.values()]
    assert kinds[0] == "array"
    assert kinds[-1] == "other"
    assert "too large" in arrived["11"].values["large"].description
    assert {one.values["small"].kind for one in arrived.values()} == {"array"}
