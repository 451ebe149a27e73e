"""PyTorch's own attention is noticed however it is reached, and only where it is called."""

import _thread
import ctypes.util
import functools
import importlib.util
import operator
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from autograder import judge
from autograder.exercises import find
from autograder.expecting import make_cases
from autograder.judging import DEFAULT_SEED
from autograder.watching import watch_threads

library = functional.scaled_dot_product_attention


def weights(q: Tensor, k: Tensor) -> Tensor:
    return torch.softmax(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5, -1)


def answer(mix: Callable[..., Any]) -> Callable[..., Any]:
    """An answer that is right and mixes the values in this way."""

    def scaled_dot_product_attention(q, k, v):
        return mix(q, k, v), weights(q, k)

    return scaled_dot_product_attention


def in_a_thread(q, k, v):
    found = []
    thread = threading.Thread(target=lambda: found.append(library(q, k, v)))
    thread.start()
    thread.join()
    return found[0]


def in_a_raw_thread(q, k, v):
    found, over = [], threading.Event()

    def work():
        found.append(library(q, k, v))
        over.set()

    _thread.start_new_thread(work, ())
    over.wait(10)
    return found[0]


def in_a_fork(q, k, v):
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, pickle.dumps(library(q, k, v).tolist()))
        os._exit(0)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as answer:
        os.close(writing)
        return torch.tensor(pickle.load(answer), dtype=q.dtype)


def in_a_program(q, k, v):
    """What the program computes does not matter: nobody can see it."""
    subprocess.run(["true"], check=True)
    return weights(q, k) @ v


def in_a_pool(q, k, v):
    with ThreadPoolExecutor() as pool:
        return pool.submit(library, q, k, v).result()


def unwatched(switch: Callable[[], Any]) -> Callable[..., Any]:
    def mix(q, k, v):
        with switch():
            return library(q, k, v)

    return mix


def unprofiled(q, k, v):

    sys.setprofile(None)
    return library(q, k, v)


def as_a_module(q, k, v):
    """nn.MultiheadAttention with one head whose projections are the identity."""
    size = q.shape[-1]
    if not q.shape[-1] == k.shape[-1] == v.shape[-1]:
        return weights(q, k) @ v
    module = nn.MultiheadAttention(size, 1, bias=False, batch_first=True, dtype=q.dtype)
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.eye(size, dtype=q.dtype).repeat(3, 1))
        module.out_proj.weight.copy_(torch.eye(size, dtype=q.dtype))
    flat = [x.reshape(-1, *x.shape[-2:]) for x in (q, k, v)]
    return module(*flat)[0].reshape(q.shape)


class Function(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v):
        ctx.save_for_backward(q, k, v)
        return torch._C._nn.scaled_dot_product_attention(q, k, v)

    @staticmethod
    def backward(ctx, gradient):
        with torch.enable_grad():
            leaves = [x.detach().requires_grad_() for x in ctx.saved_tensors]
            return torch.autograd.grad(weights(*leaves[:2]) @ leaves[2], leaves, gradient)


THREE = (torch.ones(2, 3), torch.ones(2, 3), torch.ones(2, 3))
operators = torch.ops.aten
SKIPS: dict[str, Callable[..., Any]] = {
    "alias": library,
    "getattr": lambda q, k, v: getattr(functional, "scaled_dot_" + "product_attention")(q, k, v),
    "torch._C": torch._C._nn.scaled_dot_product_attention,
    "operator": operators.scaled_dot_product_attention.default,
    "inner operator": lambda q, k, v: operators._scaled_dot_product_attention_math(q, k, v)[0],
    "private": lambda q, k, v: torch._scaled_dot_product_attention_math(q, k, v)[0],
    "module": as_a_module,
    "partial": functools.partial(library, is_causal=False),
    "pickled": pickle.loads(pickle.dumps(library)),
    "map": lambda q, k, v: next(map(library, [q], [k], [v])),
    "attrgetter": lambda q, k, v: operator.attrgetter("nn.functional.scaled_dot_product_attention")(
        torch
    )(q, k, v),
    "traced": torch.jit.trace(lambda q, k, v: library(q, k, v), THREE, check_trace=False),
    "symbolic": torch.fx.symbolic_trace(lambda q, k, v: library(q, k, v)),
    "mapped": lambda q, k, v: torch.func.vmap(library)(q, k, v) if q.ndim > 2 else library(q, k, v),
    "own function": Function.apply,
    "thread": in_a_thread,
    "raw thread": in_a_raw_thread,
    "pool": in_a_pool,
    "fork": in_a_fork,
    "program": in_a_program,
    "unprofiled": unprofiled,
    "functions unwatched": unwatched(torch._C.DisableTorchFunction),
    "operators unwatched": unwatched(torch._C._DisableTorchDispatch),
}


class Lazy(tuple):
    """A pair that says only when it is looked at what it holds."""

    __slots__ = ()
    given: list[Any] = []  # noqa: RUF012 (shared by intention)

    def __iter__(self):
        q, k, v = self.given
        return iter((library(q, k, v), weights(q, k)))


def lazily(q, k, v):
    Lazy.given = [q, k, v]
    return Lazy((torch.zeros_like(q), weights(q, k)))


class Later(Tensor):
    """A tensor whose numbers are computed when somebody asks for them."""

    given: list[Any] = []  # noqa: RUF012 (shared by intention)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):  # type: ignore[override]
        return func(library(*cls.given), *args[1:], **(kwargs or {}))


def later(q, k, v):
    Later.given = [q.detach(), k.detach(), v.detach()]
    right = weights(q, k) @ v
    empty = Tensor._make_wrapper_subclass(Later, right.shape, dtype=right.dtype)
    return empty, weights(q, k)


@pytest.mark.parametrize("way", [lazily, later])
def test_a_result_that_is_computed_when_it_is_looked_at_earns_nothing(way):
    verdict = judge("scaled_dot_product_attention", way)
    assert not verdict.correct, verdict.message


@pytest.mark.parametrize("way", SKIPS)
def test_the_librarys_attention_is_noticed(way):
    verdict = judge("scaled_dot_product_attention", answer(SKIPS[way]))
    assert verdict.outcome == "not allowed", verdict.message


@functools.wraps(library)
def wrapping(q, k, v):
    return weights(q, k) @ v


def test_a_thread_from_before_is_watched_where_threads_are(monkeypatch):
    monkeypatch.setattr(threading, "_profile_hook", None)
    watch_threads()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(len, ()).result()  # now its thread runs
        mix = answer(lambda q, k, v: pool.submit(library, q, k, v).result())
        verdict = judge("scaled_dot_product_attention", mix)
    assert verdict.outcome == "not allowed", verdict.message


def test_a_way_out_of_sight_is_named():
    said = judge("scaled_dot_product_attention", answer(in_a_program)).message
    assert "calls subprocess.fork_exec, which leads out of sight of the check." in said


def elsewhere(q, k, v):
    ctypes.util.find_library("no such library")  # starts programs
    return weights(q, k) @ v


HONEST: dict[str, Callable[..., Any]] = {
    "control": lambda q, k, v: weights(q, k) @ v,
    "mentions": lambda q, k, v: (library.__name__, nn.MultiheadAttention, weights(q, k) @ v)[-1],
    "bears its name": wrapping,
    "a library's program": elsewhere,
    "einsum": lambda q, k, v: torch.einsum("...ij,...jd->...id", weights(q, k), v),
    "symbolic": torch.fx.symbolic_trace(lambda q, k, v: weights(q, k) @ v),
}


@pytest.mark.parametrize("way", HONEST)
def test_who_does_not_call_it_is_not_accused(way):
    verdict = judge("scaled_dot_product_attention", answer(HONEST[way]))
    assert verdict.correct, verdict.message


def test_comparing_with_it_elsewhere_is_fine():
    mix = HONEST["control"]
    q, k, v = torch.randn(2, 3), torch.randn(4, 3), torch.randn(4, 5)
    assert torch.allclose(mix(q, k, v), library(q, k, v), atol=1e-6)
    assert judge("scaled_dot_product_attention", answer(mix)).correct


def test_a_long_text_is_not_watched():
    """Watching would take an honest loop over all of its cells more time than it has."""
    unwatched = []

    def causal_mask(n_q, n_k=None):
        n_k = n_q if n_k is None else n_k
        if torch.overrides._get_current_function_mode() is None:
            unwatched.append(n_q)
        if n_k < n_q:
            raise ValueError(f"{n_q} queries and {n_k} keys")
        return torch.ones(n_q, n_k, dtype=torch.bool).tril(n_k - n_q)

    assert judge("causal_mask", causal_mask).correct
    long = [case.arguments["n_k"] for case in make_cases(find("causal_mask"), DEFAULT_SEED)]
    assert len(unwatched) == sum((n_k or 0) > 500 for n_k in long)
    assert unwatched


def test_a_folder_that_is_called_as_a_library_is_not_the_library(tmp_path):
    path = tmp_path / "torch" / "mine.py"
    path.parent.mkdir()
    path.write_text(
        "import torch\n\n\ndef scaled_dot_product_attention(q, k, v):\n"
        "    weights = torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1)\n"
        "    return weights @ v, weights\n"
    )
    spec = importlib.util.spec_from_file_location("mine", path)
    assert spec is not None
    assert spec.loader is not None
    mine = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(mine)
    verdict = judge("scaled_dot_product_attention", mine.scaled_dot_product_attention)
    assert verdict.correct, verdict.message


def test_inference_mode_that_was_left_open_costs_nothing():
    def honest(q, k, v):
        weights = torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1)
        return weights @ v, weights

    with torch.inference_mode():
        verdict = judge("scaled_dot_product_attention", honest)
        assert torch.is_inference_mode_enabled()
    assert verdict.correct, verdict.message
