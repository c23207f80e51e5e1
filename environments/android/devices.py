"""The devices of a run: each episode has one to itself, and one that breaks is replaced or left out."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from common.errors import UserError
from common.reaper import Reaper
from environments.android.adb import Adb
from environments.android.config import DeviceConfig
from environments.android.console_ports import MOST_EMULATORS, console_ports
from environments.android.device import AndroidDevice
from environments.android.emulator import Emulator, emulator_program
from environments.android.hosts import Attached, Host, Started
from environments.android.server import adb_server
from environments.faults import DeviceError

MAX_FAULTS = 3  # of one device in a row, without an episode in between
RETRY_S = 2.0
_DESCRIBED = {"model": "ro.product.model", "android": "ro.build.version.release"}


@contextlib.asynccontextmanager
async def opened_devices(config: DeviceConfig, num_sessions: int) -> AsyncIterator["Devices"]:
    """Until the block ends; emulators of ours end with it, or with this process.

    Raises:
        UserError: there is no device, or no program that is needed.
    """
    if config.avd and config.adb_server:
        raise UserError("--avd starts emulators on this machine, whose server of adb must be this machine's")
    async with adb_server(config.adb_server) as (host, port):
        adb = Adb(host, port)
        with _emulators(config, adb, port, num_sessions) if config.avd else contextlib.nullcontext() as started:
            devices = Devices(adb, started or await _attached(config, adb), config)
            try:
                yield devices
            finally:
                await devices.close()


@contextlib.contextmanager
def _emulators(config: DeviceConfig, adb: Adb, server_port: int, num_sessions: int) -> Iterator[list[Host]]:
    """Those of a run, at ports that no other run gets until they have ended."""
    program = emulator_program(config)
    number = config.num_emulators or min(num_sessions, MOST_EMULATORS)
    with console_ports(number) as ports, contextlib.closing(Reaper()) as reaper:
        emulators = [Emulator(program, config.avd, port, config.snapshot, server_port, reaper) for port in ports]
        yield [Started(adb, emulator) for emulator in emulators]


async def _attached(config: DeviceConfig, adb: Adb) -> list[Host]:
    known = {} if config.devices else await adb.devices()
    serials = config.devices or [serial for serial, state in known.items() if state == "device"]
    if not serials:
        others = ", ".join(f"{serial} is {state}" for serial, state in known.items())
        hint = "attach one, and say yes on its screen, or give --devices or --avd"
        raise UserError(f"adb knows no device that can be used{f' ({others})' if others else ''}; {hint}")
    hosts: list[Host] = [Attached(adb, serial) for serial in dict.fromkeys(serials)]
    answers = await asyncio.gather(*(host.ready() for host in hosts), return_exceptions=True)
    if all(isinstance(answer, DeviceError) for answer in answers):  # one that answers is enough to begin with
        raise UserError(f"none of the devices can be used: {'; '.join(map(str, answers))}")
    return hosts


@dataclass
class Devices:
    """Give them out by `take`. An episode waits until one is free."""

    adb: Adb
    hosts: Sequence[Host]
    config: DeviceConfig
    _left: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._free: asyncio.Queue[Host | None] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._faults = dict.fromkeys((host.serial for host in self.hosts), 0)
        self._waited_for: set[str] = set()
        self._why = ""
        self._left = len(self.hosts)
        for host in self.hosts:
            self._free.put_nowait(host)

    async def take(self) -> "Lease":
        """One that answers and that no other run has.

        Raises:
            DeviceError: none is left.
        """
        while host := await self._free.get():
            device = AndroidDevice(self.adb, host.serial)
            try:
                await host.ready()
                if not await device.lock():
                    self._wait_for(host)
                    continue
                values = await device.properties(*_DESCRIBED.values())
                described = dict(zip(_DESCRIBED, values, strict=False))
                return Lease(self, host, device, {**described, "serial": host.serial, "snapshot": host.snapshot})
            except DeviceError as error:
                device.unlock()
                await self.replace(host, error)
            except BaseException:
                device.unlock()
                self._free.put_nowait(host)
                raise
        self._free.put_nowait(None)  # for the next one who waits
        raise DeviceError(f"no device is left; the last one: {self._why}")

    def _wait_for(self, host: Host) -> None:
        """Look again in a moment whether the run has ended that has this device; said once."""
        if host.serial not in self._waited_for:
            self._waited_for.add(host.serial)
            print(f"{host.serial}: another run has it; waiting until that gives it back", file=sys.stderr)
        self._later(host, counts=False)

    def give_back(self, host: Host) -> None:
        """After an episode without a fault."""
        self._faults[host.serial] = 0
        self._free.put_nowait(host)

    async def replace(self, host: Host, error: DeviceError) -> None:
        """After a fault: begin it from nothing, and leave it out after several in a row."""
        self._why = str(error)
        self._faults[host.serial] += 1
        await host.drop()
        if self._faults[host.serial] < MAX_FAULTS:
            self._later(host)
            return
        self._left -= 1
        if not self._left:
            self._free.put_nowait(None)

    def _later(self, host: Host, counts: bool = True) -> None:
        async def put() -> None:
            await asyncio.sleep(RETRY_S * self._faults[host.serial] if counts else RETRY_S)
            self._free.put_nowait(host)

        task = asyncio.create_task(put())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """End what is ours."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*(host.stop() for host in self.hosts))


@dataclass
class Lease:
    """Of one episode; as `environment.Lease`."""

    devices: Devices
    host: Host
    device: AndroidDevice
    described: dict[str, Any]

    async def restore(self) -> None:
        await self.host.restore()
        if self.host.snapshot and not await self.device.lock():  # the snapshot knows nothing of our lock
            raise DeviceError(f"{self.device.serial}: another run took it while its snapshot was loaded")
        for package in self.devices.config.clear_apps:
            await self.device.clear(package)

    async def give_back(self, fault: DeviceError | None) -> None:
        self.device.unlock()
        if fault is None:
            self.devices.give_back(self.host)
        else:
            await self.devices.replace(self.host, fault)
