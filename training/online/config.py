"""Flags of `train_online.sh`: those of training, and what a run that never ends needs beside them."""

import dataclasses
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from common.errors import UserError
from common.options.flags import narrowed
from common.options.limits import above, at_least
from data.online_run import OnlineRun
from training.config import Config
from training.modules import kernels
from training.options import TrainingOptions

_ENDLESS = 10**9
"""Optimizer steps of a schedule that is constant after its warm-up."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class OnlineConfig(TrainingOptions):
    """Learn from the groups of rollouts of an online run as they come, and publish the weights after each step."""

    run_dir: Path
    """Folder of the run: the trainer reads its trajectories/ and writes its weights/, state/ and trainer/."""
    pretrain_checkpoint_path: Path
    """Megatron checkpoint of the policy to begin with: version 0 of the weights."""
    api_localhost: tuple[str, ...] = ()
    """The policy's servers, as the collector names them (http://localhost:8080/predict): they are asked to take each
    version in. None: weights are only published."""
    algorithm: str = "grpo"
    """grpo, filtered_bc, pae, digirl or webrl, or the module path of your own that makes its columns of rewards."""
    replay_groups: Annotated[int, at_least(0)] = 0
    """The groups learned last that the algorithm is given again beside the new ones (PAE's buffer, WebRL's replay)."""
    critic: Literal["none", "monte_carlo", "td"] = "none"
    """Whose values an algorithm reads: a small critic's, fitted to all these groups for each version; none: the mean
    outcome of the group's other tries."""
    critic_folds: Annotated[int, at_least(1)] = 5
    """Critics, each of which judges the tries that it was fitted without."""
    critic_iters: Annotated[int, at_least(1)] = 300
    """Their optimizer steps."""
    critic_width: Annotated[int, at_least(1)] = 512
    """Units of their two hidden layers."""
    critic_lr: Annotated[float, above(0)] = 1e-4
    """Of their Adam."""
    groups_per_step: Annotated[int, at_least(1)] = 8
    """Groups that a version of the weights learns from; the collector's is the same."""
    ppo_epochs: Annotated[int, at_least(1)] = 1
    """Passes over their samples, GLOBAL_BATCH_SIZE of them an optimizer step."""
    max_lag: Annotated[int, at_least(0)] = 2
    """How many versions the weights may be ahead of a group's oldest reply; the collector's is the same."""
    look_ahead: Annotated[int, at_least(0)] = 8
    """How many younger groups may be taken before one that is not complete yet; then it is waited for."""
    max_logprob_difference: Annotated[float, above(0)] = 0.1
    """End where the log-probabilities of trainer and server differ by more than this, on average over a step."""
    compared_samples: Annotated[int, at_least(0)] = 64
    """Samples of each step on which they are compared, before it; 0: all."""
    num_versions: Annotated[int, at_least(0)] = 0
    """End after so many versions; 0: go on until stopped."""
    keep_weights: Annotated[int, at_least(2)] = 3
    """How many published versions stay."""
    keep_last: Annotated[int, at_least(1)] = 2
    """How many checkpoints stay."""
    spike_factor: Annotated[float, at_least(0)] = 0.0
    """Skip a step whose gradient norm is this many times the median of the last 100; 0: only when it is not finite.
    Once most tries succeed the median is tiny, and a third of the steps can be that far above it."""
    lr_warmup_iters: Annotated[int, at_least(0)] = 0
    """Optimizer steps of linear warm-up; the learning rate is constant after them."""
    # What belongs to a run over a data set:
    min_lr: tyro.conf.Suppress[float] = 0.0
    lr_schedule: tyro.conf.Suppress[Literal["cosine", "linear", "constant"]] = "constant"
    train_iters: tyro.conf.Suppress[int] = _ENDLESS
    train_epochs: tyro.conf.Suppress[float] = 0.0
    save_interval: tyro.conf.Suppress[int] = 1
    async_save: tyro.conf.Suppress[bool] = False
    column_files: tyro.conf.Suppress[str] = ""
    group_by_length: tyro.conf.Suppress[int] = 1
    skip_bad_samples: tyro.conf.Suppress[int] = 0
    eval_interval: tyro.conf.Suppress[int] = _ENDLESS
    eval_samples: tyro.conf.Suppress[int] = 1
    wandb_project: tyro.conf.Suppress[str] = ""
    dry_run: tyro.conf.Suppress[bool] = False
    num_gpus: tyro.conf.Suppress[int] = 0
    gpu_memory_gib: tyro.conf.Suppress[float] = 80.0
    host_memory_gib: tyro.conf.Suppress[float] = 0.0
    model_type: tyro.conf.Suppress[str] = ""

    def check_together(self) -> None:
        super().check_together()
        if self.critic != "none" and self.vpp > 1:
            raise UserError("CRITIC: its frozen model has one chunk a stage; leave VPP out")
        if self.lora_rank and False in (self.freeze_vision, self.freeze_connector):
            raise UserError("LORA_RANK: adapters alone are published; leave FREEZE_VISION and FREEZE_CONNECTOR out")

    @property
    def run(self) -> OnlineRun:
        return OnlineRun(self.run_dir)

    @property
    def oldest(self) -> int:
        """The lag of a group that came in time: that of one begun with the most before it, passed by the most."""
        return self.max_lag + -(-self.look_ahead // self.groups_per_step)

    def as_training(self) -> Config:
        """For what a run over a data set has, too; its outputs lie in <run>/trainer/*/online."""
        places = {"dataset_path": self.run.trajectories, "output_basepath": self.run_dir / "trainer"}
        return narrowed(Config, self, run_name="online", **places)

    def identity(self, training: Config) -> dict[str, Any]:
        """What a run cannot change: the form of its state. Rates and algorithms may."""
        trainable = dataclasses.asdict(training.trainable)
        del trainable["value_heads"]
        return {"trainable": trainable, "do": self.do, "adam": kernels.adam(self.te)}
