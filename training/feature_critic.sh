#!/usr/bin/env bash
# A small critic on frozen features of a model: fitted, and its values of every sample as Parquet.
#   bash training/score.sh --write features --checkpoint mg --dataset_path shards --output features.parquet
#   bash training/feature_critic.sh --dataset_path shards --features features.parquet --critic c.pt --output q.parquet
# Every option is an environment variable and a flag: bash training/feature_critic.sh --help
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/python.sh"
# Its steps are small and its threads wait for each other: beside other work 100 steps take 15 s by one, 38 and 77 by two.
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"
exec "$PYTHON" -m training.critics.feature_critic "$@"
