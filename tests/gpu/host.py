"""What a machine is: its GPUs, processors and memory, and the versions of what runs on it."""

import importlib.metadata
import os
import platform
from typing import Any

import psutil
import torch

_PACKAGES = (
    *("torch", "transformers", "megatron-core", "megatron-energon", "transformer-engine", "flash-attn", "apex"),
    *("nvidia-nccl-cu12", "nvidia-nccl-cu13"),
)


def describe() -> dict[str, Any]:
    """For gpu.json."""
    return {
        "gpus": [_gpu(index) for index in range(torch.cuda.device_count())],
        "cuda": torch.version.cuda,
        "cpus": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "versions": {name: version for name in _PACKAGES if (version := _version(name))},
    }


def _gpu(index: int) -> dict[str, Any]:
    properties = torch.cuda.get_device_properties(index)
    return {
        "name": properties.name,
        "memory_gib": round(properties.total_memory / 2**30, 1),
        "capability": f"{properties.major}.{properties.minor}",
    }


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""
