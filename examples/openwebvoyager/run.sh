#!/usr/bin/env bash
# All four stages of OpenWebVoyager; the variables are explained in recipe.py.
#   bash examples/openwebvoyager/run.sh [output folder, default runs/openwebvoyager]
#   bash examples/openwebvoyager/run.sh --shift_dates <folder for the task files>   brings their dates up to date first
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../common/variables.sh"
show_help "$@"
NEEDS=tyro source "$(dirname "${BASH_SOURCE[0]}")/../../common/python.sh"
cd "$ROOT"
if [ "${1:-}" = --shift_dates ]; then
    target=${2:-}
    [ -n "$target" ] || { echo "error: --shift_dates: give the folder that the task files with new dates go to" >&2; exit 2; }
    need OPENWEBVOYAGER_TASKS "the folder of the published task files"
    cd "$OPENWEBVOYAGER_TASKS"
    find . -name '*.jsonl' -print0 | while IFS= read -r -d '' file; do
        mkdir -p "$target/$(dirname "$file")"
        "$PYTHON" "$ROOT/toolkits/shift_dates.py" --test_file "$file" --output_file "$target/$file" | tail -n 1
    done
    exit
fi
exec "$PYTHON" -m elcano.cli run examples/openwebvoyager/recipe.py --output_dir "${1:-runs/openwebvoyager}"
