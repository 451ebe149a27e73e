"""Who hangs, crashes or floods pays for that exercise; what was done before counts, and the others.

One class, graded once: each does something terrible in the cell of `attention`, or in the
function itself, after `dot_product_scores` and `softmax` were right.
"""

from typing import Any

import pytest

from autograder.grading.batch import Graded
from tests.grading.notebooks import FULL, RIGHT, solved, with_code

FUNCTION = "def attention(q, k, v):\n    "

# In the function, while its check runs. The process lives on, and self_attention is judged.
IN_THE_FUNCTION = {
    "endless": ("while True: pass", "more than 2 seconds"),
    "sleep": ("import time; time.sleep(1000)", "more than 2 seconds"),
    "exit": ("exit()", ""),
    "sys-exit": ("raise SystemExit(0)", "SystemExit"),
    "interrupt": ("raise KeyboardInterrupt", "interrupted"),
    "generator-exit": ("raise GeneratorExit", "GeneratorExit"),
    "input": ("return input('value? ')", "StdinNotImplementedError"),
    "recursion": ("return attention(q, k, v)", "RecursionError"),
    "regex": ("import re; re.match(r'(a+)+$', 'a' * 60 + 'b')", "more than 2 seconds"),
    "endless-output": ("while True: print('x' * 10_000)", "more than 2 seconds"),
    "one-output": ("print('x' * 10**8); return None", ""),
    "huge": ("return np.ones((3000, 3000)), np.ones((3000, 3000))", ""),
    "endless-result": ("yield from iter(int, 1)", ""),
    "long-list": ("return [0.0] * 10**6, [[]] * 10**6", ""),
    "assertion": ("assert False", "AssertionError"),
    "terrible-words": (
        "class E(Exception):\n        def __str__(self):\n            while True: pass\n"
        "    raise E",
        "more than 2 seconds",
    ),
    "failing-words": (
        "class E(Exception):\n        def __str__(self): raise SystemExit\n    raise E",
        "stopped with E",
    ),
    "terrible-repr": (
        "class R:\n        def __repr__(self):\n            while True: pass\n    return R()",
        "",
    ),
    "chain": (
        "e = ValueError()\n    for _ in range(50_000):\n"
        "        n = ValueError(); n.__cause__ = e; e = n\n"
        "    raise e",
        "ValueError",
    ),
}
# The process dies, or can no longer be heard: nothing after it is judged.
DEADLY = {
    "os-exit": ("import os; os._exit(0)", "ended itself"),
    "crash": ("import ctypes; ctypes.string_at(0)", "segmentation fault"),
    "swallowed": (
        "\n    while True:\n        try:\n            while True: len(q)\n"
        "        except BaseException: pass",
        "which it ignored",
    ),
    "ignored": (
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n    while True: pass",
        "which it ignored",
    ),
    "closed": ("import os; os.closerange(0, 100)", ""),
    "stack": ("import sys; sys.setrecursionlimit(10**9); return attention(q, k, v)", ""),
}
# Nobody is harmed by these, not even who does it.
HARMLESS: dict[str, str] = {
    "stops-itself": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\n"
    "os.kill(0, signal.SIGTERM)",
    "closes-streams": "import os, sys\n"
    "sys.stdout.close(); sys.stderr.close(); os.close(0); os.close(1)",
    "full-disk": "with open('x', 'wb') as f:\n    while True: f.write(bytes(2**20))",
    "many-files": "import os\nfor n in range(30_000): open(str(n), 'w').close()",
    "removes-all": "import shutil\nshutil.rmtree('/', ignore_errors=True)",
    "waits": "import subprocess\nsubprocess.Popen(['sleep', '1000'], start_new_session=True)",
    "huge-value": "'x' * 10**8",
    "huge-error": "raise ValueError('x' * 10**8)",
    "quiet-error": "class E(Exception):\n    def __str__(self): raise OSError\nraise E",
    "many-displays": "for n in range(5000): display(n)",
    "terrible-repr": "class R:\n    def __repr__(self): raise SystemExit\nR()",
    "traced": "import sys\nsys.settrace(lambda *a: None); sys.setprofile(lambda *a: None)",
    "hooks": "import sys\nsys.excepthook = sys.displayhook = sys.unraisablehook = None",
    "deep": "x = []\nfor _ in range(100_000): x = [x]",
    "cleared": "%reset -f\nimport numpy as np\n" + "\n".join(RIGHT.values()),
    "alarm": "import signal\nsignal.setitimer(signal.ITIMER_REAL, 1000)",
    "warned": "import warnings\nwarnings.simplefilter('error')",
}


@pytest.fixture(scope="module")
def results(school) -> dict[str, Graded]:
    with school.project.config.open("a") as config:
        config.write("\nc.Judge.cell_timeout = 2\nc.Judge.memory = 1.0\nc.Judge.disk = 0.02\n")
    made: dict[str, Any] = {}
    for name, (body, _) in {**IN_THE_FUNCTION, **DEADLY}.items():
        made[f"f-{name}"] = solved(attention=FUNCTION + body)
    for name, code in HARMLESS.items():
        made[f"h-{name}"] = with_code(solved(), code, before="attention")
    for number in range(2):
        made[f"honest-{number}"] = solved()
    for student, notebook in made.items():
        school.hand_in(student, notebook)
    return school.grade()


def test_nobody_makes_a_fault_of_a_misdeed(results):
    assert [(name, r.fault) for name, r in results.items() if r.fault] == []


@pytest.mark.parametrize("name", IN_THE_FUNCTION)
def test_a_function_that_misbehaves_costs_itself(results, rows_of, name):
    rows = rows_of(results[f"f-{name}"])
    assert rows["dot_product_scores"].points == FULL["dot_product_scores"]
    assert rows["softmax"].points == FULL["softmax"]
    assert rows["attention"].points == 0
    assert IN_THE_FUNCTION[name][1] in rows["attention"].note
    assert rows["attention"].note
    assert len(rows["attention"].note) < 5000


@pytest.mark.parametrize("name", DEADLY)
def test_a_process_that_dies_keeps_what_it_did_before(results, rows_of, name):
    rows = rows_of(results[f"f-{name}"])
    assert rows["softmax"].points == FULL["softmax"]
    assert (rows["attention"].points, rows["self_attention"].points) == (0, 0)
    assert rows["attention"].outcome == "error"
    assert DEADLY[name][1] in rows["attention"].note


@pytest.mark.parametrize("name", HARMLESS)
def test_odd_deeds_cost_nothing(results, rows_of, name):
    rows = rows_of(results[f"h-{name}"])
    assert {name: row.points for name, row in rows.items()} == FULL


def test_the_others_have_their_marks(results, rows_of):
    for number in range(2):
        rows = rows_of(results[f"honest-{number}"])
        assert {name: row.points for name, row in rows.items()} == FULL


def test_who_takes_too_much_memory_is_told_so(new_school, rows_of):
    """With time enough: a slow machine takes more than two seconds to hand out a gigabyte."""
    with new_school.project.config.open("a") as config:
        config.write("\nc.Judge.cell_timeout = 60\nc.Judge.memory = 1.0\n")
    hog = "kept = []\n    while True: kept.append(bytearray(b'x' * 2**22))"
    new_school.hand_in("hog", solved(attention=FUNCTION + hog))
    rows = rows_of(new_school.grade()["hog"])
    assert rows["softmax"].points == FULL["softmax"]
    assert (rows["attention"].points, rows["self_attention"].points) == (0, 0)
    assert "used more than 1 GB of memory" in rows["attention"].note


def test_the_right_functions_are_right():
    assert RIGHT["attention"].startswith("\ndef attention(q, k, v):")
