#!/usr/bin/env bash
# Fine-tune LLaVA-NeXT (1.6; Mistral, Vicuna, Yi-34B) with Megatron: TP=8 on 8 GPUs by default, or any layout on CPU.
#   DATASET_PATH=shards PRETRAIN_CHECKPOINT_PATH=mg bash training/train_llava_next.sh
#   Yi-34B on 16 GPUs: HOST_NUM=2 ... bash training/train_llava_next.sh --tp 8 --pp 2 --first_stage_layers 28 --seq_len 4096
# Every option is an environment variable and a flag: bash training/train_llava_next.sh --help
# Published values, where nothing else is set: SEQ_LEN=16384 (models/llava_next/family.py).
MODEL_TYPE=llava_next exec bash "$(dirname "${BASH_SOURCE[0]}")/train.sh" "$@"
