"""Which addresses a task set lets its browsers reach. Pure rules; `gate.py` enforces them.

Anything on the public internet may be reached, less the deny-list, or only the allow-list and where tasks begin, when
there is an allow-list. Loopback, private, link-local and other special addresses may not. Two exceptions: where tasks
begin at an embedded website (`shop.localhost` at these websites' port) and the world's others that its pages lead to,
and each host and port that `--private_hosts` lists: a task file comes from elsewhere and opens nothing by itself. Of
this machine's public addresses, and those of networks that it is attached to, it opens host and port where a task
begins at the address itself, which is said. A name is judged again by the address it has at every connection. Deny
wins over everything.
"""

import ipaddress
import re
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from common.errors import UserError
from data.task import Task
from environments.browser.gate.own_networks import IPAddress, is_ours, reached_by

LOOPBACK_ADDRESSES = ("127.0.0.1", "::1")
_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\.?")
_NUMBERS = re.compile(r"(?:0x[0-9a-f]+|[0-9]+)(?:\.(?:0x[0-9a-f]+|[0-9]+)){0,3}")
_ENDS_IN_NUMBER = re.compile(r"(?:.*\.)?(?:0x[0-9a-f]*|[0-9]+)\.?")  # browsers take it for an address, if a wrong one

# IANA's special-purpose registries, as of 2026, and what clouds use of public ranges. Python's `is_global` differs
# between versions (192.0.0.192, Oracle's metadata, is global in some).
_NOT_PUBLIC_V4 = [
    ipaddress.ip_network(network)
    for network in (
        "0.0.0.0/8",  # this network: 0.0.0.0 reaches this machine
        "10.0.0.0/8",
        "100.64.0.0/10",  # shared by carriers; 100.100.100.200 is Alibaba's metadata
        "127.0.0.0/8",
        "168.63.129.16/32",  # Azure's host
        "169.254.0.0/16",  # link-local; 169.254.169.254 is the metadata of most clouds
        "172.16.0.0/12",
        "192.0.0.0/24",  # 192.0.0.192 is Oracle's metadata
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
]
_PUBLIC_V6 = ipaddress.ip_network("2000::/3")
_NOT_PUBLIC_V6 = [
    ipaddress.ip_network(network)
    for network in (
        "2001::/23",  # Teredo, benchmarks, ORCHID and other protocol assignments
        "2001:db8::/32",
        "2002::/16",  # 6to4: any IPv4 address may be written in it
        "2620:4f:8000::/48",
        "3fff::/20",
    )
]
# What a listed name may lead to beside the public internet. Spelled out, as Python's `is_private` differs between
# versions and holds much that is no network of anybody's.
_PRIVATE = [
    ipaddress.ip_network(network)
    for network in (
        "127.0.0.0/8",
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "100.64.0.0/10",  # also of VPNs such as Tailscale
        "::1/128",
        "fc00::/7",
    )
]
_METADATA = [  # those within the above
    ipaddress.ip_network(network)
    for network in (
        "100.100.100.200/32",  # Alibaba's
        "fd00:42::42/128",  # Scaleway's
        "fd00:a9fe:a9fe::/48",  # Linode's: 169.254.169.254 in hexadecimal
        "fd00:c1::a9fe:0/112",  # Oracle's link-local services
        "fd00:ec2::/32",  # Amazon's
        "fd20:ce::/32",  # Google's
    )
]


@dataclass(frozen=True)
class UrlPolicy:
    """`allow` and `deny` hold names in lower case and cover their subdomains. The others hold `host:port`.

    `starts`: where tasks begin; allowed beside the allow-list. `loopback`: those of them that are this machine by their
    very name, whatever a name server says, and embedded websites or listed, and embedded websites that these lead to.
    `private`: what the user listed.
    """

    starts: frozenset[str] = frozenset()
    loopback: frozenset[str] = frozenset()
    private: frozenset[str] = frozenset()
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        tasks: Sequence[Task],
        allow: Iterable[str] = (),
        deny: Iterable[str] = (),
        private: Iterable[str] = (),
        sites_port: int | None = None,
        other_sites: Iterable[str] = (),
    ) -> "UrlPolicy":
        """The policy of a task set; on `sites_port` of this machine the embedded websites answer. Pages of theirs lead
        to `other_sites`, which are names of this machine.

        Raises:
            UserError: a task begins at something that is not http(s), on the deny-list, or on this machine or at a
                private address that `private` does not list; or a list holds something that is no host.
        """
        begins = {task.id: _origin(task) for task in tasks}
        written = {task.id: (urlsplit(task.web).hostname or "").strip("[]") for task in tasks}
        starts = set(begins.values())
        listed = frozenset(map(_private_host, private))
        embedded = {(host, port) for host, port in starts if is_localhost(host) and port == sites_port}
        embedded |= {(host, sites_port) for host in other_sites if is_localhost(host) and sites_port is not None}
        own = {origin for origin in starts if is_loopback_name(origin[0]) and host_and_port(*origin) in listed}
        policy = cls(
            starts=frozenset(host_and_port(*origin) for origin in starts),
            loopback=frozenset(host_and_port(*origin) for origin in embedded | own),
            private=listed,
            allow=tuple(map(_listed_name, allow)),
            deny=tuple(map(_listed_name, deny)),
        )
        for task_id, (host, port) in begins.items():
            spelled = f"{written[task_id]}, which is {host}" if written[task_id] != host and _as_address(host) else host
            if reason := policy.refuses_name(host, port):
                raise UserError(f"task {task_id}: begins at {spelled}, but {reason}")
            address = LOOPBACK_ADDRESSES[0] if is_localhost(host) else str(_as_address(host) or "")
            if address and (reason := policy.refuses_address(host, port, address)):
                raise UserError(
                    f"task {task_id}: begins at {spelled}, but {reason}; if it is yours, add --private_hosts "
                    f"{host_and_port(host, port)}"
                )
        return policy

    def refuses_name(self, host: str, port: int) -> str:
        """Why this host may not be reached, whatever its address; "" when it may."""
        host = normal_host(host)
        if not _is_host(host):
            return "it is not a host"
        if _matches(host, self.deny):
            return "it is on the deny-list"
        if host_and_port(host, port) in self.starts | self.private | self.loopback:
            return ""
        if self.allow and not _matches(host, self.allow):
            return "it is not on the allow-list"
        return ""

    def refuses_address(self, host: str, port: int, address: str) -> str:
        """Why this address, which `host` has at this moment, may not be connected to; "" when it may."""
        origin, ip = host_and_port(host, port), _plain(ipaddress.ip_address(address.partition("%")[0]))
        is_public_address = is_public(str(ip))
        if _matches(str(ip), self.deny) or _matches(str(reached_by(ip)), self.deny):  # by another name
            return "its address is on the deny-list"
        if origin in self.loopback and ip.is_loopback:
            return ""
        if origin in self.private and (
            is_public_address or _may_be_private(ip) or ip == _as_address(normal_host(host))
        ):
            return ""
        if not is_public_address:
            return f"{address} is not on the public internet"
        if not is_ours(ip) or (origin in self.starts and _as_address(normal_host(host)) is not None):
            return ""
        listing = f"; if it is yours, add --private_hosts {origin}" if origin in self.starts else ""
        return f"{address} belongs to this machine, or to a network that it is attached to{listing}"

    def own_starts(self) -> list[str]:
        """`host:port`s where tasks begin, by addresses of this machine or its networks that the internet has, too."""
        addresses = {origin: _as_address(normal_host(origin.rpartition(":")[0])) for origin in self.starts}
        return sorted(o for o, ip in addresses.items() if ip is not None and is_public(str(ip)) and is_ours(ip))

    @property
    def past_the_gate(self) -> list[str]:
        """`host:port`s that a browser may reach by itself: their names are this machine's in every browser."""
        open_ones = {origin for origin in self.loopback if not _matches(origin.rpartition(":")[0], self.deny)}
        return sorted(open_ones)


def host_and_port(host: str, port: int) -> str:
    """How an origin is written in a policy and in Chromium's list of what needs no proxy."""
    host = normal_host(host)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_loopback_name(host: str) -> bool:
    """Whether a host is this machine without asking a name server (RFC 6761 for `localhost`, or a literal address)."""
    address = _as_address(normal_host(host))
    return is_localhost(host) or bool(address and address.is_loopback)


def is_localhost(host: str) -> bool:
    """Whether a host is `localhost` or a name below it."""
    return f".{normal_host(host)}".endswith(".localhost")


def normal_host(host: str) -> str:
    """Lower case, without the root's dot, names of other scripts as browsers send them, addresses in one spelling."""
    host = host.strip("[]").lower().rstrip(".")
    if (address := _as_address(host)) is not None:
        return str(_plain(address))
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode()
    except UnicodeError:
        return host


def is_public(address: str) -> bool:
    """Whether an IP address is an ordinary one of the public internet, also when it is written inside another."""
    ip = reached_by(ipaddress.ip_address(address))
    if isinstance(ip, ipaddress.IPv4Address):
        return not any(ip in network for network in _NOT_PUBLIC_V4)
    is_isatap = int(ip) >> 32 & 0xFCFFFFFF == 0x00005EFE  # an IPv4 address behind 0:5efe or 200:5efe
    return ip in _PUBLIC_V6 and not is_isatap and not any(ip in network for network in _NOT_PUBLIC_V6)


def may_open(url: str) -> bool:
    """Whether we ourselves may send a tab there: pages ask for new tabs, and DevTools would open any file."""
    return urlsplit(url).scheme in ("http", "https", "blob") or url == "about:blank"


def _may_be_private(ip: IPAddress) -> bool:
    """What a name that the user listed may lead to: a private network or this machine, but no metadata service."""
    return any(ip in network for network in _PRIVATE) and not any(ip in network for network in _METADATA)


def _plain(ip: IPAddress) -> IPAddress:
    """An IPv4 address that is written as an IPv6 one."""
    return (isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped) or ip


def _origin(task: Task) -> tuple[str, int]:
    try:
        parts = urlsplit(task.web)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UserError(f"task {task.id}: {task.web!r} is not an address ({error})") from None
    if parts.scheme not in ("http", "https") or not host:
        raise UserError(f"task {task.id}: {task.web!r} is no place to begin; it must be http:// or https://")
    if not _is_host(normal_host(host)):
        raise UserError(f"task {task.id}: {host!r} in {task.web!r} is not the name of a host")
    return normal_host(host), port or _PORTS[parts.scheme]


def _private_host(text: str) -> str:
    """`host:port` as the user wrote it."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or not 0 < int(port) < 65536 or not _is_host(normal_host(host.strip("[]"))):
        raise UserError(f"--private_hosts {text}: give host and port, such as 10.0.0.5:8080 or [fd00::5]:8080")
    return host_and_port(host.strip("[]"), int(port))


def _listed_name(text: str) -> str:
    """A name of the allow- or deny-list; `*.` in front says no more than the name itself."""
    name = normal_host(text.removeprefix("*."))
    if not _is_host(name):
        raise UserError(f"{text!r} is not a host; write example.com, or 10.0.0.5:8080 for --private_hosts")
    return name


def _is_host(host: str) -> bool:
    if _as_address(host) is not None:
        return True
    return len(host) <= 253 and bool(_NAME.fullmatch(host)) and not _ENDS_IN_NUMBER.fullmatch(host)


def _as_address(host: str) -> IPAddress | None:
    """Also of the spellings that browsers read as an IPv4 address: 2130706433, 0x7f.1, 0177.0.0.1 are 127.0.0.1."""
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host)) if _NUMBERS.fullmatch(host) else ipaddress.ip_address(host)
    except (ValueError, OSError):
        return None


def _matches(host: str, names: Sequence[str]) -> bool:
    return any(host == name or host.endswith(f".{name}") for name in names)
