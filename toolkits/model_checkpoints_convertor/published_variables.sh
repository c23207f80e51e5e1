# Sourced by every script here: OpenWebVoyager's variables as flags of convert.py. A flag that is typed wins.
#   SOURCE_CKPT_PATH, TARGET_CKPT_PATH, CONFIG_PATH   folders
#   dtype                                             bf16, fp16 or fp32; without it the precision stays
#   FORMAT=legacy with TP, EXTRA_VOCAB_SIZE           mp_rank_XX/model_optim_rng.pt, cut for TP ranks
#   mg2hf=true|false                                  turns a script around, as in theirs
# TP, PP, EXTRA_VOCAB_SIZE (otherwise), MN and MEGATRON_PATH are not needed: checkpoints are cut when they are loaded,
# and know their model.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../common/python.sh"

convert() { # convert DIRECTION FLAGS...
    local direction=$1 arguments=() unneeded=() name
    shift
    if [ "${mg2hf:-}" = true ]; then direction=mg2hf; elif [ "${mg2hf:-}" = false ]; then direction=hf2mg; fi
    [ -z "${SOURCE_CKPT_PATH:-}" ] || arguments+=(--load_path "$SOURCE_CKPT_PATH")
    [ -z "${TARGET_CKPT_PATH:-}" ] || arguments+=(--save_path "$TARGET_CKPT_PATH")
    [ -z "${CONFIG_PATH:-}" ] || arguments+=(--config_path "$CONFIG_PATH")
    [ -z "${dtype:-}" ] || arguments+=(--dtype "$dtype")
    [ $# != 0 ] || [ -n "${SOURCE_CKPT_PATH:-}" ] || missing_paths "$direction"
    for name in MN MEGATRON_PATH; do [ -z "${!name:-}" ] || unneeded+=("$name"); done
    if [ "${FORMAT:-}" != legacy ]; then
        for name in TP PP EXTRA_VOCAB_SIZE; do [ -z "${!name:-}" ] || unneeded+=("$name"); done
    fi
    [ ${#unneeded[@]} = 0 ] || echo "not needed: ${unneeded[*]} (a checkpoint is cut when it is loaded, and knows its model and vocabulary)" >&2
    if [ "${FORMAT:-}" = legacy ]; then
        if [ "${PP:-1}" != 1 ]; then echo "error: PP=$PP; only PP=1 exists of the legacy layout" >&2; exit 2; fi
        arguments+=(--format legacy --target_tensor_model_parallel_size "${TP:-8}")
        [ -z "${EXTRA_VOCAB_SIZE:-}" ] || arguments+=(--extra_num_vocabs "$EXTRA_VOCAB_SIZE")
    fi
    export CONVERTER_DIRECTION=$direction CONVERTER_FAMILY
    CONVERTER_FAMILY=$(basename "$(cd "$(dirname "$0")" && pwd)") # llava/hf2mg.sh; this folder is for all
    exec "$PYTHON" "$ROOT/toolkits/model_checkpoints_convertor/convert.py" \
        ${arguments[@]+"${arguments[@]}"} "$@"
}

missing_paths() { # missing_paths DIRECTION
    local script
    script="$(cd "$(dirname "$0")" && pwd)/$1.sh"
    if [ "$1" = hf2mg ]; then
        echo "error: no checkpoint to convert; give a Hugging Face folder and the folder to make: bash $script --load_path HF_DIR --save_path MEGATRON_DIR" >&2
    else
        echo "error: no checkpoint to convert; give a Megatron folder and the folder to make: bash $script --load_path MEGATRON_DIR --save_path HF_DIR" >&2
    fi
    exit 2
}
