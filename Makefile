# Two commands set everything up: `make run` opens the console, `make test` passes the tests.
#
# From another repository: make -f /path/to/footplate/Makefile run      (opens the console on that repository)

HERE   := $(patsubst %/,%,$(dir $(realpath $(lastword $(MAKEFILE_LIST)))))
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   := $(HERE)/.venv
BIN    := $(VENV)/bin
REPO   ?= $(CURDIR)
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
JOBS   ?= 4

.PHONY: run test check format bench bench-compare screenshots agents packaging soak lock clean

run: $(VENV)/.run
	@cd "$(REPO)" && exec $(BIN)/footplate $(ARGS)

test: $(VENV)/.dev
	@cd $(HERE) && exec $(BIN)/python -m pytest -n $(JOBS) --dist loadgroup $(ARGS)

check: $(VENV)/.dev
	@cd $(HERE) && $(BIN)/ruff format --check --quiet . && $(BIN)/ruff check --quiet .
	@cd $(HERE) && $(BIN)/mypy && $(BIN)/mypy --platform darwin --cache-dir .mypy_cache/darwin
	@cd $(HERE) && $(BIN)/lint-imports --no-timing --no-logo 2>/dev/null || (cd $(HERE) && $(BIN)/lint-imports)

format: $(VENV)/.dev
	@cd $(HERE) && $(BIN)/ruff check --quiet --fix . ; $(BIN)/ruff format --quiet .

# ARGS: names of benches, --json PATH, --strict. What was measured is also written into .bench (ignored by git).
bench: $(VENV)/.dev
	@cd $(HERE) && exec $(BIN)/python -m tests.bench $(ARGS)

bench-compare: $(VENV)/.dev
	@test -n "$(OLD)" -a -n "$(NEW)" || { echo "usage: make bench-compare OLD=a.json NEW=b.json" >&2; exit 2; }
	@exec env PYTHONPATH=$(HERE) $(BIN)/python -m tests.bench.compare $(OLD) $(NEW) $(ARGS)

# What takes minutes: the whole fault matrix, two hundred consoles killed at random, thousands of fresh examples, and eight
# sessions that stream (six minutes; FOOTPLATE_SOAK_MINUTES=60 for whether memory stays flat).
soak: $(VENV)/.dev
	@cd $(HERE) && $(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -m soak $(ARGS)
	@cd $(HERE) && HYPOTHESIS_PROFILE=soak $(BIN)/python -m pytest -n $(JOBS) --timeout 900 tests/property
	@cd $(HERE) && $(BIN)/python -m tests.bench.bench_soak
	@cd $(HERE) && FOOTPLATE_SOAK_MINUTES=$${FOOTPLATE_SOAK_MINUTES:-6} exec $(BIN)/python -m tests.bench.bench_stream_soak

screenshots: $(VENV)/.dev
	@cd $(HERE) && exec $(BIN)/python -m tests.pictures

# Real agent binaries for tests/agents, into .agents (ignored by git). Needs npm and Node 20; without them those tests are skipped, loudly.
agents: $(VENV)/.dev
	@cd $(HERE) && exec $(BIN)/python -m tests.agents.install

# The wheel as a stranger gets it: by pip and by pipx, with all that it needs fetched from the registry that pip is set to.
packaging: $(VENV)/.dev
	@cd $(HERE) && exec $(BIN)/python -m pytest -m registry tests/packaging $(ARGS)

lock: $(VENV)/.dev
	@cd $(HERE) && $(BIN)/pip-compile -q --generate-hashes --no-emit-index-url --no-emit-find-links \
	  --no-emit-trusted-host --strip-extras --no-header -o requirements.txt pyproject.toml
	@cd $(HERE) && $(BIN)/pip-compile -q --generate-hashes --no-emit-index-url --no-emit-find-links \
	  --no-emit-trusted-host --strip-extras --allow-unsafe --no-header -o requirements-dev.txt requirements-dev.in

clean:
	rm -rf $(VENV) $(HERE)/.pytest_cache $(HERE)/.mypy_cache $(HERE)/.ruff_cache $(HERE)/*.egg-info

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "footplate needs Python 3.11 or newer; set PYTHON=/path/to/it" >&2; exit 1; }
	@echo "setting up $(VENV) (once)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.run: $(VENV)/.made $(HERE)/requirements.txt $(HERE)/pyproject.toml
	@$(PIP) install --require-hashes -r $(HERE)/requirements.txt
	@$(PIP) install --no-deps -e $(HERE)
	@touch $@

$(VENV)/.dev: $(VENV)/.run $(HERE)/requirements-dev.txt
	@$(PIP) install --require-hashes -r $(HERE)/requirements-dev.txt
	@touch $@
