# All commands of the project; `make help` lists them. They run in the active Python environment.
PYTHON ?= python3
CARGO ?= cargo
BENCH_N ?= 10000
TARGET ?= $(shell rustc -vV | sed -n 's/^host: //p')

.DEFAULT_GOAL := help
.PHONY: help dev tools test test-rust test-python wheel workflows e2e docs-site lint format plugin soak bench quality ci lock clean

help: ## Show this list
	@grep -E '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

tools: ## Install the tools for tests and lints, at their locked versions
	$(PYTHON) -m pip install --quiet --require-hashes --requirement requirements-dev.txt

dev: tools ## Build the engine into the working tree, for development
	maturin develop --release

test: tools test-rust test-python ## Run all tests

# Tests use the release profile, so that the wheel's compiled dependencies are used again.
test-rust:
	$(CARGO) test --release --locked --package opencode-memory-core --package opencode-memory-embed --features opencode-memory-core/crash-points

# One process for each processor: many tests wait for other processes.
test-python:
	$(PYTHON) -m pytest --numprocesses auto --dist worksteal

# Fetch the programs first, so that an unreachable registry is reported before any test runs.
e2e: tools wheel ## Run the tests with real programs such as OpenCode (needs npm, git, and the installed package)
	$(PYTHON) scripts/install_third_party.py
	$(PYTHON) -m pytest tests/e2e

# A wheel for Windows that is built on Linux. The library of C++ is linked statically, because Windows has none of GNU's.
ifeq ($(TARGET),x86_64-pc-windows-gnu)
export CC_x86_64_pc_windows_gnu = x86_64-w64-mingw32-gcc-posix
export CXX_x86_64_pc_windows_gnu = x86_64-w64-mingw32-g++-posix
export CXXFLAGS_x86_64_pc_windows_gnu = -I$(CURDIR)/rust/windows
export CXXSTDLIB_x86_64_pc_windows_gnu = static:-bundle=stdc++
export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER = x86_64-w64-mingw32-gcc-posix
export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUSTFLAGS = -C link-arg=-static \
    -L native=$(dir $(shell x86_64-w64-mingw32-g++-posix -print-file-name=libstdc++.a))
endif

# On Linux, zig links against the C library of the oldest system that the wheel is for. Another target needs its standard
# library of Rust (`rustup target add`); TARGET=x86_64-pc-windows-gnu needs Debian's g++-mingw-w64-x86-64 as well.
wheel: tools ## Build the wheel for distribution into dist/
	rm -f dist/*_$(firstword $(subst -, ,$(TARGET))).whl
	maturin build --release --locked --target $(TARGET) $(if $(findstring linux,$(TARGET)),--zig --compatibility manylinux_2_28) --out dist

lint: tools ## Check formatting, types and lints
	$(CARGO) fmt --check
	$(CARGO) clippy --release --locked --workspace --all-targets --features opencode-memory-core/crash-points -- --deny warnings
	$(PYTHON) -m ruff check
	$(PYTHON) -m ruff format --check
	$(PYTHON) -m mypy
	$(PYTHON) -m mypy.stubtest opencode_memory._core --ignore-missing-stub
	zizmor --offline --quiet .github/workflows

workflows: ## Check the syntax of GitHub's workflows (needs Go)
	go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

format: ## Format the sources
	$(CARGO) fmt
	$(PYTHON) -m ruff check --fix-only
	$(PYTHON) -m ruff format

docs-site: tools ## Build the site of the documentation into site/, with its links checked
	$(PYTHON) -m mkdocs build --strict

plugin: ## Format the OpenCode plugin (needs npm)
	$(PYTHON) scripts/format_plugin.py

soak: ## Run the long forms of tests (SOAK_MINUTES, default 60); the report is target/soak/report.md
	$(PYTHON) -m benches.soak.run

bench: ## Measure speed against peers (BENCH_N=100000 for a large store); see benches/README.md
	$(PYTHON) -m benches.speed.run --n $(BENCH_N)

quality: ## Measure the quality of recall (DATA=folder with question sets); see benches/quality/README.md
	$(PYTHON) -m benches.quality.run --data $(or $(DATA),tests/data/quality) --set $(or $(SETS),devmembench)

ci: lint test ## Run all checks that a change has to pass

lock: ## Update requirements-dev.txt
	uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --python-version 3.11 --extra onnx --output-file requirements-dev.txt pyproject.toml requirements-dev.in

clean: ## Remove build results
	$(CARGO) clean
	rm -rf dist site python/opencode_memory/_core*.so
