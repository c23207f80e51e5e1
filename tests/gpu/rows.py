"""Rows of a line: figures that one process measures one after the other, each written as soon as it is known.

A process costs a quarter of a minute before it measures anything. A row that fails costs itself alone: the process ends
there, since its GPU may be lost to it, and `short.py` begins another for the rows behind.
"""

import gc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from common.errors import UserError
from common.files import write_json

_LEFT_GIB = 2.0
"""A process whose rows leave more than this behind measures no other one."""


def measure(names: Sequence[str], output: Path, work: Callable[[str], dict[str, Any]], held_gib: float = 0.0) -> None:
    """{row: its figures, or {"error": why there are none}} to `output`. `held_gib` on the GPU belong to all rows."""
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        try:
            found[name] = work(name)
        except (UserError, torch.OutOfMemoryError) as error:
            found[name] = _told(error)
        except Exception as error:
            write_json(output, found | {name: _told(error)})
            raise
        write_json(output, found)  # outside of the handlers, whose error holds what the row had
        print(name, found[name], flush=True)
        if free_memory() > held_gib + _LEFT_GIB:
            print(f"{name} left memory behind; the next row needs a process of its own", flush=True)
            return


def _told(error: Exception) -> dict[str, Any]:
    return {"error": f"{type(error).__name__}: {error}"[:400]}


def free_memory() -> float:
    """Give back what a row held, and forget what was compiled for it; GiB on the GPU that are held all the same."""
    torch.compiler.reset()  # of many shapes compiled code is given up silently
    gc.collect()
    if not torch.cuda.is_available():
        return 0.0
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    return torch.cuda.memory_allocated() / 2**30
