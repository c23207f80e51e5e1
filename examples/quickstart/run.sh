#!/usr/bin/env bash
# Once around the world on two CPU cores: bash examples/quickstart/run.sh [output folder, default runs/quickstart]
# Real Chromium, HTTP inference, Megatron training of two replicas and checkpoint conversion; the README
# says how long it took. The same command continues a run that was killed.
set -euo pipefail
case "${1:-}" in -h | --help) sed -n '/^# /s/^# //p' "${BASH_SOURCE[0]}"; exit ;; esac
source "$(dirname "${BASH_SOURCE[0]}")/../../install.sh"
exec elcano run examples/quickstart/recipe.py --output_dir "${1:-runs/quickstart}"
