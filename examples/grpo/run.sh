#!/usr/bin/env bash
# Multi-step GRPO: all tries of each task, a clipped policy gradient on their outcomes, the better policy tries the next.
#
#   POLICY=runs/quickstart/IL/policy bash examples/grpo/run.sh [output folder, default runs/grpo]
#
# POLICY is a Hugging Face folder that solves some tasks and fails at some: a group whose tries all end alike teaches
# nothing. TASKS are task files, one an iteration (the embedded websites' optim-1 to optim-3). GROUP_SIZE (5) tries are
# taken of each task, MAX_ITER (8) steps a try. JUDGE (oracle) says what succeeded. GRPO=... are the algorithm's options.
# Training takes the variables of training/train.sh; SERVER_FLAGS go to the server. A stage whose output exists is not
# done again.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../common/variables.sh"
show_help "$@"
source_folder=$PWD
absolute() { case $1 in /*) echo "$1" ;; *) echo "$source_folder/$1" ;; esac; }
need POLICY "the Hugging Face folder to start from"
out=$(absolute "${1:-runs/grpo}")
policy=$(absolute "$POLICY")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}" PYTHON="${PYTHON:-python}"
TASKS="${TASKS:-data/tasks/optim-1.jsonl data/tasks/optim-2.jsonl data/tasks/optim-3.jsonl}"
TEST_TASKS="${TEST_TASKS:-data/tasks/test.jsonl}"
images="${IMAGE_NUM:-1}"
mkdir -p "$out"
children=()
trap 'kill "${children[@]}" 2> /dev/null || true; wait || true' EXIT

"$PYTHON" -m environments.sites --port 0 > "$out/sites.log" & # the embedded websites; other tasks need none
children+=($!)
until sites=$(sed -n 's/.*http:\/\/[^ ]*:\([0-9]*\).*/\1/p' "$out/sites.log" | head -1) && [ -n "$sites" ]; do
    kill -0 "${children[0]}" || exit 1
    sleep 0.2
done

# serve FOLDER LOG TEMPERATURE: the log-probabilities that come back are the policy's own at temperature 1 without top-k
serve() {
    "$PYTHON" server/hf_online_server.py --model_name_or_path "$1" --port 0 --temperature "$3" --top_k 0 \
        ${SERVER_FLAGS:-} > "$2" &
    server=$!
    children+=("$server")
    until url=$(sed -n 's/^serving .* on \(http.*\)$/\1/p' "$2") && [ -n "$url" ]; do
        kill -0 "$server" || exit 1
        sleep 0.2
    done
}

browse() { # SCRIPT TASKS OUTPUT FLAGS...
    "$PYTHON" "$1" --test_file "$2" --output_dir "$3" --api_localhost "$url/predict" --headless --judge "${JUDGE:-oracle}" \
        --max_iter "${MAX_ITER:-8}" --max_attached_imgs "$images" --sites_port "$sites" "${@:4}"
    kill "$server" && wait "$server" || true
}

number=0
for tasks in $TASKS; do
    number=$((number + 1))
    folder=$out/$number
    mkdir -p "$folder"
    if [ ! -e "$folder/policy" ]; then
        if [ ! -e "$folder/trajectories/exploration.json" ]; then
            serve "$policy" "$folder/server.log" 1
            browse collection/exploration_feedback.py "$tasks" "$folder/trajectories" \
                --max_rerun_times "${GROUP_SIZE:-5}" --all_tries --temperature 1 --seed "$number"
        fi
        [ -e "$folder/samples.json" ] || "$PYTHON" toolkits/convert_trajectories_to_json.py \
            --result_dir "$folder/trajectories" --image_dir "$folder/images" --save_json_file "$folder/samples.json" \
            --round_id "$number" --last_n "$images" --keep_unfinished --only_judged
        [ -e "$folder/shards" ] || "$PYTHON" toolkits/convert_to_tar_data.py --json_files "$folder/samples.json" \
            --image_dirs "$folder/images" --save_dir "$folder/shards"
        bash training/make_columns.sh --dataset_path "$folder/shards" --output "$folder/grpo.parquet" \
            --algorithm grpo --algorithm_options "${GRPO:-}" --column_files ""
        [ -e "$folder/kept" ] || "$PYTHON" toolkits/convert_to_tar_data.py --json_files "$folder/samples.json" \
            --image_dirs "$folder/images" --weights "$folder/grpo.parquet" --save_dir "$folder/kept"
        [ -e "$folder/megatron" ] ||
            bash toolkits/model_checkpoints_convertor/hf2mg.sh --load_path "$policy" --save_path "$folder/megatron"
        columns=$folder/grpo.parquet
        if [[ "${GRPO:-}" == *ratio=decoupled* ]]; then
            columns=$columns,$folder/proximal.parquet
            [ -e "$folder/proximal.parquet" ] || bash training/score.sh --checkpoint "$folder/megatron" \
                --dataset_path "$folder/kept" --image_num "$images" --batch_size 1 --token_logprobs true \
                --token_column proximal_logprobs --output "$folder/proximal.parquet"
        fi
        ALGORITHM=grpo ALGORITHM_OPTIONS="${GRPO:-}" COLUMN_FILES="$columns" IMAGE_NUM="$images" \
            LR="${LR:-1e-6}" LR_SCHEDULE="${LR_SCHEDULE:-constant}" LR_WARMUP_ITERS="${LR_WARMUP_ITERS:-0}" \
            TRAIN_EPOCHS="${TRAIN_EPOCHS:-2}" GLOBAL_BATCH_SIZE="${GLOBAL_BATCH_SIZE:-256}" \
            DATASET_PATH="$folder/kept" PRETRAIN_CHECKPOINT_PATH="$folder/megatron" \
            OUTPUT_BASEPATH="$folder/training" RUN_NAME=grpo bash training/train.sh
        bash toolkits/model_checkpoints_convertor/mg2hf.sh \
            --load_path "$folder/training/checkpoint/grpo" --save_path "$folder/policy"
    fi
    policy=$folder/policy
    if [ ! -e "$folder/test/summary.json" ]; then
        serve "$policy" "$folder/server.log" 0
        browse collection/run.py "$TEST_TASKS" "$folder/test" --temperature 0
        "$PYTHON" collection/evaluation/auto_eval.py --process_dir "$folder/test" --test_file "$TEST_TASKS" --judge "${JUDGE:-oracle}"
    fi
done
