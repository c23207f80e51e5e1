#!/usr/bin/env bash
# Megatron -> Hugging Face idefics2. MEGATRON_DIR is a checkpoint folder or one iteration in it.
#   bash toolkits/model_checkpoints_convertor/idefics2/mg2hf.sh --load_path MEGATRON_DIR --save_path HF_DIR [--dtype fp32]
set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
export PYTHONPATH="$ROOT${PYTHONPATH:+:$PYTHONPATH}"
exec "${PYTHON:-python}" "$ROOT/toolkits/model_checkpoints_convertor/convert.py" --direction mg2hf "$@"
