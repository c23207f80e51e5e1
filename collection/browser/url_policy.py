"""Which addresses a task set lets its browsers reach. Pure rules; `gate.py` enforces them.

Anything on the public internet may be reached, less the deny-list, or only the allow-list where there is one. Loopback,
private, link-local and other special addresses may not, except the very host and port where a task begins and what
`--private_hosts` names: a task set on `http://shop.localhost:7070/` says so by its start pages.
"""

import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from data.errors import UserError
from data.task import Task

_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


@dataclass(frozen=True)
class UrlPolicy:
    """Hosts are names in lower case; `granted` holds `host:port`, whatever address that is.

    `allow` and `deny` cover a name's subdomains too. Deny wins over allow; both yield to `granted`.
    """

    granted: frozenset[str] = frozenset()
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, tasks: Sequence[Task], allow: Iterable[str] = (), deny: Iterable[str] = (), private: Iterable[str] = ()
    ) -> "UrlPolicy":
        """The policy of a task set.

        Raises:
            UserError: a task begins at something that is not http(s), or a list holds no host.
        """
        starts = {_origin(task) for task in tasks}
        for host in (*allow, *deny, *private):
            if not host or "/" in host:
                raise UserError(f"{host!r} is not a host; write example.com, or 10.0.0.5:8080 for --private_hosts")
        for host in private:
            if ":" not in host:
                raise UserError(f"--private_hosts {host}: give host and port, such as {host}:8080")
        return cls(frozenset({*starts, *(host.lower() for host in private)}), _lower(allow), _lower(deny))

    def refuses_name(self, host: str, port: int) -> str:
        """Why this host may not be reached, whatever its address; "" when it may."""
        host = host.lower().rstrip(".")
        if f"{host}:{port}" in self.granted:
            return ""
        if _matches(host, self.deny):
            return "it is on the deny-list"
        if self.allow and not _matches(host, self.allow):
            return "it is not on the allow-list"
        return ""

    def refuses_address(self, host: str, port: int, address: str) -> str:
        """Why this address, which `host` resolved to, may not be connected to; "" when it may."""
        if f"{host.lower().rstrip('.')}:{port}" in self.granted or is_public(address):
            return ""
        return f"{address} is not on the public internet"


def is_public(address: str) -> bool:
    """Whether an IP address is an ordinary one of the public internet, also when it is written inside another."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if inner is None and ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return ip.is_global and not ip.is_multicast


def may_open(url: str) -> bool:
    """Whether we ourselves may send a tab there: pages ask for new tabs, and DevTools would open any file."""
    return urlsplit(url).scheme in ("http", "https", "blob") or url == "about:blank"


def _origin(task: Task) -> str:
    try:
        parts = urlsplit(task.web)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UserError(f"task {task.id}: {task.web!r} is not an address ({error})") from None
    if parts.scheme not in ("http", "https") or not host:
        raise UserError(f"task {task.id}: {task.web!r} is no place to begin; it must be http:// or https://")
    return f"{host}:{port or _PORTS[parts.scheme]}"


def _lower(hosts: Iterable[str]) -> tuple[str, ...]:
    return tuple(host.lower().removeprefix("*.").rstrip(".") for host in hosts)


def _matches(host: str, names: Sequence[str]) -> bool:
    return any(host == name or host.endswith(f".{name}") for name in names)
