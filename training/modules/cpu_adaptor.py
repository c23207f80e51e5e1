"""Run the unmodified megatron-core on a CPU: whatever it calls "cuda" is the CPU.

Megatron names the device "cuda" in its schedules, embeddings and optimizers. Without a GPU, `install()` redirects those
names, so that a laptop runs the same TP/PP/DP code over gloo. `kernels.prepare` calls it; it does nothing where a GPU
is present, and belongs only into processes that run Megatron (`Tensor.type()` then says "torch.cuda...").
"""

import functools
import logging
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._device import _device_constructors  # pyright: ignore[reportPrivateUsage]  # the list of all factories

_CPU = torch.device("cpu")
_FACTORIES = (
    "tensor as_tensor empty zeros ones full arange linspace rand randn randint eye "
    "empty_like zeros_like ones_like full_like"
).split()


def install() -> None:
    """Redirect "cuda" to the CPU when there is no GPU."""
    if not torch.cuda.is_available():
        redirect()


@functools.cache  # what is redirected already is no factory of PyTorch's any more
def redirect() -> None:
    """Redirect "cuda" to the CPU."""
    torch.compile = _eager  # Megatron's jit_fuser: its import alone takes seconds here, its warm-up minutes
    _redirect_tensors()
    _redirect_cuda_functions()
    _redirect_random_state()


def _eager(model: Callable[..., Any] | None = None, **_: Any) -> Callable[..., Any]:
    return _eager if model is None else model


def _is_cuda(device: Any) -> bool:
    return str(device).startswith("cuda") if isinstance(device, (str, torch.device)) else False


def _redirect_tensors() -> None:
    """Factories with device="cuda", `.to("cuda")`, `.cuda()`, and the legacy type names that Megatron compares with."""
    _device_constructors()  # remembers the originals, which `with torch.device(...)` must go on recognizing
    for name in _FACTORIES:
        setattr(torch, name, _on_cpu(getattr(torch, name)))
    to, type_ = torch.Tensor.to, torch.Tensor.type

    def tensor_to(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        if _is_cuda(kwargs.get("device")):
            kwargs["device"] = _CPU
        if args and _is_cuda(args[0]):
            args = (_CPU, *args[1:])
        return to(self, *args, **kwargs)

    def tensor_type(self: torch.Tensor, dtype: Any = None, **kwargs: Any) -> Any:
        if dtype is None:
            return type_(self).replace("torch.", "torch.cuda.")
        return type_(self, dtype.replace("torch.cuda.", "torch.") if isinstance(dtype, str) else dtype, **kwargs)

    replaced = {"to": tensor_to, "type": tensor_type, "cuda": lambda self, *_, **__: self}
    for name, method in replaced.items():
        setattr(torch.Tensor, name, method)


def _on_cpu(factory: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    @functools.wraps(factory)
    def create(*args: Any, **kwargs: Any) -> torch.Tensor:
        if _is_cuda(kwargs.get("device")):
            kwargs["device"] = _CPU
        if kwargs.get("pin_memory"):
            kwargs["pin_memory"] = False
        return factory(*args, **kwargs)

    return create


def _redirect_cuda_functions() -> None:
    torch.cuda.current_device = lambda: _CPU
    for name in ("set_device", "synchronize", "empty_cache"):  # one function each: dynamo's table rejects duplicates
        setattr(torch.cuda, name, lambda *_, **__: None)
    torch.cuda.manual_seed = lambda seed: torch.manual_seed(seed)
    torch.cuda.get_rng_state = torch.cuda.random.get_rng_state = lambda device=None: torch.get_rng_state()


def _redirect_random_state() -> None:
    """One generator stands for both devices, so forked dropout and recompute stay exact."""
    from megatron.core.tensor_parallel import random

    random._set_cuda_rng_state = lambda state, device=-1, graph_safe=False: torch.set_rng_state(state)
    # Forking the "cuda" state always moves the CPU state here, so Megatron's warning about it is moot.
    logging.getLogger(random.__name__).addFilter(lambda record: "CPU RNG state changed" not in record.getMessage())
