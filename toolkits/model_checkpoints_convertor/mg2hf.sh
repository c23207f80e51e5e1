#!/usr/bin/env bash
# Megatron -> Hugging Face, of any family. MEGATRON_DIR is a checkpoint folder or one iteration in it.
#   bash toolkits/model_checkpoints_convertor/mg2hf.sh --load_path MEGATRON_DIR --save_path HF_DIR [--dtype bf16] [--verify]
source "$(dirname "${BASH_SOURCE[0]}")/published_variables.sh"
convert mg2hf "$@"
