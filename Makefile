# The commands of this project; `make` alone lists them. dev/README.md has those for maintainers.
# Each except `help` and `clean` first runs dev/setup, so a fresh clone needs no other step.

EMACS ?= emacs
PYTHON ?=
# The ERT tests that run: t for all, a test's name, or a regexp as a Lisp string, '"reconnect"'.
SELECTOR ?= t

BIN := .venv/bin
PYTHON_FILES := py_backend tests dev

export EMACS PYTHON SELECTOR
# The interpreter with which the Elisp of tests, demo and bench starts the server.
export BACKSTAFF_PYTHON := $(abspath $(BIN)/python)
export HYPOTHESIS_STORAGE_DIRECTORY := $(abspath .cache/hypothesis)
# A caller's Python settings would affect .venv.
unexport PYTHONPATH PYTHONHOME

.DEFAULT_GOAL := help
.PHONY: help setup demo check test test-py test-el lint fix golden manual bench clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-8s %s\n", $$1, $$2}' Makefile

check: setup ## run the quick checks and tests of both languages, 90 s
	@dev/lint --quick
	@dev/ert core
	@dev/pytest --quick

test: lint test-el test-py ## run all checks and all tests

demo: ## start the server from Emacs and call every tool on this repository
	@dev/setup demo
	@$(EMACS) -Q --batch -l dev/batch.el -L elisp -l dev/demo.el -f demo-batch

test-py: setup ## run pytest: first the tests that measure time, then the others in three processes
	@dev/pytest

test-el: setup ## run the ERT tests; SELECTOR picks some
	@dev/ert

lint: setup ## check prose, style, types and layers, and compile and lint the Elisp
	@dev/lint

fix: setup ## correct and format the Python code as far as ruff can
	@$(BIN)/ruff check --fix $(PYTHON_FILES)
	@$(BIN)/ruff format $(PYTHON_FILES)

golden: setup ## write the golden cases again; review the difference like code
	@$(BIN)/python tests/golden/regenerate.py

# The manual takes tools, commands, keys and options from the code.
manual: setup ## write the autoloads, and the reference in README and manual
	@$(EMACS) -Q --batch -l dev/batch.el -l dev/autoloads.el -f autoloads-batch
	@$(BIN)/python -m dev.reference
	@$(EMACS) -Q --batch -l dev/batch.el -L elisp -l dev/manual.el -f manual-batch

bench: setup ## measure every promised figure and its peer; write docs/benchmarks
	@$(BIN)/python -m dev.bench
	@$(BIN)/python -m dev.bench.ask

setup: ## install missing packages and make .venv; all others do this first
	@dev/setup

clean: ## remove all files that make has made
	rm -rf .venv .cache .hypothesis .import_linter_cache dist
	find . -name .git -prune -o \( -name __pycache__ -o -name '*.elc' \) -print0 | xargs -0 rm -rf
