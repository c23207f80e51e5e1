"""Addresses that are this machine's own, or of networks that it is attached to, among those of the public internet.

No firewall stands between a page and what is there. Interfaces come and go, and IPv6 changes addresses by itself, so
the kernel is asked at each connection, and for its networks again after a second.
"""

import functools
import ipaddress
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
_IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network

_ROUTES_V4, _ROUTES_V6 = Path("/proc/net/route"), Path("/proc/net/ipv6_route")
_V4_MAPPED = ipaddress.ip_network("::ffff:0:0/96")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def reached_by(ip: IPAddress) -> IPAddress:
    """What a packet to this address arrives at: IPv4 addresses may be written in IPv6 ones, a zone behind them."""
    if isinstance(ip, ipaddress.IPv4Address):
        return ip
    if ip in _V4_MAPPED or ip in _NAT64:
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ipaddress.IPv6Address(int(ip))


def is_ours(ip: IPAddress) -> bool:
    """Whether this machine answers at the address, or reaches it without a router."""
    ip = reached_by(ip)
    return _is_answered_here(ip) or any(ip in network for network in _networks(int(time.monotonic())))


@functools.lru_cache(maxsize=1)
def _networks(_second: int) -> frozenset[_IPNetwork]:
    return frozenset((*_of_interfaces(), *_of_wires()))


def _is_answered_here(ip: IPAddress) -> bool:
    """The kernel speaks to itself from the same address, also in ranges that no interface lists. Nothing is sent."""
    family = socket.AF_INET if isinstance(ip, ipaddress.IPv4Address) else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((str(ip), 9))
            return ipaddress.ip_address(probe.getsockname()[0]) == ip
    except OSError:  # no way leads there
        return False


def _of_interfaces() -> Iterator[_IPNetwork]:
    """The addresses of each, their networks, and the other ends of point-to-point links."""
    for entry in (entry for entries in psutil.net_if_addrs().values() for entry in entries):
        if entry.family not in (socket.AF_INET, socket.AF_INET6):
            continue
        address = ipaddress.ip_address(entry.address.partition("%")[0])
        yield ipaddress.ip_network(address)
        if entry.ptp:
            yield ipaddress.ip_network(entry.ptp.partition("%")[0])
        if entry.netmask and (length := int(ipaddress.ip_address(entry.netmask)).bit_count()):
            yield ipaddress.ip_network((address, length), strict=False)


def _of_wires() -> Iterator[_IPNetwork]:
    """Those without an address of ours in them, as IPv6 routers announce beside DHCP. Not those behind tunnels, where
    the whole internet may be."""
    wires = {name for name, stats in psutil.net_if_stats().items() if "broadcast" in stats.flags.split(",")}
    for name, destination, gateway, *_, mask, _, _, _ in _routes(_ROUTES_V4, 11):
        if name in wires and not int(gateway, 16) and int(mask, 16):
            first, length = socket.ntohl(int(destination, 16)), int(mask, 16).bit_count()
            yield ipaddress.IPv4Network((first, length), strict=False)
    for destination, length, _, _, gateway, *_, name in _routes(_ROUTES_V6, 10):
        if name in wires and not int(gateway, 16) and int(length, 16):
            yield ipaddress.IPv6Network((int(destination, 16), int(length, 16)), strict=False)


def _routes(table: Path, num_fields: int) -> Iterator[list[str]]:
    """The kernel's, where it is Linux; the other lines are headings."""
    text = table.read_text() if table.exists() else ""
    yield from (fields for line in text.splitlines() if len(fields := line.split()) == num_fields)
