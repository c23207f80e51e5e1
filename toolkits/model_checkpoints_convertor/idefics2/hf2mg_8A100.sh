#!/usr/bin/env bash
# The published name; 8 GPUs need nothing special, since the checkpoint is cut when it is loaded. OpenWebVoyager's own
# trainer, which wants one file a GPU, gets them with
#   SOURCE_CKPT_PATH=idefics2-8b TARGET_CKPT_PATH=megatron-tp8 FORMAT=legacy TP=8 EXTRA_VOCAB_SIZE=125 dtype=bf16 bash hf2mg_8A100.sh
exec bash "$(dirname "${BASH_SOURCE[0]}")/hf2mg.sh" "$@"
