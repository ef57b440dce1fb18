# Each target sets up what it needs, from a clean clone.  `make demo` and `make test` are the two that matter.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
PEERS := .venv/.peers

export NO_MKDOCS_2_WARNING := 1

.DEFAULT_GOAL := help
.PHONY: help setup demo test check services format acceptance bench quick docs reference promises gallery lock clean

help:  ## List the targets.
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

setup: $(READY)  ## Make .venv with the locked dependencies (PYTHON= picks the interpreter).

$(READY): requirements/dev.lock pyproject.toml scripts/setup.sh
	@PYTHON="$(PYTHON)" bash scripts/setup.sh

$(PEERS): $(READY) requirements/bench.lock
	@$(BIN)/python -m pip install --quiet --require-hashes --no-deps -r requirements/bench.lock
	@touch $@

demo: $(READY)  ## A million made-up visits, a curator on them, five questions; the report is out/demo/report.html.
	@$(BIN)/discreet demo out/demo

check: $(READY)  ## The checks that run no test: format, lint, types, layers, spelling.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports
	$(BIN)/codespell

services: $(READY)  ## The programs the tests talk to: PostgreSQL, Java for Spark, strace, Chromium.
	@bash scripts/services.sh

test: check services  ## Everything that must hold before a change is merged.
	DISCREET_WHOLE=1 $(BIN)/python -m pytest -n 3 --dist worksteal --junitxml=out/tests.xml
	$(BIN)/mkdocs build --strict

format: $(READY)  ## Format the source and mend what ruff can mend.
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

acceptance: services  ## The long checks at full counts and with fresh noise, with a table (hours), and the timing of the samplers.
	DISCREET_WHOLE=1 DISCREET_ACCEPTANCE=1 $(BIN)/python -m pytest -n 2 --dist worksteal -q --junitxml=out/acceptance.xml
	$(BIN)/python -m benchmarks.sampler_timing

bench: $(PEERS)  ## Speed and accuracy against peers and against the limit.
	$(BIN)/python -m benchmarks

quick: $(READY)  ## Every benchmark at its smallest size, to see that all run: no peer is installed, no figure written.
	$(BIN)/python -m benchmarks --quick

docs: $(READY)  ## Build the documentation into site/.
	$(BIN)/mkdocs build --strict
	@echo "open site/index.html"

reference: $(READY)  ## Write docs/reference/ (the command line too) and docs/theory/index.md from the source.
	$(BIN)/python scripts/reference.py
	$(BIN)/python scripts/tables.py

promises: $(READY)  ## Write docs/checked.md from the records of the last `make test` and `make acceptance`.
	$(BIN)/python scripts/promises.py $(wildcard out/*.xml)

gallery: $(READY)  ## Run every example and keep its picture for the documentation.
	$(BIN)/python scripts/gallery.py
	$(BIN)/python scripts/reference.py

lock: $(READY)  ## Resolve the dependencies again and write requirements/*.lock (minutes).
	bash scripts/lock.sh

clean:  ## Remove everything that can be made again.
	rm -rf .venv build dist out site .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
