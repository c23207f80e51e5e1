#!/usr/bin/env bash
# Learn online on the embedded websites, on two CPU cores: bash examples/online/run.sh [folder, default runs/online]
# A warm start by imitation, then server, pool and trainer until Ctrl-C. The same command goes on with a run.
set -euo pipefail
case "${1:-}" in -h | --help) sed -n '/^# /s/^# //p' "${BASH_SOURCE[0]}"; exit ;; esac
source "$(dirname "${BASH_SOURCE[0]}")/../../install.sh"
RUN=${1:-runs/online}
elcano run examples/online/warm_start.py --output_dir "$RUN/warm_start"
if [ ! -e "$RUN/tasks.jsonl" ]; then  # those that no demonstration, validation or test has
    cat data/tasks/IL-2.jsonl data/tasks/optim-?.jsonl data/tasks/voyage/?.jsonl >"$RUN/.tasks" && mv "$RUN/.tasks" "$RUN/tasks.jsonl"
fi
WARM_START="$RUN/warm_start/IL/policy" exec elcano online examples/online/recipe.py --output_dir "$RUN"
