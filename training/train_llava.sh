#!/usr/bin/env bash
# Fine-tune LLaVA 1.5 (Vicuna or Llama) with Megatron: TP=8 on 8 GPUs by default, or any layout on CPU.
#   DATASET_PATH=shards PRETRAIN_CHECKPOINT_PATH=mg bash training/train_llava.sh
#   bash training/train_llava.sh --dataset_path shards --pretrain_checkpoint_path mg --tp 4 --dp 2 --do true
#   bash training/train_llava.sh --dataset_path shards --pretrain_checkpoint_path mg --lora_rank 16 --lr 2e-4
# Every option is an environment variable and a flag: bash training/train_llava.sh --help
# Published values, where nothing else is set: SEQ_LEN=4096 GLOBAL_BATCH_SIZE=128 LR=2e-5 FREEZE_VISION=true
# (models/llava/family.py).
MODEL_TYPE=llava exec bash "$(dirname "${BASH_SOURCE[0]}")/train.sh" "$@"
