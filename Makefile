# Everything a newcomer needs: `make demo` and `make test`. Needs Python 3.11+ and make, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt
# what the commands and the Python of README.md need; tests/test_readme.py runs them with nothing else installed
DEMO_EXTRAS := export,lab
# two workers on two cores: one thread each, or they wait for each other
# neighbours stay in one process while there is work, so that what a module prepares is prepared once
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal

.PHONY: demo test test-quick test-all fuzz lint types docs notebooks bench browser clean

demo: $(VENV)/.demo
	@$(BIN)/compsparse demo --model demo-model.json

# with COVERAGE=1 also which lines of the package they run, a quarter longer
test: $(VENV)/.dev browser
	$(PYTEST) $(if $(COVERAGE),--cov --cov-report=term:skip-covered)

test-quick: $(VENV)/.dev
	$(PYTEST) -m "not slow and not heavy"

# also what is heavy: long searches, scikit-learn's contract on its larger tables
test-all: $(VENV)/.dev browser
	$(PYTEST) -m ""

# every odd value for every parameter of every entry point, 10,000 certificates: some 60,000 cases, an hour or more
fuzz: $(VENV)/.dev
	$(PYTEST) tests/fuzz --all-cases

lint: $(VENV)/.dev
	$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

docs: $(VENV)/.dev
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# runs the notebooks of the docs anew and keeps what they show
notebooks: $(VENV)/.dev
	$(BIN)/jupyter execute --inplace docs/notebooks/*.ipynb

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/run_all.py

browser:
	@sh tools/ensure_chromium.sh

clean:
	rm -rf $(VENV) docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "compsparse needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(VENV)/bin/python pyproject.toml constraints.txt Makefile
	@echo "installing compsparse and what it needs into $(VENV) (torch is large; this happens once)"
	$(PIP) --editable '.[$(DEMO_EXTRAS)]'
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "installing compsparse and what its tests need into $(VENV) (torch is large; this happens once)"
	$(PIP) --editable '.[dev]'
	$(BIN)/python -m compsparse.warm_up
	@touch $@ $(VENV)/.demo
