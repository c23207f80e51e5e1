"""Which Android devices trajectories are taken on, and how each begins."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from common.options.limits import Checked, between


@dataclass(frozen=True, kw_only=True)
class DeviceFlags(Checked):
    """Devices of `--env android`."""

    devices: tuple[str, ...] = ()
    """Serials as adb lists them, or HOST:PORT of devices on the network. None, without --avd: all that adb lists."""
    adb_server: str = ""
    """HOST:PORT of the server of adb that holds the devices, on this machine or another. Empty: this machine's."""
    avd: str = ""
    """Start emulators of this virtual device, and end them with the run."""
    num_emulators: Annotated[int, between(1, 64)] | None = None
    """How many. Default: one for each session."""
    emulator: Path | None = None
    """Android's program emulator, where neither ANDROID_HOME nor PATH has it."""
    device_snapshot: str = ""
    """A snapshot of the virtual device, which every trajectory begins with."""
    clear_apps: tuple[str, ...] = ()
    """Packages whose data a trajectory begins without, such as com.android.chrome."""
    device_tree: bool = False
    """Read the elements of the screen, too: action spaces with numbered elements need them. It takes a device a second
    or more a step."""
