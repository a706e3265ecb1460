# Each target sets up what it needs: a virtual environment with pinned packages, made once and again when pins change.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/installed
NAME ?=
DATA ?=

FOLDERS := typings/cairn tests examples

.PHONY: help train compare test check fix bench docs

help:
	@echo "make train    train the quick-start policy (DATA=dir: on ALFWorld's games from dir)"
	@echo "make compare  the quick-start run with and without step-level credit"
	@echo "make test     the tests, without the slow ones and those that need a GPU"
	@echo "make check    format, lint, types, architecture, generated pages"
	@echo "make fix      repair format and lint"
	@echo "make bench    the benchmarks (NAME=name: one of them)"
	@echo "make docs     write the generated pages again"

$(READY): pyproject.toml setup.py constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -c constraints.txt -e '.[dev]'
	touch $@

train: $(READY)
ifeq ($(DATA),)
	$(BIN)/cairn train configs/runs/quickstart.toml
else
	CAIRN_DATA=$(DATA) $(BIN)/cairn train configs/runs/alfworld.toml
endif

compare: $(READY)
	$(BIN)/cairn compare quickstart

test: $(READY)
	$(BIN)/python -m pytest -n 2 -m "not slow and not gpu"

check: $(READY)
	$(BIN)/ruff format --check --output-format concise .
	$(BIN)/ruff check --output-format concise .
	$(BIN)/mypy $(FOLDERS)
	$(BIN)/cairn plugins --markdown | diff docs/plugins.md - || { echo "docs/plugins.md is stale: make docs"; exit 1; }
	$(BIN)/cairn plugins --algorithms docs/creditbench.json | diff docs/algorithms.md - || { echo "docs/algorithms.md is stale: make docs"; exit 1; }
	$(BIN)/python -m pytest tests/test_architecture.py

fix: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)
	$(BIN)/cairn bench $(NAME)

docs: $(READY)
	$(BIN)/cairn plugins --markdown > docs/plugins.md
	$(BIN)/cairn plugins --algorithms docs/creditbench.json > docs/algorithms.md
