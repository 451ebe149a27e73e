"""Whatever student code does to its process, the driver comes back and knows what it knows."""

import time

import pytest

from autograder import exercises
from autograder.expecting import expected_observations, make_cases
from autograder.grading.driving import CellRun, CheckCell, CodeCell, Limits, RunnerFault, drive
from autograder.grading.launching import start_runner
from autograder.judging import compare
from tests.grading.notebooks import RIGHT

SEED = 11
SOFTMAX = exercises.find("softmax")
CHECK = CheckCell("softmax", make_cases(SOFTMAX, SEED))
SETUP = "import numpy as np\n" + RIGHT["softmax"]


def run(*cells: str | CheckCell, **limits: float) -> list[CellRun]:
    made = [CodeCell(cell) if isinstance(cell, str) else cell for cell in cells]
    return drive(made, Limits(**{"cell": 20, **limits}))


def outcome(cell: CellRun) -> str:
    assert cell.observations is not None, cell.note
    return compare(
        SOFTMAX, CHECK.cases, cell.observations, expected_observations(SOFTMAX, SEED)
    ).outcome


def text(cell: CellRun) -> str:
    return "".join(output.get("text", "") for output in cell.outputs)


def error(cell: CellRun) -> str:
    return next(output["ename"] for output in cell.outputs if output["output_type"] == "error")


def test_cells_run_as_in_a_notebook_and_what_they_show_is_kept():
    shown = run(
        "import sys\nprint('out')\nprint('err', file=sys.stderr)\n1 + 1",
        "from IPython.display import HTML, clear_output, display\ndisplay(HTML('<b>x</b>'))",
        "import asyncio\nawait asyncio.sleep(0)\n_ + 1",
        "1 / 0",
        "def broken(:",
        "print('gone')\nclear_output()\nprint('there')",
        "handle = display('first', display_id=True)\nhandle.update('second')",
        "%time\n!echo from the shell",
        "'quiet';",
        "get_ipython().__class__.__name__",
    )
    assert [output.get("name") or output["output_type"] for output in shown[0].outputs] == [
        "stdout",
        "stderr",
        "execute_result",
    ]
    assert shown[0].outputs[2]["data"]["text/plain"] == "2"
    assert shown[1].outputs[0]["data"]["text/html"] == "<b>x</b>"
    assert shown[2].outputs[0]["data"]["text/plain"] == "3"
    assert error(shown[3]) == "ZeroDivisionError"
    assert error(shown[4]) == "SyntaxError"
    assert text(shown[5]) == "there\n"
    assert shown[6].outputs[0]["data"]["text/plain"] == "'second'"
    assert "from the shell" in text(shown[7])
    assert shown[8].outputs == []
    assert shown[9].outputs[0]["data"]["text/plain"] == "'ZMQInteractiveShell'"
    assert [cell.count for cell in shown] == list(range(1, 11))


def test_a_plot_becomes_a_picture():
    (shown,) = run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()", cell=120)
    assert "image/png" in shown.outputs[-1]["data"]


WINDOWS = ["", " widget", " qt", " tk", " notebook", " no-such-one"]


@pytest.mark.parametrize("magic", [f"%matplotlib{kind}" for kind in WINDOWS])
def test_plots_that_ask_for_a_window_become_pictures(magic):
    first, shown, on = run(
        f"{magic}\nhere = 1",
        "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nhere",
        "%pylab qt\nplt.plot([1, 2])",
        cell=120,
    )
    assert "Error" not in str(first.outputs)
    assert "image/png" in shown.outputs[0]["data"]
    assert "image/png" in on.outputs[-1]["data"]


def test_a_module_that_a_cell_writes_can_be_imported():
    runs = run("%%writefile own.py\nx = 3", "import own\nprint(own.x)")
    assert text(runs[1]) == "3\n"


def test_a_function_is_observed_where_its_check_stands():
    runs = run(SETUP, CHECK, "softmax = len", CHECK, "del softmax", CHECK)
    assert outcome(runs[1]) == "correct"
    assert outcome(runs[3]) != "correct"
    assert runs[5].missing


def test_nobody_is_asked_and_nobody_leaves():
    runs = run(
        "exit()\nquit()\nprint('on')",
        "import sys\nsys.exit(1)",
        "input('name? ')",
        "import getpass\ngetpass.getpass()",
        SETUP,
        CHECK,
    )
    assert text(runs[0]).endswith("on\n")
    assert [error(runs[i]) for i in (1, 2, 3)] == [
        "SystemExit",
        "StdinNotImplementedError",
        "StdinNotImplementedError",
    ]
    assert outcome(runs[5]) == "correct"


def test_the_public_functions_are_there_and_do_nothing():
    shown, looked = run(
        "from autograder import check, hint, judge, progress\n"
        "check('softmax', len); hint('softmax'); progress()\nprint(judge('softmax', len).outcome)",
        "import os, pathlib\nprint(os.environ['NBGRADER_EXECUTION'])\n"
        "list(pathlib.Path(os.environ['MANY_HEADS_HOME']).glob('*'))",
    )
    assert text(shown).count("Checks run when your notebook is graded") == 3
    assert "Error" not in str(shown.outputs)
    assert looked.outputs[-1]["data"]["text/plain"] == "[]"


def test_nothing_of_the_environment_is_handed_on(monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "hush")
    (shown,) = run("import os\nprint(dict(os.environ), os.getcwd(), os.listdir())")
    assert "hush" not in text(shown)
    assert text(shown).rstrip().endswith("[]")


def test_a_slow_cell_is_stopped_and_the_next_ones_run():
    runs = run(SETUP, "while True: pass", CHECK, "print('on')", cell=1)
    assert "more than 1 seconds" in runs[1].note
    assert error(runs[1]) == "KeyboardInterrupt"
    assert outcome(runs[2]) == "correct"
    assert text(runs[3]) == "on\n"


def test_a_slow_function_is_stopped_and_the_next_ones_run():
    slow = "def softmax(scores):\n    while True: pass"
    runs = run(slow, CHECK, SETUP, CHECK, cell=1)
    assert "more than 1 seconds" in runs[1].note
    assert runs[1].observations is None
    assert outcome(runs[3]) == "correct"


STUBBORN = """
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
while True:
    try:
        while True: pass
    except BaseException: pass
"""


def test_who_ignores_the_stop_is_killed_and_earlier_cells_keep_what_they_did():
    began = time.monotonic()
    runs = run(SETUP, CHECK, STUBBORN, CHECK, "1", cell=1, grace=0.5)
    assert time.monotonic() - began < 60
    assert outcome(runs[1]) == "correct"
    assert "ignored" in runs[2].note
    assert all("stopped in an earlier cell" in cell.note for cell in runs[3:])


def test_the_whole_notebook_has_a_limit_too():
    runs = run(SETUP, CHECK, *["import time; time.sleep(1)"] * 30, notebook=4)
    assert outcome(runs[1]) == "correct"
    assert "in all" in runs[-1].note
    stopped = [cell.note for cell in runs if cell.reached and cell.note]
    assert all("more than 4 seconds" in note for note in stopped)  # and not of the 20 of a cell


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import os; os._exit(0)", "ended itself"),
        ("import ctypes; ctypes.string_at(0)", "crashed"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "ended"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "SIGTERM"),
        ("import os; os.closerange(3, 60)", ""),
        ("import os\nfor d in range(3, 60):\n  try: os.write(d, b'{\"event\"')\n"
         "  except OSError: pass", "cannot be read"),
    ],
    ids=["_exit", "segfault", "SIGKILL", "SIGTERM", "closes everything", "writes to everything"],
)  # fmt: skip
def test_a_dead_or_mad_process_costs_what_comes_after_only(code, why):
    runs = run(SETUP, CHECK, code, CHECK, cell=5)
    assert outcome(runs[1]) == "correct"
    assert runs[2].note
    assert why in runs[2].note
    assert runs[3].observations is None
    assert "stopped in an earlier cell" in runs[3].note


FORGED = """
import socket, numpy as np
from autograder.wire import encode
from autograder.packing import pack_observations
from autograder.declaring import Observation, Observations, Value
for descriptor in range(3, 60):
    try: ours = socket.socket(fileno=descriptor)
    except OSError: continue
    for cell in range(10):
        ours.sendall(encode({"event": "observed", "cell": cell, "observations":
            pack_observations(Observations({"one row": Observation(
                {"weights": Value("array", np.ones(3), "float64")})}))}))
"""


def test_events_that_come_out_of_turn_are_refused():
    runs = run(FORGED, CHECK)
    assert runs[1].observations is None
    assert "order" in runs[0].note or "cannot be read" in runs[0].note


def test_endless_output_is_cut():
    (shown,) = run("while True: print('x' * 1000)", cell=2)
    assert len(text(shown)) < 2 * 2**20
    assert "left out" in text(shown)


def test_left_over_processes_are_ended():
    (shown,) = run(
        "import subprocess, sys\n"
        "print(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']).pid)"
    )
    deadline = time.monotonic() + 10
    while _alive(int(text(shown))) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _alive(int(text(shown)))


def _alive(pid: int) -> bool:
    import psutil

    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def test_a_runner_that_does_not_start_is_nobodys_zero(monkeypatch):
    monkeypatch.setattr(
        "autograder.grading.launching.environment", lambda *_: {"PYTHONHOME": "/nowhere"}
    )
    with pytest.raises(RunnerFault, match="did not start"):
        drive([CodeCell("1")])


def test_nothing_is_left_behind_when_a_runner_ends(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with start_runner() as runner:
        assert list(tmp_path.glob("many-heads-*"))
    assert not list(tmp_path.glob("many-heads-*"))
    assert runner.process.poll() is not None
