"""How one model is spread over processes, and the process groups for it.

Megatron is imported late: the launcher knows layouts, too, and must start quickly.
"""

import dataclasses
import os

import torch


@dataclasses.dataclass(frozen=True)
class Layout:
    """Parallel sizes and the switches that belong to them; data parallelism takes the ranks that are left."""

    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    sequence_parallel: bool = False
    distributed_optimizer: bool = False
    recompute: bool = False
    bf16: bool = False


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
    parallel_state.initialize_model_parallel(layout.tensor_parallel, layout.pipeline_parallel)
    torch.manual_seed(seed)
    tensor_parallel.model_parallel_cuda_manual_seed(seed)


def finalize() -> None:
    """Leave all groups."""
    from megatron.core import parallel_state

    parallel_state.destroy_model_parallel()
    torch.distributed.destroy_process_group()
