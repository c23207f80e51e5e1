# Sourced by every script here: OpenWebVoyager's variables as flags of convert.py. A flag that is typed wins.
#   SOURCE_CKPT_PATH, TARGET_CKPT_PATH, CONFIG_PATH   folders
#   dtype                                             bf16, fp16 or fp32; without it the precision stays
#   FORMAT=legacy with TP, EXTRA_VOCAB_SIZE           mp_rank_XX/model_optim_rng.pt, cut for TP ranks
#   mg2hf=true|false                                  turns a script around, as in theirs
# PP, MN and MEGATRON_PATH are not needed: checkpoints are cut when they are loaded, and know their model.
set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export PYTHONPATH="$ROOT${PYTHONPATH:+:$PYTHONPATH}"

convert() { # convert DIRECTION FLAGS...
    local direction=$1 arguments=()
    shift
    if [ "${mg2hf:-}" = true ]; then direction=mg2hf; elif [ "${mg2hf:-}" = false ]; then direction=hf2mg; fi
    [ -z "${SOURCE_CKPT_PATH:-}" ] || arguments+=(--load_path "$SOURCE_CKPT_PATH")
    [ -z "${TARGET_CKPT_PATH:-}" ] || arguments+=(--save_path "$TARGET_CKPT_PATH")
    [ -z "${CONFIG_PATH:-}" ] || arguments+=(--config_path "$CONFIG_PATH")
    [ -z "${dtype:-}" ] || arguments+=(--dtype "$dtype")
    if [ "${FORMAT:-}" = legacy ]; then
        if [ "${PP:-1}" != 1 ]; then echo "error: PP=$PP; only PP=1 exists of the legacy layout" >&2; exit 2; fi
        arguments+=(--format legacy --target_tensor_model_parallel_size "${TP:-8}")
        [ -z "${EXTRA_VOCAB_SIZE:-}" ] || arguments+=(--extra_num_vocabs "$EXTRA_VOCAB_SIZE")
    fi
    exec "${PYTHON:-python}" "$ROOT/toolkits/model_checkpoints_convertor/convert.py" \
        --direction "$direction" ${arguments[@]+"${arguments[@]}"} "$@"
}
