#!/usr/bin/env bash
# OpenWebVoyager's evaluation: judge a folder of trajectories, by their ground truth where every task has one, else by GPT-4o.
#   bash collection/evaluation/run_eval.sh                                   judges collection/results
#   OPENAI_API_KEY=... PROCESS_DIR=../results_example_test bash collection/evaluation/run_eval.sh
# From any folder; paths are relative to collection/evaluation/. Further flags go to auto_eval.py.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
NEEDS="tyro selenium" source ../../common/python.sh
exec "$PYTHON" -u auto_eval.py \
    --process_dir "${PROCESS_DIR:-../results/}" \
    --max_attached_imgs 15 \
    "$@"
