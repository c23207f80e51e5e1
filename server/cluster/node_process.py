"""A server process on a node of a Ray cluster: the child of an actor, whose place Ray finds."""

import asyncio
import contextlib
import os
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

import ray
from ray.exceptions import RayActorError, RayError, RayTaskError

from common.defaults import ROOT
from common.errors import UserError
from common.processes import die_with_parent
from common.ray_cluster import cluster
from server.cluster.fleet import announced

_SAID_LINES = 20


class NodeProcess:
    """A `server.cluster.fleet.Process`. `needs` are what Ray shall find for it: `num_gpus` and `num_cpus`."""

    def __init__(self, command: Sequence[str], needs: Mapping[str, float], variables: Mapping[str, str]):
        keeper = ray.remote(_Keeper).options(**needs, scheduling_strategy="SPREAD")
        self._keeper = keeper.remote()
        self._address = self._keeper.begin.remote(list(command), dict(variables), str(Path.cwd()))
        self._ended = self._keeper.ended.remote()

    def address(self) -> str:
        """As `Process`; it waits as long as no node has room."""
        try:
            return ray.get(self._address)
        except RayActorError as error:
            if error.actor_init_failed:
                raise UserError(
                    f"a node cannot load the server in {ROOT}; all nodes need the same Elcano there"
                ) from None
            raise UserError("a replica's node or worker died as it started") from None
        except RayTaskError as error:
            self.kill()  # also where no process began, whose end nobody would see
            raise UserError(str(error.cause)) from None

    def poll(self) -> int | None:
        """As `Process`; a node that is gone has killed it."""
        if not ray.wait([self._ended], timeout=0)[0]:
            return None
        try:
            return ray.get(self._ended)
        except RayError:
            return -9

    def terminate(self) -> None:
        """As `Process`."""
        if ray.wait([self._address], timeout=0)[0]:
            self._keeper.terminate.remote()
        else:  # perhaps it has no place yet
            self.kill()

    def kill(self) -> None:
        """As `Process`."""
        ray.kill(self._keeper)

    def wait(self, timeout: float) -> None:
        """As `Process`."""
        with contextlib.suppress(RayActorError, RayTaskError):
            ray.get(self._ended, timeout=timeout)


class _Keeper:
    """The actor. Its child dies with it."""

    def __init__(self) -> None:
        self._begun = asyncio.Event()

    async def begin(self, command: list[str], variables: dict[str, str], folder: str) -> str:
        """The URL at which other nodes reach it, once it serves."""
        gpus = ",".join(map(str, ray.get_gpu_ids()))
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        given = {name: value for name, value in variables.items() if value}
        inherited.pop("OMP_NUM_THREADS", None)  # Ray's
        host = ray.util.get_node_ip_address()
        self._process = await asyncio.create_subprocess_exec(
            *command,
            *("--host", host),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**inherited, **given, "CUDA_VISIBLE_DEVICES": gpus},
            cwd=folder if Path(folder).is_dir() else None,  # where the user's relative paths lead somewhere
            preexec_fn=die_with_parent,
        )
        self._said: deque[str] = deque(maxlen=_SAID_LINES)
        self._listening = asyncio.create_task(self._listen())
        self._begun.set()
        assert self._process.stdout is not None
        line = (await self._process.stdout.readline()).decode()
        if not line:
            await self._listening
            raise UserError(f"node {host}: {next((said for said in self._said if 'error: ' in said), 'it ended')}")
        return announced(line)

    async def ended(self) -> int:
        """Its exit code, when it has."""
        await self._begun.wait()
        return await self._process.wait()

    async def terminate(self) -> None:
        """Let it finish what is under way."""
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()

    async def _listen(self) -> None:
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            self._said.append(line.decode(errors="replace").rstrip())
            print(self._said[-1], flush=True)  # into Ray's log of this worker


def room(needs: Mapping[str, float]) -> int:
    """How many of them the nodes that are there have room for when nothing else runs."""
    what = "num_gpus" if needs["num_gpus"] else "num_cpus"
    has = {"num_gpus": lambda node: node.num_gpus, "num_cpus": lambda node: node.num_cores}[what]
    return sum(int(has(node) // needs[what]) for node in cluster.nodes())


def free_room(needs: Mapping[str, float]) -> int:
    """For how many of them there may be room now; at most, since nodes have parts of it."""
    what, resource = ("num_gpus", "GPU") if needs["num_gpus"] else ("num_cpus", "CPU")
    return int(cluster.num_free(resource) // needs[what])


def needs_of(device: str, threads: int) -> dict[str, int]:
    """What Ray shall find for a replica: a GPU, where there are any and the `device` does not say otherwise, or as many
    cores as it has `threads`."""
    on_gpu = device != "cpu" and any(node.num_gpus for node in cluster.nodes())
    return {"num_gpus": 1, "num_cpus": 0} if on_gpu else {"num_gpus": 0, "num_cpus": threads}
