"""What to try where no declared mistake explains a verdict: by the words of the exception, by the
kind of fault, or else by the outcome.
"""

import re

import numpy as np

from autograder.declaring import Exercise, Observations, Problem
from autograder.verdicts import Verdict

# By kind of fault (the verdict's mistake), by type of exception, or by outcome.
ADVICE = {
    "returned-none": "end the function with a return line.",
    "wrong-number-of-results": "return all of them, separated by commas, in this order.",
    "changed-input": "write `x = x * w` where you have `x *= w`, or work on a copy: x.copy(), "
    "in PyTorch x.clone().",
    "changed-later": "make what you return anew in each call, and keep nothing of an earlier one.",
    "missing-gradient": "stay within torch: no .item(), .numpy(), .data, .detach() or no_grad.",
    "wrong-gradient": "stay within torch: no .data, .detach() or no_grad on the way.",
    "no-value-error": "raise ValueError(...) when the inputs do not fit, and say what does not.",
    "silent-value-error": 'put both numbers into it: ValueError(f"… {d_model} … {num_heads} …").',
    "other-error": "look at the inputs first, and raise ValueError(...) when they do not fit.",
    "not-a-module": "inherit from nn.Module, and call super().__init__() first in __init__.",
    "missing-parameter": "keep each layer under its name, in __init__: `self.W_q = nn.Linear(…)`.",
    "extra-parameter": "leave out what is not asked for; W_q, W_k, W_v and W_o are enough.",
    "shared-parameter": "make a layer of its own for each: `self.W_k = nn.Linear(…)`.",
    "frozen-parameter": "leave requires_grad as nn.Linear sets it.",
    "wrong-parameter-shape": "all heads share d_model features: write nn.Linear(d_model, d_model).",
    "not-allowed": "write it yourself, from exp() and sums, products and transposes.",
    "needless-error": "raise only where the inputs do not fit; those shown below do.",
    "UnboundLocalError": "give every variable a value on every way through the function.",
    "NotImplementedError": "it is still raised for some inputs; put code in its place.",
    "RecursionError": "the function calls itself without an end; call the one that you mean.",
    "ModuleNotFoundError": "do without it: NumPy, and torch from lesson 02 on, are all you need.",
    "wrong type": "print type(...) and .dtype of what you return: no list, no string, no cast.",
    "wrong shape": "print the shape after each line, and compare with the shapes in the exercise.",
}

# By the words of an exception: what people mix up, and what to write.
WORDS = (
    (
        r"before Module\.__init__\(\) call",
        "call super().__init__() in the first line of __init__: it prepares the module for layers.",
    ),
    (
        r"cannot assign .* as parameter",
        "copy the numbers into the parameter: layer.weight.copy_(…) inside torch.no_grad().",
    ),
    (
        r"leaf Variable that requires grad",
        "change parameters inside `with torch.no_grad():`.",
    ),
    (
        r"not compiled with CUDA|[Nn]o NVIDIA|on the same device|on the expected device",
        "leave .cuda() and .to(…) out, and make new tensors where the inputs are: "
        "torch.ones(…, device=x.device).",
    ),
    (
        r"expected scalar type|same dtype|expected m1 and m2",
        "two dtypes meet: leave .float() and dtype=… out, or end with .to(x.dtype).",
    ),
    (
        r"without overflow",
        "float16 has no -1e9: fill with -math.inf, and take care of rows with nothing else.",
    ),
    (
        r"'(axis|keepdims)' is an invalid keyword|unexpected keyword argument '(axis|keepdims)'",
        "Python's own sum() and max() know no axis: write x.sum(axis=-1), x.max(axis=-1).",
    ),
    (
        r"unexpected keyword argument '(dim|keepdim)'",
        "NumPy says axis and keepdims; dim and keepdim are PyTorch's words.",
    ),
    (
        r"truth value of an array",
        "Python's own max(), min() and if compare single numbers: use x.max(axis=-1) or np.where.",
    ),
    (
        r"(too many|not enough) values to unpack",
        "count the axes, the batch too: `batch, n, d_model = x.shape` takes three, and "
        "x.shape[-1] works for any number.",
    ),
    (
        r"'tuple' object has no attribute|must be Tensor, not tuple|not tuple",
        "attention returns two things, output and weights: take them apart, `output, weights = …`.",
    ),
    (
        r"view size is not compatible",
        "after a transpose, `view` finds no rows that lie together: write .reshape(…), and keep "
        "the transpose.",
    ),
    (
        r"but got float|'float' object cannot be interpreted as an integer",
        "`/` gives a float even where it comes out even; write // for a size.",
    ),
    (
        r"matmul|mat1 and mat2|shapes .* not aligned|core dimension|size of tensor|batch2",
        "in `a @ b` the last axis of a is as long as the last but one of b: print both shapes.",
    ),
    (
        r"could not be broadcast|broadcast a dimension|broadcastable",
        "print the shapes on both sides; keepdims=True keeps an axis that was summed over.",
    ),
    (
        r"missing the required .forward. function",
        "a helper module has no method forward: check its spelling and indentation.",
    ),
    (
        r"Boolean value of Tensor",
        "a tensor has no truth value of its own: write `is None`, not `or` or `if x:`.",
    ),
    (
        r"'NoneType'",
        "something is None: an argument that may be None, or what a function without return gives.",
    ),
)


def advise(exercise: Exercise, verdict: Verdict, observations: Observations) -> str:
    """One sentence on what to try."""
    case = verdict.example.case if verdict.example else ""
    seen = observations.by_case.get(case)
    problem = seen.problem if seen else None
    if verdict.outcome == "error" and problem is not None:
        return _about_problem(exercise, problem, verdict.mistake or "")
    if verdict.outcome == "wrong type" and "a tuple of" in verdict.what and exercise.is_class:
        return "look at what each return line returns: one thing, or two when two are asked for."
    if "a list of" in verdict.what or "a tuple of" in verdict.what:
        return _about_several(exercise, verdict)
    if exercise.lesson >= 2 and "has dtype float32" in verdict.what:
        return "new tensors are float32 unless told otherwise: torch.zeros(…, dtype=x.dtype)."
    if verdict.outcome == "not allowed" and exercise.lesson >= 2:
        given = "what the notebook gives you, or " if exercise.lesson >= 3 else ""
        return f"use {given}torch.softmax and products."
    for kind in (verdict.mistake or "", verdict.outcome):
        if kind in ADVICE:
            return ADVICE[kind]
    if "not exactly 0" in verdict.what:
        return "fill −∞ into hidden scores before the softmax: the weights are 0 then, exactly."
    if "nearly right" in verdict.what:
        return "look for an epsilon in a denominator, or for a step in a lower precision."
    return f'compare yours with the expected numbers below. hint("{exercise.name}") gives a nudge.'


def _about_problem(exercise: Exercise, problem: Problem, mistake: str) -> str:
    name = re.search(r"name '(\w+)' is not defined", problem.message)
    if name is not None:
        return _about_name(exercise, name.group(1))
    if mistake in ADVICE:
        return ADVICE[mistake]
    optional = re.findall(r"(\w+)=None", exercise.signature)
    if "NoneType" in problem.message and optional:
        return f"{' or '.join(optional)} is None when it is left out: ask `is None` first."
    for words, advice in WORDS:
        if re.search(words, problem.message):
            return advice
    follow = f"the inputs of one failing call are shown below: follow {exercise.name} on them."
    return ADVICE.get(problem.type, follow)


def _about_several(exercise: Exercise, verdict: Verdict) -> str:
    """A list or a tuple came back where one thing is asked for."""
    if exercise.lesson <= 1:
        return "wrap it: np.array(...)."
    wanted = verdict.example.expected if verdict.example else None
    if wanted is not None and wanted.dtype == "bool":
        return "make a tensor of it: torch.tensor(...)."
    if "a tuple of 2" in verdict.what and "attention" in exercise.name:
        return f"return the {exercise.returns[0]} alone, without the weights."
    return "wrap it: torch.stack(...)."


def _about_name(exercise: Exercise, name: str) -> str:
    if name in ("np", "numpy", "torch", "math"):
        return f"run the cell at the top that imports {name}, or import it."
    if name in exercise.uses:
        return f"run the cell that defines {name}."
    if hasattr(np, name):
        return f"write np.{name}."
    receives = " and ".join(exercise.parameters)
    return f"check the spelling of {name}; what your function receives is {receives}."
