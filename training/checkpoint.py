"""Saving and resuming a run: megatron-core `torch_dist`, loadable in any parallel layout, never half written."""

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import torch
from megatron.core.optimizer import MegatronOptimizer
from megatron.core.optimizer_param_scheduler import OptimizerParamScheduler
from megatron.core.tensor_parallel import get_cuda_rng_tracker
from megatron.energon import SavableDataLoader

from data.files import write_json
from training import torch_adam
from training.loader_state import from_plain, to_plain
from training.models import torch_dist
from training.models.checkpoint_folder import IDENTITY_FILE, iteration_name, write_tracker
from training.models.vision_language import VisionLanguageModel
from training.parallel import set_weights, sharded_weights

# megatron-core 0.16.1's default form of the distributed optimizer's state cannot be saved any more.
_METADATA = {"distrib_optim_sharding_type": "fully_reshardable"}


@dataclasses.dataclass
class TrainingState:
    """Everything that a resumed run continues from."""

    models: list[VisionLanguageModel]
    optimizer: MegatronOptimizer
    scheduler: OptimizerParamScheduler
    loader: SavableDataLoader[Any]


def load_model(models: list[VisionLanguageModel], weights: Path) -> None:
    """Read this rank's part of the weights, whatever layout they were saved in."""
    loaded = torch_dist.load({"model": sharded_weights(models)}, weights)
    set_weights(models, loaded["model"])


def save(state: TrainingState, folder: Path, iteration: int, identity: dict[str, Any]) -> None:
    """Write iteration `iteration` into `folder`; until it is complete, the tracker names the one before.

    `identity` is what a resumed run must agree with (`training.config.Config.identity`).
    """
    final = folder / iteration_name(iteration)
    temporary = folder / f".{final.name}.partial"
    if torch.distributed.get_rank() == 0:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
    torch.distributed.barrier()
    content = _sharded_content(state, loading=False)
    torch_dist.save({**content, "iteration": iteration}, temporary)
    own = {"loader": to_plain(state.loader.save_state_rank()), "random": _random_state()}
    torch.save(own, temporary / _rank_file())
    torch.distributed.barrier()
    if torch.distributed.get_rank() == 0:
        write_json(temporary / IDENTITY_FILE, identity)
        shutil.rmtree(final, ignore_errors=True)  # complete, but its tracker was never written
        temporary.rename(final)
        write_tracker(folder, str(iteration))
    torch.distributed.barrier()


def resume(state: TrainingState, weights: Path) -> int:
    """Continue from a checkpoint of this run; returns its iteration."""
    torch_adam.prepare_loading(state.optimizer)
    loaded = torch_dist.load(_sharded_content(state, loading=True), weights)
    set_weights(state.models, loaded["model"])
    state.optimizer.load_state_dict(loaded["optimizer"])
    torch_adam.finish_loading(state.optimizer)
    state.scheduler.load_state_dict(loaded["scheduler"])
    own = torch.load(weights / _rank_file(), weights_only=True)
    _restore_random_state(own["random"])
    state.loader.restore_state_rank(from_plain(own["loader"]))
    return loaded["iteration"]


def _sharded_content(state: TrainingState, loading: bool) -> dict[str, Any]:
    model = sharded_weights(state.models)
    optimizer = state.optimizer.sharded_state_dict(model, is_loading=loading, metadata=_METADATA)
    content = {"model": model, "optimizer": optimizer}
    return content if loading else {**content, "scheduler": state.scheduler.state_dict()}


def _rank_file() -> str:
    return f"rank_{torch.distributed.get_rank():05d}.pt"


def _random_state() -> dict[str, Any]:
    return {
        "cpu": torch.get_rng_state(),
        "gpu": torch.cuda.get_rng_state() if torch.cuda.is_available() else None,
        "tracker": get_cuda_rng_tracker().get_states(),
    }


def _restore_random_state(state: dict[str, Any]) -> None:
    torch.set_rng_state(state["cpu"])
    if state["gpu"] is not None:
        torch.cuda.set_rng_state(state["gpu"])
    get_cuda_rng_tracker().set_states(state["tracker"])
