#!/usr/bin/env bash
# OpenWebVoyager's teacher run: GPT-4o (or another model at API_BASE) solves the tasks that imitation learns from.
#   OPENAI_API_KEY=... bash collection/run_webvoyager_4o.sh                  tasks on public websites, one each
#   OPENAI_API_KEY=... TEST_FILE=your_tasks.jsonl bash collection/run_webvoyager_4o.sh
# The key for an API_BASE of yours is ENDPOINT_API_KEY. From any folder; paths are relative to collection/. Further flags go to run.py.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
NEEDS="tyro selenium" source ../common/python.sh
exec "$PYTHON" -u run.py \
    --test_file "${TEST_FILE:-./data_for_test/example.jsonl}" \
    --headless \
    --max_iter 15 \
    --max_attached_imgs 3 \
    --temperature 1 \
    --seed 42 \
    --save_accessibility_tree \
    --api_model "${API_MODEL:-gpt-4o}" \
    --api_base "${API_BASE:-}" \
    --output_dir "${OUTPUT_DIR:-./results}" \
    "$@"
