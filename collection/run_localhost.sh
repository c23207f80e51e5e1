#!/usr/bin/env bash
# OpenWebVoyager's test run: the agent behind a model server on tasks of yours. From any folder; paths are relative to collection/.
#   bash collection/run_localhost.sh                                         tasks on public websites, one each
#   API_LOCALHOST=http://10.0.0.5:8080/predict TEST_FILE=tasks.jsonl OUTPUT_DIR=results_mine bash collection/run_localhost.sh
# It stays in front and prints its progress; nohup bash ... > log & leaves it alone. Further flags go to run.py.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
NEEDS="tyro selenium" source ../common/python.sh
exec "$PYTHON" -u run.py \
    --test_file "${TEST_FILE:-./data_for_test/example.jsonl}" \
    --headless \
    --max_iter 15 \
    --max_attached_imgs 3 \
    --save_accessibility_tree \
    --output_dir "${OUTPUT_DIR:-./results_example_test}" \
    --api_localhost "${API_LOCALHOST:-http://localhost:8080/predict}" \
    "$@"
