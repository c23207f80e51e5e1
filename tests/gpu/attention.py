"""The attention kernel at released heads, against the plain way: `python -m tests.gpu.attention`.

On a GPU the variable-length kernel computes rows of packed samples forward and backward: how far it is from scaled dot
products in fp32, beside how far those are in bf16, and how fast it is. Without one its meta function is asked whether
it takes such shapes and options.
"""

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional

from benchmarks import shapes
from common import cli
from common.errors import UserError
from common.files import write_json
from training.modules import kernels

SHAPES = ("qwen3-vl-4b", "qwen3-vl-8b", "idefics2-8b", "llava-1.5-7b", "smolvlm-256m")
_SAMPLES, _FACTOR = 8, 2.0
_TRIES = 5


@dataclasses.dataclass(frozen=True)
class Config:
    """Ask the kernel."""

    cpu: bool = False
    """Its meta function."""
    sample_len: int = 4096
    """Tokens of each of eight samples of a row."""
    output: Path = Path("attention.json")
    """Receives the figures."""


def main(config: Config) -> None:
    """Compare and time."""
    kernels.prepare(False)
    from training import layout
    from training.modules import torch_dist

    torch_dist.initialize_alone()
    layout.initialize(layout.Layout(bf16=True), seed=0)
    found = {}
    for name in SHAPES:
        text = shapes.released(name).get_text_config()
        heads = (text.num_attention_heads, text.num_key_value_heads, text.head_dim)
        windows = (None, config.sample_len // 4) if getattr(text, "sliding_window", None) else (None,)
        for window in windows:
            key = f"{name}{f', a window of {window}' if window else ''}"
            found[key] = _asked(config, heads, window) if config.cpu else _measured(config, heads, window)
    write_json(config.output, found)
    print(found)
    far = [name for name, one in found.items() if one.get("times_plain_bf16", 0.0) > _FACTOR]
    if far:
        raise UserError(f"{', '.join(far)}: more than {_FACTOR:g} times as far from fp32 as plain attention in bf16")


def _attend(heads: tuple[int, int, int], window: int | None) -> Callable[..., torch.Tensor]:
    """(query, key, value [s, heads, d], lengths) -> [s, heads * d] by our layer."""
    from megatron.core.transformer.transformer_config import TransformerConfig

    from training.modules.language.attention import CausalAttention
    from training.modules.language.packed import PackedSamples

    queries, _, size = heads
    options = {"window_size": (window - 1, 0)} if window else {}
    config = TransformerConfig(num_layers=1, hidden_size=queries * size, num_attention_heads=queries, **options)
    module = CausalAttention(config, varlen=True)

    def attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, lengths: tuple[int, ...]) -> torch.Tensor:
        packed = PackedSamples.of(lengths, query.device)
        return module(query, key, value, None, packed_seq_params=packed)

    return attend


def _drawn(heads: tuple[int, int, int], length: int, device: str) -> list[torch.Tensor]:
    queries, keys, size = heads
    shapes = [(length, count, size) for count in (queries, keys, keys)]
    return [torch.randn(shape, dtype=torch.bfloat16, device=device, requires_grad=True) for shape in shapes]


def _asked(config: Config, heads: tuple[int, int, int], window: int | None) -> dict[str, Any]:
    lengths = (config.sample_len,) * _SAMPLES
    tensors = _drawn(heads, sum(lengths), "meta")
    output = _attend(heads, window)(*tensors, lengths)
    gradients = torch.autograd.grad(output.sum(), tensors)
    assert output.shape == (sum(lengths), heads[0] * heads[2])
    assert [one.shape for one in gradients] == [one.shape for one in tensors]
    return {"heads": heads, "window": window, "taken": True}


def _measured(config: Config, heads: tuple[int, int, int], window: int | None) -> dict[str, Any]:
    attend, short = _attend(heads, window), config.sample_len // 2
    tensors = _drawn(heads, 2 * short, "cuda")
    exact = _plain([tensor.detach().float() for tensor in tensors], short, window)
    rounded = _plain([tensor.detach() for tensor in tensors], short, window)
    error = _distance(attend(*tensors, (short, short)), exact)
    lengths = (config.sample_len,) * _SAMPLES
    long = _drawn(heads, sum(lengths), "cuda")

    def step() -> None:
        torch.autograd.grad(attend(*long, lengths).sum(), long)

    seconds = _best_seconds(step)
    seen = min(config.sample_len, window or config.sample_len)
    pairs = _SAMPLES * (seen * (seen + 1) / 2 + (config.sample_len - seen) * seen)
    flops = 3.5 * 4 * heads[0] * heads[2] * pairs  # the backward pass computes the scores again
    return {
        **{"heads": heads, "window": window, "error": error, "plain_bf16_error": _distance(rounded, exact)},
        "times_plain_bf16": error / _distance(rounded, exact),
        **{"seconds": seconds, "tflops": flops / seconds / 1e12, "tokens": sum(lengths)},
    }


def _plain(tensors: list[torch.Tensor], length: int, window: int | None) -> torch.Tensor:
    """[2 * length, heads * d] of two samples, with a mask."""
    positions = torch.arange(length, device=tensors[0].device)
    distance = positions[:, None] - positions[None, :]
    mask = (distance >= 0) & (distance < (window or length))
    query, key, value = (tensor.unflatten(0, (2, length)).transpose(1, 2) for tensor in tensors)
    output = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, enable_gqa=True)
    return output.transpose(1, 2).flatten(2).flatten(0, 1)


def _distance(one: torch.Tensor, other: torch.Tensor) -> float:
    """As a share of the other's size."""
    return float((one.detach().float() - other.float()).norm() / other.float().norm())


def _best_seconds(work: Callable[[], object]) -> float:
    def once() -> float:
        torch.cuda.synchronize()
        begin = time.perf_counter()
        work()
        torch.cuda.synchronize()
        return time.perf_counter() - begin

    once()
    return min(once() for _ in range(_TRIES))


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
