"""Saving and resuming a run: megatron-core `torch_dist`, loadable in any parallel layout, never half written.

<folder>/iter_0000100/          weights, optimizer, schedule
                     loader.pt  where the data stands: the same for every rank and every layout
                     rank_*.pt  each rank's random state
                     run.json   what a continued run must agree with
                     adapter.json  only where adapters learn; then the weights are what learns alone
"""

import contextlib
import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import torch
from megatron.core.dist_checkpointing.strategies.async_utils import AsyncCallsQueue
from megatron.core.optimizer import MegatronOptimizer
from megatron.core.optimizer_param_scheduler import OptimizerParamScheduler
from megatron.core.tensor_parallel import get_cuda_rng_tracker
from torch.distributed.checkpoint.api import CheckpointException

from common.errors import UserError
from common.files import write_json
from common.full_disk import is_full, why_full
from data.adapter_record import AdapterRecord, read_adapter_record, write_adapter_record
from data.checkpoint_folder import IDENTITY_FILE, find_weights, iteration_name, read_tracker, write_tracker
from models.weight_table import VALUE_HEADS, value_heads_in
from training.checkpoints import async_save, torch_adam
from training.checkpoints.loader_state import from_plain, to_plain
from training.checkpoints.state_file import read_state
from training.layout import Layout
from training.loop.distributed_state import METADATA
from training.loop.optimization import Guard
from training.loop.parallel import set_weights, sharded_weights, trainable_weights
from training.modules import torch_dist
from training.modules.trainable import check_adapters
from training.modules.vision_language import VisionLanguageModel

_LOADER_FILE = "loader.pt"


class Resumable(Protocol):
    """What knows where the data stands."""

    def save_state_rank(self) -> Any: ...

    def restore_state_rank(self, state: Any) -> None: ...


@dataclasses.dataclass
class TrainingState:
    """Everything that a resumed run continues from."""

    models: list[VisionLanguageModel]
    optimizer: MegatronOptimizer
    scheduler: OptimizerParamScheduler
    guard: Guard
    feed: Resumable | None
    layout: Layout
    adapter: AdapterRecord | None = None
    """Of adapters that learn in the language model's place; then only what learns is saved."""


def load_model(models: list[VisionLanguageModel], weights: Path) -> None:
    """Read this rank's part of the weights, whatever layout they were saved in.

    Adapters and value heads that `weights` does not hold keep their initial values. Where it holds only what was
    trained beside frozen weights, those are read from where they lie.

    Raises:
        UserError: `weights` holds adapters of another form than the models', or a critic where a policy is wanted.
    """
    check_adapters(weights, models[0].trainable.lora)
    record = read_adapter_record(weights)
    if record and record.base:
        load_model(models, find_weights(record.base)[0])
    stored = torch_dist.tensor_shapes(weights)
    if (heads := value_heads_in(stored)) and not models[0].trainable.value_heads:
        raise UserError(f"{weights}: is a critic ({', '.join(heads)}), not a policy; give the policy's checkpoint")
    is_whole = record is None or record.base is None

    def is_wanted(key: str) -> bool:
        return key in stored or (is_whole and ".lora_" not in key and not key.startswith(VALUE_HEADS))

    loaded = torch_dist.load({"model": sharded_weights(models, is_wanted)}, weights)
    set_weights(models, loaded["model"])


class CheckpointWriter:
    """Writes a run's checkpoints, in the background if asked, and removes the oldest ones."""

    def __init__(self, folder: Path, identity: dict[str, Any], keep_last: int = 0, background: bool = False) -> None:
        """`identity`: see `training.config.Config.identity`. `keep_last`: how many checkpoints stay; 0 keeps all."""
        self.folder, self.identity, self.keep_last, self.background = folder, identity, keep_last, background
        self.calls = AsyncCallsQueue()
        self.completed: list[Path] = []
        self._writing = 0

    def save(self, state: TrainingState, iteration: int) -> None:
        """Write iteration `iteration`; until it is complete, the tracker names the one before.

        Raises:
            UserError: the disk is full; what is complete is kept.

        In the background, the writing processes hold a snapshot, so training goes on at once; all ranks must then call
        `poll` or `wait`, which complete it.
        """
        self.wait()
        with self._one_line_if_full(iteration):
            self._save(state, iteration)

    def _save(self, state: TrainingState, iteration: int) -> None:
        temporary = self.folder / f".{iteration_name(iteration)}.partial"
        self._writing = iteration
        if torch.distributed.get_rank() == 0:
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir(parents=True)
        torch.distributed.barrier()
        content = {**_sharded_content(state, loading=False), "iteration": iteration}
        if self.background:
            request = async_save.prepare(content, temporary)
            request.add_finalize_fn(lambda: self._complete(temporary, iteration))
            _save_own_together(state, temporary)
            self.calls.schedule_async_request(request)
        else:
            torch_dist.save(content, temporary)
            _save_own_together(state, temporary)
            self._complete(temporary, iteration)

    def poll(self) -> None:
        """Complete a checkpoint that all ranks have written by now; `UserError` where the disk is full."""
        with self._one_line_if_full(self._writing):
            self.calls.maybe_finalize_async_calls(blocking=False)

    def wait(self) -> None:
        """Until nothing is being written; `UserError` where the disk is full."""
        with self._one_line_if_full(self._writing):
            self.calls.maybe_finalize_async_calls(blocking=True)

    def take_completed(self) -> list[Path]:
        """Checkpoints that became complete since the last call."""
        completed, self.completed = self.completed, []
        return completed

    @contextlib.contextmanager
    def _one_line_if_full(self, iteration: int) -> Iterator[None]:
        """What is half written stays until its iteration is written again."""
        try:
            yield
        except (Exception, CheckpointException) as error:
            why = why_full(error) or ("no space left on device" if is_full(self.folder) else "")
            if isinstance(error, UserError) or not why:
                raise
            latest = read_tracker(self.folder)
            kept = f"{iteration_name(int(latest))} is kept" if latest else "there is no earlier one"
            raise UserError(
                f"{self.folder}: {why} for the checkpoint of iteration {iteration}; {kept}. "
                "Make room, and the same command goes on"
            ) from error

    def _complete(self, temporary: Path, iteration: int) -> None:
        final = self.folder / iteration_name(iteration)
        if torch.distributed.get_rank() == 0:
            write_json(temporary / IDENTITY_FILE, self.identity)
            shutil.rmtree(final, ignore_errors=True)  # complete, but its tracker was never written
            temporary.rename(final)
            write_tracker(self.folder, str(iteration))
            self._remove_old(iteration)
        self.completed.append(final)
        torch.distributed.barrier()

    def _remove_old(self, iteration: int) -> None:
        """Later ones than this newest belong to a course that a kill, or somebody who set the tracker back, has left;
        they are written anew when their turn comes."""
        if self.keep_last:
            ours = [path for path in sorted(self.folder.glob("iter_*")) if path.name <= iteration_name(iteration)]
            for path in ours[: -self.keep_last]:
                shutil.rmtree(path)


def resume(state: TrainingState, weights: Path) -> int:
    """Continue from a checkpoint of this run, also one made in another layout; returns its iteration."""
    torch_adam.prepare_loading(state.optimizer)
    loaded = torch_dist.load(_sharded_content(state, loading=True), weights)
    set_weights(state.models, loaded["model"])
    state.optimizer.load_state_dict(loaded["optimizer"])
    torch_adam.finish_loading(state.optimizer)
    state.scheduler.load_state_dict(loaded["scheduler"])
    state.guard.load_state_dict(loaded["guard"])
    _load_own(state, weights)
    return loaded["iteration"]


def _save_own_together(state: TrainingState, folder: Path) -> None:
    """All ranks end with the error of one: else the others would tell of the connection that they lose to it."""
    error: Exception | None = None
    try:
        _save_own(state, folder)
    except (OSError, RuntimeError) as caught:
        error = caught
    told: list[str | None] = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(told, None if error is None else str(error))
    if error or any(told):
        raise error or RuntimeError(next(filter(None, told)))


def _save_own(state: TrainingState, folder: Path) -> None:
    """What is not cut into shards."""
    own = {"layout": dataclasses.asdict(state.layout), "random": _random_state()}
    torch.save(own, folder / _rank_file())
    if torch.distributed.get_rank() == 0:
        assert state.feed is not None
        torch.save(to_plain(state.feed.save_state_rank()), folder / _LOADER_FILE)
        if state.adapter:
            write_adapter_record(state.adapter, folder)


def _load_own(state: TrainingState, folder: Path) -> None:
    """Random states belong to a layout; in another one the ranks keep those of their seeds."""
    place = read_state(folder / _LOADER_FILE, "where a run's data stood")
    assert state.feed is not None
    try:
        state.feed.restore_state_rank(from_plain(place))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(
            f"{folder / _LOADER_FILE}: not where a run's data stood ({type(error).__name__}: {error})"
        ) from None
    path = folder / _rank_file()
    same_size = len(list(folder.glob("rank_*.pt"))) == torch.distributed.get_world_size()
    own = read_state(path, "a rank's random state") if same_size else None
    if own and own.get("layout") == dataclasses.asdict(state.layout):
        try:
            _restore_random_state(own["random"])
        except (KeyError, TypeError, AttributeError, RuntimeError) as error:
            raise UserError(f"{path}: not a rank's random state ({type(error).__name__})") from None


def _sharded_content(state: TrainingState, loading: bool) -> dict[str, Any]:
    model = trainable_weights(state.models)
    optimizer = state.optimizer.sharded_state_dict(model, is_loading=loading, metadata=METADATA)
    content = {"model": model, "optimizer": optimizer}
    if loading:
        return content
    return {**content, "scheduler": state.scheduler.state_dict(), "guard": state.guard.state_dict()}


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
