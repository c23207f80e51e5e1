# Sourced by every script that runs Python. Sets ROOT and PYTHON: the one that is set, that of an active virtual
# environment, that of the repository's .venv, or whichever is on the path. NEEDS names the packages that it must have.
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# The current folder comes last: the data/ of training/ would hide the room of that name.
export PYTHONSAFEPATH=1 PYTHONPATH="$ROOT${PYTHONPATH:+:$PYTHONPATH}:$PWD"
if [ -z "${PYTHON:-}" ]; then
    if [ -n "${VIRTUAL_ENV:-}" ] && [ -x "$VIRTUAL_ENV/bin/python" ]; then PYTHON="$VIRTUAL_ENV/bin/python"
    elif [ -n "${CONDA_PREFIX:-}" ] && [ "${CONDA_DEFAULT_ENV:-base}" != base ]; then PYTHON="$CONDA_PREFIX/bin/python"
    elif [ -x "$ROOT/.venv/bin/python" ]; then PYTHON="$ROOT/.venv/bin/python"
    else PYTHON=$(command -v python || command -v python3 || echo python3); fi
fi
export PYTHON
if ! "$PYTHON" -c 'import sys, importlib.util as i; sys.exit(not all(map(i.find_spec, sys.argv[1:])))' ${NEEDS:-tyro torch transformers} 2>/dev/null; then
    echo "error: $PYTHON has not all of: ${NEEDS:-tyro torch transformers}; run: bash $ROOT/install.sh && source $ROOT/.venv/bin/activate" >&2
    exit 2
fi
