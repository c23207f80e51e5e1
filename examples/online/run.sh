#!/usr/bin/env bash
# Learn online on the embedded websites, on two CPU cores: bash examples/online/run.sh [folder, default runs/online]
# A warm start by imitation, then server, pool and trainer until Ctrl-C. The same command goes on with a run.
# ALGORITHM, LR, PPO_EPOCHS, GLOBAL_BATCH_SIZE and others of training/train_online.sh may be set before it.
set -euo pipefail
case "${1:-}" in -h | --help) sed -n '/^# /s/^# //p' "${BASH_SOURCE[0]}"; exit ;; esac
source "$(dirname "${BASH_SOURCE[0]}")/../../install.sh"
RUN=${1:-runs/online}
GROUPS_PER_STEP=${GROUPS_PER_STEP:-4} PORT=${PORT:-8080}
SERVER="http://127.0.0.1:$PORT/predict"
mkdir -p "$RUN/logs"

elcano run examples/online/warm_start.py --output_dir "$RUN/warm_start"
if [ ! -e "$RUN/tasks.jsonl" ]; then  # those that no demonstration, validation or test has
    cat data/tasks/IL-2.jsonl data/tasks/optim-?.jsonl data/tasks/voyage/?.jsonl > "$RUN/.tasks" && mv "$RUN/.tasks" "$RUN/tasks.jsonl"
fi

trap 'kill $(jobs -p) 2> /dev/null; wait' EXIT
export OMP_NUM_THREADS=1
ALGORITHM=${ALGORITHM:-filtered_bc} LR=${LR:-2e-4} PPO_EPOCHS=${PPO_EPOCHS:-1} GLOBAL_BATCH_SIZE=${GLOBAL_BATCH_SIZE:-8} \
    bash training/train_online.sh --run_dir "$RUN" --pretrain_checkpoint_path "$RUN/warm_start/IL/training/checkpoint/IL" \
    --api_localhost "$SERVER" --groups_per_step "$GROUPS_PER_STEP" --tp 1 --dp 1 --pr fp32 --ac none --seq_len 4096 \
    --image_num 1 --batch_size 2 --adam_beta2 0.95 --num_workers 0 |& tee -a "$RUN/logs/trainer.log" &
until [ -e "$RUN/weights/000000" ]; do sleep 1; kill -0 $!; done
python server/hf_online_server.py --model_name_or_path "$RUN/weights/000000" --port "$PORT" --dtype float32 \
    --max_batch_size 16 --max_new_tokens 128 >> "$RUN/logs/server.log" 2>&1 &
python collection/pool.py --run_dir "$RUN" --api_localhost "$SERVER" --headless --group_size 6 \
    --groups_per_step "$GROUPS_PER_STEP" --max_lag 2 --max_iter 8 --max_attached_imgs 1 --num_sessions 12 --judge oracle \
    --temperature 0.8 --top_k 0 --seed 0 >> "$RUN/logs/pool.log" 2>&1 &
wait -n  # whichever ends first ends all; each goes on when this is started again
