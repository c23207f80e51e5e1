#!/usr/bin/env bash
# Hugging Face -> Megatron (torch_dist), of any family; config.json says which. One checkpoint serves every TP and PP.
#   bash toolkits/model_checkpoints_convertor/hf2mg.sh --load_path HF_DIR --save_path MEGATRON_DIR [--dtype bf16] [--verify]
#   bash toolkits/model_checkpoints_convertor/hf2mg.sh --load_path DIR --inspect
source "$(dirname "${BASH_SOURCE[0]}")/published_variables.sh"
convert hf2mg "$@"
