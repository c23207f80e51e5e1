#!/usr/bin/env bash
# Fine-tune LLaVA 1.5 (Vicuna or Llama) with Megatron: TP=8 on 8 GPUs by default, or any layout on CPU.
#   DATASET_PATH=shards PRETRAIN_CHECKPOINT_PATH=mg bash training/train_llava.sh
#   bash training/train_llava.sh --dataset_path shards --pretrain_checkpoint_path mg --tp 4 --dp 2 --do true
#   bash training/train_llava.sh --dataset_path shards --pretrain_checkpoint_path mg --lora_rank 16 --lr 2e-4
# Every option is an environment variable and a flag: bash training/train_llava.sh --help
# Published values: Liu et al. 2023 (arXiv 2310.03744), visual instruction tuning, but for the longer sequence.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/python.sh"
export MODEL_TYPE=llava
export SEQ_LEN=${SEQ_LEN:-4096} # as far as Vicuna counts; an image takes 576
export GLOBAL_BATCH_SIZE=${GLOBAL_BATCH_SIZE:-128}
export LR=${LR:-2e-5}
export FREEZE_VISION=${FREEZE_VISION:-true}
exec "$PYTHON" -m training.command "$@"
