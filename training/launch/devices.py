"""How many ranks a run has, and on how many of a host's devices: what its layout asks for, even if there are more."""

import dataclasses

import torch

from common.errors import UserError
from training.layout import Layout


@dataclasses.dataclass(frozen=True)
class Ranks:
    """Of all hosts, which have equally many."""

    replicas: int
    """Data-parallel size."""
    per_host: int
    idle: int = 0
    """GPUs of this host that no rank has."""

    @property
    def note(self) -> str | None:
        """What there is to say before the start."""
        if not self.idle:
            return None
        return f"{self.per_host} of this host's {self.per_host + self.idle} GPUs are used, {self.idle} stay unused"


def plan_ranks(
    layout: Layout,
    samples: int = 0,
    *,
    replicas: int = 0,
    per_host: int = 0,
    num_hosts: int = 1,
) -> Ranks:
    """
    Args:
        samples: of an optimizer step, in micro-batches; data-parallel sizes that do not divide it are not chosen.
        replicas: the data-parallel size; 0: as many replicas as the devices hold, one where there is no GPU.
        per_host: the most ranks of a host; 0: one for each of its GPUs (of which CUDA_VISIBLE_DEVICES tells).

    Raises:
        UserError: there are fewer devices than the layout needs, or the ranks cannot be spread over the hosts.
    """
    gpus = torch.cuda.device_count()
    if gpus and per_host > gpus:
        raise UserError(f"HOST_GPU_NUM={per_host}, but CUDA_VISIBLE_DEVICES leaves {_count(gpus)} here")
    devices = (per_host or gpus) * num_hosts
    if not devices:
        replicas = replicas or 1
        devices = replicas * layout.model_ranks
    most = devices // layout.model_ranks
    if most < max(1, replicas):
        raise UserError(_too_few(layout, replicas, devices, gpus, num_hosts))
    if not replicas:
        sizes = (
            size for size in range(most, 0, -1) if not samples % size and not size * layout.model_ranks % num_hosts
        )
        replicas = next(sizes, 1)
    ranks = replicas * layout.model_ranks
    if ranks % num_hosts:
        raise UserError(f"{_product(layout, replicas)} = {ranks} ranks cannot be spread equally over {num_hosts} hosts")
    return Ranks(replicas, ranks // num_hosts, max(0, gpus - ranks // num_hosts))


def _too_few(layout: Layout, replicas: int, devices: int, gpus: int, num_hosts: int) -> str:
    needed = f"{_product(layout, replicas)} needs {layout.model_ranks * max(1, replicas)} devices"
    if not gpus:
        return f"{needed}, HOST_GPU_NUM allows {devices}; give a smaller layout or leave HOST_GPU_NUM out"
    there = _count(devices) + (f" on {num_hosts} hosts" if num_hosts > 1 else "")
    return f"{needed}, but there are {there} (see CUDA_VISIBLE_DEVICES, HOST_GPU_NUM); give a smaller TP, PP, CP or DP"


def _product(layout: Layout, replicas: int) -> str:
    sizes = {
        "TP": layout.tensor_parallel,
        "PP": layout.pipeline_parallel,
        "CP": layout.context_parallel,
        "DP": replicas,
    }
    return " x ".join(f"{name}={size}" for name, size in sizes.items() if size > 1 or name == "TP")


def _count(gpus: int) -> str:
    return f"{gpus} GPU" if gpus == 1 else f"{gpus} GPUs"
