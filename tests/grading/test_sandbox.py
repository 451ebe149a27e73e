"""The sandbox holds: a submission reaches nothing, and the next one is unaffected."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder import exercises
from autograder.expecting import make_cases
from autograder.grading.driving import CellRun, CheckCell, CodeCell, Limits, drive
from autograder.grading.sandbox import Allowance, Worker
from tests.repository import ROOT

LIMITS = Limits(cell=10, notebook=40)
ALLOWANCE = Allowance(memory=2**30, disk=64 * 2**20, processes=48)
RIGHT = """
import math, torch
def scaled_dot_product_attention(q, k, v):
    weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), dim=-1)
    return weights @ v, weights
"""


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    """One worker for all: each test meets what the ones before it have left."""
    worker = Worker(ALLOWANCE)
    yield worker
    worker.close()


def ran(worker: Worker, *sources: str) -> list[CellRun]:
    """What became of these cells, run as one notebook."""
    return drive([CodeCell(source) for source in sources], LIMITS, worker.start_runner)


def said(run: CellRun) -> str:
    """Everything that a cell printed or raised."""
    return "".join(o.get("text", "") + o.get("evalue", "") for o in run.outputs)


def assert_unaffected(worker: Worker) -> None:
    """An honest submission is observed as ever, by the same worker."""
    exercise = exercises.find("scaled_dot_product_attention")
    cases = make_cases(exercise, 5)
    cells: list[CodeCell | CheckCell] = [CodeCell(RIGHT), CheckCell(exercise.name, cases)]
    _, check = drive(cells, LIMITS, worker.start_runner)
    assert check.observations is not None, check.note
    assert len(check.observations.by_case) == len(cases)


def test_an_honest_submission_runs(worker):
    source = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"
    (run,) = ran(worker, source)
    assert "image/png" in run.outputs[0]["data"]
    assert_unaffected(worker)


HIDDEN = [
    str(ROOT / "solutions"),
    str(ROOT / "course"),
    str(ROOT / "tests"),
    "/etc/shadow",
    "/home",
]


@pytest.mark.parametrize("path", HIDDEN)
def test_what_is_not_theirs_is_not_there(worker, path):
    assert Path(path).exists()
    (run,) = ran(worker, f"import os\nprint(os.path.exists({path!r}))")
    assert said(run) == "False\n"


def test_nothing_of_the_judging_side_is_there(worker):
    names = ["course", "autograder.mistakes", "autograder.judging", "autograder.expecting"]
    source = f"""
import importlib.util, sys
sys.meta_path[:] = [f for f in sys.meta_path if type(f).__name__ != "_NotHere"]
for name in {names}:
    try:
        print(importlib.util.find_spec(name))
    except ModuleNotFoundError:
        print(None)
"""
    (run,) = ran(worker, source)
    assert said(run) == "None\n" * len(names)


def test_nothing_of_the_environment_is_handed_on(worker, monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_GRADER", "do not tell")
    fresh = Worker(ALLOWANCE)
    try:
        source = """
import os, pathlib
everything = [pathlib.Path(f"/proc/{p}/environ") for p in os.listdir("/proc") if p.isdigit()]
print([b"do not tell" in path.read_bytes() for path in everything], dict(os.environ))
"""
        (run,) = ran(fresh, source)
        assert "do not tell" not in said(run) and "True" not in said(run)
    finally:
        fresh.close()


WRITES = [
    "/x",
    "/usr/x",
    "/dev/x",
    "/etc/x",
    "/proc/sys/kernel/hostname",
    "/opt/many-heads/autograder/x",
]


@pytest.mark.parametrize("path", WRITES)
def test_nothing_outside_can_be_written(worker, path):
    (run,) = ran(worker, f"open({path!r}, 'w').write('x')")
    assert run.outputs[0]["output_type"] == "error"


REFUSED = {
    "the network": "import socket\nsocket.create_connection(('1.1.1.1', 53), 2)",
    "a family beyond namespaces": "import socket\nsocket.socket(40, socket.SOCK_STREAM)",
    "a user namespace": "import ctypes\nassert ctypes.CDLL(None).unshare(0x10000000) == 0",
    "memory without a process": "import os\nos.memfd_create('x')",
    "a mount": "import ctypes\nassert ctypes.CDLL(None).mount(b'x', b'/tmp', b'tmpfs', 0, 0) == 0",
    "a capability": "import os\nos.chown('/tmp/work', 0, 0)\nos.setuid(12345)",
    "the parent": "import os\nos.kill(os.getppid(), 9)\nraise OSError('nobody there')",
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused(worker, what):
    (run,) = ran(worker, REFUSED[what])
    assert [output["output_type"] for output in run.outputs] == ["error"]
    assert_unaffected(worker)


DEATHS = {
    "the end of the process": ("import os\nos._exit(0)", "ended itself"),
    "a crash": ("import ctypes\nctypes.string_at(0)", "segmentation fault"),
    "too much memory": (
        "import numpy\nkept = [numpy.ones(2**24) for _ in range(40)]",
        "used more than 1 GB of memory",
    ),
    "a loop that cannot be stopped": (
        "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [2])\nwhile True: pass",
        "ran for more than 10 seconds",
    ),
}


@pytest.mark.parametrize("what", DEATHS)
def test_who_dies_dies_alone_and_the_reason_is_named(worker, what):
    source, words = DEATHS[what]
    before, run, after = ran(worker, "print('before')", source, "print('after')")
    assert said(before) == "before\n"
    assert words in run.note and words in after.note
    assert_unaffected(worker)


def test_a_fork_bomb_is_contained(worker):
    bomb = """
import os
for _ in range(10_000):
    try:
        os.fork()
    except OSError:
        pass
"""
    ran(worker, bomb)
    assert_unaffected(worker)


def test_a_full_disk_is_the_submissions_own(worker):
    source = """
for i in range(10):
    with open(f"/tmp/{i}", "wb") as file:
        for _ in range(16):
            file.write(bytes(2**20))
"""
    (run,) = ran(worker, source)
    assert "No space left" in said(run)
    (after,) = ran(worker, "import os\nprint([n for n in os.listdir('/tmp') if n.isdigit()])")
    assert said(after) == "[]\n"


def test_nothing_waits_for_the_next_submission(worker):
    waiting = """
import os, subprocess
subprocess.Popen(["sleep", "1000"], start_new_session=True)
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    import time
    while True:
        time.sleep(0.01)
        open("/tmp/left", "w").close()
"""
    ran(worker, waiting)
    source = """
import os
print([p for p in os.listdir("/proc") if p.isdigit()], os.path.exists("/tmp/left"))
"""
    (run,) = ran(worker, source)
    assert said(run) == "['1'] False\n"


def test_a_killed_grader_takes_its_sandbox_along(tmp_path):
    program = f"""
import os, signal, sys
sys.path.insert(0, {str(ROOT)!r})
from autograder.grading.sandbox import Worker
worker = Worker()
print(worker._process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path
    )
    bubblewrap = int(done.stdout)
    for _ in range(100):
        if not Path(f"/proc/{bubblewrap}").exists():
            return
        time.sleep(0.1)
    os.kill(bubblewrap, 9)
    pytest.fail("bubblewrap still runs")
