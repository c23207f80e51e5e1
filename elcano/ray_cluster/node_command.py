"""A command on the node where Ray placed it."""

import socket
import subprocess

import ray

from common.processes import hold
from elcano import child
from elcano.executors.executor import Command


class NodeCommand:
    """What the actor of a command does. No call takes long, so that the next is heard."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._held: socket.socket | None = None

    def node(self) -> str:
        """Its id."""
        return ray.get_runtime_context().get_node_id()

    def held_port(self) -> int:
        """A free one, kept until the actor ends; what is told of it may listen there (`common.processes.hold`)."""
        self._held = self._held or hold(0, "0.0.0.0")
        return self._held.getsockname()[1]

    def begin(self, command: Command, environment: dict[str, str]) -> None:
        """Once, however often it is called, until `kill`. It sees the GPUs that Ray gives it, and no others."""
        if not self._process:
            gpus = ",".join(map(str, ray.get_gpu_ids()))
            self._process = child.begin(command, {**environment, "CUDA_VISIBLE_DEVICES": gpus})

    def poll(self, timeout_s: float) -> int | None:
        """Its exit code as soon as it has ended, 0 where none has begun; None when it has not within the time."""
        if not self._process:
            return 0
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def terminate(self) -> None:
        """Ask it to end."""
        if self._process:
            self._process.terminate()

    def kill(self) -> None:
        """With all that it began."""
        if self._process:
            child.kill(self._process)
            self._process = None
