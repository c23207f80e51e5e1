#!/usr/bin/env bash
# All tests: bash tests/run.sh            (installs what is missing first; needs no GPU and no network after that)
# The slow ones too: bash tests/run.sh --slow
# Anything else goes to pytest: bash tests/run.sh tests/data -k action
# The whole runs in three processes, a file at a time, as many tests wait for a browser or a server: TEST_WORKERS=8 for
# more.
set -euo pipefail
case "${1:-}" in -h | --help) sed -n '/^# /s/^# //p' "${BASH_SOURCE[0]}"; exit ;; esac
source "$(dirname "${BASH_SOURCE[0]}")/../install.sh"
arguments=("$@")
select=(-m "not slow and not gpu")
if [ "${1:-}" = --slow ]; then select=(-m "not gpu"); arguments=("${@:2}"); fi
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
unset PYTHONDONTWRITEBYTECODE  # hundreds of processes begin here, and each would compile our modules again
if [ ${#arguments[@]} = 0 ]; then
    ruff format --check .
    ruff check .
    lint-imports
    basedpyright --project pyproject.toml  # else one of a folder above would come first
    arguments=(--numprocesses "${TEST_WORKERS:-3}" --dist loadfile --no-loadscope-reorder)
fi
exec python -m pytest "${select[@]}" --durations 15 "${arguments[@]}"
