# `make` alone lists the targets.
PYTHON ?= python3
BIN := .venv/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test system docs docs-looks page-speed container attack-service lowest peers peers-table attack kill \
  bounds mutants coverage format wheel first-hour release-check golden bench bench-serving clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: .venv/core.stamp ## install what is needed and show what dmrank does (about a minute)
	$(BIN)/dmrank demo --out demo

test: .venv/dev.stamp ## lint, type checks and the whole test suite
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n 2 --dist worksteal

# Debian's; elsewhere, what is missing is skipped by the tests, with a reason.
system: ## install what tests of the service and of pages use: Chromium, PostgreSQL, wrk
	apt-get update --quiet --quiet
	DEBIAN_FRONTEND=noninteractive apt-get install --quiet --quiet --yes chromium postgresql wrk procps

container: .venv/dev.stamp ## run the steps of the Containerfile in a fresh environment
	DMRANK_CONTAINER=1 $(BIN)/pytest -s tests/service/test_container.py

attack-service: .venv/dev.stamp ## 10,000 requests by Schemathesis, and 100 reloads under load
	DMRANK_EXAMPLES=400 $(BIN)/pytest -s tests/service/test_schema.py
	DMRANK_RELOADS=100 $(BIN)/pytest tests/service/test_running.py -k renamed

page-speed: .venv/dev.stamp ## sixty moves of a slider, on a machine that does nothing else
	DMRANK_ALONE=1 $(BIN)/pytest -q -s tests/service/page/test_speed.py

docs: ## build the site into .site/html, run every snippet and check every link of it
	$(MAKE) --no-print-directory --jobs 2 .venv/docs.stamp .peers/tutorial.stamp
	$(BIN)/pytest -q -n 2 --dist worksteal tests/docs/test_snippets.py tests/docs/test_failing_cells.py
	OTHER_PYTHON=$(CURDIR)/.peers/tutorial/bin/python \
	  $(BIN)/python -m sphinx -q -E -j 2 -W --keep-going docs .site/html
	DMRANK_SITE=.site/html $(BIN)/pytest -q tests/docs/test_site.py

docs-looks: .venv/browser.stamp ## axe-core on every page of the site, and its pictures (needs chromium and make docs)
	DMRANK_SITE=.site/html $(BIN)/pytest -q -n 2 --dist worksteal tests/docs/test_looks.py

SEED ?= 0
CASES ?= 50000
KILLS ?= 100
MUTANTS ?= 100
attack: .venv/dev.stamp ## hostile inputs, 50,000 in less than an hour (SEED=7 for others)
	$(BIN)/python -m tests.attack --cases $(CASES) --seed $(SEED) --report docs/reliability.md

kill: .venv/dev.stamp ## kill commands at random moments, and run them again
	$(BIN)/python -m benchmarks.kill --times $(KILLS) --seed $(SEED)

bounds: .venv/dev.stamp ## the test suite with every index of compiled code checked
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/.numba-bounds $(BIN)/pytest -n 2 --dist worksteal

mutants: .venv/mutants.stamp ## change lines of the core at random, and see that a test notices
	$(BIN)/python -m benchmarks.mutants --sample $(MUTANTS) --seed $(SEED)

coverage: .venv/dev.stamp ## which lines and branches the test suite passes
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m coverage run -m pytest tests/metrics
	$(BIN)/python -m coverage run --append -m pytest
	$(BIN)/python -m coverage report --sort cover

peers: .peers/most.stamp .peers/rectools.stamp ## test with the real packages of other libraries (docs/evaluation.md)
	.peers/most/bin/python -m pytest tests/evaluation/test_peers.py tests/evaluation/test_page.py
	.peers/rectools/bin/python -m pytest tests/evaluation/test_peers.py tests/evaluation/test_page.py

FILE ?= yahoo-movies
peers-table: .peers/most.stamp .peers/rectools.stamp ## lists of other libraries beside ours (OPTIONS=--times: fits again)
	.peers/most/bin/python -W ignore -m benchmarks.peers --runs .peers/runs --file $(FILE) $(OPTIONS)
	.peers/rectools/bin/python -W ignore -m benchmarks.peers --runs .peers/runs --file $(FILE) $(OPTIONS)
	.peers/most/bin/python -m benchmarks.peers --runs .peers/runs --file $(FILE) --show

# The lowest versions share nothing with the usual ones: neither environment nor compiled code.
lowest: .venv-lowest/stamp ## a selection of tests with the lowest versions of what dmrank needs
	NUMBA_CACHE_DIR=$(CURDIR)/.venv-lowest/compiled \
	  .venv-lowest/bin/python -m pytest -W ignore::DeprecationWarning tests/cli/test_app.py \
	  tests/cli/test_stats.py tests/support tests/data tests/metrics tests/text \
	  tests/answers/test_recommend.py tests/answers/test_plot.py tests/experiments/test_tuning.py \
	  tests/models/test_ease.py tests/models/test_mixedeffects.py -k "not exsae and not neuraldmr and not spsmtl"

format: .venv/dev.stamp ## format the code and mend what the linter can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

wheel: .venv-wheel/stamp ## build dist/ and check what a package index would show
	rm -rf dist
	.venv-wheel/bin/python -m build --outdir dist
	.venv-wheel/bin/twine check --strict dist/*

golden: .venv/dev.stamp ## write the model files of this version that later ones have to open
	$(BIN)/python -m tests.fitted.golden

release-check: .venv-wheel/stamp ## all that a release has to be, up to the upload (OPTIONS=--before-tag)
	.venv-wheel/bin/python release/check.py --python $(PYTHON) $(OPTIONS)

first-hour: .venv/dev.stamp wheel ## install the wheel into an empty environment and run the README there
	DMRANK_WHEEL=$$(ls dist/*.whl) DMRANK_PYTHON=$(PYTHON) $(BIN)/pytest tests/docs/test_first_hour.py

bench: .venv/dev.stamp ## speed and memory beside pandas and others (see docs/benchmarks.md)
	$(BIN)/python -m benchmarks.ratings

bench-serving: .venv/dev.stamp .peers/serving.stamp ## the service beside others (needs wrk: make system)
	$(BIN)/python -m benchmarks.serving

clean: ## remove the environment and every cache
	rm -rf .venv .venv-lowest .venv-wheel .peers .site dist .mypy_cache .pytest_cache .ruff_cache .hypothesis \
	  .numba-bounds .coverage demo

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "dmrank needs Python 3.11 or newer; name one with make PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv .venv

.venv/core.stamp: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable '.[plots]'
	@touch $@

.venv/dev.stamp: .venv/core.stamp
	$(PIP) --editable '.[dev]'
	@touch $@

.venv/docs.stamp: .venv/core.stamp
	$(PIP) --editable '.[docs]'
	@touch $@

.venv/browser.stamp: .venv/docs.stamp
	$(PIP) --editable '.[browser]'
	@touch $@

.venv/mutants.stamp: .venv/dev.stamp
	$(PIP) --editable '.[mutants]'
	@touch $@

# RecTools wants NumPy 1 (before Python 3.13), which newer Arrow does not know; Cornac NumPy 2. Newer pins of ours go
# with neither.
.peers/most.stamp: PEERS := implicit cornac lenskit scikit-surprise '$(shell grep ^torch== constraints.txt)'
.peers/rectools.stamp: PEERS := rectools 'pyarrow<21'

.peers/%.stamp: pyproject.toml
	$(PYTHON) -m venv .peers/$*
	.peers/$*/bin/python -m pip --disable-pip-version-check install --quiet --only-binary :all: \
	  $(PEERS) hypothesis pytest
	.peers/$*/bin/python -m pip --disable-pip-version-check install --quiet --editable .
	@touch $@

# What docs/tutorials/peers.py runs beside dmrank: LensKit wants pandas 2.
.peers/tutorial.stamp: constraints.txt
	$(PYTHON) -m venv .peers/tutorial
	.peers/tutorial/bin/python -m pip --disable-pip-version-check install --quiet --no-compile --only-binary :all: \
	  lenskit==2025.8.1 rectools==0.19.0 'pyarrow<21' '$(shell grep ^torch== constraints.txt)'
	@touch $@

.peers/serving.stamp: constraints.txt
	$(PYTHON) -m venv .peers/serving
	.peers/serving/bin/python -m pip --disable-pip-version-check install --quiet --only-binary :all: \
	  implicit cornac fastapi 'uvicorn[standard]' flask '$(shell grep ^torch== constraints.txt)'
	npm install --silent --prefix .peers/node autocannon
	@touch $@

.venv-lowest/stamp: pyproject.toml constraints-lowest.txt
	$(PYTHON) -m venv --clear .venv-lowest
	.venv-lowest/bin/python -m pip --disable-pip-version-check install --quiet \
	  --constraint constraints-lowest.txt --editable '.[plots,text,tune]' \
	  hypothesis ir-measures pandas pyarrow pytest
	@touch $@

.venv-wheel/stamp:
	$(PYTHON) -m venv --clear .venv-wheel
	.venv-wheel/bin/python -m pip --disable-pip-version-check install --quiet build twine
	@touch $@
