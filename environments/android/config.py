"""Which devices episodes are taken on, how each begins, and what an agent is shown of it."""

from dataclasses import dataclass
from pathlib import Path

from common.errors import UserError
from environments.android.console_ports import MOST_EMULATORS


@dataclass(frozen=True)
class DeviceConfig:
    """Without `devices` and `avd`: every device that the server of adb lists.

    Args:
        devices: serials, or HOST:PORT of devices that are reached over the network.
        adb_server: HOST:PORT of a server of adb that holds the devices; empty: this machine's, or one of our own.
        avd: a virtual device, of which emulators are started.
        num_emulators: None: one for each session.
        emulator: Android's program of this name; None: where the SDK has it.
        snapshot: of an emulator, which every episode begins with.
        clear_apps: packages whose data an episode begins without.
        tree: read the elements of the screen, which takes a device a second or more.
    """

    devices: tuple[str, ...] = ()
    adb_server: str = ""
    avd: str = ""
    num_emulators: int | None = None
    emulator: Path | None = None
    snapshot: str = ""
    clear_apps: tuple[str, ...] = ()
    tree: bool = False

    def __post_init__(self) -> None:
        if self.avd and self.devices:
            raise UserError("--devices are there already, and --avd starts emulators; give one of them")
        if self.snapshot and not self.avd:
            raise UserError("--device_snapshot is of an emulator; give its --avd, too")
        if self.num_emulators is not None and not 1 <= self.num_emulators <= MOST_EMULATORS:
            raise UserError(f"--num_emulators must be 1 to {MOST_EMULATORS}, not {self.num_emulators}")
