"""Memory: what tensors leave goes back to the system at once, and how one sees that there is none left."""

import ctypes
import sys

import torch

_M_MMAP_THRESHOLD = -3  # of glibc's malloc.h
_LARGE_BYTES = 2**20
_OUT_OF_MEMORY = ("not enough memory", "can't allocate memory", "out of memory", "STATUS_ALLOC_FAILED")


def return_freed_memory() -> None:
    """Have glibc map every block of 1 MiB or more by itself, so that freeing it gives it back.

    By default glibc raises that bound to the largest block ever freed, up to 32 MiB. Tensors of ever new lengths then
    share the heap with what lives long and leave holes that no later tensor fits: a server grew from 0.6 to 1.1 GB in
    three minutes of changing weights (docs/results/serving_endurance.md). Does nothing where there is no glibc.
    """
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "mallopt"):
        libc.mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an allocator, of a GPU, of PyTorch's CPU tensors or of Python, had nothing left.

    PyTorch's CPU allocator and cuBLAS raise plain `RuntimeError`s, which only their text tells from others.
    """
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(text in str(error) for text in _OUT_OF_MEMORY)


def return_cached_memory() -> None:
    """Give the device what PyTorch keeps for later tensors."""
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
