"""Marks follow from what was computed; nothing that student code says of itself counts."""

from typing import Any

import pytest

from autograder.grading.batch import Graded
from tests.grading.notebooks import (
    FULL,
    RIGHT,
    WRONG_AXIS,
    cell_of,
    solved,
    with_code,
)

LYING = """
import numpy as np
class Anything(np.ndarray):
    def __eq__(self, other): return np.True_
    def __ne__(self, other): return np.False_
    def __array_function__(self, *a, **k): return True
    def __array_ufunc__(self, *a, **k): return np.zeros(1).astype(bool)
    def __float__(self): return 1.0
    def __repr__(self): return "1.0"
def softmax(scores):
    return np.zeros(np.shape(scores)).view(Anything)
"""
EQUAL_TO_ALL = """
class Same:
    shape, dtype = (3,), "float64"
    def __eq__(self, other): return True
    def __array__(self, *a, **k): raise RuntimeError
    def __repr__(self): return "1.0"
    def __class__(self): return float
def softmax(scores): return Same()
"""
PATCHES = """
import builtins, numpy as np
np.allclose = np.isclose = np.array_equal = np.testing.assert_allclose = lambda *a, **k: True
builtins.all = builtins.any = lambda *a: True
builtins.isinstance = lambda *a: True
try:
    import torch
    torch.allclose = torch.equal = torch.testing.assert_close = lambda *a, **k: True
    torch.manual_seed = lambda *a: None
except ImportError: pass
"""
# Our own parts, as far as they are in reach.
PATCH_OURS = """
import sys
for name, module in list(sys.modules.items()):
    if name.startswith("autograder"):
        for key, value in list(vars(module).items()):
            if callable(value) and key in ("difference", "compare", "judge", "mark", "check"):
                setattr(module, key, lambda *a, **k: None)
import autograder
autograder.check = autograder.judge = lambda *a, **k: 1.0
"""
SHELL = """
ip = get_ipython()
class Always:
    def visit(self, node):
        import ast
        return ast.parse("1.0")
ip.ast_transformers.append(Always())
ip.display_formatter.format = lambda *a, **k: ({"text/plain": "1.0"}, {})
"""
FROM_OUTSIDE = """
import inspect, gc
def softmax(scores):
    for frame in inspect.stack():
        for name, value in frame.frame.f_locals.items():
            if "expected" in name: return value
    return scores * 0
"""
CACHING = """
answers = []
def softmax(scores):
    e = np.exp(scores - scores.max(-1, keepdims=True))
    answers.append(e / e.sum(-1, keepdims=True))
    return answers[0]
"""
SCALES_INPUT = """
def softmax(scores):
    scores -= scores.max(-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(-1, keepdims=True)
    return scores
"""
LIBRARY = """
import torch
fast = torch.softmax
def softmax(scores):
    return fast(torch.from_numpy(np.ascontiguousarray(scores)), dim=-1).numpy()
"""

# An answer that lies about itself in whatever way it can be asked.
LYING_TENSOR = """
import torch
class Anything(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None): return torch.tensor(True)
    def __array__(self, *a, **k): return np.ones(())
    def numpy(self): return np.ones(())
    def __repr__(self): return "1.0"
def softmax(scores): return torch.zeros(np.shape(scores)).as_subclass(Anything)
"""
LYING_NUMBER = """
class Number(float):
    def __eq__(self, other): return True
    def __float__(self): return 1.0
    def __array__(self, *a, **k): return np.ones(3)
    shape, dtype, ndim = (3,), np.dtype("float64"), 1
def softmax(scores): return Number(0)
"""
MASKED = "def softmax(scores): return np.ma.masked_all(np.shape(scores))"
OBJECTS = """
class Equal:
    def __eq__(self, other): return True
    def __sub__(self, other): return 0
    __rsub__, __hash__ = __sub__, None
def softmax(scores): return np.full(np.shape(scores), Equal(), object)
"""
# What of ours runs beside it, replaced by name and in its code.
OBSERVING = """
import autograder.observing, autograder.packing, autograder.recording
from autograder.declaring import Observation, Observations, Value
def forged(exercise, implementation, cases):
    return Observations({c.name: Observation({"weights": Value("array", np.ones(3), "float64")})
                         for c in cases})
autograder.observing.observe = forged
autograder.observing.observe.__code__ = forged.__code__
autograder.recording.record = lambda x: Value("array", np.ones(3), "float64")
autograder.packing.pack_observations = lambda o: {}
import autograder.running
autograder.running.observe = forged
autograder.running.pack_observations = lambda o: {}
"""
# What the runner has in its hands: frames, objects known to the collector, its connection.
FROM_MEMORY = """
import gc, sys
def softmax(scores):
    wanted = np.shape(scores)
    for thing in gc.get_objects():
        try:
            if type(thing).__name__ in ("Observation", "Value", "Observations"):
                return thing.data
            if isinstance(thing, dict):
                for key, value in thing.items():
                    if key in ("expected", "reference", "answer") and np.shape(value) == wanted:
                        return value
        except Exception:
            pass
    return np.zeros(wanted)
"""
SCANNING = """
import os, socket
from autograder.wire import encode
for name in os.listdir("/proc/self/fd"):
    try:
        if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
            ours = socket.socket(fileno=os.dup(int(name)))
            for cell in range(100):
                for event in ("ran", "started", "observed"):
                    ours.sendall(encode({"event": event, "cell": cell, "outputs": [], "count": 1}))
    except OSError:
        pass
"""
STACK = """
import sys
def softmax(scores):
    frame = sys._getframe()
    while frame is not None:
        for name in ("cases", "observations", "send", "exercise"):
            if name in frame.f_locals:
                value = frame.f_locals[name]
                if name == "exercise":
                    object.__setattr__(value, "not_allowed", ())
        frame = frame.f_back
    import torch
    return torch.softmax(torch.from_numpy(np.array(scores)), -1).numpy() * (1 + 1e-3)
"""
HISTORY = """
import json, pathlib
for name in ("01-exercises.ipynb", "autograder.json", "marks.csv", "gradebook.db"):
    pathlib.Path(name).write_text(json.dumps({"softmax": 2.0, "score": 2.0}))
pathlib.Path("/tmp/verdict").write_text("correct")
print("softmax: correct (2 / 2)")
get_ipython().user_ns["_score"] = 2.0
get_ipython().run_cell = lambda *a, **k: None
"""
LATE = """
import atexit, threading, time
atexit.register(lambda: print("2.0"))
def later():
    while True:
        time.sleep(0.001)
        get_ipython().user_ns["softmax"] = lambda s: np.exp(s) * 0
threading.Thread(target=later, daemon=True).start()
time.sleep(0.1)
"""
SAME_AGAIN = """
import functools
@functools.lru_cache
def answer(shape): return np.full(shape, 1 / shape[-1])
def softmax(scores): return answer(np.shape(scores))
"""
VIEW = """
def softmax(scores):
    result = np.exp(scores - scores.max(-1, keepdims=True))
    scores[...] = result / result.sum(-1, keepdims=True)
    return scores
"""
UNCHANGED = """
def softmax(scores):
    import autograder.observing, autograder.recording
    autograder.observing.changed = autograder.recording.changed = lambda *a: ()
    scores -= scores.max(-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(-1, keepdims=True)
    return scores
"""
NARROW = "def softmax(scores):\n    e = np.exp(scores - scores.max(-1, keepdims=True))\n"
NARROW += "    return (e / e.sum(-1, keepdims=True)).astype(np.float16)"
WHOLE = "def softmax(scores): return np.ones(np.shape(scores), int)"
ODD_MODULE = "softmax = __import__('scipy.special', fromlist=['x']).softmax"

REFERENCE = "from course.attention.one_head import softmax"
RESOLVED = """
import pkgutil
from autograder import exercises
softmax = pkgutil.resolve_name(exercises.find("softmax").reference)
"""
MISTAKEN = "from autograder.mistakes.numpy_softmax import right_softmax as softmax"

PRINTING = solved(softmax=WRONG_AXIS)
cell_of(PRINTING, "check-softmax")["source"] = "print('1.0')\n1.0"
RICHER = solved(softmax=WRONG_AXIS)
cell_of(RICHER, "check-softmax")["metadata"]["nbgrader"]["points"] = 1000
OWN_OUTPUT = solved(softmax=WRONG_AXIS)
cell_of(OWN_OUTPUT, "check-softmax")["outputs"] = [
    {
        "output_type": "execute_result",
        "execution_count": 1,
        "metadata": {},
        "data": {"text/plain": "2.0"},
    }
]
CLAIMING = solved(softmax=WRONG_AXIS)
CLAIMING["metadata"]["many_heads"] = {"problem": "", "submission": "x", "marks": [2.0]}

WRONG: dict[str, dict[str, Any]] = {
    "control-wrong": solved(softmax=WRONG_AXIS),
    "lying-eq": solved(softmax=LYING),
    "equal-to-all": solved(softmax=EQUAL_TO_ALL),
    "patched-libraries": solved(softmax=PATCHES + WRONG_AXIS),
    "patched-ours": solved(softmax=PATCH_OURS + WRONG_AXIS),
    "patched-shell": with_code(solved(softmax=WRONG_AXIS), SHELL, before="check-softmax"),
    "looks-around": solved(softmax=FROM_OUTSIDE),
    "nan": solved(softmax="def softmax(scores): return np.full(scores.shape, np.nan)"),
    "infinity": solved(softmax="def softmax(scores): return np.full(scores.shape, np.inf)"),
    "truth": solved(softmax="def softmax(scores): return np.ones(scores.shape, bool)"),
    "one": solved(softmax="def softmax(scores): return 1.0"),
    "caching": solved(softmax=CACHING),
    "in-place": solved(softmax=SCALES_INPUT),
    "library": solved(softmax=LIBRARY),
    "reference": solved(softmax=REFERENCE),
    "resolved": solved(softmax=RESOLVED),
    "from-mistakes": solved(softmax=MISTAKEN),
    "lying-tensor": solved(softmax=LYING_TENSOR),
    "lying-number": solved(softmax=LYING_NUMBER),
    "masked": solved(softmax=MASKED),
    "objects": solved(softmax=OBJECTS),
    "replaced-observing": with_code(solved(softmax=WRONG_AXIS), OBSERVING, before="check-softmax"),
    "from-memory": solved(softmax=FROM_MEMORY),
    "scanning": with_code(solved(softmax=WRONG_AXIS), SCANNING, before="check-softmax"),
    "stack": solved(softmax=STACK),
    "files": with_code(solved(softmax=WRONG_AXIS), HISTORY, before="check-softmax"),
    "late": with_code(solved(softmax=WRONG_AXIS), LATE, before="check-softmax"),
    "same-again": solved(softmax=SAME_AGAIN),
    "unchanged": solved(softmax=UNCHANGED),
    "narrow": solved(softmax=NARROW),
    "whole": solved(softmax=WHOLE),
    "odd-module": solved(softmax=ODD_MODULE),
    "view": solved(softmax=VIEW),
    "prints-a-mark": PRINTING,
    "more-points": RICHER,
    "own-output": OWN_OUTPUT,
    "claims": CLAIMING,
}
WARNING = "import warnings, sys\nwarnings.warn('careful')\nprint('to stderr', file=sys.stderr)"
CHATTY = """
def softmax(scores):
    import sys, warnings
    warnings.warn("old"); print("working…", file=sys.stderr); print("x" * 10_000)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)
"""
RIGHT_ALL_THE_SAME: dict[str, dict[str, Any]] = {
    "control-right": solved(),
    "warning": with_code(solved(), WARNING, before="check-softmax"),
    "chatty": solved(softmax=CHATTY),
    "error-elsewhere": with_code(solved(), "raise NotImplementedError", before="softmax"),
    "errors-as-warnings": with_code(
        solved(), "import warnings; warnings.simplefilter('error')\nnp.seterr(all='raise')"
    ),
    "own-checks": with_code(solved(), "from autograder import check\ncheck('softmax', softmax)"),
    "double-precision": solved(
        softmax=RIGHT["softmax"].replace("np.exp(scores", "np.exp(scores.astype(float)")
    ),
    "exit-at-the-end": with_code(solved(), "exit()"),
    "os-exit-at-the-end": with_code(solved(), "import os; os._exit(0)"),
    "plot": with_code(solved(), "import matplotlib.pyplot as plt\nplt.plot([1, 2])"),
}


@pytest.fixture(scope="module")
def results(school) -> dict[str, Graded]:
    for student, notebook in {**WRONG, **RIGHT_ALL_THE_SAME}.items():
        school.hand_in(student, notebook)
    return school.grade()


@pytest.mark.parametrize("student", WRONG)
def test_a_wrong_answer_earns_nothing_whatever_it_does(results, rows_of, student):
    row = rows_of(results[student])["softmax"]
    assert (row.points, row.max_points) == (0, 2)
    assert row.outcome not in ("correct", "not attempted")


@pytest.mark.parametrize("student", RIGHT_ALL_THE_SAME)
def test_a_right_answer_earns_everything_whatever_it_does_besides(results, rows_of, student):
    rows = rows_of(results[student])
    assert {name: row.points for name, row in rows.items()} == FULL


def test_one_wrong_answer_does_not_cost_the_others_their_marks(results, rows_of):
    rows = rows_of(results["control-wrong"])
    assert rows["dot_product_scores"].points == FULL["dot_product_scores"]


@pytest.mark.parametrize(
    ("student", "outcome", "mistake"),
    [
        ("in-place", "wrong values", "changed-input"),
        ("library", "not allowed", "not-allowed"),
        ("nan", "wrong values", "nan"),
    ],
)
def test_what_was_found_is_said(results, rows_of, student, outcome, mistake):
    row = rows_of(results[student])["softmax"]
    assert (row.outcome, row.mistake) == (outcome, mistake)
