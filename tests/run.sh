#!/usr/bin/env bash
# All tests: bash tests/run.sh            (installs what is missing first; needs no GPU and no network after that)
# The slow ones too: bash tests/run.sh --slow
# Anything else goes to pytest: bash tests/run.sh tests/data -k action
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../install.sh"
arguments=("$@")
select=(-m "not slow and not gpu")
if [ "${1:-}" = --slow ]; then select=(-m "not gpu"); arguments=("${@:2}"); fi
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
if [ ${#arguments[@]} = 0 ]; then
    ruff format --check .
    ruff check .
    lint-imports
fi
exec python -m pytest "${select[@]}" --durations 15 "${arguments[@]}"
