#!/usr/bin/env bash
# Log-probabilities and perplexity of every sample of a shard folder under a checkpoint, as Parquet, in any layout.
#   CHECKPOINT=mg DATASET_PATH=shards OUTPUT=scores.parquet bash training/score.sh
#   bash training/score.sh --checkpoint mg --dataset_path shards --output scores.parquet --tp 2 --pr fp32
# Every option is an environment variable and a flag: bash training/score.sh --help
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/python.sh"
exec "$PYTHON" -m training.critics.score "$@"
