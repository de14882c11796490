# The two commands that matter are `make demo` and `make test`; each does its own set-up.

PYTHON ?= python3
TORCH_INDEX ?=
DEVICE ?=
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest

.PHONY: help setup demo test test-fast check fix generate gpu bench

help:
	@echo "make demo       fine-tune a small model on this machine and compare its answers"
	@echo "make test       all tests"
	@echo "make test-fast  the tests that train nothing"
	@echo "make check      format, lint, types, import contracts, generated files"
	@echo "make fix        format, repair what lint can, write generated files"
	@echo "make bench      the measurements in benchmarks/, with their bars"
	@echo "make gpu        go through the product on one GPU (DEVICE=cpu: on none)"
	@echo "Options: PYTHON=/path/to/python3.11  TORCH_INDEX=URL"

setup:
	@command -v $(PYTHON) >/dev/null || { \
	  echo "setup: no \`$(PYTHON)\` on the path"; \
	  echo "  help: install Python 3.11 or later (Debian: apt-get install python3 python3-venv)"; exit 1; }
	@$(PYTHON) scripts/setup.py $(if $(TORCH_INDEX),--torch-index $(TORCH_INDEX))

demo: setup
	@$(BIN)/python scripts/demo.py

test: setup
	$(PYTEST)

test-fast: setup
	$(PYTEST) -m "not slow" -n auto

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/generate.py --check

fix: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/python scripts/generate.py

generate: setup
	$(BIN)/python scripts/generate.py

gpu: setup
	$(BIN)/python scripts/gpu_check.py $(if $(DEVICE),--device $(DEVICE))

bench: setup
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/throughput.py
	$(BIN)/python benchmarks/load_memory.py
	$(BIN)/python benchmarks/checkpoint_stall.py
	$(BIN)/python benchmarks/kill_matrix.py
