#!/usr/bin/env bash
# Make .venv with everything pinned, and chromium with its driver. Sourced by examples/quickstart/run.sh and tests/run.sh;
# a second run only checks that nothing changed and takes no time.
set -euo pipefail
# Run and not sourced, it has arguments of its own; sourced, it sees those of its caller.
if [ "${BASH_SOURCE[0]}" = "$0" ]; then
    case "${1:-}" in -h | --help) sed -n '/^# Make/,/^# a second/s/^# //p' "$0"; exit ;; esac
fi
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
VENV="$ROOT/.venv"

fail() { echo "error: $*" >&2; exit 2; }

find_python() {
    for name in "${PYTHON:-}" python3 python3.13 python3.12 python3.11; do
        [ -n "$name" ] && command -v "$name" >/dev/null &&
            "$name" -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$name"; return; }
    done
    fail "Python 3.11 or newer with its venv module is needed (Debian/Ubuntu: apt install python3-venv)"
}

# pip says a line for each of a hundred packages; these are said, since a large download takes minutes without another
packages() {
    "$VENV/bin/pip" install --disable-pip-version-check --progress-bar off "$@" |
        sed --unbuffered --quiet 's/^ *Downloading \(.* [MG]B)\).*/    downloading \1/p
            s/^Installing collected packages.*/    all is here; writing it into .venv/p'
}

install_python_packages() {
    local stamp="$VENV/.installed" wanted
    wanted=$(cat "$ROOT/requirements.txt" "$ROOT/pyproject.toml" | sha256sum)
    [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && return
    local python
    python=$(find_python)
    echo "installing Python packages into .venv (once; 2 to 15 minutes, by the network and the machine) ..."
    [ -x "$VENV/bin/python" ] || "$python" -m venv "$VENV" || fail "could not make $VENV (Debian/Ubuntu: apt install python3-venv)"
    echo "  torch and what it needs (1 of 3)"
    # torch first: asked for by its exact version, so that nothing else pulls another build of it
    packages "$(grep '^torch==' "$ROOT/requirements.txt")"
    echo "  the packages of requirements.txt (2 of 3)"
    packages -r "$ROOT/requirements.txt"
    echo "  elcano itself (3 of 3)"
    packages --no-deps -e "$ROOT"
    echo "$wanted" >"$stamp"
}

install_browser() {
    if command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; then
        return
    fi
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "installing chromium (apt) ..."
        apt-get update -qq >/dev/null
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium chromium-driver >/dev/null
        # the smaller, faster build without a window; not every release has it
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium-headless-shell >/dev/null 2>&1 || true
    else
        fail "chromium is missing; install it: sudo apt-get install chromium chromium-headless-shell"
    fi
}

install_python_packages
install_browser
# shellcheck disable=SC1091
source "$VENV/bin/activate"
cd "$ROOT"
[ "${BASH_SOURCE[0]}" != "$0" ] || echo "ready; for the commands of the README: source $VENV/bin/activate"
