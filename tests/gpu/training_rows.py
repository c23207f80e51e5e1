"""Training, scoring and critics at released shapes, row by row: `python -m tests.gpu.training_rows --rows NAME ...`.

A row is a run of `benchmarks/training_gpu.py` on one GPU, or with `transformers` in its name of its baseline. Packed
rows hold eight samples of 4,096 tokens (32k); a padded row holds one of 3,500 and padding. Where a depth that the dry
run's arithmetic allows runs out of memory, a smaller one is tried, and the row says so.
"""

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from benchmarks import training_gpu, training_gpu_baseline
from common import cli
from common.errors import UserError
from tests.gpu import floors, rows
from training.modules import kernels

PACKED = {"seq_len": 32768, "sample_len": 4096, "rows": 1, "ac": "full"}
PADDED = {"seq_len": 4096, "sample_len": 3500, "rows": 8, "ac": "selective", "packing": False}
_SMALL = {"seq_len": 1024, "rows": 1, "steps": 1, "cpu": True}
_TRIES, _LESS = 3, 0.8


def _learning() -> dict[str, dict[str, Any]]:
    shapes = ("qwen3-vl-4b", "qwen3-vl-8b", "idefics2-8b")
    return {
        f"{shape.replace('-', '_')}_{form}_{tower}": {"shape": shape, "freeze_vision": tower == "frozen", **flags}
        for form, flags in {"packed": PACKED, "padded": PADDED}.items()
        for shape in shapes
        for tower in ("learned", "frozen")
    }


_8B: dict[str, Any] = {"shape": "qwen3-vl-8b", "freeze_vision": True, **PACKED}
ROWS: Mapping[str, Mapping[str, Any]] = {
    **_learning(),
    "qwen3_vl_4b_selective_learned": {"shape": "qwen3-vl-4b", "freeze_vision": False, **PACKED, "ac": "selective"},
    "logprobs_qwen3_vl_8b": {**_8B, "forward_only": True},
    "features_qwen3_vl_8b": {**_8B, "forward_only": True, "write": "features"},
    "critic_qwen3_vl_8b": {**_8B, "write": "values"},
}
"""Options of `training_gpu.Config`, by row."""
_SAMPLES = {"samples": 8, "sample_len": 4096, "ac": "full"}
BASELINES: Mapping[str, Mapping[str, Any]] = {
    "transformers_qwen3_vl_4b_learned": {"shape": "qwen3-vl-4b", **_SAMPLES},
    "transformers_qwen3_vl_4b_learned_compiled": {"shape": "qwen3-vl-4b", "compile": True, **_SAMPLES},
    "transformers_qwen3_vl_8b_learned": {"shape": "qwen3-vl-8b", **_SAMPLES},
    "transformers_idefics2_8b_learned": {"shape": "idefics2-8b", **_SAMPLES},
}
"""Options of `training_gpu_baseline.Config`, by row: all layers, for its AdamW keeps its state in bf16."""


@dataclasses.dataclass(frozen=True)
class Config:
    """Measure rows of training."""

    rows: tuple[str, ...] = (*ROWS, *BASELINES)
    """Which, in this order."""
    traced: tuple[str, ...] = ()
    """Rows of which one step more is traced, into a folder `traces` beside --output."""
    cpu: bool = False
    """Tiny models in short rows on this CPU."""
    output: Path = Path("training_rows.json")
    """Receives the figures."""


def main(config: Config) -> None:
    """Measure."""
    if unknown := set(config.rows) - set(ROWS) - set(BASELINES):
        raise UserError(f"--rows {' '.join(sorted(unknown))}: the rows are {', '.join((*ROWS, *BASELINES))}")
    if config.cpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    kernels.prepare()
    store = torch.distributed.HashStore()
    backend = "gloo" if config.cpu else "nccl"
    torch.distributed.init_process_group(backend, store=store, rank=0, world_size=1)
    rows.measure(
        config.rows,
        config.output,
        lambda name: (_baseline if name in BASELINES else _measure)(name, config),
    )
    torch.distributed.destroy_process_group()


def _measure(name: str, config: Config) -> dict[str, Any]:
    trace = config.output.parent / "traces" / name if name in config.traced else None
    options = training_gpu.Config(
        tp=1, trace=trace, **{"steps": 2, **ROWS[name], **(_small(name) if config.cpu else {})}
    )
    layers, too_many = training_gpu.depth(options), []
    for _ in range(_TRIES):
        try:
            found = training_gpu.measure(options, layers)
        except torch.OutOfMemoryError:
            too_many.append(layers)
            layers = max(int(layers * _LESS), 3)
        else:
            floor = floors.read(found["gpu"], found["step_seconds"], floors.of_training(found))
            return found | floor | {"out_of_memory_with_layers": too_many}
        finally:
            _leave()
        rows.free_memory()  # outside of the handler, whose error holds what the step had
    raise UserError(f"not even {too_many[-1]} layers fit")


def _baseline(name: str, config: Config) -> dict[str, Any]:
    small = {"samples": 1, "sample_len": 512, "steps": 1, "cpu": True} if config.cpu else {}
    found = training_gpu_baseline.measure(training_gpu_baseline.Config(**{"steps": 2, **BASELINES[name], **small}))
    done = {"tower_learns": True, "write": "logprobs", "forward_only": False}
    return found | done | floors.read(found["gpu"], found["step_seconds"], floors.of_training(found | done))


def _small(name: str) -> dict[str, Any]:
    return {**_SMALL, "sample_len": 512 if ROWS[name].get("packing", True) else 900}


def _leave() -> None:
    """The layout's groups."""
    from megatron.core import parallel_state

    parallel_state.destroy_model_parallel()


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
