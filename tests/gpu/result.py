"""One line of the proof: what ran, whether it passed, and its figures."""

import dataclasses
from pathlib import Path
from typing import Any, Literal


@dataclasses.dataclass
class Result:
    """`summary` is for the table, `figures` for gpu.json; a skipped or failed line has a `reason`."""

    name: str
    status: Literal["pass", "fail", "skip"] = "pass"
    reason: str = ""
    summary: str = ""
    commands: list[str] = dataclasses.field(default_factory=list)
    figures: Any = None
    seconds: float = 0.0
    commit: str = ""


STOPPED = "stopped"
"""How the reason of what was not let finish begins."""


@dataclasses.dataclass(frozen=True)
class Machine:
    """Where lines run: on `num_gpus` GPUs, or with 0 in their small form on the CPU. `folder` keeps all they write."""

    num_gpus: int
    gpu_memory_gib: float
    folder: Path
    max_ranks: int = 8

    @property
    def small(self) -> bool:
        return self.num_gpus == 0


class SkippedError(Exception):
    """A line cannot run here; the message says why."""


class FailedError(Exception):
    """A figure is not what it must be."""
