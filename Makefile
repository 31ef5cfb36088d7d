# One target per thing a person wants to do. All are safe to run twice, and quick the second time.
#
#   make demo    install into .venv, fetch the default model, run a program that forks
#   make test    all tests but the slow ones        make quick   the same without the real model, under a minute
#   make lint    style, types, import contracts     make prove   slow fuzz, soaks, benchmarks
#
# torch is installed first and by version, so that no dependency pulls another one in. Whether pip takes
# a CPU or a CUDA build is up to its index settings. Another version: make demo TORCH='torch==2.14.1'

VENV   ?= .venv
TORCH  ?= torch==2.13.0
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
            $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN    := $(VENV)/bin
NATIVE := pyproject.toml kernels/CMakeLists.txt $(shell find kernels/csrc -type f)
PIP    := $(BIN)/python -m pip --quiet --disable-pip-version-check

.PHONY: demo test quick lint format prove clean
.DELETE_ON_ERROR:

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "no Python of at least 3.11 found; name one: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.torch: | $(BIN)/python
	$(PIP) install "$(TORCH)"
	@touch $@

$(VENV)/.installed: $(NATIVE) $(VENV)/.torch
	$(PIP) install --editable .
	@touch $@

$(VENV)/.installed-dev: $(NATIVE) $(VENV)/.torch
	$(PIP) install --editable '.[dev]'
	@touch $@ $(VENV)/.installed

demo: $(VENV)/.installed
	@$(BIN)/radixkv models pull smollm2
	@$(BIN)/radixkv run examples/demo.rkv --seed 7

# A worker per core, each computing with one thread: the tests are many and small.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q

test: $(VENV)/.installed-dev
	$(PYTEST) -n auto

quick: $(VENV)/.installed-dev
	$(PYTEST) -n auto -m 'not slow and not model and not processes'

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/radixkv fmt --check examples
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

prove: $(VENV)/.installed-dev
	$(PYTEST) -n auto -m slow
	$(BIN)/python benchmarks/run_all.py

clean:
	rm -rf $(VENV) build .mypy_cache .pytest_cache .ruff_cache .hypothesis
