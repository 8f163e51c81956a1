PYTHON ?= python3
BIN := .venv/bin
.PHONY: env demo test check bench serve audit clean

env: .venv/ready
.venv/ready: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: env          ## the tour: a proxy over real data, an analyst and an administrator
	@$(BIN)/dpproxy demo

serve: env         ## the demo's proxy, kept running
	@$(BIN)/dpproxy demo --serve --port 6432

test: env          ## every test
	$(BIN)/pytest -q

check: env         ## format, lint, types, import contracts, docs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -q tests/test_docs.py tests/test_layout.py tests/test_proofs.py tests/test_taint.py

bench: env         ## ratios against bare DuckDB, side by side
	$(BIN)/python -m tests.bench

audit: env         ## sampled privacy tests
	$(BIN)/pytest -q -m statistical

clean:
	rm -rf .venv build dist *.egg-info
