"""A Ray cluster of two nodes on this machine, by `ray start`: the real daemons, ended by their ids.

Ray believes each node to have 4 cores, whatever there are; each has a label `partition`. Ray listens on all interfaces
of this machine while the tests run, and answers to the token of the folder alone.
"""

import contextlib
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

from common.processes import die_with_parent, free_port

NEEDS_RAY = pytest.mark.skipif(not find_spec("ray"), reason="Ray is not installed: pip install -e '.[ray]'")
NODES = ("first", "second")
_RAY = Path(sys.executable).with_name("ray")
_TRIES = 3


class Cluster:
    """`variables` lead a run to it."""

    def __init__(self, folder: Path, mode: str = "token") -> None:
        self.folder = folder
        (folder / "token").write_text(secrets.token_hex(32))
        (folder / "token").chmod(0o600)
        self._port = free_port()
        self._mode = {"RAY_AUTH_MODE": mode, "RAY_AUTH_TOKEN_PATH": str(folder / "token")}
        self._nodes: dict[str, subprocess.Popen] = {}

    @property
    def variables(self) -> dict[str, str]:
        """For those who would join it."""
        token = {"RAY_AUTH_TOKEN_PATH": str(self.folder / "token")}
        return {"RAY_ADDRESS": f"127.0.0.1:{self._port}", **token}

    @property
    def nodes(self) -> set[str]:
        """Those that run."""
        return set(self._nodes)

    def start(self, node: str) -> None:
        """`RuntimeError` with Ray's words when it is not up within minutes. On a busy machine one part of it may be too
        late for another, which a second try mends."""
        tries = [self._try(node) for _ in range(_TRIES) if node not in self._nodes]
        if node not in self._nodes:
            raise RuntimeError(tries[-1])

    def _try(self, node: str) -> str:
        """What it says; it is among the nodes if it is up."""
        where = ["--head", f"--port={self._port}", "--include-dashboard=false", f"--temp-dir={self.folder}"]
        words = where if node == NODES[0] else [f"--address=127.0.0.1:{self._port}"]
        words += ["--block", "--disable-usage-stats", "--num-cpus=4", "--num-gpus=2", "--object-store-memory=100000000"]
        own = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
        with open(self.folder / f"{node}.out", "w") as output:
            process = subprocess.Popen(
                [_RAY, "start", *words, f"--labels=partition={node}"],
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**own, **self._mode, "RAY_raylet_start_wait_time_s": "60"},
                start_new_session=True,
                preexec_fn=die_with_parent,
            )
        while process.poll() is None and node not in self._nodes:
            time.sleep(0.5)
            if "Ray runtime started" in (self.folder / f"{node}.out").read_text():
                self._nodes[node] = process
        return (self.folder / f"{node}.out").read_text()[-2000:]

    def node_of(self, ancestors: Iterable[int]) -> str:
        """The node that a process with these ancestors belongs to."""
        above = set(ancestors)
        return next(name for name, process in self._nodes.items() if process.pid in above)

    def actors(self, node: str, kind: str) -> list[psutil.Process]:
        """The worker processes of a node that are actors of this class."""
        below = psutil.Process(self._nodes[node].pid).children(recursive=True)
        return [process for process in below if process.name().startswith(f"ray::{kind}")]

    def kill(self, node: str) -> None:
        """A power cut: its daemons die with the process that started them, and its workers with those."""
        process = self._nodes.pop(node)
        process.kill()
        process.wait()

    def stop(self) -> None:
        """All nodes."""
        for node in reversed(list(self._nodes)):
            process = self._nodes.pop(node)
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(30)
            process.kill()
            process.wait()


@contextlib.contextmanager
def cluster(nodes: tuple[str, ...] = NODES, mode: str = "token") -> Iterator[Cluster]:
    """It runs while the block does. Its folder has a short name, as Ray's sockets have long ones."""
    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
        started = Cluster(Path(folder), mode)
        try:
            for node in nodes:
                started.start(node)
            yield started
        finally:
            started.stop()
