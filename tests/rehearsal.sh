#!/usr/bin/env bash
# The real path at full width without a GPU: bash tests/rehearsal.sh       2 cores, 24 GB, 30 GB of disk
# Some models:                               bash tests/rehearsal.sh --models idefics2 smolvlm_256m
# The same stages before a tiny model:       bash tests/rehearsal.sh --size tiny
# Random weights in bf16 behind the real configuration and processor of idefics2-8b, LLaVA-1.6-mistral, SmolVLM-256M and Qwen3-VL-2B:
# served, let loose on embedded websites in real Chromium, its screenshots made into samples and shards, hf2mg.sh, trained
# at TP=2 (SmolVLM at TP=3) with the published values, mg2hf.sh, served again. Checked: tokens and pixels of training and
# serving are the same, so are log-probabilities as far as bf16 allows, and memory is what --dry_run says.
# Ends in a table and runs/rehearsal/rehearsal.json; the same command goes on where it stopped.
# PYTHON=... takes that interpreter instead of .venv.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ -n "${PYTHON:-}" ] || source install.sh
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
exec "${PYTHON:-python}" -m tests.rehearsal "$@"
