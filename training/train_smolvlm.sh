#!/usr/bin/env bash
# Fine-tune SmolVLM or Idefics3 with Megatron; config.json says which (SmolVLM-256M, -500M and -Instruct are idefics3).
#   DATASET_PATH=shards PRETRAIN_CHECKPOINT_PATH=mg bash training/train_smolvlm.sh
#   bash training/train_smolvlm.sh --dry_run --pretrain_checkpoint_path smolvlm-256m --num_gpus 8 --dp 8
# Every option is an environment variable and a flag: bash training/train.sh --help
# Where nothing else is set: TP=1, for 256M and 500M have 9 and 15 heads (models/idefics3/family.py).
exec bash "$(dirname "${BASH_SOURCE[0]}")/train.sh" "$@"
