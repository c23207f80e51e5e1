#!/usr/bin/env bash
# Learn from rollouts as they come, and publish weights as they are learned: the trainer of an online run
# (docs/howto/online.md), for a model of any family, in any layout that train.sh has.
#   bash training/train_online.sh --run_dir runs/online --pretrain_checkpoint_path mg --api_localhost http://localhost:8080/predict
# Killed, it goes on where it was with the same command. Every option is an environment variable and a flag:
# bash training/train_online.sh --help
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/python.sh"
exec "$PYTHON" -m training.online.command "$@"
