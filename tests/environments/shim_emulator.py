"""Stands for Android's `emulator`: writes down how it was started, runs a phone and a console at its port, and has a
child, as an emulator has.

Its last words are `-prop qemu.elcano=FOLDER`; SHIM_LOG names the file that keeps how it was started.
"""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

from environments.android.daemon.daemon import daemon
from tests.environments.recording_screen import RecordingScreen


async def main() -> None:
    words = sys.argv[1:]
    port = int(words[words.index("-port") + 1])
    log = Path(os.environ["SHIM_LOG"])
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    screen = RecordingScreen()

    async def console(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"Android Console: Authentication required\r\nAndroid Console: type 'auth <token>'\r\nOK\r\n")
        known = False
        while line := (await reader.readline()).decode().strip():
            _write(log, {"console": line})
            known = known or line == "auth secret"
            writer.write(b"OK\r\n" if known and "missing" not in line else b"KO: no\r\n")
        writer.close()

    server = await asyncio.start_server(console, "127.0.0.1", port)
    _write(log, {"words": words, "pid": os.getpid(), "child": child.pid})  # its console can be called
    async with server, daemon(screen, port=port + 1):
        _, writer = await asyncio.open_connection("127.0.0.1", int(os.environ["ANDROID_ADB_SERVER_PORT"]))
        said = f"host:emulator:{port + 1}".encode()  # how emulators make themselves known to adb
        writer.write(f"{len(said):04x}".encode() + said)
        await writer.drain()
        await asyncio.Event().wait()


def _write(log: Path, what: dict) -> None:
    with log.open("a") as file:
        file.write(json.dumps(what) + "\n")


asyncio.run(main())
