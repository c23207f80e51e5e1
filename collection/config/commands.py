"""All flags of the two collectors; the names are OpenWebVoyager's where it has them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from collection.config.agent import AgentFlags
from collection.config.browsers import BrowserFlags
from collection.config.endpoint import EndpointFlags
from collection.config.judging import JudgeFlags, JudgeName
from collection.config.network import NetworkFlags
from collection.config.tasks import TaskFlags
from common.limits import between


@dataclass(frozen=True, kw_only=True)
class CollectionConfig(JudgeFlags, NetworkFlags, BrowserFlags, AgentFlags, EndpointFlags, TaskFlags):
    """What the collectors have in common."""


@dataclass(frozen=True, kw_only=True)
class RunConfig(CollectionConfig):
    """Flags of `run.py`."""

    judge: JudgeName = "none"
    """Judge each trajectory as soon as it is taken; the names are those of `exploration_feedback.py --judge`. Where the
    world's own tasks are taken: `oracle`, their ground truth."""
    status: Path | None = None
    """Only tell what became of each task in this output folder, also while collectors work there."""


@dataclass(frozen=True, kw_only=True)
class ExplorationConfig(CollectionConfig):
    """Flags of `exploration_feedback.py`."""

    max_rerun_times: Annotated[int, between(1, 5)] = 1
    """Tries of a task, at most 5; the first success ends them."""
    all_tries: bool = False
    """Take all of them, also after a success: groups of one size, whose outcomes an algorithm compares (grpo)."""
