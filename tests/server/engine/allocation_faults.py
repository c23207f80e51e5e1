"""Allocations of the engine's thread: which places make them, and one that fails on purpose."""

import sys
import threading
from collections.abc import Collection
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from server.engine.engine import Engine
from tests.server.helpers import ROOT

Place = tuple[str, ...]  # the last two lines of server/ that led to an operation, and its name

_SERVER = str(ROOT / "server")
_WRITES_WITH_SCRATCH = ("index_put_", "masked_fill_", "index_add_")
ERRORS = (
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
    RuntimeError("[enforce fail at alloc_cpu.cpp:124] err == 0. DefaultCPUAllocator: can't allocate memory: 8 bytes"),
    MemoryError("not a byte left"),
)


class Allocations(TorchDispatchMode):
    """Every operation that makes new memory, and faults of two kinds: `fail_once_at`, `full_from`."""

    def __init__(self, known: Collection[Place] = ()) -> None:
        super().__init__()
        self.places = set(known)
        self.num_failed, self.turn = 0, 0
        self.passing: set[Place] = set()  # each fails once
        self._error, self._full, self._full_from, self._failed_in = ERRORS[0], False, None, -1

    def fail_once_at(self, places: Collection[Place]) -> None:
        """Each of the places fails the first time that it is reached in a turn of the engine without a fault so far."""
        self.passing = set(places)

    def full_from(self, place: Place | None, error: Exception = ERRORS[0]) -> None:
        """Every allocation fails from the first time that `place` is reached, or from now on, until `relieve`."""
        self._full, self._full_from, self._error = place is None, place, error

    def relieve(self) -> None:
        """Memory is there again."""
        self._full, self._full_from = False, None

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.__name__.partition(".")[0]
        place = (*_server_lines(), name)
        if place in self.places or name in _WRITES_WITH_SCRATCH:
            self._allocate(place)  # before it runs: what fails to allocate has done nothing yet
            return func(*args, **(kwargs or {}))
        outputs = func(*args, **(kwargs or {}))
        if _new_bytes(outputs, args):
            self._allocate(place)
        return outputs

    def _allocate(self, place: Place) -> None:
        self.places.add(place)
        self._full = self._full or place == self._full_from
        if self._full:
            self.num_failed += 1
            raise type(self._error)(*self._error.args)
        if place in self.passing and self._failed_in != self.turn:
            self.passing.remove(place)
            self._failed_in = self.turn
            self.num_failed += 1
            error = ERRORS[self.num_failed % len(ERRORS)]
            raise type(error)(*error.args)


class WatchedEngine(Engine):
    """An engine whose thread allocates under watch, and begins when `gate` opens."""

    def __init__(self, *args: Any, known: Collection[Place] = ()):
        self.allocations, self.gate = Allocations(known), threading.Event()
        super().__init__(*args)

    def _run(self) -> None:
        self.gate.wait()
        with self.allocations:
            super()._run()

    def _turn(self) -> None:
        self.allocations.turn += 1
        super()._turn()


def _new_bytes(outputs: Any, args: Any) -> bool:
    known = {tensor.untyped_storage().data_ptr() for tensor in _tensors(args)}
    return any(one.nbytes and one.untyped_storage().data_ptr() not in known for one in _tensors(outputs))


def _tensors(values: Any) -> list[torch.Tensor]:
    if isinstance(values, torch.Tensor):
        return [values]
    return [one for value in values for one in _tensors(value)] if isinstance(values, list | tuple) else []


def _server_lines() -> Place:
    lines, frame = [], sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename.startswith(_SERVER):
            lines.append(f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno} {frame.f_code.co_name}")
        frame = frame.f_back
    return tuple(reversed(lines[:2]))
