"""What a student's code calls, read off the code: where it could not be observed.

Only for words. What is read here decides no mark: code can hide what it calls.
"""

import ast
from collections.abc import Iterator, Sequence

from autograder.declaring import Exercise
from autograder.grading.defining import is_short


def called_in(sources: Sequence[str], exercise: Exercise) -> tuple[str, ...]:
    """The earlier exercises that the last definition of an exercise names."""
    found: tuple[str, ...] = ()
    for source in sources if is_short(sources) else ():
        if exercise.name in source:
            for definition in _definitions(source, exercise.name):
                names = {node.id for node in ast.walk(definition) if isinstance(node, ast.Name)}
                found = tuple(name for name in exercise.uses if name in names)
    return found


def _definitions(source: str, name: str) -> Iterator[ast.AST]:
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if node.name == name:
                yield node
        elif isinstance(node, ast.Assign) and any(
            isinstance(each, ast.Name) and each.id == name for each in node.targets
        ):
            yield node.value
