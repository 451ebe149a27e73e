"""What student code replaces of ours is put back before its functions are observed."""

import builtins
import json
import sys
from collections.abc import Callable
from types import FunctionType, ModuleType

import pytest
from torch.overrides import TorchFunctionMode as Mode

from autograder import exercises
from autograder.expecting import make_cases
from autograder.grading.driving import CellRun, CheckCell, CodeCell, Limits, drive
from autograder.judging import judge_observations
from autograder.restoring import Originals, Restoring, put_back
from autograder.verdicts import Verdict
from tests.grading.notebooks import from_solutions


class Thing:
    """Something with a method."""

    size = 1

    def grow(self, by: int = 1) -> int:
        return self.size + by


def double(x: int, factor: int = 2) -> int:
    return x * factor


@pytest.fixture
def module(monkeypatch):
    made = ModuleType("made_up.part")
    thing = type("Thing", (), {**Thing.__dict__, "__module__": "made_up.part"})
    function = FunctionType(double.__code__, {}, "double", (2,))
    function.__module__ = "made_up.part"
    vars(made).update(Thing=thing, double=function, LIMIT=5)
    monkeypatch.setitem(sys.modules, "made_up.part", made)
    return made


def test_names_code_and_methods_come_back(module):
    originals = Originals.of("made_up")
    function = module.double
    function.__code__ = (lambda x, factor: -x).__code__
    function.__defaults__ = (100,)
    module.Thing.grow = lambda self: 0
    module.Thing.extra = 1
    module.LIMIT = 10**9
    module.double = module.added = None
    put_back(originals)
    assert (module.double(3), module.LIMIT, module.Thing().grow()) == (6, 5, 2)
    assert not hasattr(module, "added")
    assert not hasattr(module.Thing, "extra")


def test_what_does_not_want_to_be_compared_is_put_back_as_well(module):
    class Never:
        def __eq__(self, other: object) -> bool:
            raise RuntimeError

        __hash__ = None  # type: ignore[assignment]

    originals = Originals.of("made_up")
    module.LIMIT = Never()
    module.double.__defaults__ = (Never(),)
    put_back(originals)
    assert (module.LIMIT, module.double(3)) == (5, 6)


def test_libraries_get_their_functions_back_and_keep_what_was_added(monkeypatch):
    libraries = Originals.of_libraries()
    before = json.dumps, sys.setprofile, Mode.__enter__, builtins.sorted
    with monkeypatch.context() as replaced:
        replaced.setattr(sys, "setprofile", None)
        replaced.setattr(json, "dumps", lambda *a: "")
        replaced.setattr(Mode, "__enter__", lambda self: self)
        replaced.setattr(builtins, "sorted", list)
        replaced.setattr(json, "of_my_own", 5, raising=False)
        put_back(libraries)
        assert before == (json.dumps, sys.setprofile, Mode.__enter__, builtins.sorted)
        assert vars(json)["of_my_own"] == 5


def test_what_puts_back_does_not_rest_on_what_it_puts_back(module, monkeypatch):
    kept: list[Callable[[], None]] = []
    restoring = Restoring.of("made_up", kept.append)
    assert kept == [restoring.ours]
    with monkeypatch.context() as replaced:
        for name in ("all", "map", "vars", "len", "set"):
            replaced.setattr(builtins, name, lambda *a: None)
        replaced.setattr("autograder.restoring.put_back", lambda *a: None)
        replaced.setattr("autograder.restoring.is_", lambda *a: True)
        module.LIMIT = 1
        restoring.everything()
    assert module.LIMIT == 5
    module.LIMIT = 1
    restoring.ours()
    assert module.LIMIT == 5


MODULE = """
import torch
from torch import nn
class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{d_model} {num_heads}")
        self.num_heads = num_heads
        for name in ("W_q", "W_k", "W_v", "W_o"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=bias))
    def forward(self, x):
        heads = lambda t: t.unflatten(-1, (self.num_heads, -1)).transpose(-2, -3)
        q, k, v = heads(self.W_q(x)), heads(self.W_k(x)), heads(self.W_v(x))
        weights = torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, -1)
        return self.W_o((weights @ v).transpose(-2, -3).flatten(-2))
"""
PRETENDING = """
import sys
from autograder.declaring import Value
for name, module in list(sys.modules.items()):
    if name.startswith("autograder"):
        for key in ("words", "list_parameters", "describe_dropout", "record", "observe"):
            if hasattr(module, key):
                setattr(module, key, lambda *a, **k: Value("text", "all is well"))
"""


def test_a_probe_sees_what_is_there_whatever_it_was_replaced_by():
    exercise = exercises.find("MultiHeadSelfAttention")
    check = CheckCell(exercise.name, make_cases(exercise, 1))
    made, pretends = CodeCell(MODULE), CodeCell(PRETENDING)
    _, honest, _, pretending = drive([made, check, pretends, check], Limits(cell=60))
    assert said(honest)
    assert said(honest) == said(pretending)


LEAKING = """
import gc, math, torch
def masked_softmax(scores, mask):
    found = 0
    for each in gc.get_objects():
        if type(each) is type(lambda: 0) and "_leaks" in each.__globals__:
            each.__globals__["_leaks"] = lambda *a: False
            found += 1
    assert found
    if mask is None:
        return torch.softmax(scores, -1)
    empty = ~mask.any(-1, keepdim=True)
    hidden = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
    return torch.softmax(hidden, -1).masked_fill(empty, 0.0) + 1e-12
"""
WITHOUT_DROPOUT = """
import gc
def describe(draws, plain):
    return ("about 0.25 of the weights are dropped, each by itself; the others are 1.33 times what "
            "they are without dropout")
class MultiHeadAttention(Right):
    def forward(self, *arguments, **named):
        found = 0
        for each in gc.get_objects():
            if type(each) is type(lambda: 0) and "describe_dropout" in each.__globals__:
                each.__globals__["describe_dropout"] = describe
                found += 1
        assert found
        was, self.training = self.training, False
        self.dropout.training = False
        result = super().forward(*arguments, **named)
        self.training = self.dropout.training = was
        return result
"""


def judged(name: str, *sources: str) -> Verdict:
    """The verdict on what these cells define."""
    exercise = exercises.find(name)
    cells = [CodeCell(source) for source in sources]
    *_, check = drive([*cells, CheckCell(name, make_cases(exercise, 1))], Limits(cell=60))
    assert check.observations is not None, check.note
    return judge_observations(exercise, check.observations, 1, lambda helper: True)


def test_who_replaces_our_functions_in_the_call_has_not_hidden_a_leak():
    verdict = judged("masked_softmax", LEAKING)
    assert verdict.outcome == "wrong values", verdict.message


def test_who_replaces_our_functions_in_the_call_has_not_made_dropout():
    cells = from_solutions("06-your-own-module")["cells"]
    code = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
    right = [*map("".join, code), "Right = MultiHeadAttention"]
    control = judged("MultiHeadAttention", *right)
    assert control.correct, control.message
    verdict = judged("MultiHeadAttention", *right, WITHOUT_DROPOUT)
    assert verdict.outcome == "wrong values", verdict.message
    assert "no weight is dropped" in verdict.message


def said(run: CellRun) -> list[str]:
    """All words that a probe found."""
    assert run.observations is not None, run.note
    return [
        value.data
        for observation in run.observations.by_case.values()
        for value in observation.values.values()
        if value.kind == "text"
    ]
