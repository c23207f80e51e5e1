"""The Ray cluster at an address, or else one of this machine alone, which ends with this process."""

import atexit
import contextlib
import dataclasses
import ipaddress
import logging
import os
import signal
from collections.abc import Iterator

import psutil
import ray
from ray.exceptions import AuthenticationError, RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from common.defaults import ROOT
from common.errors import UserError
from common.ray_cluster.settings import is_own, with_token

_OBJECT_STORE_BYTES = 100 << 20
"""Commands exchange files, not Ray's objects."""
_ANSWER_S = 60.0
_MOST_SAID = 300
_PUBLIC = "ELCANO_PUBLIC_RAY"


@dataclasses.dataclass(frozen=True)
class Node:
    """One that is alive, with all that it has. `partition` is its label of that name."""

    id: str
    address: str
    num_cores: float
    num_gpus: float
    memory_gib: float
    partition: str


def join(address: str, said: str) -> None:
    """After `common.ray_cluster.settings.prepare`, with the same words. `UserError` where it is not possible; a refusal
    takes seconds."""
    if ray.is_initialized():
        return
    if is_own(address):
        _start(said)
    else:
        _connect(address, said)
    atexit.register(leave)  # before Ray's own way, which another Ctrl-C interrupts


def leave() -> None:
    """At a command's end: Ctrl-C does nothing from here on, as all that is left takes seconds."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ray.shutdown()


def nodes() -> list[Node]:
    """Those that are alive."""
    return [
        Node(
            node["NodeID"],
            node["NodeManagerAddress"],
            node["Resources"].get("CPU", 0),
            node["Resources"].get("GPU", 0),
            node["Resources"].get("memory", 0) / 2**30,
            node["Labels"].get("partition", ""),
        )
        for node in ray.nodes()
        if node["Alive"]
    ]


def num_free(resource: str) -> float:
    """Of what Ray counts by this name (`CPU`, `GPU`), what nobody on the whole cluster has taken."""
    return ray.available_resources().get(resource, 0.0)


def own_node() -> str:
    """The id of the node that this process runs on."""
    return ray.get_runtime_context().get_node_id()


def _start(said: str) -> None:
    for is_last in (False, True):  # on a busy machine one part of it may be too late for another
        try:
            ray.init(address="local", include_dashboard=False, object_store_memory=_OBJECT_STORE_BYTES, **_common())
            break
        except Exception as error:
            if is_last:
                raise UserError(f"{said}: Ray does not start on this machine: {_one_line(error)}") from None
    _end_log_monitor()
    if open_ports := _listened_beyond_loopback():
        ray.shutdown()
        raise UserError(
            f"{said}: Ray would listen at {', '.join(open_ports)}, where other machines may reach it; start a "
            "cluster behind a firewall, and name that"
        )


def _end_log_monitor() -> None:
    """It reads what workers write, for drivers that show it; ours do not, and Ray has no setting for it."""
    for process in psutil.Process().children():
        with contextlib.suppress(psutil.Error):
            if any(word.endswith("log_monitor.py") for word in process.cmdline()):
                process.terminate()


def _connect(address: str, said: str) -> None:
    if not any(process.info["name"] == "raylet" for process in psutil.process_iter(["name"])):  # Ray looks for a minute
        raise UserError(f"{said}: no node of it runs on this machine; start the run on one of its nodes")
    try:
        with _silent():  # Ray's native part tells of each attempt by itself
            ray.init(address=address, **_common())
    except Exception as error:
        if isinstance(error, AuthenticationError) or "AuthToken" in str(error.__cause__):
            raise UserError(
                f"{said}: it wants another token; put the one that it was started with into a file of mode 600, and "
                f"name that by RAY_AUTH_TOKEN_PATH"
            ) from None
        raise UserError(f"{said}: {_one_line(error)}") from None
    try:
        _check_safe(said)
    except UserError:
        ray.shutdown()
        raise


def _check_safe(said: str) -> None:
    """`UserError` where others might run commands as this user, or read what is secret."""
    open_nodes, silent = _without_token() if with_token() else ([], [])
    if silent:
        raise UserError(
            f"{said}: {', '.join(silent)} did not say within {_ANSWER_S:.0f} s whether it asks for a token; end that "
            f"node, or start again when it is less busy"
        )
    if open_nodes:
        raise UserError(
            f"{said}: {', '.join(open_nodes)} asks nobody for a token, so whoever reaches its ports runs commands "
            f"as you; start its nodes with RAY_AUTH_MODE=token (or, in a network of yours alone, this run with "
            f"RAY_AUTH_MODE=disabled)"
        )
    if public := sorted({node.address for node in nodes() if _is_public(node.address)}):
        raise UserError(
            f"{said}: its nodes talk over {', '.join(public)}, which the internet may reach, and its token and your "
            f"keys go over the network in the clear; start its nodes in a private network (ray start "
            f"--node-ip-address), or set {_PUBLIC}=true where a firewall keeps all others out"
        )


def _without_token() -> tuple[list[str], list[str]]:
    """Addresses of nodes whose processes, such as the head's, were started without token authentication; and of those
    that do not answer."""
    asked = {}
    for node in nodes():
        there = NodeAffinitySchedulingStrategy(node.id, soft=False)
        asked[ray.remote(with_token).options(num_cpus=0, scheduling_strategy=there).remote()] = node.address
    answered, unanswered = ray.wait(list(asked), num_returns=len(asked), timeout=_ANSWER_S)
    alive, found = {node.address for node in nodes()}, []
    for one in answered:
        with contextlib.suppress(RayError):  # a node that died meanwhile
            found += [] if ray.get(one) else [asked[one]]
    return sorted(set(found)), sorted({asked[one] for one in unanswered} & alive)


def _is_public(address: str) -> bool:
    return ipaddress.ip_address(address).is_global and os.environ.get(_PUBLIC, "").lower() != "true"


def _common() -> dict[str, object]:
    return {
        "log_to_driver": False,
        "logging_level": logging.ERROR,
        "job_config": ray.job_config.JobConfig(code_search_path=[str(ROOT)]),
    }


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Nothing is written to this process's stderr."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _listened_beyond_loopback() -> list[str]:
    """Addresses at which this process and those that it started listen."""
    found = set()
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        with contextlib.suppress(psutil.Error):
            listening = [one.laddr for one in process.net_connections("inet") if one.status == psutil.CONN_LISTEN]
            found |= {f"{one.ip}:{one.port}" for one in listening if not _is_loopback(one.ip)}
    return sorted(found)


def _is_loopback(address: str) -> bool:
    found = ipaddress.ip_address(address)
    return (getattr(found, "ipv4_mapped", None) or found).is_loopback


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:_MOST_SAID] or type(error).__name__
