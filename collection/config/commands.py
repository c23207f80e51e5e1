"""All flags of the collecting commands; the names are OpenWebVoyager's where it has them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from collection.config.agent import AgentFlags
from collection.config.browsers import BrowserFlags
from collection.config.devices import DeviceFlags
from collection.config.endpoint import EndpointFlags
from collection.config.judging import JudgeFlags, JudgeName
from collection.config.network import NetworkFlags
from collection.config.tasks import TaskFlags
from common.errors import UserError
from common.options.limits import at_least, between
from data.action_spaces import NUMBERS, action_space
from data.sampling import SamplingRequest


@dataclass(frozen=True, kw_only=True)
class PolicyFlags(AgentFlags, EndpointFlags):
    """Who is asked, and what it is shown."""


@dataclass(frozen=True, kw_only=True)
class CollectionConfig(JudgeFlags, NetworkFlags, DeviceFlags, BrowserFlags, PolicyFlags, TaskFlags):
    """What the collectors have in common."""

    def check_together(self) -> None:
        """What nodes can do."""
        super().check_together()
        if self.shared_output_dir and not self.ray_address:
            raise UserError("--shared_output_dir is about the nodes of --ray_address; give that, too")
        if self.ray_address and self.env == "webarena":
            raise UserError("--env webarena is for this machine alone; leave out --ray_address")


@dataclass(frozen=True, kw_only=True)
class RunConfig(CollectionConfig):
    """Flags of `run.py`."""

    judge: JudgeName = "none"
    """Judge each trajectory as soon as it is taken; the names are those of `exploration_feedback.py --judge`. Where the
    world's own tasks are taken: `oracle`, their ground truth."""
    report: Path | None = None
    """Also write what was solved to this JSON file, to hand it in: success with intervals by website and family, steps,
    tokens, the settings, and the task set's hash."""
    status: Path | None = None
    """Only tell what became of each task in this output folder, also while collectors work there."""


@dataclass(frozen=True, kw_only=True)
class ExplorationConfig(CollectionConfig):
    """Flags of `exploration_feedback.py`."""

    max_rerun_times: Annotated[int, between(1, 64)] = 1
    """Tries of a task; the first success ends them."""
    all_tries: bool = False
    """Take all of them, also after a success: groups of one size, whose outcomes an algorithm compares (grpo)."""


@dataclass(frozen=True, kw_only=True)
class PoolConfig(CollectionConfig):
    """Flags of `pool.py`."""

    run_dir: Path
    """Folder of the online run. Tasks are those of its tasks.jsonl, which may be appended to; groups go to its
    trajectories/, and its weights/ says which version of the policy is the newest."""
    group_size: Annotated[int, between(1, 64)] = 6
    """Rollouts of a task that are compared with each other."""
    groups_per_step: Annotated[int, at_least(1)] = 8
    """Groups that the trainer learns from before it publishes a version; the trainer's flag of this name."""
    max_lag: Annotated[int, at_least(0)] = 2
    """Versions that may be published before the trainer comes to a group; 0: it learns from the newest version alone,
    and waits for it."""
    look_ahead: Annotated[int, at_least(1)] | None = None
    """Groups that may begin while an older one is not complete. Default: (max_lag + 1) * groups_per_step."""
    curriculum_floor: Annotated[float, between(0.01, 1)] = 1.0
    """How often a kind of task is met whose last groups all succeeded or all failed, beside one whose groups differ
    within. 1: as often."""
    num_groups: Annotated[int, at_least(1)] | None = None
    """End when so many groups are complete, those of earlier starts included. None: never."""

    @property
    def most_ahead(self) -> int:
        """`look_ahead`, or what stands in for it."""
        return self.look_ahead or (self.max_lag + 1) * self.groups_per_step

    def check_together(self) -> None:
        super().check_together()
        if self.judge == "none":
            raise UserError("--judge none: without a judge there is no reward; leave it out, or name one")
        if self.ray_address:
            raise UserError("--ray_address: the pool collects on this machine alone; leave it out")


@dataclass(frozen=True, kw_only=True)
class CandidatesConfig(SamplingRequest):
    """Flags of `sample_candidates.py`."""

    dataset_path: Path = Path("shards")
    """Folder of webdataset shards, each training sample a step."""
    output: Path = Path("candidates.parquet")
    """The Parquet file to write."""
    api_localhost: tuple[str, ...] = ()
    """URL of the /predict of a server that holds the policy, or several of them."""
    num_candidates: Annotated[int, between(2, 64)] = 16
    """N of a step, with the action that was taken."""
    action_space: str = NUMBERS
    """How the policy says what it does, as when the trajectories were collected (docs/reference/action_spaces.md)."""
    num_sessions: Annotated[int, at_least(1)] = 16
    """Samples that are asked about at the same time."""

    def check_together(self) -> None:
        super().check_together()
        action_space(self.action_space)  # there is one of this name


@dataclass(frozen=True, kw_only=True)
class CorrectionConfig(PolicyFlags):
    """Flags of `correct.py`: the teacher, and what it is shown; the same as the agent was."""

    result_dir: Path = Path("results")
    """Folder of judged trajectories."""
    num_sessions: Annotated[int, at_least(1)] = 8
    """Trajectories that are corrected at the same time."""
