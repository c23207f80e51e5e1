#!/usr/bin/env bash
# The same collection run against whatever serves the model, named by its URL alone:
#
#   BASE_URL=http://localhost:8080/v1 MODEL=weights bash examples/serving_engines/run.sh    # Elcano's own server
#   BASE_URL=http://localhost:8000/v1 MODEL=Qwen/Qwen3-VL-4B-Instruct bash ...      # vLLM
#   BASE_URL=http://localhost:30000/v1 MODEL=Qwen/Qwen3-VL-4B-Instruct bash ...     # SGLang
#
# Where the server wants a key: ELCANO_API_KEY is for our own, ENDPOINT_API_KEY for another one.
# TASKS is a task file (the embedded websites' test tasks), OUTPUT_DIR where trajectories go. More flags go through.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../common/variables.sh"
show_help "$@"
need BASE_URL "the OpenAI base URL of a server, such as http://localhost:8080/v1"
need MODEL "the name of the model that it serves"
NEEDS="tyro selenium" source "$(dirname "${BASH_SOURCE[0]}")/../../common/python.sh"
cd "$ROOT"
exec "$PYTHON" collection/run.py --test_file "${TASKS:-data/tasks/test.jsonl}" --output_dir "${OUTPUT_DIR:-results}" \
    --api_base "$BASE_URL" --api_model "$MODEL" \
    --headless --max_iter 15 --max_attached_imgs 3 "$@"
