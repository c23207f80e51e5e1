#!/usr/bin/env bash
# Fine-tune a model of any family with Megatron: TP=8 on 8 GPUs by default, or any layout on CPU. The checkpoint says
# its family, and that the values its training publishes (models/<family>/family.py), where nothing else is set.
#   DATASET_PATH=shards PRETRAIN_CHECKPOINT_PATH=mg bash training/train.sh
# Every option is an environment variable and a flag: bash training/train.sh --help
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/python.sh"
exec "$PYTHON" -m training.launch.command "$@"
