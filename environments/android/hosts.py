"""Where a device comes from: it is there already, or it is an emulator of ours. Either is made ready before an episode
and dropped after a fault."""

import asyncio
import time
from typing import Protocol

from environments.android.adb import Adb
from environments.android.console import load_snapshot
from environments.android.emulator import Emulator
from environments.faults import DeviceError

BOOT_S = 300.0
POLL_S = 0.5
READY_S = 30.0  # for a device that runs


class Host(Protocol):
    """Of one device. Its methods may take long."""

    serial: str
    snapshot: str

    async def ready(self) -> None:
        """Make the device answer.

        Raises:
            DeviceError: it does not.
        """
        ...

    async def restore(self) -> None:
        """Load the snapshot that episodes begin with, if there is one."""
        ...

    async def drop(self) -> None:
        """After a fault: the next `ready` begins from nothing."""
        ...

    async def stop(self) -> None:
        """At the end of the run."""
        ...


class Attached:
    """A device that is there, by its serial; HOST:PORT of one that is reached over the network."""

    snapshot = ""

    def __init__(self, adb: Adb, serial: str):
        self._adb, self.serial = adb, serial

    async def ready(self) -> None:
        state = (await self._adb.devices()).get(self.serial)
        if state != "device" and ":" in self.serial:
            await self._adb.disconnect(self.serial)  # what is left of a connection that broke
            await self._adb.connect(self.serial)
            state = (await self._adb.devices()).get(self.serial)
        if state == "unauthorized":
            raise DeviceError(f"{self.serial}: refuses this machine's key; say yes on its screen")
        if state != "device":
            raise DeviceError(f"{self.serial}: {state or 'not there'}")
        await _booted(self._adb, self.serial, READY_S)

    async def restore(self) -> None:
        return None

    async def drop(self) -> None:
        if ":" in self.serial:
            await self._adb.disconnect(self.serial)

    async def stop(self) -> None:
        return None


class Started:
    """An emulator of ours."""

    def __init__(self, adb: Adb, emulator: Emulator):
        self._adb, self._emulator = adb, emulator
        self.serial, self.snapshot = emulator.serial, emulator.snapshot

    async def ready(self) -> None:
        if not self._emulator.is_running:
            self._emulator.start()
        try:
            await _booted(self._adb, self.serial, BOOT_S, self._emulator)
        except DeviceError as error:
            said = self._emulator.said()
            raise DeviceError(f"{error}{'; it said: ' + said if said else ''}") from None

    async def restore(self) -> None:
        if self.snapshot:
            await load_snapshot(self._emulator.port, self.snapshot)
            await _booted(self._adb, self.serial, READY_S, self._emulator)

    async def drop(self) -> None:
        await asyncio.to_thread(self._emulator.stop)

    async def stop(self) -> None:
        await asyncio.to_thread(self._emulator.stop)


async def _booted(adb: Adb, serial: str, seconds: float, emulator: Emulator | None = None) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            if (await adb.shell(serial, "getprop sys.boot_completed")).out.strip() == b"1":
                return
            why = "not booted yet"
        except DeviceError as error:
            why = str(error)
        if emulator is not None and not emulator.is_running:
            raise DeviceError(f"{serial}: its emulator ended")
        if time.monotonic() > end:
            raise DeviceError(f"{serial}: not ready within {seconds:g} s ({why})")
        await asyncio.sleep(POLL_S)
