# Everything runs in .venv, which the first target that needs it makes.
# The Python that makes it:  make lab PYTHON=python3.12
PYTHON ?= python3

# make lab PORT=8899 fixes the port; without it JupyterLab takes 8888 or the next free one.
# make lab LAB_ARGS="--no-browser" passes anything else on to JupyterLab.
PORT ?=
LAB_ARGS ?=

# make test TEST_ARGS="-k masks" passes anything on to pytest.
TEST_ARGS ?=

VENV_PYTHON := .venv/bin/python
SETUP = $(PYTHON) tools/setup_environment.py

.DEFAULT_GOAL := help
.PHONY: help lab test lint bench pins clean python tools

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' Makefile

lab: python ## Open the course in JupyterLab; the first time, install it
	@$(SETUP) lab $(if $(PORT),--port $(PORT)) $(LAB_ARGS)

test: tools ## Check everything: lint, types, and every test, browser tests included
	@$(VENV_PYTHON) tools/system_packages.py
	@$(VENV_PYTHON) -m pytest $(TEST_ARGS)

lint: tools ## Check style and types, of modules as they are and notebooks as git's index has them
	@$(VENV_PYTHON) -m tools.lint

bench: tools ## Measure what is promised to be fast
	@$(VENV_PYTHON) -m tests.bench

pins: tools ## Renew constraints.txt
	@$(VENV_PYTHON) -m tools.renew_constraints

clean: ## Remove what tools leave behind; .venv and classroom/ stay
	@rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -path ./.venv -prune -o -name __pycache__ -type d -exec rm -rf {} +

python:
	@command -v "$(PYTHON)" >/dev/null 2>&1 || { echo "There is no '$(PYTHON)' here: install \
	Python 3.11 or newer (https://www.python.org/downloads/), or name the one you have with \
	PYTHON=/path/to/python3." >&2; exit 1; }

tools: python
	@$(SETUP) install grading cluster tests
