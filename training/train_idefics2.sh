#!/usr/bin/env bash
# Fine-tune idefics2 with Megatron: TP=8 on 8 GPUs by default, or any layout on CPU.
#   bash training/train_idefics2.sh       (nothing set: a demonstration on data that comes with the repository)
#   DATASET_PATH=shards PRETRAIN_CHECKPOINT_PATH=mg bash training/train_idefics2.sh
#   bash training/train_idefics2.sh --dataset_path shards --pretrain_checkpoint_path mg --tp 2 --pr fp32
# Every option is an environment variable and a flag: bash training/train_idefics2.sh --help
MODEL_TYPE=idefics2 exec bash "$(dirname "${BASH_SOURCE[0]}")/train.sh" "$@"
