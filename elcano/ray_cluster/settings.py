"""What Ray is told by variables, which it reads as it is imported: those of this run, and of what it starts."""

import atexit
import os
import secrets
import shutil
import socket
import tempfile
from pathlib import Path

from common.errors import UserError

ADDRESS = "RAY_ADDRESS"
_MODE = "RAY_AUTH_MODE"
_CONNECT_S = 5.0


def prepare() -> None:
    """Set them. A cluster of our own has a token of its own, in a folder that only this user reads; of another,
    `UserError` when nothing is at its address."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    if not starts_own():
        _check_answers(os.environ[ADDRESS])
        os.environ.setdefault(_MODE, "token")
        os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "3")  # a second each, also where a token is refused
        return
    folder = Path(tempfile.mkdtemp(prefix="elcano-ray-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    token = folder / "token"
    with open(os.open(token, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secrets.token_hex(32))
    os.environ.pop("RAY_AUTH_TOKEN", None)
    os.environ.update({_MODE: "token", "RAY_AUTH_TOKEN_PATH": str(token), "RAY_TMPDIR": str(folder)})
    os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # on Linux, too, it makes Ray stay on loopback
    os.environ.setdefault("RAY_raylet_start_wait_time_s", "60")  # 30 by default, which a busy machine exceeds


def starts_own() -> bool:
    """Whether no cluster is named."""
    return os.environ.get(ADDRESS, "") in ("", "local")


def with_token() -> bool:
    """Whether Ray asks for a token where this runs."""
    return os.environ.get(_MODE, "").lower() == "token"


def _check_answers(address: str) -> None:
    """Ray itself tries for minutes, and ends this process then."""
    where = f"--executor ray: {ADDRESS}={address}"
    host, _, port = address.rpartition(":")
    if address == "auto":
        return
    if "://" in address or not host or not port.isdigit():
        raise UserError(f"{where}: start the run on a node of the cluster, and give its address as HOST:PORT")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_S).close()
    except (OSError, OverflowError) as error:
        raise UserError(f"{where}: nothing answers there ({error})") from None
