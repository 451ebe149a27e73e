"""The sandbox limits: who takes too much is stopped, and the next one is unaffected."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from autograder.grading import sandbox
from autograder.grading.driving import Limits
from autograder.grading.sandbox import Worker
from tests.grading.confined import ALLOWANCE, assert_unaffected, ran, said
from tests.repository import ROOT

QUICK = Limits(cell=1, notebook=20, grace=0.5)
DEATHS = {
    "the end of the process": ("import os\nos._exit(0)", "ended itself"),
    "a crash": ("import ctypes\nctypes.string_at(0)", "segmentation fault"),
    "a signal": ("import os\nos.abort()", "crashed"),
    "a loop that cannot be stopped": (
        "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [2])\nwhile True: pass",
        "ran for more than 1 seconds",
    ),
    "a sleep that cannot be stopped": (
        "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\ntime.sleep(1000)",
        "which it ignored",
    ),
    "an exit in a child": (
        "import os\nif os.fork() == 0:\n    os.closerange(0, 99)\n    os.kill(1, 9)\n"
        "    os.execv('/bin/sleep', ['sleep', '1000'])\nos.closerange(3, 99)",
        "",
    ),
}
TOO_MUCH = {
    "arrays": "import numpy\nkept = [numpy.ones(2**24) for _ in range(40)]",
    "text": "kept = []\nwhile True: kept.append('x' * 10**7)",
    "children": """
import os, time
for _ in range(12):
    if os.fork() == 0:
        kept = [bytearray(b"x" * 2**20) for _ in range(120)]
        time.sleep(100)
time.sleep(100)
""",
    "what nobody reads": """
import os, socket, time
for _ in range(20):
    if os.fork() == 0:
        kept = [socket.socketpair() for _ in range(100)]
        time.sleep(100)
time.sleep(100)
""",
}


@pytest.mark.parametrize("what", DEATHS)
def test_who_dies_dies_alone_and_the_reason_is_named(worker, what):
    source, words = DEATHS[what]
    before, run, after = ran(worker, "print('before')", source, "print('after')", limits=QUICK)
    assert said(before) == "before\n"
    assert run.note
    assert words in run.note and words in after.note
    assert_unaffected(worker)


@pytest.mark.parametrize("what", TOO_MUCH)
def test_who_holds_too_much_memory_is_stopped(worker, what):
    run, _ = ran(worker, TOO_MUCH[what], "print('after')", limits=Limits(cell=60, notebook=60))
    assert "used more than 1 GB of memory" in run.note
    assert_unaffected(worker)


SPINNING = """
import os, time
for _ in range(30):
    if os.fork() == 0:
        os.setsid()
        while True: pass
time.sleep(100)
"""


def test_who_takes_all_processors_is_stopped(worker):
    (run,) = ran(worker, SPINNING, limits=Limits(cell=60, notebook=60))
    assert "8 processes or threads busy" in run.note
    (run,) = ran(worker, SPINNING.replace("range(30)", "range(4)").replace("(100)", "(4)"))
    assert run.note == ""
    assert_unaffected(worker)


TERMINALS = """
import os, time
for _ in range(20):
    if os.fork() == 0:
        kept = []
        try:
            while True: kept.append(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY))
        except OSError:
            time.sleep(100)
time.sleep(2)
"""


def test_nobody_takes_all_terminals_of_the_machine(worker):
    count = Path("/proc/sys/kernel/pty/nr")
    before, counts = int(count.read_text()), []
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.05):
            counts.append(int(count.read_text()))

    thread = threading.Thread(target=look)
    thread.start()
    (run,) = ran(worker, TERMINALS)
    over.set()
    thread.join()
    assert run.note == ""
    assert max(counts) < before + 100
    assert said(ran(worker, "!echo here")[0]) == "here\r\n"


LOCKING = """
import fcntl, time
with open("/tmp/locked", "w") as file:
    for n in range({}):
        fcntl.lockf(file, fcntl.LOCK_EX, 1, 2 * n)
    time.sleep({})
"""


def test_who_holds_too_many_locks_of_files_is_stopped(worker):
    (run,) = ran(worker, LOCKING.format(10**6, 60), limits=Limits(cell=60, notebook=60))
    assert "more than 10000 locks" in run.note
    (run,) = ran(worker, LOCKING.format(1000, 0.2))
    assert run.note == ""
    assert run.outputs == []
    assert_unaffected(worker)


BOMBS = {
    "processes": """
import os
for _ in range(300):
    try:
        os.fork()
    except OSError:
        pass
""",
    "threads": """
import threading, time
started = 0
try:
    for _ in range(1000):
        threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
        started += 1
except RuntimeError:
    pass
assert started < 1000
""",
    "files": """
made = 0
try:
    for n in range(30_000):
        open(f"/tmp/{n}", "w").close()
        made += 1
except OSError:
    pass
assert made < 30_000
""",
    "descriptors": "import os\nkept = []\nwhile True: kept.append(os.open('/tmp', os.O_RDONLY))",
    "terminals": "import os\nkept = []\nwhile True: kept.append(os.openpty())",
}


@pytest.mark.parametrize("what", BOMBS)
def test_bombs_are_contained(worker, what):
    ran(worker, BOMBS[what], limits=Limits(cell=5, notebook=20, grace=0.5))
    assert_unaffected(worker)


def test_a_worker_that_does_not_say_what_became_of_a_submission_is_not_asked_again(monkeypatch):
    monkeypatch.setattr(sandbox, "KILL", 0.0)
    worker = Worker(ALLOWANCE)
    try:
        with worker.start_runner() as child:
            assert child.kill() is None
        assert not worker.alive()
    finally:
        worker.close()


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
worker.wait_until_ready()
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
