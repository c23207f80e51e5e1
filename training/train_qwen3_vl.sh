#!/usr/bin/env bash
# Fine-tune Qwen3-VL (dense: 2B, 4B, 8B, 32B) with Megatron: TP=8 on 8 GPUs by default, or any layout on CPU.
#   DATASET_PATH=shards PRETRAIN_CHECKPOINT_PATH=mg bash training/train_qwen3_vl.sh
#   bash training/train_qwen3_vl.sh --dataset_path shards --pretrain_checkpoint_path mg --tp 2 --dp 4 --do true
#   bash training/train_qwen3_vl.sh --dry_run --pretrain_checkpoint_path qwen3-vl-8b --num_gpus 8
# Every option is an environment variable and a flag: bash training/train_qwen3_vl.sh --help
# Where nothing else is set: GLOBAL_BATCH_SIZE=128 FREEZE_VISION=true (models/qwen3_vl/family.py). The first pipeline stage
# needs three layers; it also has the vision tower, so give it fewer than the others: FIRST_STAGE_LAYERS.
MODEL_TYPE=qwen3_vl exec bash "$(dirname "${BASH_SOURCE[0]}")/train.sh" "$@"
