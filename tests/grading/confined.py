"""Running cells in the sandbox, for the tests of what it keeps out and what it limits."""

from autograder import exercises
from autograder.expecting import make_cases
from autograder.grading.driving import CellRun, CheckCell, CodeCell, Limits, drive
from autograder.grading.sandbox import Allowance, Worker

LIMITS = Limits(cell=10, notebook=40)
ALLOWANCE = Allowance(memory=2**30, disk=64 * 2**20, processes=48)
RIGHT = """
import math, torch
def scaled_dot_product_attention(q, k, v):
    weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), dim=-1)
    return weights @ v, weights
"""


def ran(worker: Worker, *sources: str, limits: Limits = LIMITS) -> list[CellRun]:
    """What became of these cells, run as one notebook."""
    return drive([CodeCell(source) for source in sources], limits, worker.start_runner)


def said(run: CellRun) -> str:
    """Everything that a cell printed or raised."""
    return "".join(o.get("text", "") + o.get("evalue", "") for o in run.outputs)


def assert_unaffected(worker: Worker) -> None:
    """An honest submission is observed as ever, by the same worker."""
    exercise = exercises.find("scaled_dot_product_attention")
    cases = make_cases(exercise, 5)
    cells: list[CodeCell | CheckCell] = [CodeCell(RIGHT), CheckCell(exercise.name, cases)]
    _, check = drive(cells, LIMITS, worker.start_runner)
    assert check.observations is not None, check.note
    assert len(check.observations.by_case) == len(cases)
