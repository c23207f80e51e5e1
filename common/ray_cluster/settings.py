"""What Ray is told by variables, which it reads as it is imported: those of this process, and of what it starts."""

import os
import secrets
import socket
from importlib.util import find_spec

from common.defaults import ROOT
from common.errors import UserError
from common.ray_cluster.folder import make_folder

_MODE = "RAY_AUTH_MODE"
_MODES = ("token", "disabled")
_NOT_NEEDED = {
    "prestart_worker_first_driver": "0",
    "enable_metrics_collection": "0",
    "event_stats": "0",
    "task_events_report_interval_ms": "0",
    "metrics_report_interval_ms": "3600000",
    "raylet_report_resources_period_milliseconds": "1000",
    "memory_monitor_refresh_ms": "0",  # it would kill commands before the machine is out of memory
}
"""Of Ray on one machine: workers in advance, figures and events that nobody reads (docs/howto/nodes.md)."""
_CONNECT_S = 5.0
_ANSWER_S = 10.0
_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
"""Of an HTTP/2 client: the preface and an empty SETTINGS frame (RFC 9113, 3.4)."""
_SETTINGS_TYPE, _TYPE_AT = 4, 3
"""What a server sends first is a frame of this type, whose fourth byte says so; Ray's speak gRPC, so HTTP/2."""


def prepare(address: str, said: str) -> None:
    """Set them. A cluster of our own, where no address is named, has a token of its own, in a folder that only this
    user reads. `UserError`, which begins with what the user `said`, without Ray, and when nothing is at the address."""
    if not find_spec("ray"):
        raise UserError(f"{said}: Ray is not installed here; run: pip install -e '{ROOT}[ray]'")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # of what was given up; what counts is told in our words
    if not is_own(address):
        _set_mode(said)
        _check_answers(address, said)
        os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "3")  # a second each, also where a token is refused
        return
    folder = make_folder(said)
    token = folder / "token"
    with open(os.open(token, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secrets.token_hex(32))
    os.environ.pop("RAY_AUTH_TOKEN", None)
    os.environ.update({_MODE: "token", "RAY_AUTH_TOKEN_PATH": str(token), "RAY_TMPDIR": str(folder)})
    os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # on Linux, too, it makes Ray stay on loopback
    for name, value in _NOT_NEEDED.items():
        os.environ.setdefault(f"RAY_{name}", value)
    os.environ.setdefault("RAY_worker_niceness", "0")  # 15 by default: browsers and models would wait for all else
    os.environ.setdefault("RAY_raylet_start_wait_time_s", "60")  # 30 by default, which a busy machine exceeds


def is_own(address: str) -> bool:
    """Whether no cluster is named: then one of this machine alone is started."""
    return address in ("", "local")


def with_token() -> bool:
    """Whether Ray asks for a token where this runs."""
    return os.environ.get(_MODE, "").lower() == "token"


def _set_mode(said: str) -> None:
    """With another one Ray ends this process."""
    mode = os.environ.get(_MODE) or _MODES[0]
    if mode.lower() not in _MODES:
        raise UserError(f"{said}: {_MODE}={mode}: Ray knows {' and '.join(_MODES)}; unset it for a token")
    os.environ[_MODE] = mode


def _check_answers(address: str, said: str) -> None:
    """Ray itself tries for minutes, and ends this process then."""
    host, _, port = address.rpartition(":")
    if address == "auto":
        return
    if "://" in address or not host or not (port.isascii() and port.isdigit()):
        raise UserError(f"{said}: start the run on a node of the cluster, and give its address as HOST:PORT")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_S) as there:
            may_be_ray = _is_encrypted() or _speaks_http2(there)
    except (OSError, OverflowError, UnicodeError) as error:
        raise UserError(f"{said}: nothing answers there ({error})") from None
    if not may_be_ray:
        raise UserError(f"{said}: what answers there is no Ray; give the head's address, at the port of its ray start")


def _speaks_http2(there: socket.socket) -> bool:
    there.settimeout(_ANSWER_S)
    answer = b""
    try:
        there.sendall(_GREETING)
        while len(answer) <= _TYPE_AT and (more := there.recv(_TYPE_AT + 1 - len(answer))):
            answer += more
    except OSError:  # silent, or cut off
        return False
    return len(answer) > _TYPE_AT and answer[_TYPE_AT] == _SETTINGS_TYPE


def _is_encrypted() -> bool:
    """Then what it says is not for us to read."""
    return os.environ.get("RAY_USE_TLS", "0").lower() in ("1", "true")
