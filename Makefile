# Everything a newcomer needs: `make demo` and `make test`. Needs Python 3.11+ and make, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt
# what the commands and the Python of README.md need; tests/test_readme.py runs them with nothing else installed
DEMO_EXTRAS := export,lab
# everything that is tested; what developers need beside it is the group `dev`
ALL_EXTRAS := dask,excel,export,images,postgres
# two workers on two cores: one thread each, or they wait for each other
# neighbours stay in one process while there is work, so that what a module prepares is prepared once
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal

.PHONY: demo test test-quick test-all test-min fuzz lint types docs notebooks paths bench browser clean

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

# the lowest versions that pyproject.toml claims, in an environment of their own; torch stays as it is tested
test-min: $(VENV)-min/.made
	OMP_NUM_THREADS=1 $(VENV)-min/bin/python -m pytest -n auto --dist worksteal -o addopts="-q -m 'not slow and not heavy and not browser'" tests

# every odd value for every parameter of every entry point, 10,000 certificates: some 60,000 cases, an hour or more
fuzz: $(VENV)/.dev
	$(PYTEST) tests/fuzz --all-cases

# also whether the package can be built and its page on a package index can be shown
lint: $(VENV)/.dev
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	rm -rf build dist
	$(BIN)/python -m build --no-isolation >/dev/null
	$(BIN)/twine check --strict dist/*

types: $(VENV)/.dev
	$(BIN)/mypy

docs: $(VENV)/.dev
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# runs the notebooks of the docs anew and keeps what they show
notebooks: $(VENV)/.dev
	$(BIN)/jupyter execute --inplace docs/notebooks/*.ipynb

# docs/paths.md, from a trace of what the code does
paths: $(VENV)/.dev
	OMP_NUM_THREADS=1 $(BIN)/python tools/trace_paths.py

# compares with the libraries of the group `peers` that are there
bench: $(VENV)/.dev
	$(BIN)/python benchmarks/run_all.py

browser:
	@sh tools/ensure_chromium.sh

clean:
	rm -rf $(VENV) $(VENV)-min build dist docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "compsparse needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(VENV)/bin/python pyproject.toml constraints.txt Makefile
	@echo "installing compsparse and what it needs into $(VENV) (torch is large; this happens once)"
	$(PIP) --editable '.[$(DEMO_EXTRAS)]'
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "installing compsparse and what its tests need into $(VENV) (torch is large; this happens once)"
	$(PIP) --upgrade 'pip>=25.1'  # the first that knows dependency groups; that of Python 3.11 does not
	$(PIP) --editable '.[$(ALL_EXTRAS)]' --group dev
	$(BIN)/python -m compsparse.warm_up
	@touch $@ $(VENV)/.demo

$(VENV)-min/.made: pyproject.toml constraints-min.txt
	@echo "installing the lowest versions of what compsparse needs into $(VENV)-min (torch is large; this happens once)"
	$(PYTHON) -m venv $(VENV)-min
	$(VENV)-min/bin/pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(VENV)-min/bin/pip install --quiet --disable-pip-version-check --constraint constraints-min.txt \
		--editable '.[$(ALL_EXTRAS)]' --group test
	@touch $@
