# Everything that is done to this project, by name: `make` alone lists it.
# Each target first runs dev/setup, so a fresh clone needs no step before any of them.

EMACS ?= emacs
PYTHON ?=
# Which ERT tests to run: t, a test's name, or a regexp as a Lisp string, '"reconnect"'.
SELECTOR ?= t
# For how long `make torture` and `make fuzz` go on (20 minutes), and `make soak` (10).
MINUTES ?=

# The project's own Elisp is compiled and run with nothing else in sight. Tests and linters also
# see the installed packages, which -Q hides on Debian and these two options do not.
BARE := $(EMACS) -Q --batch -l dev/batch.el -L elisp
WITH_PACKAGES := $(EMACS) -q --no-site-file --batch -l dev/batch.el -f package-initialize -L elisp

BIN := .venv/bin
ELISP := $(wildcard elisp/*.el)
ELISP_TESTS := $(wildcard tests/el/*-tests.el)
REMOTE_TESTS := $(wildcard tests/remote/*-tests.el)
AGENT_Q_TESTS := $(wildcard tests/agent-q/*-tests.el)
ELISP_AROUND := $(wildcard dev/*.el dev/bench/emacs/*.el tests/el/*.el tests/el/fakes/*.el \
    tests/agent-q/*.el tests/remote/*.el)
PYTHON_FILES := py_backend tests dev

export EMACS PYTHON SELECTOR
# The interpreter with which the Elisp of tests, demo and bench starts the server.
export BACKSTAFF_PYTHON := $(abspath $(BIN)/python)
export HYPOTHESIS_STORAGE_DIRECTORY := $(abspath .cache/hypothesis)
# A caller's Python settings would reach into .venv.
unexport PYTHONPATH PYTHONHOME

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-py test-el test-agent-q test-remote test-emacs30 torture fuzz soak read-files read-edits lint \
    types layers floors compile fix golden libraries package release test-install bench bench-remote record-remote \
    manual film screenshots draw clean

help: ## list what can be done
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' Makefile

setup: ## install what is missing and make .venv (all others do this first)
	@dev/setup

demo: ## start the server from Emacs and call tools on this repository; ALL=1 shows every reply
	@dev/setup demo
	@$(BARE) -l dev/demo.el -f demo-batch

# pytest comes last: its closing line counts what passed and failed.
test: lint compile test-el test-agent-q test-remote test-py ## run all checks and all tests

test-py: setup ## run pytest
	@dev/setup strace
	@dev/setup mcp
	@$(BIN)/pytest

# Only a batch Emacs dies of writing to a server that has just died, so SIGPIPE is ignored for it.
test-el: setup ## run the ERT tests; SELECTOR picks some
	@dev/setup interfaces
	@trap '' PIPE; $(WITH_PACKAGES) -L tests/el -l dev/run-ert.el $(addprefix -l ,$(ELISP_TESTS)) -f run-ert-batch

test-agent-q: setup ## call the tools from a real Lisp, through SLIME, where Debian has them
	@dev/setup agent-q
	@trap '' PIPE; $(WITH_PACKAGES) -L tests/el -l dev/run-ert.el $(addprefix -l ,$(AGENT_Q_TESTS)) -f run-ert-batch

# Emacs below a host of its own: an sshd on loopback, with a key made on the spot.
WITH_HOST := $(BIN)/python tests/remote/host.py

test-remote: setup ## call the tools in projects on another host, an sshd's where there is one
	@dev/setup remote
	@trap '' PIPE; $(WITH_HOST) $(WITH_PACKAGES) -L tests/el -L tests/remote -l dev/run-ert.el \
	    $(addprefix -l ,$(REMOTE_TESTS)) -f run-ert-batch

# Not part of `test`: it needs root and, the first time, some minutes.
test-emacs30: ## compile, run ERT and the demo on Emacs 30 and Python 3.13, in a Debian 13 of its own
	@dev/debian-13 make compile test-el test-remote demo

# Any Python 3.11 will do for these, so they install nothing for themselves.
ANY_PYTHON := $(or $(PYTHON),python3)

package: ## write dist/backstaff-VERSION.tar, for M-x package-install-file
	@$(ANY_PYTHON) -m dev.package

# `compile` runs package-lint, checkdoc and the byte compiler, which is what MELPA looks at first.
release: compile ## write wheel, sources and package for Emacs to dist/, checked and unsigned
	@$(BIN)/python -m dev.release

# Not part of `test`, which tries two of the ways: it needs the network, and root for the second Emacs.
# EMACS names another Emacs; clones of straight.el, elpaca and package-build in .cache/peers take part.
test-install: ## install in every usual way below an empty home, on this Emacs and on Debian 13's
	@status=0; \
	$(ANY_PYTHON) -m dev.ways_in || status=1; \
	dev/debian-13 python3 -m dev.ways_in || status=1; \
	$(ANY_PYTHON) -m dev.ways_in --table .cache/ways-in/*.json \
	    .cache/debian-13/home/me/backstaff/.cache/ways-in/*.json; \
	exit $$status

# What `test` does in short, for MINUTES: half of it is four clients in a tree that changes.
torture: setup ## attack sandbox and wire for MINUTES; print what was tried, and what escaped
	@dev/setup strace
	@BACKSTAFF_MINUTES=$(or $(MINUTES),20) $(BIN)/pytest tests/py/attack tests/py/fs/test_races.py
	@trap '' PIPE; SELECTOR='"^backstaff-\\(attack\\|epc\\|message\\)-"' $(WITH_PACKAGES) -L tests/el -l dev/run-ert.el \
	    $(addprefix -l ,$(ELISP_TESTS)) -f run-ert-batch

fuzz: setup ## fuzz the wire for MINUTES, led by what code is reached (atheris), where that installs
	@$(BIN)/python -m pip install --quiet --target .cache/atheris 'atheris>=3,<4' || \
	    echo 'fuzz: WITHOUT atheris, which does not install here; `make torture` fuzzes as well'
	@mkdir -p .cache/corpus
	@[ ! -d .cache/atheris/atheris ] || $(BIN)/python tests/py/attack/fuzz.py .cache/corpus \
	    -max_total_time=$$(awk 'BEGIN { print int($(or $(MINUTES),20) * 60) }') -max_len=4096 -timeout=10 -rss_limit_mb=1024

read-files: setup ## compare 10,000 random files, 20 windows each, with a second reader; some minutes
	@BACKSTAFF_FILES=10000 $(BIN)/pytest tests/py/tools/test_read_file.py

read-edits: setup ## read after each of 1,000 random edits, beside 0, 1 and 20 unsaved buffers, here and on a host
	@BACKSTAFF_EDITS=1000 SELECTOR='"after-any-edit"' $(MAKE) --no-print-directory test-el test-remote

lint: setup types layers floors ## check style and types of the Python code, all layers, and spelling
	@$(BIN)/ruff check --quiet $(PYTHON_FILES)
	@$(BIN)/ruff format --check --quiet $(PYTHON_FILES)
	@$(BIN)/codespell
	@echo 'lint: ruff and codespell found nothing'

types: setup ## check the Python types
	@$(BIN)/mypy

layers: setup ## check that every Python module imports only what lies below it
	@$(BIN)/lint-imports --no-logo --cache-dir .cache/import-linter

floors: setup ## check that every Elisp file imports only its own floor and lower ones
	@$(BARE) -l dev/lint-floors.el -f lint-floors-batch

compile: setup ## byte-compile and lint the Elisp; every warning counts
	@status=0; \
	for file in $(ELISP); do \
	    $(BARE) -l dev/lint-elisp.el -f lint-elisp-compile $$file || status=1; \
	done; \
	for file in $(ELISP_AROUND); do \
	    $(WITH_PACKAGES) -L tests/el -L tests/remote -L dev/bench/emacs -l dev/lint-elisp.el \
	        -f lint-elisp-compile $$file || status=1; \
	done; \
	$(WITH_PACKAGES) -l dev/lint-elisp.el -f lint-elisp-package $(ELISP) || status=1; \
	[ $$status -ne 0 ] || echo 'compile: compiler, checkdoc, check-declare, package-lint found nothing'; \
	exit $$status

fix: setup ## correct and format the Python code as far as ruff can
	@$(BIN)/ruff check --fix $(PYTHON_FILES)
	@$(BIN)/ruff format $(PYTHON_FILES)

golden: setup ## write the golden cases anew; review the difference like code
	@$(BIN)/python tests/golden/regenerate.py

# CLONES are work trees of git, of which an overview is to show what people edit, and a search to find it; by default this one.
bench: setup ## measure every promised row beside its peer; draw docs/speed.svg
	@dev/setup bench
	@$(BIN)/python -m dev.bench
	@$(BIN)/python -m dev.bench.overview $(CLONES)
	@$(BIN)/python -m dev.bench.find $(CLONES)

libraries: setup ## make py_backend/libraries.zip anew from dev/libraries.txt
	@$(BIN)/python dev/libraries.py

soak: setup ## make mixed calls for MINUTES; fails if memory or descriptors grow
	@$(BIN)/python -m dev.bench.soak --minutes $(or $(MINUTES),10)

# As WITH_PACKAGES, but byte-compiled.
COMPILED = $(EMACS) -q --no-site-file --batch -l dev/batch.el -f package-initialize \
    -L "$$($(BIN)/python -m dev.bench.emacs)"

bench-remote: setup ## compare projects on another host with native TRAMP, at 20 and 80 ms; some minutes
	@dev/setup remote
	@trap '' PIPE; $(WITH_HOST) $(COMPILED) -l dev/bench-remote.el -f bench-remote-batch

record-remote: setup ## write docs/remote.txt anew: a tree at 80 ms, by a tool and natively
	@dev/setup remote
	@trap '' PIPE; SESSION=1 $(WITH_HOST) $(COMPILED) -l dev/bench-remote.el -f bench-remote-batch \
	    >docs/remote.txt

# Tools, commands, keys and options go from the code into the manual, that into Texinfo, and that into
# Info. The Info file is committed, so that nobody who installs the package needs makeinfo.
manual: setup ## write the reference in README and docs/backstaff.org anew, the Texinfo and the Info file
	@dev/setup info
	@$(BIN)/python -m dev.reference
	@$(BARE) -l dev/manual.el -f manual-batch

film: setup ## draw docs/backstaff.svg anew, the moving picture in the README
	@$(BIN)/python -m dev.film

# In the same Debian 13, whose Emacs can draw; this one is for text terminals.
screenshots: film ## draw those of docs/*.png that changed, and the film; look at them before they are committed
	@dev/debian-13 make setup draw
	@cp .cache/debian-13/home/me/backstaff/docs/screenshot* docs/
	@ls -l docs/screenshot-*.png

# The number of the display is likely to be free: --auto-servernum sees no display outside of chroot.
# Emacs connects twice to look, and then to stay. Without -noreset the server starts anew each time that
# its last client leaves, and one connection in two was refused meanwhile.
draw: setup
	@xvfb-run --error-file=/dev/stderr --server-num=$$((1000 + $$$$ % 9000)) \
	    --server-args='-screen 0 1200x1000x24 -noreset' \
	    $(EMACS) -q --no-site-file -l dev/batch.el -L elisp -l dev/screenshots.el -f screenshots-draw

clean: ## remove all that make has made
	rm -rf .venv .cache .hypothesis .import_linter_cache dist
	find . -name .git -prune -o \( -name __pycache__ -o -name '*.elc' \) -print0 | xargs -0 rm -rf
