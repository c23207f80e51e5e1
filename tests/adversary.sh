#!/usr/bin/env bash
# The standing sceptic, all of it: bash tests/adversary.sh         (docs/reference/security.md says what each wall holds)
# Attacks on every wall, the slow ones too; tests/run.sh runs the quick ones. Anything else goes to pytest: bash tests/adversary.sh -k gate
set -euo pipefail
case "${1:-}" in -h | --help) sed -n '/^# /s/^# //p' "${BASH_SOURCE[0]}"; exit ;; esac
source "$(dirname "${BASH_SOURCE[0]}")/../install.sh"
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
hostile=(tests/adversary tests/environments/gate/test_gate.py tests/environments/gate/test_gate_connections.py
    tests/environments/gate/test_url_policy.py tests/collection/faults/test_launch.py tests/data/test_names.py
    tests/toolkits/readers/test_hostile_data.py tests/toolkits/convertor/test_hostile_checkpoints.py
    tests/server/cluster/test_fuzz_and_soak.py tests/server/protocols/test_keyed_clients.py tests/server/engine/test_out_of_memory.py)
exec python -m pytest -m "not gpu" --durations 15 "${hostile[@]}" "$@"
