#!/usr/bin/env bash
# An outcome reward model: learns YES or NO from judged trajectories, then judges others behind the server's /score.
#
#   LEARN="runs/quickstart/IL/trajectories runs/quickstart/optim-1/trajectories" \
#   JUDGE=runs/quickstart/optim-2/trajectories TASKS=runs/quickstart/optim-2/tasks.jsonl \
#   POLICY=runs/quickstart/optim-1/policy bash examples/reward_model/run.sh [output folder, default runs/reward_model]
#
# These are of NUM_ROUNDS=3 bash examples/quickstart/run.sh. LEARN are folders of judged trajectories, POLICY the
# Hugging Face model that becomes the reward model. JUDGE (with its TASKS) is optional: trajectories whose verdicts are
# compared with the model's. Training takes train_idefics2.sh's variables; the values here are WebRL's (learning rate
# 5e-6 as a cosine, 4 epochs, batch 128).
# A stage whose output exists is not done again.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../common/variables.sh"
show_help "$@"
source_folder=$PWD
absolute() { case $1 in /*) echo "$1" ;; *) echo "$source_folder/$1" ;; esac; }
need LEARN "the folders of judged trajectories to learn from"
need POLICY "the Hugging Face folder to start from"
out=$(absolute "${1:-runs/reward_model}")
policy=$(absolute "$POLICY")
learn=()
for folder in $LEARN; do learn+=("$(absolute "$folder")"); done
[ -z "${JUDGE:-}" ] || { need TASKS "the task file that JUDGE belongs to"; JUDGE=$(absolute "$JUDGE"); TASKS=$(absolute "$TASKS"); }
source "$(dirname "${BASH_SOURCE[0]}")/../../common/python.sh"
cd "$ROOT"

[ -e "$out/samples.json" ] || "$PYTHON" toolkits/make_reward_model_data.py --result_dirs "${learn[@]}" \
    --image_dir "$out/images" --save_json_file "$out/samples.json"
[ -e "$out/shards" ] || "$PYTHON" toolkits/convert_to_tar_data.py --json_files "$out/samples.json" \
    --image_dirs "$out/images" --save_dir "$out/shards" --validation_fraction 0.1
convertor=toolkits/model_checkpoints_convertor/idefics2
[ -e "$out/megatron" ] || bash $convertor/hf2mg.sh --load_path "$policy" --save_path "$out/megatron"
if [ ! -e "$out/model" ]; then
    LR="${LR:-5e-6}" MIN_LR="${MIN_LR:-0}" TRAIN_EPOCHS="${TRAIN_EPOCHS:-4}" GLOBAL_BATCH_SIZE="${GLOBAL_BATCH_SIZE:-128}" \
        IMAGE_NUM=1 DATASET_PATH="$out/shards" PRETRAIN_CHECKPOINT_PATH="$out/megatron" OUTPUT_BASEPATH="$out/training" \
        RUN_NAME=reward_model bash training/train_idefics2.sh
    bash $convertor/mg2hf.sh --load_path "$out/training/checkpoint/reward_model" --save_path "$out/model"
fi
[ -n "${JUDGE:-}" ] || exit 0

"$PYTHON" server/hf_online_server.py --model_name_or_path "$out/model" --port 0 ${DTYPE:+--dtype "$DTYPE"} > "$out/server.log" &
server=$!
trap 'kill $server; wait $server || true' EXIT
until url=$(sed -n 's/^serving .* on \(http.*\)$/\1/p' "$out/server.log") && [ -n "$url" ]; do
    kill -0 $server || exit 1
    sleep 0.2
done
"$PYTHON" collection/evaluation/judge_agreement.py --process_dir "$JUDGE" --test_file "$TASKS" --reference recorded \
    --judge orm --eval_score_url "$url/score"
cp "$JUDGE/agreement.json" "$out/agreement.json"
