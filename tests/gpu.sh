#!/usr/bin/env bash
# Proves a machine with GPUs: bash tests/gpu.sh        all lines on all GPUs of this host; the first run installs
# Without a GPU, every line in a small form:          bash tests/gpu.sh --cpu
# Some lines: --only training serving                 their names: parity_with_our_layers, parity_with_transformer_engine,
#   training, serving, reload_under_load, real_path, quickstart
# Parity of every layout that fits with Hugging Face over NCCL, with our layers and with TransformerEngine's; training steps
# of an 8B shape with tokens/s, MFU and peak memory against --dry_run; serving it to 1, 16 and 64 agents against one
# `generate` a request; reloads under load; the real path at full width; the quickstart.
# What one GPU proves in nine minutes, the most valuable first, resumable:  bash tests/gpu.sh --short
#   rehearsed without a GPU: --short --cpu. WHEELS=folder takes what the interpreter lacks (tests/gpu_wheels.txt) from there,
#   COMMIT=... names the commit where the working tree came without its repository. Some lines or
#   rows: --only serving training.qwen3_vl_4b_packed_learned
# Ends in a table and runs/gpu/gpu.json. PYTHON=... takes that interpreter instead of .venv.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ -n "${PYTHON:-}" ] || source install.sh
python=${PYTHON:-python}
if [ "${1:-}" = --short ]; then
    shift
    module=tests.gpu.short
    PYTHONPATH=$PWD "$python" -m tests.gpu.short_lines "$@" # at once: torch takes longer than ten seconds to load
    missing=$("$python" tests/gpu/missing.py | xargs)
    if [ -n "$missing" ] && [ -n "${WHEELS:-}" ]; then
        echo "taken from $WHEELS: $missing"
        # an environment that sees all the interpreter has, and the wheels: an environment variable would not reach every child
        venv=$PWD/runs/gpu/venv
        "$python" -m venv --clear --without-pip "$venv"
        site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
        "$python" -c 'import sys; print(*(path for path in sys.path if path.endswith("-packages")), sep="\n")' >"$site/parent.pth"
        "$python" -c 'import sys, zipfile; [zipfile.ZipFile(wheel).extractall(sys.argv[1]) for wheel in sys.argv[2:]]' \
            "$site" "$WHEELS"/*.whl # a wheel is a zip file, and not every image has pip
        python=$venv/bin/python
        missing=$("$python" tests/gpu/missing.py | xargs)
    fi
    [ -z "$missing" ] || { echo "error: $python lacks $missing: see tests/gpu_wheels.txt, then WHEELS=folder" >&2; exit 2; }
fi
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
exec "$python" -m "${module:-tests.gpu}" "$@"
