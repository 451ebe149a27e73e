"""The declaration types: exercises, cases, observations.

An exercise is data plus small functions, declared once in `autograder.exercises`
and used for checking in the notebook, grading, feedback and the grader's own test.
This module and what an exercise declares in it run beside student code: they need
numpy alone (torch only where an exercise itself uses it).
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

PARAMETERS = "parameters"  # the part of an observation that lists a module's parameters
NO_MODULE = "not an nn.Module"  # what it says where there is none


@dataclass(frozen=True)
class Case:
    """One set of inputs on which an implementation is observed.

    name: unique within the exercise, in words.
    purpose: what the case is for; a learner reads it after "This case".
    arguments: what the function receives, in order of its signature. Plain data
        only (arrays, tensors, numbers, strings, None, and tuples of these), because
        they travel to the sandbox.
    magnitude: the largest |score| that arises; rounding errors grow with it.
    scaled: whether scores are divided by a root. A correct version may hold it in float32, as
        torch.sqrt(torch.tensor(d_k)) does, whatever the dtype of the inputs.
    mentions: where the reference raises ValueError, the words (usually numbers) that
        the learner's message must contain.
    """

    name: str
    purpose: str
    arguments: Mapping[str, Any]
    magnitude: float = 1.0
    scaled: bool = False
    mentions: tuple[str, ...] = ()

    @functools.cached_property
    def dtypes(self) -> frozenset[str]:
        """The names of the dtypes among the arguments, "float32"."""
        dtypes = (getattr(value, "dtype", None) for value in self.arguments.values())
        return frozenset(str(dtype).removeprefix("torch.") for dtype in dtypes if dtype is not None)


@dataclass(frozen=True)
class Value:
    """Something that student code returned, reduced to plain data.

    kind: "array" (NumPy), "tensor" (torch), "number", "text" (also what a probe found, in
        words), "none" or "other".
    data: a C-ordered NumPy array for arrays and tensors (bfloat16 widened to float32),
        the number or text itself, else None.
    description: the Python type in words, for sentences ("a list of 3 items").
    """

    kind: str
    data: Any = None
    dtype: str = ""
    device: str = "cpu"
    description: str = ""


@dataclass(frozen=True)
class Problem:
    """An exception from student code.

    parents: the names of its base classes. function, line, line_number: where it passed through
    the learner's own function. raised_in: the name of the function that raised it, which may be
    a helper.
    """

    type: str
    message: str
    parents: tuple[str, ...] = ()
    raised_in: str = ""
    function: str = ""
    line: str = ""
    line_number: int = 0


@dataclass(frozen=True)
class Observation:
    """What one call did: the only thing that leaves the process of student code.

    values: what was returned, part by part ("output", "weights", "gradient of q", …).
    problem: the exception, if one came out.
    changed: the names of arguments that were modified in place.
    called: the not-allowed names that were called meanwhile.
    printed: the start of what was printed meanwhile.
    """

    values: Mapping[str, Value] = field(default_factory=dict)
    problem: Problem | None = None
    changed: tuple[str, ...] = ()
    called: tuple[str, ...] = ()
    printed: str = ""


@dataclass(frozen=True)
class Observations:
    """One implementation observed on every case of an exercise.

    by_case: case name → observation; a case without one counts as not answered.
    refusal: why the implementation could not be called at all ("" when it could).
    refers_to: the earlier exercises by whose names it calls other functions.
    """

    by_case: Mapping[str, Observation] = field(default_factory=dict)
    refusal: str = ""
    refers_to: tuple[str, ...] = ()


Probe = Callable[[Callable[..., Any], Case], Observation]

Conclude = Callable[[Case, Observation], Observation]
"""What follows from an observation: pure, and done where judging happens."""


def as_observed(_case: Case, observation: Observation) -> Observation:
    """Conclude nothing."""
    return observation


@dataclass(frozen=True)
class Mistake:
    """A wrong implementation that people really write, and the words for it.

    happened: one sentence on what the code does instead.
    advice: one sentence on what to try.
    """

    id: str
    happened: str
    advice: str
    implementation: Callable[..., Any]


@dataclass(frozen=True)
class Exercise:
    """One function, or one class, that a learner writes.

    signature: as the learner reads it, "softmax(scores)"; of a class, how it is built.
    methods: of a class, the signatures of the methods that are called, without self.
    recipe: whether the arguments of a case are a recipe from which the probe makes what the
        implementation receives; else they are what it receives, in order.
    returns: the names of what comes back, one per returned object.
    axes: for each name in `returns`, the names of its last axes, first to last.
    cases: makes the named cases from a random generator.
    probe: calls an implementation on one case and records what happened.
    conclude: turns numbers that a probe recorded into what is compared, where that is more than
        the numbers themselves.
    reference: dotted name of the reference in `course.attention`. A string, because
        only judging resolves it, never the process that runs student code.
    mistakes: dotted name of a tuple of `Mistake`, resolved like the reference.
    hints: a ladder, mildest first.
    not_allowed: dotted names that would skip the exercise.
    unwatched: the names of cases so large that watching for these, which makes every call many
        times as slow, would take an honest loop its time.
    uses: earlier exercises that this one is naturally built from.
    """

    name: str
    lesson: int
    title: str
    points: int
    signature: str
    returns: tuple[str, ...]
    axes: Mapping[str, tuple[str, ...]]
    cases: Callable[[np.random.Generator], Sequence[Case]]
    probe: Probe
    reference: str
    mistakes: str
    hints: tuple[str, ...]
    not_allowed: tuple[str, ...] = ()
    unwatched: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    recipe: bool = False
    conclude: Conclude = as_observed

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the arguments, read off the signature."""
        return names_in(self.signature)

    @property
    def is_class(self) -> bool:
        """Whether the learner writes a class; the names of classes begin with a capital."""
        return self.name[:1].isupper()


def names_in(signature: str) -> tuple[str, ...]:
    """The names of the arguments of a signature, "f(x, y=1)"."""
    inside = signature.partition("(")[2].rpartition(")")[0]
    return tuple(name.partition("=")[0].strip() for name in inside.split(",") if name.strip())
