"""What Ray is told by variables, which it reads as it is imported: those of this process, and of what it starts."""

import os
import secrets
import socket
from importlib.util import find_spec

from common.defaults import ROOT
from common.errors import UserError
from common.ray_cluster.folder import make_folder

_MODE = "RAY_AUTH_MODE"
_CONNECT_S = 5.0


def prepare(address: str, said: str) -> None:
    """Set them. A cluster of our own, where no address is named, has a token of its own, in a folder that only this
    user reads. `UserError`, which begins with what the user `said`, without Ray, and when nothing is at the address."""
    if not find_spec("ray"):
        raise UserError(f"{said}: Ray is not installed here; run: pip install -e '{ROOT}[ray]'")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # of what was given up; what counts is told in our words
    if not is_own(address):
        _check_answers(address, said)
        os.environ.setdefault(_MODE, "token")
        os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "3")  # a second each, also where a token is refused
        return
    folder = make_folder()
    token = folder / "token"
    with open(os.open(token, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secrets.token_hex(32))
    os.environ.pop("RAY_AUTH_TOKEN", None)
    os.environ.update({_MODE: "token", "RAY_AUTH_TOKEN_PATH": str(token), "RAY_TMPDIR": str(folder)})
    os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # on Linux, too, it makes Ray stay on loopback
    os.environ.setdefault("RAY_worker_niceness", "0")  # 15 by default: browsers and models would wait for all else
    os.environ.setdefault("RAY_raylet_start_wait_time_s", "60")  # 30 by default, which a busy machine exceeds


def is_own(address: str) -> bool:
    """Whether no cluster is named: then one of this machine alone is started."""
    return address in ("", "local")


def with_token() -> bool:
    """Whether Ray asks for a token where this runs."""
    return os.environ.get(_MODE, "").lower() == "token"


def _check_answers(address: str, said: str) -> None:
    """Ray itself tries for minutes, and ends this process then."""
    host, _, port = address.rpartition(":")
    if address == "auto":
        return
    if "://" in address or not host or not (port.isascii() and port.isdigit()):
        raise UserError(f"{said}: start the run on a node of the cluster, and give its address as HOST:PORT")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_S).close()
    except (OSError, OverflowError, UnicodeError) as error:
        raise UserError(f"{said}: nothing answers there ({error})") from None
