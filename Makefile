# One verb each; every verb makes .venv itself when it is missing. CI calls `make check` and `make test`.

.PHONY: setup demo test check stress hunts bench bench-parts bench-quick bench-memory docs dist clean
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# Any Python from 3.11 on that can make virtual environments: make PYTHON=/path/to/python3
PYTHON ?= $(shell for candidate in python3.13 python3.12 python3.11 python3 python; do \
	if $$candidate -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	echo $$candidate; break; fi; done)

VENV := .venv
READY := $(VENV)/.ready
BIN := $(VENV)/bin
# The wheel is unpacked here and comes first on the path, so that tests cannot meet the checkout.
SITE := build/wheel/site-packages
SOURCES := pyproject.toml README.md LICENSE $(shell find kindex -type f -not -path '*/__pycache__/*')
TYPED := kindex $(wildcard typing_tests)
# -P: the current folder is not on the path.
PYTEST := KINDEX_VALIDATE=1 $(BIN)/python -P -m pytest
# More for pytest: make test ARGS="-k labels --cov"
ARGS ?=

setup: $(READY)

$(READY): pyproject.toml
	@test -n "$(PYTHON)" || { echo "no Python >= 3.11 with venv found; say: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$(PYTHON) is no Python >= 3.11 with venv" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(READY)
	$(BIN)/kindex demo

$(SITE)/.ready: $(SOURCES) | $(READY)
	@rm -rf dist build/wheel && mkdir -p build
	$(BIN)/python -P -m build --no-isolation --outdir dist >build/wheel.log 2>&1 || { cat build/wheel.log >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target $(SITE) dist/*.whl
	@touch $@

test: $(READY) $(SITE)/.ready
	PYTHONPATH=$(CURDIR)/$(SITE) KINDEX_TEST_WHEEL=1 $(PYTEST) -p no:benchmark $(ARGS)

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(TYPED)
	$(BIN)/pyright $(TYPED)
	$(BIN)/lint-imports
	$(BIN)/codespell

# What is too long or too random for every run: real threads, thousands of examples.
stress: $(READY)
	HYPOTHESIS_PROFILE=stress $(PYTEST) -p no:benchmark -o faulthandler_timeout=1800 $(wildcard tests/model tests/differential tests/races tests/promises tests/stress) $(ARGS)

# The part of it with real threads, for two minutes: CI runs it.
hunts: $(READY)
	KINDEX_HUNT_SECONDS=$${KINDEX_HUNT_SECONDS:-120} HYPOTHESIS_PROFILE=stress $(PYTEST) -p no:benchmark tests/stress $(ARGS)

BENCH := $(BIN)/python -P -m pytest -o python_files='bench_*.py' -o python_functions='bench_*'
SUITE := benchmarks/bench_suite.py benchmarks/bench_growth.py
FIGURES := --benchmark-only --benchmark-columns=median,iqr,rounds --benchmark-sort=name

# The suite, ten minutes: benchmarks/results/ and docs/benchmarks.md are written anew.
# make bench ARGS=--huge asks 500,000 pods as well.
bench: $(READY)
	@mkdir -p build
	$(BENCH) $(SUITE) $(FIGURES) --benchmark-max-time=0.1 --benchmark-json=build/benchmarks.json -q $(ARGS)
	$(BIN)/python -P -m benchmarks.condense build/benchmarks.json
	$(BIN)/python -P -m benchmarks.report

# What single parts cost; nothing is written: make bench-parts ARGS="-k reverse"
bench-parts: $(READY)
	$(BENCH) $(filter-out $(SUITE),$(wildcard benchmarks/bench_*.py)) $(FIGURES) $(ARGS)

# Each benchmark once, the suite at its small sizes: for their correctness rather than their figures.
bench-quick: $(READY)
	$(BENCH) benchmarks --quick --benchmark-disable $(ARGS)

# What stores take against what they say: a process for each shape, some minutes.
bench-memory: $(READY)
	$(BIN)/python -P -m benchmarks.bench_memory $(ARGS)

DOCS := $(VENV)/.docs

$(DOCS): pyproject.toml | $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

# What the documents show is run; then they become a site, and a warning is an error.
docs: $(READY) $(DOCS)
	$(PYTEST) -p no:benchmark tests/api/test_examples.py tests/api/test_documents.py $(ARGS)
	$(BIN)/python -P -m sphinx --fail-on-warning --keep-going --fresh-env --quiet --builder html docs build/docs
	@echo "read $(CURDIR)/build/docs/index.html"

# What would be uploaded: checked, and listed to be read.
dist: $(READY) $(SITE)/.ready
	$(BIN)/python -P -m twine check --strict dist/*
	$(BIN)/python -P -m zipfile --list dist/*.whl
	$(BIN)/python -P -m tarfile --list dist/*.tar.gz

clean:
	rm -rf build dist .nox .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage .benchmarks $(READY) $(DOCS)
	find kindex tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
