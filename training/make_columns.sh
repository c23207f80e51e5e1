#!/usr/bin/env bash
# Columns of rewards for every training sample of a shard folder, as Parquet: what an algorithm learns from.
#   DATASET_PATH=shards OUTPUT=values.parquet bash training/make_columns.sh                        Monte Carlo values
#   bash training/make_columns.sh --algorithm digirl --dataset_path shards --column_files values.parquet \
#       --output digirl.parquet
# Every option is an environment variable and a flag: bash training/make_columns.sh --help
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/python.sh"
exec "$PYTHON" -m training.critics.make_columns "$@"
