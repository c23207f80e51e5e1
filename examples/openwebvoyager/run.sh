#!/usr/bin/env bash
# All four stages of OpenWebVoyager; the variables are explained in recipe.py.
#   bash examples/openwebvoyager/run.sh [output folder, default runs/openwebvoyager]
#   bash examples/openwebvoyager/run.sh --shift_dates <folder for the task files>   brings their dates up to date first
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if [ "${1:-}" = --shift_dates ]; then
    target=${2:?give the folder that the task files with new dates go to}
    cd "${OPENWEBVOYAGER_TASKS:?set it to the folder of the published task files}"
    find . -name '*.jsonl' -print0 | while IFS= read -r -d '' file; do
        mkdir -p "$target/$(dirname "$file")"
        python "$OLDPWD/toolkits/shift_dates.py" --test_file "$file" --output_file "$target/$file" | tail -n 1
    done
    exit
fi
exec elcano run examples/openwebvoyager/recipe.py --output_dir "${1:-runs/openwebvoyager}"
