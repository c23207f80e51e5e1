#!/usr/bin/env bash
# Proves a machine with GPUs: bash tests/gpu.sh        all lines on all GPUs of this host; the first run installs
# Without a GPU, every line in a small form:          bash tests/gpu.sh --cpu
# Some lines: --only training serving                 their names: parity_with_our_layers, parity_with_transformer_engine,
#   training, serving, reload_under_load, real_path, quickstart
# Parity of every layout that fits with Hugging Face over NCCL, with our layers and with TransformerEngine's; training steps
# of an 8B shape with tokens/s, MFU and peak memory against --dry_run; serving it to 1, 16 and 64 agents against one
# `generate` a request; reloads under load; the real path at full width; the quickstart.
# Ends in a table and runs/gpu/gpu.json. PYTHON=... takes that interpreter instead of .venv.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ -n "${PYTHON:-}" ] || source install.sh
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
exec "${PYTHON:-python}" -m tests.gpu "$@"
