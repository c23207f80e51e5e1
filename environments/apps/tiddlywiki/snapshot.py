"""Putting a running TiddlyWiki back: it does so itself; what it does not know of is put right in its files."""

import contextlib
import os
import socket
from pathlib import Path

from environments.apps.tiddlywiki.start import CONTROL

_TIMEOUT_S = 30.0
FOLDER = "tiddlers"


def restore(seed: Path, state: Path) -> None:
    """All of its pages."""
    ask(state, "restore")
    wanted = {path.name: path.read_bytes() for path in (seed / FOLDER).iterdir()}
    for path in (state / FOLDER).iterdir():
        if path.name not in wanted:
            path.unlink()
    for name, content in wanted.items():
        path = state / FOLDER / name
        if not path.exists() or path.read_bytes() != content:
            path.write_bytes(content)


def ask(state: Path, what: str) -> None:
    """Of the server of this state, until it is done; nothing where none runs."""
    if not (state / CONTROL).exists():
        return
    folder = os.open(state, os.O_PATH | os.O_DIRECTORY)  # the path of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as server, contextlib.suppress(ConnectionRefusedError):
            server.settimeout(_TIMEOUT_S)
            server.connect(f"/proc/self/fd/{folder}/{CONTROL}")
            server.sendall(what.encode())
            server.recv(16)
    finally:
        os.close(folder)
