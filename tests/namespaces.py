"""Hosts of their own on one machine: network namespaces on one bridge, each with its address and its own loopback.

Needs root and iproute2's `ip`.
"""

import contextlib
import ctypes
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass

import psutil


def can_make_hosts() -> bool:
    """Whether this machine and user can."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        return False
    probe = f"elcano-probe-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", probe], capture_output=True).returncode == 0
    subprocess.run(["ip", "netns", "delete", probe], capture_output=True)
    return made


@dataclass(frozen=True)
class Host:
    """One of them; its network interface is `eth0`."""

    name: str
    address: str
    port: str
    bridge: str

    @property
    def prefix(self) -> list[str]:
        """In front of a command that shall run there."""
        return ["ip", "netns", "exec", self.name]

    def link(self, state: str) -> None:
        """Cut its link (`down`) or mend it (`up`)."""
        _ip("-n", self.bridge, "link", "set", self.port, state)

    def kill(self) -> None:
        """SIGKILL to all that runs there, as when its power is cut."""
        for pid in _ip("netns", "pids", self.name).split():
            with contextlib.suppress(psutil.NoSuchProcess):
                psutil.Process(int(pid)).kill()


_CLONE_NEWNET = 0x40000000


@contextlib.contextmanager
def network_of_its_own(commands: str) -> Iterator[None]:
    """This thread, those that it starts and its children see a network of their own: loopback, and what `commands` set
    up there, see `set_up`. Call it from the main thread, whose network is the one of `/proc/net`."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/thread-self/ns/net") as before:
        if libc.unshare(_CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "unshare")
        try:
            set_up(f"link set lo up\n{commands.strip()}")
            yield
        finally:
            libc.setns(before.fileno(), _CLONE_NEWNET)


def set_up(commands: str) -> None:
    """Lines of `ip`, one command each, in the network of this thread; IPv6 addresses answer afterwards."""
    for line in commands.strip().splitlines():
        _ip(*line.split())
    while _ip("-6", "address", "show", "tentative"):
        time.sleep(0.01)


@contextlib.contextmanager
def hosts(number: int) -> Iterator[list[Host]]:
    """As many hosts, at 10.77.0.1 and on; all that runs on them is killed at the end."""
    name = f"elcano{os.getpid()}"
    bridge, made = f"{name}b", []
    _ip("netns", "add", bridge)
    try:
        _ip("-n", bridge, "link", "add", "br0", "type", "bridge")
        _ip("-n", bridge, "link", "set", "br0", "up")
        for index in range(1, number + 1):
            host = Host(f"{name}h{index}", f"10.77.0.{index}", f"port{index}", bridge)
            _ip("netns", "add", host.name)
            made.append(host)
            _ip("-n", host.name, "link", "set", "lo", "up")
            ends = ("link", "add", "eth0", "netns", host.name, "type", "veth", "peer", "name", host.port)
            _ip(*ends, "netns", bridge)
            _ip("-n", bridge, "link", "set", host.port, "master", "br0")
            host.link("up")
            _ip("-n", host.name, "addr", "add", f"{host.address}/24", "dev", "eth0")
            _ip("-n", host.name, "link", "set", "eth0", "up")
        yield made
    finally:
        for host in made:
            host.kill()
            _ip("netns", "delete", host.name)
        _ip("netns", "delete", bridge)


def _ip(*words: str) -> str:
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout
