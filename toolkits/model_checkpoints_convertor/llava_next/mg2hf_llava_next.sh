#!/usr/bin/env bash
# The published name of mg2hf.sh.
exec bash "$(dirname "${BASH_SOURCE[0]}")/mg2hf.sh" "$@"
