"""The flags of `elcano plan`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from common.errors import UserError
from common.limits import Checked, above, at_least, between

MOST_NODES, MOST_SESSIONS, MOST_TASKS = 4096, 100_000, 1_000_000
_SPEEDS = between(0.001, 1000)


@dataclass(frozen=True, kw_only=True)
class PlanConfig(Checked):
    """Say how long a recipe takes on other machines, and what breaks first, by what a run has measured."""

    recipe: tyro.conf.Positional[Path]
    """Python file that defines `recipe() -> Recipe`."""
    measured: Path
    """A run's folder, finished or under way: its stages, training logs and trajectories say what takes how long."""
    stages: tuple[str, ...] = ()
    """Take times from these of its stages alone, such as IL/explore optim-1/explore, where the others had other work
    beside them; none: from all that browsed by themselves."""
    measured_cores: Annotated[int, at_least(0)] = 0
    """Cores of the machine where it ran; 0: as many as this one has."""
    core_s_a_step: Annotated[float, at_least(0)] = 0.0
    """Seconds of a core that a step's page takes; 0: what the busiest stage leaves, right if it kept all cores busy."""
    nodes: tuple[int, ...] = (1,)
    """Machines; several numbers give a line each."""
    cores: Annotated[int, at_least(0)] = 0
    """Of each node, for its browsers; 0: as the measured machine."""
    gpus: Annotated[int, at_least(0)] = 0
    """Of each node."""
    memory_gib: Annotated[float, at_least(0)] = 0.0
    """Of each node; 0: not looked at."""
    sessions: Annotated[int, at_least(0)] = 0
    """Browsers (sessions) of each node; 0: as the recipe says, or else 8 a core."""
    replicas: Annotated[int, between(0, MOST_SESSIONS)] = 0
    """Inference servers over all nodes; 0: one a GPU, or without GPUs on each node what the recipe says."""
    server_speed: Annotated[float, _SPEEDS] = 1.0
    """How many times as fast one server is as the measured one."""
    training_speed: Annotated[float, _SPEEDS] = 1.0
    """How many times as fast one rank of training is."""
    tasks: Annotated[int, between(0, MOST_TASKS)] = 0
    """Tasks of each exploration; 0: as the recipe says. For steady figures give several for each session."""
    mb_a_session: Annotated[float, above(0)] = 250.0
    """Memory of a browser's session: 63 on the embedded websites, 250 on real ones (docs/fleet.md)."""
    collector_ms_a_step: Annotated[float, above(0)] = 23.0
    """Milliseconds of a core that a collector's own process takes a step; each node has one (docs/planning.md)."""
    driver_mb_s: Annotated[float, at_least(0)] = 28.0
    """MB of trajectories a second that one process takes from several nodes (docs/planning.md); 0: on a shared file
    system they stay where they are."""

    def check_together(self) -> None:
        if not self.nodes or min(self.nodes) < 1:
            raise UserError("--nodes: give one number or several, at least 1 each")
        if max(self.nodes) > MOST_NODES:
            raise UserError(f"--nodes {max(self.nodes)}: at most {MOST_NODES}; every session on them is simulated")
        check_size(max(self.nodes), self.sessions, self.replicas)


def check_size(nodes: int, sessions: int, replicas: int) -> None:
    """`UserError` for more than can be simulated: `sessions` of each node, `replicas` in all."""
    if nodes * sessions > MOST_SESSIONS:
        raise UserError(f"--sessions {sessions} on each of {nodes} nodes: at most {MOST_SESSIONS} in all; give fewer")
    if replicas > MOST_SESSIONS:
        raise UserError(f"--replicas {replicas}: at most {MOST_SESSIONS}; without it there is one for each GPU")
