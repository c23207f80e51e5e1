"""An emulator: the command that starts it, and a process that dies with us. Many run of one virtual device, none of
which writes into it."""

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from common.errors import UserError
from common.reaper import Reaper
from environments.android.config import DeviceConfig


def emulator_command(program: str, avd: str, port: int, snapshot: str, mark: str) -> list[str]:
    """How an emulator is started.

    Args:
        port: of its console; adb finds the device at the next one, as `emulator-<port>`.
        snapshot: it begins as; empty: it boots.
        mark: a property by which its processes are known as ours.
    """
    return [
        program,
        *("-avd", avd),
        *("-port", str(port)),
        "-read-only",  # others may run of the same virtual device, and nothing is copied
        "-no-window",
        "-no-audio",
        "-no-boot-anim",
        "-no-snapshot-save",
        *(("-snapshot", snapshot) if snapshot else ("-no-snapshot-load",)),
        *("-gpu", "swiftshader_indirect"),
        *("-prop", f"qemu.elcano={mark}"),
    ]


def emulator_program(config: DeviceConfig) -> str:
    """Android's `emulator`.

    Raises:
        UserError: it is not there.
    """
    homes = [Path(home) for name in ("ANDROID_HOME", "ANDROID_SDK_ROOT") if (home := os.environ.get(name))]
    found = [config.emulator] if config.emulator else [home / "emulator" / "emulator" for home in homes]
    for program in found:
        if os.access(program, os.X_OK):
            return str(program)
    if not config.emulator and (program := shutil.which("emulator")):
        return program
    raise UserError(f"{config.emulator or 'emulator'}: no such program; install Android's SDK, or give --emulator PATH")


@dataclass
class Emulator:
    """One, at its port. `server_port` is where the server of adb is told of it."""

    program: str
    avd: str
    port: int
    snapshot: str
    server_port: int
    reaper: Reaper

    def __post_init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: Path | None = None

    @property
    def serial(self) -> str:
        return f"emulator-{self.port}"

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Returns at once; the device boots for seconds, from a snapshot, or minutes."""
        self.stop()
        self._folder = Path(tempfile.mkdtemp(prefix="elcano-emulator-"))
        self.reaper.watch(self._folder)
        self._process = subprocess.Popen(
            emulator_command(self.program, self.avd, self.port, self.snapshot, str(self._folder)),
            stdin=subprocess.DEVNULL,
            stdout=(self._folder / "log").open("wb"),
            stderr=subprocess.STDOUT,
            env={**os.environ, "ANDROID_ADB_SERVER_PORT": str(self.server_port)},
            start_new_session=True,
        )

    def stop(self) -> None:
        """End its processes, those that they started too, and no others."""
        if self._folder is not None:
            self.reaper.done(self._folder)
            self._folder = None
        if self._process is not None:
            self._process.wait()
            self._process = None

    def said(self) -> str:
        """The end of what it wrote, for people."""
        log = self._folder / "log" if self._folder else None
        return log.read_text(errors="replace")[-200:].strip() if log and log.exists() else ""
