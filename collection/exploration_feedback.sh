#!/usr/bin/env bash
# OpenWebVoyager's exploration with feedback: up to five tries a task, until the judge says success.
#   bash collection/exploration_feedback.sh                                  embedded tasks and websites, judged by their ground truth
#   OPENAI_API_KEY=... TEST_FILE=your_tasks.jsonl bash collection/exploration_feedback.sh
# From any folder; paths are relative to collection/. Tasks of yours are judged by API_EVAL_MODEL (gpt-4o). Further flags
# go to exploration_feedback.py.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
NEEDS="tyro selenium" source ../common/python.sh
tasks=()
if [ -n "${TEST_FILE:-}" ]; then tasks=(--test_file "$TEST_FILE" --api_eval_model "${API_EVAL_MODEL:-gpt-4o}"); fi
exec "$PYTHON" -u exploration_feedback.py \
    ${tasks[@]+"${tasks[@]}"} \
    --headless \
    --max_iter 15 \
    --max_attached_imgs 3 \
    --save_accessibility_tree \
    --max_rerun_times 5 \
    --output_dir "${OUTPUT_DIR:-./results}" \
    --api_localhost "${API_LOCALHOST:-http://localhost:8080/predict}" \
    "$@"
