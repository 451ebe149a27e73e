"""Style and types, as `make lint` checks them."""

import subprocess

import pytest

from tests.repository import ROOT
from tools.lint import CHECKS


@pytest.mark.parametrize("name", CHECKS)
def test_lint(name):
    done = subprocess.run(CHECKS[name], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"make lint says:\n{done.stdout}{done.stderr}"
