"""Honest work earns its marks, however it is written and whatever the notebook does besides.

One class, graded once. Each student's answers are right.
"""

import csv
from typing import Any

import pytest

from autograder.grading.batch import Graded
from tests.grading.notebooks import FULL, ONE, RIGHT, cell_of, solved, with_code

# Other ways to write a softmax that is right.
WAYS = {
    "annotated": """
from __future__ import annotations
def softmax(scores: np.ndarray[Any, "whatever this is"]) -> "np.ndarray":
    e: np.ndarray = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
""",
    "lambda": "softmax = lambda s: (lambda e: e / e.sum(-1, keepdims=True))"
    "(np.exp(s - s.max(-1, keepdims=True)))",
    "loops": """
import math
def softmax(scores):
    rows = scores.reshape(-1, scores.shape[-1])
    out = []
    for row in rows:
        top = max(row)
        e = [math.exp(float(x) - float(top)) for x in row]
        out.append([x / math.fsum(e) for x in e])
    return np.array(out).reshape(scores.shape)
""",
    "logsumexp": """
def softmax(scores):
    s = np.asarray(scores, dtype=np.float64)
    return np.exp(s - np.logaddexp.reduce(s, axis=-1, keepdims=True))
""",
    "dataclass": """
from dataclasses import dataclass
@dataclass
class Softmax:
    axis: int = -1
    def __call__(self, scores):
        e = np.exp(scores - scores.max(self.axis, keepdims=True))
        return e / e.sum(self.axis, keepdims=True)
softmax = Softmax()
""",
    "decorated": """
import functools, time
def timed(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        start = time.perf_counter()
        result = function(*args, **kwargs)
        print(f"{function.__name__} took {time.perf_counter() - start:.1e} s")
        return result
    return inner
@timed
def softmax(scores, *, axis=-1, **more):
    e = np.exp(scores - scores.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)
""",
    "torch-products": """
import torch
def softmax(scores):
    # torch.softmax(scores, -1) would be shorter, and is not allowed
    e = (torch.from_numpy(np.ascontiguousarray(scores)) - float(np.max(scores)) * 0)
    e = (e - e.max(-1, keepdim=True).values).exp()
    return (e / e.sum(-1, keepdim=True)).numpy()
""",
    "noisy": """
import logging, sys, warnings
def softmax(scores):
    warnings.warn("deprecated", DeprecationWarning)
    logging.warning("shape %s", scores.shape)
    print("\\x1b[31mworking\\x1b[0m", file=sys.stderr)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)
""",
    "own-copy": """
def softmax(scores):
    scores = scores.copy()
    scores -= scores.max(-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(-1, keepdims=True)
    return scores
""",
    "helper": """
def _shifted(x): return x - x.max(-1, keepdims=True)
def softmax(scores):
    e = np.exp(_shifted(scores)); return e / e.sum(-1, keepdims=True)
def test_softmax(): assert np.allclose(softmax(np.ones((2, 2))), .5)
test_softmax()
if __name__ == "__main__": print("all tests passed")
""",
    "slow": "import time\n"
    + RIGHT["softmax"].replace("    exp", "    time.sleep(0.05)\n    exp", 1),
}
# What notebooks do besides, before the check of attention.
BESIDES = {
    "magics": "%matplotlib inline\n%load_ext autoreload\n%autoreload 2\n"
    "%config Completer.use_jedi = "
    "False\n%timeit -n 1 -r 1 sum(range(10))\n%who",
    "cell-magics": "%%capture shown\nprint('captured')",
    "bash": "%%bash\nls; echo done",
    "shell": "!ls -la\nfiles = !ls\nprint(files)\n!exit 3",
    "pip": "%pip install --quiet numpy",
    "no-such-package": "!pip install no-such-package-for-certain\n"
    "import no_such_package_for_certain",
    "own-module": "%%writefile helper.py\nx = 1",
    "window": "%matplotlib qt\n" + RIGHT["softmax"],
    "another window": "import matplotlib\nmatplotlib.use('TkAgg')\n"
    "import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()\n" + RIGHT["softmax"],
    "widget": "%matplotlib widget\n" + RIGHT["softmax"],
    "await": "import asyncio\nawait asyncio.sleep(0)\nasync def f(): return 1\nawait f()",
    "widgets": "import ipywidgets\nfrom ipywidgets import interact\n"
    "interact(lambda x: x, x=(0, 3))",
    "progress": "from ipywidgets import IntProgress\nbar = IntProgress(max=3)\n"
    "display(bar)\nbar.value += 1\nimport sys\n"
    "for n in range(300): print(f'\\r{n}', end='', file=sys.stderr)",
    "plots": "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.imshow([[0, 1]])\n"
    "plt.show()",
    "other-backend": "import matplotlib\nmatplotlib.use('Agg')\n"
    "import matplotlib.pyplot as plt\nplt.plot([1])",
    "threads": "from concurrent.futures import ThreadPoolExecutor\n"
    "with ThreadPoolExecutor() as pool: print(list(pool.map(abs, [-1, 2])))",
    "processes": "from multiprocessing import get_context\n"
    "with get_context('fork').Pool(2) as pool:\n"
    "    assert pool.map(abs, [-1, 2]) == [1, 2]",
    "loader": "from torch.utils.data import DataLoader\nimport torch\n"
    "loader = DataLoader(torch.arange(8), batch_size=2, num_workers=2)\n"
    "assert sum(int(b.sum()) for b in loader) == 28",
    "temporary": "import tempfile\nwith tempfile.NamedTemporaryFile('w+') as f: f.write('x')\n"
    "np.save('x.npy', np.ones(3)); assert np.load('x.npy').sum() == 3",
    "who-am-i": "import getpass, os, pathlib\n"
    "print(getpass.getuser(), pathlib.Path.home(), os.getcwd())",
    "chdir": "import os\nos.chdir('/')",
    "help": "np.sum?\nhelp(len)",
    "compared": "import torch\n"
    "assert torch.allclose(torch.softmax(torch.ones(2), -1), torch.ones(2) / 2)",
    "defaults": "import torch\ntorch.set_default_dtype(torch.float64)\ntorch.set_num_threads(4)\n"
    "torch.manual_seed(1); np.random.seed(1)\nnp.set_printoptions(precision=2)",
    "strict": "import warnings\nwarnings.simplefilter('error')\nnp.seterr(all='raise')",
    "unfinished": "def something_else():\n    raise NotImplementedError\nsomething_else()",
    "syntax": "this is no Python",
    "html": "from IPython.display import HTML, Markdown, Math\n"
    "display(HTML('<b>x</b>'), Math('x^2'))",
    "json": "import json\njson.dumps = lambda x, indent=2: str(x)\nprint(json.dumps(1))",
    "no network": "import socket\ndef refuse(*a): raise OSError('no network in this notebook')\n"
    "socket.socket.sendall = socket.socket.connect = refuse",
    "names": "type = list = max = sum = 3; len_ = len\nμ = 1; 变量 = 2",
    "garbage": "import gc\ngc.disable(); gc.collect()",
    "exits": "exit()",
}


@pytest.fixture(scope="module")
def results(school) -> dict[str, Graded]:
    made: dict[str, Any] = {f"way-{name}": solved(softmax=code) for name, code in WAYS.items()}
    for name, code in BESIDES.items():
        made[f"besides-{name}"] = with_code(solved(), code, before="attention")
    ends = solved()
    for cell in ends["cells"]:
        source = "".join(cell["source"])
        cell["source"] = source.replace("\n", "\r\n").replace("    ", "\t")
    made["ends"] = ends
    noted = solved()
    cell_of(noted, "softmax")["source"] += "\n\n# note\n'''not a docstring'''\n1 / 1"
    made["noted"] = noted
    for student, notebook in made.items():
        school.hand_in(student, notebook)
    return school.grade()


@pytest.mark.parametrize(
    "student",
    [*[f"way-{n}" for n in WAYS], *[f"besides-{n}" for n in BESIDES], "ends", "noted"],
)
def test_honest_work_earns_its_marks(results, rows_of, student):
    rows = rows_of(results[student])
    assert {name: row.points for name, row in rows.items()} == FULL, rows


WORKS = ["magics", "cell-magics", "bash", "pip", "await", "widgets", "progress", "plots", "threads"]
WORKS += [
    "window",
    "another window",
    "widget",
    "processes",
    "loader",
    "temporary",
    "who-am-i",
    "help",
    "compared",
    "html",
    "defaults",
]


def test_what_works_on_a_desk_works_while_it_is_graded(results, school):
    import nbformat

    failed: dict[str, list[str]] = {}
    for name in WORKS:
        path = school.classroom.autograded / f"besides-{name}" / ONE / "01-exercises.ipynb"
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.source == BESIDES[name]:
                errors = [o.evalue for o in cell.outputs if o.output_type == "error"]
                failed |= {name: errors} if errors else {}
    assert failed == {}
    assert results["besides-plots"].record


def test_the_table_of_marks_has_them_all(results, school):
    with school.classroom.marks.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["assignment"] == ONE]
    assert {row["student"] for row in rows} == set(results)
