# Every target works from a bare Python 3.11 or newer: it creates .venv and installs the pinned versions first.
# Another Python: make test PYTHON=python3.12. More arguments: make test ARGS="-k lemke".

.DEFAULT_GOAL := help
.PHONY: help environment demo test test-slow fuzz wheel lint bench docs clean

RUN := .venv/bin/python -m
WORKERS ?= 2
ARGS ?=
export PYTHON
# Tests start some hundred processes. Each reads the package's byte code, which saves half a second; some shells forbid
# Python to keep it.
unexport PYTHONDONTWRITEBYTECODE

help: ## list the targets
	@echo "make TARGET, where TARGET is one of"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1#\2/p' $(MAKEFILE_LIST) | awk -F'#' '{ printf "%-14s%s\n", $$1, $$2 }'

environment: ## create .venv and install stickslip with its tools, once
	@tools/environment.sh

demo: environment ## run the demonstration
	@$(RUN) stickslip demo $(ARGS)

test: environment ## run the tests, without the slow ones
	@$(RUN) pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(ARGS)

test-slow: environment ## run the slow tests, and all examples of those that take some by default
	@STICKSLIP_TESTS=full $(RUN) pytest -n $(WORKERS) --dist loadfile -m "slow or thinned" $(ARGS)

fuzz: environment ## read millions of damaged files, expressions and requests (ARGS="expressions --count 1e4")
	@$(RUN) tests.fuzz $(or $(ARGS),--count 1e6 --seconds 1800)

wheel: environment ## build wheel and sdist and use the wheel alone (ARGS="python3.12 python3.13")
	@tools/check_wheel.sh $(ARGS)

lint: environment ## check format, style, types and import directions
	@$(RUN) ruff format --check .
	@$(RUN) ruff check .
	@$(RUN) mypy
	@.venv/bin/lint-imports --no-logo

bench: environment ## measure against the peers that are installed
	@$(RUN) stickslip bench $(ARGS)

docs: environment ## build the documentation into site/
	@$(RUN) pip install -qq --disable-pip-version-check -e '.[docs]' -c constraints.txt
	@NO_MKDOCS_2_WARNING=1 $(RUN) mkdocs build --strict --quiet
	@echo "The documentation is in site/index.html."

clean: ## remove .venv, caches and build products
	rm -rf .venv build dist site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
