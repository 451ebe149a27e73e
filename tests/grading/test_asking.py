"""Nobody sees what a check asks before it is asked, or answers it in a way that is not watched."""

import sys
from collections.abc import Iterator

import pytest

from autograder import exercises
from autograder.expecting import expected_observations, make_cases
from autograder.grading.driving import CheckCell, CodeCell, drive
from autograder.grading.sandbox import Worker
from autograder.judging import compare
from tests.grading.confined import ALLOWANCE, LIMITS, RIGHT, ran, said

ATTENTION = exercises.find("scaled_dot_product_attention")
SEED = 5

ANSWERS = """
import gc, math, sys, threading, time
import numpy as np, torch
from torch.nn import functional as F
answers = {}
def answer(q, k, v):
    eye = torch.eye(k.shape[-2], dtype=k.dtype)
    eye = eye.expand(*k.shape[:-2], *eye.shape)
    sdpa = F.scaled_dot_product_attention
    answers[q.shape, float(q.sum())] = sdpa(q, k, v), sdpa(q, k, eye)
def look_around():
    for thing in gc.get_objects():
        if type(thing) is dict and {"q", "k", "v"} <= thing.keys():
            q, k, v = thing["q"], thing["k"], thing["v"]
            if type(q) is torch.Tensor and (q.shape, float(q.sum())) not in answers:
                answer(q, k, v)
def scaled_dot_product_attention(q, k, v):
    kept = answers.get((q.shape, float(q.sum())))
    if kept is not None:
        return kept
    weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), dim=-1)
    return weights @ v, weights
"""
# Ways to be there when the inputs arrive, and outside the call.
LYING_IN_WAIT = {
    "the collector": """
def collected(phase, info):
    gc.callbacks.remove(collected)
    look_around()
    gc.callbacks.append(collected)
gc.callbacks.append(collected)
gc.set_threshold(1, 1, 1)
""",
    "reading": """
read = torch.from_numpy
def from_numpy(array):
    look_around()
    return read(array)
torch.from_numpy = from_numpy
""",
    "copying": """
clone = torch.Tensor.clone
def cloning(tensor, *more, **named):
    look_around()
    return clone(tensor, *more, **named)
torch.Tensor.clone = cloning
""",
    "a thread": """
def wait():
    while True:
        look_around()
        time.sleep(0.001)
threading.Thread(target=wait, daemon=True).start()
time.sleep(0.1)
""",
    "a clock": """
import signal
def ring(number, frame):
    look_around()
signal.signal(signal.SIGALRM, ring)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
""",
}
LIBRARY = """
import torch
from torch.nn import functional as F
def scaled_dot_product_attention(q, k, v):
    eye = torch.eye(k.shape[-2], dtype=k.dtype).expand(*k.shape[:-2], k.shape[-2], k.shape[-2])
    f = F.scaled_dot_product_attention
    return f(q, k, v), f(q, k, eye)
"""
# What keeps a call from being seen, or from being told.
HUSHING = {
    "nothing": "",
    "no hook, and no modes": """
import sys, torch.overrides, torch.utils._python_dispatch
sys.setprofile = lambda hook: None
for mode in torch.overrides.TorchFunctionMode, torch.utils._python_dispatch.TorchDispatchMode:
    mode.__enter__ = lambda self: self
    mode.__exit__ = lambda self, *a: None
""",
    "ours": """
import contextlib
from autograder import restoring, watching
restoring.put_back = lambda *a: None
watching.watch = watching.watch_python = lambda *a: contextlib.nullcontext()
""",
    "what is sent": """
import socket
from autograder.wire import decode, encode
send = socket.socket.sendall
def sendall(self, data):
    event = decode(data)
    for each in event.get("observations", {}).get("by_case", {}).values():
        each["called"] = []
    return send(self, encode(event))
socket.socket.sendall = sendall
""",
    "the text of what is sent": """
import json, re
dumps = json.dumps
json.dumps = lambda *a, **k: re.sub(r'"called":\\[[^]]*\\]', '"called":["list"]', dumps(*a, **k))
""",
    "sorted": """
import builtins
in_order = builtins.sorted
builtins.sorted = lambda x, **k: [] if isinstance(x, set) else in_order(x, **k)
""",
    "sets": """
import builtins
class Forgetful(set):
    def add(self, item): pass
builtins.set = Forgetful
""",
    "frames": """
import sys
inner = scaled_dot_product_attention
def scaled_dot_product_attention(q, k, v):
    result = inner(q, k, v)
    frame = sys._getframe()
    while frame:
        for value in frame.f_locals.values():
            if type(value) is set:
                value.clear()
        frame = frame.f_back
    return result
""",
    "nobody to tell": """
inner = scaled_dot_product_attention
def scaled_dot_product_attention(q, k, v):
    from autograder import watching
    watching._told = ()
    return inner(q, k, v)
""",
    "another home, and no modes": """
inner = scaled_dot_product_attention
F.scaled_dot_product_attention.__module__ = "somewhere"
def scaled_dot_product_attention(q, k, v):
    with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
        return inner(q, k, v)
""",
    "no lists": """
import contextlib
from autograder import noticing
for name in ("WAYS_ROUND", "OPERATORS", "DISTURBING"):
    with contextlib.suppress(AttributeError):
        getattr(noticing, name).clear()
noticing._codes = noticing.torch_modes = lambda *a: []
""",
    "a signal in the call": """
import signal
inner = scaled_dot_product_attention
kept = []
def scaled_dot_product_attention(q, k, v):
    signal.signal(signal.SIGUSR1, lambda *a: kept.append(inner(q, k, v)))
    signal.raise_signal(signal.SIGUSR1)
    return kept.pop()
""",
    "a thread without a hook": """
import _thread, queue
asked, answered = queue.SimpleQueue(), queue.SimpleQueue()
def serve(inner=scaled_dot_product_attention):
    while True:
        answered.put(inner(*asked.get()))
_thread.start_new_thread(serve, ())
def scaled_dot_product_attention(q, k, v):
    asked.put((q, k, v))
    return answered.get()
""",
    "a thread that took its hook away": """
import queue, sys, threading
asked, answered = queue.SimpleQueue(), queue.SimpleQueue()
def serve(inner=scaled_dot_product_attention):
    sys.setprofile(None)
    while True:
        answered.put(inner(*asked.get()))
threading.Thread(target=serve, daemon=True).start()
def scaled_dot_product_attention(q, k, v):
    asked.put((q, k, v))
    return answered.get()
""",
    "a thread that never had one": """
import queue, threading
asked, answered = queue.SimpleQueue(), queue.SimpleQueue()
def serve(inner=scaled_dot_product_attention):
    with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
        while True:
            answered.put(inner(*asked.get()))
threading.setprofile(None)
threading.Thread(target=serve, daemon=True).start()
def scaled_dot_product_attention(q, k, v):
    asked.put((q, k, v))
    return answered.get()
""",
    "called in C alone": """
def scaled_dot_product_attention(q, k, v):
    eye = torch.eye(k.shape[-2], dtype=k.dtype).expand(*k.shape[:-2], k.shape[-2], k.shape[-2])
    with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
        return tuple(map(F.scaled_dot_product_attention, (q, q), (k, k), (v, eye)))
""",
    "torch's own kernels": """
import gc
for library in [o for o in gc.get_objects() if type(o) is torch.library.Library]:
    library._destroy()
inner = scaled_dot_product_attention
def scaled_dot_product_attention(q, k, v):
    with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
        return next(map(inner, (q,), (k,), (v,)))
""",
    "a raw thread, started in C alone": """
import _thread, queue
inner = scaled_dot_product_attention
def scaled_dot_product_attention(q, k, v):
    answered = queue.SimpleQueue()
    def serve():
        with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
            answered.put(tuple(map(inner, (q,), (k,), (v,)))[0])
    list(map(_thread.start_new_thread, (serve,), ((),)))
    return answered.get()
""",
    "a fork in C alone": """
import os, pickle
inner = scaled_dot_product_attention
def scaled_dot_product_attention(q, k, v):
    read, write = os.pipe()
    child = next(iter(os.fork, -1))
    if not child:
        with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
            both = next(map(inner, (q,), (k,), (v,)))
        os.write(write, pickle.dumps([(t.tolist(), str(t.dtype)[6:]) for t in both]))
        os._exit(0)
    os.waitpid(child, 0)
    both = pickle.loads(os.read(read, 1 << 16))
    return tuple(torch.tensor(t, dtype=getattr(torch, kind)) for t, kind in both)
""",
    "a process that a thread's end wakes": """
import ctypes, os, pickle, signal, threading, time
inner = scaled_dot_product_attention
asked, answered, ready = os.pipe(), os.pipe(), threading.Event()
end = threading.Event()
def parent():
    child = os.fork()
    if not child:
        ctypes.CDLL(None).prctl(1, signal.SIGCONT)
        q, k, v = pickle.loads(os.read(asked[0], 1 << 16))
        both = inner(*(torch.tensor(t, dtype=getattr(torch, kind)) for t, kind in (q, k, v)))
        os.write(answered[1], pickle.dumps([(t.tolist(), str(t.dtype)[6:]) for t in both]))
        os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(0)
    ready.set()
    end.wait()
threading.Thread(target=parent, daemon=True).start()
ready.wait()
def scaled_dot_product_attention(q, k, v):
    if end.is_set():
        return torch.zeros(1), torch.zeros(1)
    if len(pickled := pickle.dumps([(t.tolist(), str(t.dtype)[6:]) for t in (q, k, v)])) > 60000:
        return torch.zeros(1), torch.zeros(1)
    os.write(asked[1], pickled)
    end.set()
    both = pickle.loads(os.read(answered[0], 1 << 16))
    return tuple(torch.tensor(t, dtype=getattr(torch, kind)) for t, kind in both)
""",
    "after an honest call, and nothing kept of it": """
import sys
inner, calls = scaled_dot_product_attention, []
def scaled_dot_product_attention(q, k, v):
    calls.append(1)
    if len(calls) == 1:
        weights = torch.softmax(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5, -1)
        return weights @ v, weights
    both, frame = inner(q, k, v), sys._getframe()
    while frame:
        if type(frame.f_locals.get("called")) is set:
            frame.f_locals["called"].clear()
        frame = frame.f_back
    return both
""",
    "in a batch of torch's own": """
def scaled_dot_product_attention(q, k, v):
    eye = torch.eye(k.shape[-2], dtype=k.dtype).expand(*k.shape[:-2], k.shape[-2], k.shape[-2])
    with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
        both = torch.vmap(F.scaled_dot_product_attention)
        return tuple(both(q[None], k[None], x[None])[0] for x in (v, eye))
""",
    "what tells of it": """
import os, sys
inner = scaled_dot_product_attention
def scaled_dot_product_attention(q, k, v):
    kept, nowhere, frame = os.dup(3), os.open(os.devnull, os.O_WRONLY), sys._getframe()
    os.dup2(nowhere, 3)
    both = inner(q, k, v)
    os.dup2(kept, 3)
    os.close(kept)
    os.close(nowhere)
    while frame:
        if type(frame.f_locals.get("called")) is set:
            frame.f_locals["called"].clear()
        frame = frame.f_back
    return both
""",
    "the rules": """
import dataclasses, gc
from autograder.declaring import Exercise
for each in gc.get_objects():
    if type(each) is list and any(type(one) is Exercise for one in each):
        each[:] = [
            dataclasses.replace(one, not_allowed=(), unwatched=tuple(map(str, range(99))))
            if type(one) is Exercise else one
            for one in each
        ]
""",
    "a trace": """
import sys
inner = scaled_dot_product_attention
def scaled_dot_product_attention(q, k, v):
    kept = []
    def trace(frame, event, argument):
        if not kept:
            with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
                kept.append(inner(q, k, v))
    sys.settrace(trace)
    (lambda: 0)()
    sys.settrace(None)
    return kept[0]
""",
    "an audit": """
import sys
inner, kept = scaled_dot_product_attention, []
def heard(event, arguments):
    if event == "mine":
        with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
            kept.append(inner(*arguments))
sys.addaudithook(heard)
def scaled_dot_product_attention(q, k, v):
    sys.audit("mine", q, k, v)
    return kept.pop() if kept else inner(q, k, v)
""",
    "another hook": """
inner = scaled_dot_product_attention
def scaled_dot_product_attention(q, k, v):
    import sys
    hook = sys.getprofile()
    for cell in hook.__closure__ or ():
        if isinstance(cell.cell_contents, (dict, set)):
            cell.cell_contents.clear()
    return inner(q, k, v)
""",
}
PEEKING = """
import gc, os, select, torch
def is_case(thing):
    return type(thing).__name__ == "Case" or (
        type(thing) is dict and type(thing.get("q")) is torch.Tensor
    )
found = [thing for thing in gc.get_objects() if is_case(thing)]
waiting = []
for name in os.listdir("/proc/self/fd"):
    try:
        if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
            waiting += select.select([int(name)], [], [], 0.2)[0]
    except OSError:
        pass
print(len(found), len(waiting))
"""


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    made = Worker(ALLOWANCE)
    yield made
    made.close()


def outcome(worker: Worker, *sources: str) -> tuple[str, bool]:
    """Of the check behind these cells, and whether a call that is not allowed was seen."""
    cases = make_cases(ATTENTION, SEED)
    cells: list[CodeCell | CheckCell] = [*map(CodeCell, sources), CheckCell(ATTENTION.name, cases)]
    *_, check = drive(cells, LIMITS, worker.start_runner)
    if check.note.startswith("SystemError"):
        # A thread that walks what the collector knows meets tuples that are being made, which
        # Python itself then cannot finish. Nothing was observed, and nothing earned.
        return "not allowed", True
    assert check.observations is not None, check.note
    expected = expected_observations(ATTENTION, SEED)
    seen = any(one.called for one in check.observations.by_case.values())
    return compare(ATTENTION, cases, check.observations, expected).outcome, seen


def test_before_a_check_its_inputs_are_nowhere(worker):
    asked = CheckCell(ATTENTION.name, make_cases(ATTENTION, SEED))
    _, peeked, check = drive(
        [CodeCell(RIGHT), CodeCell(PEEKING), asked], LIMITS, worker.start_runner
    )
    assert said(peeked).split() == ["0", "0"]
    assert check.observations is not None
    # The same look finds them where they are.
    there = "import torch\ncase = {'q': torch.ones(2), 'k': 0}"
    assert said(ran(worker, there, PEEKING)[1]).split()[0] == "1"


@pytest.mark.parametrize("way", LYING_IN_WAIT)
def test_who_lies_in_wait_for_the_inputs_is_seen_or_does_not_see_them(worker, way):
    result, seen = outcome(worker, ANSWERS, LYING_IN_WAIT[way])
    if way in ("reading", "copying"):
        assert seen
    if way in ("the collector", "a clock"):
        assert not seen
    assert result == ("not allowed" if seen else "correct")  # which it is by its own lines


def test_who_answers_before_a_check_answers_nothing_of_it(worker):
    early = "".join(f"\nanswer(*torch.randn(3, {n}, 2, {n}))" for n in (1, 2, 3))
    assert outcome(worker, ANSWERS, early) == ("correct", False)


@pytest.mark.parametrize("way", HUSHING)
def test_a_call_that_was_seen_is_not_taken_back(worker, way):
    assert outcome(worker, LIBRARY, HUSHING[way]) == ("not allowed", True)


def test_what_cases_are_made_with_is_not_there_to_answer_them(worker):
    ways = (
        "from autograder.exercises.mask_inputs import looking_back",
        "import autograder.exercises as e\ne.mask_inputs",
        "import importlib\nimportlib.import_module('autograder.exercises.lesson_05')",
        "import sys\nsys.modules['autograder.exercises.mask_inputs']",
    )
    for run in ran(worker, *(f"{way}\nprint('found')" for way in ways)):
        assert [output["output_type"] for output in run.outputs] == ["error"]


def test_what_runs_beside_an_honest_function_is_nobodys_business(worker):
    for beside in LYING_IN_WAIT.values():
        harmless = "look_around = lambda: sum(range(100))\nimport gc, threading, time, torch\n"
        assert outcome(worker, RIGHT, harmless + beside) == ("correct", False)


def test_what_a_later_call_writes_over_is_wrong_here_too(worker):
    kept = """
right, kept = scaled_dot_product_attention, {}
def scaled_dot_product_attention(q, k, v):
    output, weights = right(q, k, v)
    shown = weights.clone()
    shown.data = kept.setdefault((weights.shape, weights.dtype), weights.detach().clone())
    shown.data.copy_(weights.detach())
    return output, shown
"""
    assert outcome(worker, RIGHT, kept) == ("wrong values", False)


def test_nor_are_the_files_they_are_made_from_or_packages_of_another_python(worker):
    look = f"""
import importlib.util, os
folder = os.path.join(os.path.dirname(importlib.util.find_spec("autograder").origin), "exercises")
base = {f"{sys.base_prefix}/lib/python{sys.version_info.major}.{sys.version_info.minor}"!r}
print(os.listdir(folder), os.path.isdir(base), os.listdir(base + "/site-packages"))
"""
    assert sys.prefix != sys.base_prefix
    assert said(ran(worker, look)[0]).split() == ["[]", "True", "[]"]


def test_a_function_that_traces_itself_is_right(worker):
    traced = """
inner = scaled_dot_product_attention
def scaled_dot_product_attention(q, k, v):
    return torch.jit.trace(inner, (q, k, v))(q, k, v)
"""
    assert outcome(worker, RIGHT, traced) == ("correct", False)
    assert outcome(worker, LIBRARY, traced) == ("not allowed", True)
