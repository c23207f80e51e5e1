#!/usr/bin/env bash
# Hugging Face idefics2 -> Megatron. One checkpoint serves every TP and PP.
#   bash toolkits/model_checkpoints_convertor/idefics2/hf2mg.sh --load_path HF_DIR --save_path MEGATRON_DIR [--dtype fp32]
set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
export PYTHONPATH="$ROOT${PYTHONPATH:+:$PYTHONPATH}"
exec "${PYTHON:-python}" "$ROOT/toolkits/model_checkpoints_convertor/convert.py" --direction hf2mg "$@"
