#!/usr/bin/env bash
# The published name; 8 GPUs need nothing special, since the checkpoint is cut when it is loaded.
exec bash "$(dirname "${BASH_SOURCE[0]}")/hf2mg.sh" "$@"
