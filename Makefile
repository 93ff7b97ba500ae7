# The one list of commands; `make help` prints it. Everything runs in the Python environment that is active.
PYTHON ?= python3
CARGO ?= cargo
BENCH_N ?= 10000

.DEFAULT_GOAL := help
.PHONY: help dev tools test test-rust test-python e2e lint format plugin soak bench quality ci lock clean

help: ## Show this list
	@grep -E '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

tools: ## Install what tests and lints need, at the locked versions
	$(PYTHON) -m pip install --quiet --require-hashes --requirement requirements-dev.txt

dev: tools ## Build the engine into the working tree, for quick turns
	maturin develop --release

test: tools test-rust test-python ## Run all tests

# The release profile throughout: the compiled dependencies are those of the wheel.
test-rust:
	$(CARGO) test --release --locked --package opencode-memory-core --features crash-points

test-python:
	$(PYTHON) -m pytest

# Fetched before the tests begin, so that a registry out of reach is what is said, and first.
e2e: tools ## Run the tests with whole programs, the real OpenCode among them (needs npm, git, and the package installed)
	$(PYTHON) scripts/install_third_party.py
	$(PYTHON) -m pytest tests/e2e

lint: tools ## Check form, types and names
	$(CARGO) fmt --check
	$(CARGO) clippy --release --locked --workspace --all-targets --features opencode-memory-core/crash-points -- --deny warnings
	$(PYTHON) -m ruff check
	$(PYTHON) -m ruff format --check
	$(PYTHON) -m mypy
	$(PYTHON) -m mypy.stubtest opencode_memory._core --ignore-missing-stub

format: ## Put the sources into form
	$(CARGO) fmt
	$(PYTHON) -m ruff check --fix-only
	$(PYTHON) -m ruff format

plugin: ## Put the plugin in OpenCode into form (needs npm)
	$(PYTHON) scripts/format_plugin.py

soak: ## Kill writers at random for ten minutes
	OPENCODE_MEMORY_SOAK_SECONDS=600 $(CARGO) test --release --locked --package opencode-memory-core --features crash-points --test kill -- --nocapture

bench: ## Measure speed beside the peers (BENCH_N=100000 for the large store); see benches/README.md
	$(PYTHON) -m benches.speed.run --n $(BENCH_N)

quality: ## Measure whether the right memory is found (DATA=folder with question sets); see benches/quality/README.md
	$(PYTHON) -m benches.quality.run --data $(or $(DATA),tests/data/quality) --set $(or $(SETS),devmembench)

ci: lint test ## What has to pass before anything lands

lock: ## Write requirements-dev.txt anew
	uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --python-version 3.11 --output-file requirements-dev.txt pyproject.toml requirements-dev.in

clean: ## Remove what was built
	$(CARGO) clean
	rm -rf dist python/opencode_memory/_core*.so
