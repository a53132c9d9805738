# make lab    sets everything up and opens the labs in JupyterLab
# make test   sets everything up and runs every check there is
#
# Another Python:            make test PYTHON=python3.12 VENV=.venv-3.12
# Flags for JupyterLab:      make lab LAB_FLAGS="--no-browser --port 8899"

PYTHON ?= python3
VENV ?= .venv
LAB_FLAGS ?=

BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

# A file's tests share what takes long to set up. The first files, those of the browser, take longest.
SIDE_BY_SIDE := --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder
# Not so with notebooks, whose kernels get lost.
NBVAL := $(BIN)/python -m pytest --nbval-current-env --nbval-sanitize-with tests/nbval_sanitize.cfg

.PHONY: lab test coverage bench build requirements

lab: $(INSTALLED)
	$(BIN)/python -m jupyterlab notebooks $(LAB_FLAGS)

test: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/mypy
	$(BIN)/python -m pytest $(SIDE_BY_SIDE)
	$(BIN)/python -m labkit build --check
	$(NBVAL) --nbval solutions
	$(NBVAL) --nbval-lax notebooks

# Without the slowest: other graders, and the browser.
coverage: $(INSTALLED)
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest $(SIDE_BY_SIDE) -m "not peers" --ignore tests/browser
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --show-missing --skip-covered

bench: $(INSTALLED)
	$(BIN)/python tests/benchmarks

# Forced, since what a solved notebook shows also comes from labkit: its messages, its pictures.
build: $(INSTALLED)
	$(BIN)/python -m labkit build --force

$(INSTALLED): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("The labs need Python 3.11 or newer; $(PYTHON) is Python %d.%d. Name another one: make PYTHON=python3.12" % sys.version_info[:2])'
	$(PYTHON) -m venv $(VENV)
	@echo "Installing the packages into $(VENV). This takes a few minutes, once."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

# Pins for every Python at once, and labkit itself from this folder.
requirements: $(BIN)/uv
	echo "# Pinned for every Python from 3.11 on. Compiled from pyproject.toml: make requirements" > requirements.new
	$(BIN)/uv --quiet pip compile --universal --python-version 3.11 --extra test --no-header --no-annotate pyproject.toml >> requirements.new
	echo "-e ." >> requirements.new
	mv requirements.new requirements.txt

$(BIN)/uv:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
