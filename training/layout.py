"""How one model is spread over processes, and the process groups for it.

Megatron is imported late: the launcher knows layouts, too, and must start quickly.
"""

import dataclasses
import os
from typing import Literal

import torch


@dataclasses.dataclass(frozen=True)
class Layout:
    """Parallel sizes and the switches that belong to them; data parallelism takes the ranks that are left."""

    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    virtual_pipeline: int = 1
    """Chunks of layers on each pipeline stage, worked on in turn, so that fewer ranks wait."""
    first_stage_layers: int = 0
    """Layers of the pipeline stage that also carries the vision tower; 0: as many as on every other."""
    context_parallel: int = 1
    """Ranks that hold a part of each sequence all through the model."""
    sequence_parallel: bool = False
    distributed_optimizer: bool = False
    overlap: bool = False
    """Gradients are reduced while the backward pass goes on, weights gathered while the forward pass does."""
    recompute: Literal["none", "selective", "full"] = "none"
    bf16: bool = False

    @property
    def model_ranks(self) -> int:
        """Ranks of one replica."""
        return self.tensor_parallel * self.pipeline_parallel * self.context_parallel

    @property
    def segment_multiple(self) -> int:
        """What the length of every sample packed into a row must be a multiple of."""
        return 2 * self.context_parallel if self.context_parallel > 1 else 1

    @property
    def sequence_multiple(self) -> int:
        """What the length of every row must be a multiple of."""
        return self.segment_multiple * (self.tensor_parallel if self.sequence_parallel else 1)

    def layers_of_stage(self, num_layers: int) -> list[int]:
        """How many of a model's layers each pipeline stage has."""
        if not self.first_stage_layers:
            return [num_layers // self.pipeline_parallel] * self.pipeline_parallel
        others = self.pipeline_parallel - 1
        return [self.first_stage_layers, *[(num_layers - self.first_stage_layers) // others] * others]


def device() -> torch.device:
    """Where this rank computes."""
    return torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else torch.device("cpu")


def initialize(layout: Layout, seed: int) -> None:
    """Join the process group that torchrun describes and cut it into tensor, pipeline and data parallel groups."""
    from megatron.core import parallel_state, tensor_parallel

    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    if not torch.distributed.is_initialized():
        torch.distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    parallel_state.initialize_model_parallel(
        layout.tensor_parallel,
        layout.pipeline_parallel,
        layout.virtual_pipeline if layout.virtual_pipeline > 1 else None,
        context_parallel_size=layout.context_parallel,
    )
    torch.manual_seed(seed)
    tensor_parallel.model_parallel_cuda_manual_seed(seed)


def finalize() -> None:
    """Leave all groups."""
    from megatron.core import parallel_state

    parallel_state.destroy_model_parallel()
    torch.distributed.destroy_process_group()
