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
    "changed-input": "write `x = x * w` where you have `x *= w`, or work on a copy: x.copy().",
    "missing-gradient": "stay within torch: no .item(), .numpy(), .data, .detach() or no_grad.",
    "wrong-gradient": "stay within torch: no .data, .detach() or no_grad on the way.",
    "no-value-error": "raise ValueError(...) when the sizes do not fit, with both numbers in it.",
    "not-allowed": "write it yourself, from exp() and sums, products and transposes.",
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
        r"matmul|mat1 and mat2|shapes .* not aligned|core dimension|size of tensor|batch2",
        "in `a @ b` the last axis of a is as long as the last but one of b: print both shapes.",
    ),
    (
        r"could not be broadcast",
        "print the shapes on both sides; keepdims=True keeps an axis that was summed over.",
    ),
    (
        r"'NoneType'",
        "something is None: a function that you call has no return line.",
    ),
)


def advise(exercise: Exercise, verdict: Verdict, observations: Observations) -> str:
    """One sentence on what to try."""
    case = verdict.example.case if verdict.example else ""
    seen = observations.by_case.get(case)
    problem = seen.problem if seen else None
    if verdict.outcome == "error" and problem is not None:
        return _about_problem(exercise, problem)
    if "a list of" in verdict.what or "a tuple of" in verdict.what:
        return "wrap it: np.array(...)." if exercise.lesson <= 1 else "wrap it: torch.stack(...)."
    for kind in (verdict.mistake or "", verdict.outcome):
        if kind in ADVICE:
            return ADVICE[kind]
    return f'compare yours with the expected numbers below. hint("{exercise.name}") gives a nudge.'


def _about_problem(exercise: Exercise, problem: Problem) -> str:
    name = re.search(r"name '(\w+)' is not defined", problem.message)
    if name is not None:
        return _about_name(exercise, name.group(1))
    for words, advice in WORDS:
        if re.search(words, problem.message):
            return advice
    follow = f"the inputs of one failing call are shown below: follow {exercise.name} on them."
    return ADVICE.get(problem.type, follow)


def _about_name(exercise: Exercise, name: str) -> str:
    if name in ("np", "numpy", "torch", "math"):
        return f"run the cell at the top that imports {name}, or import it."
    if name in exercise.uses:
        return f"run the cell that defines {name}."
    if hasattr(np, name):
        return f"write np.{name}."
    receives = " and ".join(exercise.parameters)
    return f"check the spelling of {name}; what your function receives is {receives}."
