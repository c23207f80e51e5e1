"""What a GPU host with certain packages chooses and builds, with CUDA pretended; writes JSON.

    PYTHONPATH=.:STAND_IN_FOLDERS python tests/training/kernels_worker.py OUT.json HF_DIR MEGATRON_DIR PRETEND

The packages are the stand-ins on the path. Whatever Megatron calls "cuda" is the CPU; the rest is the code of a GPU
host: the model is built, loaded and does a step, with adapters and without, in bf16 and in fp32. PRETEND=false: no
CUDA.
"""

import functools
import json
import math
import sys
import warnings
from pathlib import Path
from typing import Any

import torch

warnings.simplefilter("ignore")


def pretend_cuda(devices: int = 1) -> None:
    """Hopper GPUs, as far as PyTorch tells."""
    torch.cuda.is_available = lambda: True
    torch.cuda.device_count = lambda: devices
    torch.cuda.get_device_capability = lambda *_: (9, 0)
    torch.cuda.get_device_name = lambda *_: "a pretended GPU"


def plain_varlen(query: Any, key: Any, value: Any, q_ends: Any, k_ends: Any, *_: int, **options: Any) -> torch.Tensor:
    """Flash attention for sequences of many lengths, which a CPU does not have."""
    groups = query.size(1) // key.size(1)
    key, value = (tensor.repeat_interleave(groups, dim=1) for tensor in (key, value))
    left, _ = options["window_size"]
    sample_q, sample_k = (
        torch.bucketize(torch.arange(len(tensor)), ends[1:], right=True)
        for tensor, ends in ((query, q_ends), (key, k_ends))
    )
    distance = torch.arange(len(query))[:, None] - torch.arange(len(key))[None, :]  # as many queries as keys
    seen = (sample_q[:, None] == sample_k[None, :]) & (distance >= 0) & ((distance <= left) | (left < 0))
    scores = torch.einsum("qhd,khd->hqk", query, key) / math.sqrt(query.size(-1))
    return torch.einsum("hqk,khd->qhd", scores.masked_fill(~seen, -torch.inf).softmax(-1), value)


def main() -> None:
    out, hf_folder, megatron_folder, pretend = sys.argv[1:]
    if pretend == "true":
        pretend_cuda()
    from training.modules import cpu_adaptor, kernels

    kernels.prepare()
    cpu_adaptor.redirect() if pretend == "true" else None
    from megatron.core import parallel_state, tensor_parallel

    from data.adapter_record import Lora
    from training.modules.language import attention
    from training.modules.trainable import EVERYTHING, Trainable

    attention.varlen_attn = plain_varlen
    store = torch.distributed.FileStore(f"{out}.store", 1)
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    parallel_state.initialize_model_parallel()
    tensor_parallel.model_parallel_cuda_manual_seed(1)
    adapters = Trainable(vision=False, connector=False, language=True, lora=Lora(4, 8.0))
    build = functools.partial(built, Path(hf_folder), Path(megatron_folder))
    cells = {
        "plain": build(EVERYTHING, True),
        "adapters": build(adapters, True),
        "fp32": build(EVERYTHING, False),
        "resumed": {
            name: resumed(Path(hf_folder), Path(megatron_folder), Path(f"{out}.{name}"), is_distributed)
            for name, is_distributed in (("plain", False), ("distributed", True))
        },
    }
    Path(out).write_text(json.dumps(cells))


def built(hf_folder: Path, megatron_folder: Path, trainable: Any, bf16: bool) -> dict[str, Any]:
    """Of one model: what it is made of, and what its first step gives."""
    from data.checkpoint_folder import find_weights
    from models.registry import family
    from training.checkpoints import checkpoint
    from training.config import Config
    from training.layout import Layout
    from training.loop.optimization import build_optimizer
    from training.loop.parallel import build_model, sharded_weights, unwrap
    from training.modules import kernels
    from training.modules.batching import NO_IMAGES

    kind = family(hf_folder)
    hf = kind.read_config(hf_folder)
    chunks = build_model(kind, hf, Layout(bf16=bf16), trainable)
    [model] = unwrap(chunks)
    checkpoint.load_model([model], find_weights(megatron_folder)[0])
    options = Config(Path(), hf_folder, tp=1, pr="bf16" if bf16 else "fp32", clip_grad=0.0)
    optimizer = build_optimizer(options, chunks)
    optimizer.reload_model_params()
    tokens = torch.randint(6, 500, (1, 48), generator=torch.Generator().manual_seed(3))
    [chunk] = chunks
    chunk.zero_grad_buffer()
    losses = [chunk(tokens, labels=tokens.roll(-1, 1), images=NO_IMAGES, segment_lengths=s) for s in (None, (20, 28))]
    torch.stack(losses).mean().backward()
    chunk.finish_grad_sync()
    optimizer.prepare_grads()
    norm = float(optimizer.get_grad_norm())
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    for group in optimizer.param_groups:
        group["lr"] = 1e-2
    optimizer.step_with_ready_grads()
    layer, config = model.language_model.decoder.layers[0], model.config
    parts = {
        "input_layernorm": layer.input_layernorm,
        "linear_qkv": layer.self_attention.linear_qkv,
        "core_attention": layer.self_attention.core_attention,
        "final_layernorm": model.language_model.decoder.final_layernorm,
    }
    inner = optimizer.optimizer
    return {
        "kernels": vars(model.kernels),
        "report": kernels.report(model.kernels),
        "parts": {name: type(part).__name__ for name, part in parts.items()},
        "rope_fusion": config.apply_rope_fusion,
        "gradient_accumulation_fusion": config.gradient_accumulation_fusion,
        "optimizer": type(inner).__module__,
        "keys": sorted(part.key for part in sharded_weights([model]).values() if hasattr(part, "key")),
        "losses": [float(loss.mean()) for loss in losses],
        "norm": norm,
        "embedding_strides": model._embed(tokens, NO_IMAGES, tokens < 0, torch.arange(tokens.size(1)))[0].stride(),
        "changed": sum(not torch.equal(before[name], p.detach()) for name, p in model.named_parameters()),
    }


def resumed(hf_folder: Path, megatron_folder: Path, folder: Path, is_distributed: bool) -> list[Any]:
    """The optimizer's count of steps and sums over its state: after two steps, after a resume, and after one more of
    each of the two."""
    from data.checkpoint_folder import find_weights
    from models.registry import family
    from training.checkpoints import checkpoint, torch_adam
    from training.config import Config
    from training.layout import Layout
    from training.loop.distributed_state import METADATA
    from training.loop.optimization import build_optimizer
    from training.loop.parallel import build_model, set_weights, trainable_weights, unwrap
    from training.modules import torch_dist
    from training.modules.batching import NO_IMAGES
    from training.modules.trainable import EVERYTHING

    kind = family(hf_folder)
    hf = kind.read_config(hf_folder)
    options = Config(Path(), hf_folder, tp=1, pr="bf16", clip_grad=0.0, do=is_distributed)
    tokens = torch.randint(6, 500, (1, 48), generator=torch.Generator().manual_seed(3))

    def build() -> tuple[Any, Any]:
        chunks = build_model(kind, hf, Layout(bf16=True, distributed_optimizer=is_distributed), EVERYTHING)
        checkpoint.load_model(unwrap(chunks), find_weights(megatron_folder)[0])
        optimizer = build_optimizer(options, chunks)
        optimizer.reload_model_params()
        return chunks, optimizer

    def step(chunks: Any, optimizer: Any) -> None:
        [chunk] = chunks
        chunk.zero_grad_buffer()
        chunk(tokens, labels=tokens.roll(-1, 1), images=NO_IMAGES, segment_lengths=None).mean().backward()
        chunk.finish_grad_sync()
        optimizer.prepare_grads()
        for group in optimizer.param_groups:
            group["lr"] = 1e-3
        optimizer.step_with_ready_grads()

    def state(optimizer: Any) -> list[float]:
        inner = getattr(optimizer, "chained_optimizers", [optimizer])[0].optimizer
        counted = [group["step"] for group in inner.param_groups if group["params"] and "step" in group]
        steps = {float(one["step"]) for one in inner.state.values() if "step" in one} or set(map(float, counted))
        sums = [sum(float(one[name].sum()) for one in inner.state.values()) for name in ("exp_avg", "exp_avg_sq")]
        return [*sorted(steps), *sums]

    chunks, optimizer = build()
    for _ in range(2):
        step(chunks, optimizer)
    folder.mkdir()
    weights = trainable_weights(unwrap(chunks))
    saved = {"model": weights, "optimizer": optimizer.sharded_state_dict(weights, is_loading=False, metadata=METADATA)}
    torch_dist.save(saved, folder)
    again, other = build()
    torch_adam.prepare_loading(other)
    weights = trainable_weights(unwrap(again))
    wanted = {"model": weights, "optimizer": other.sharded_state_dict(weights, is_loading=True, metadata=METADATA)}
    loaded = torch_dist.load(wanted, folder)
    set_weights(unwrap(again), loaded["model"])
    other.load_state_dict(loaded["optimizer"])
    torch_adam.finish_loading(other)
    found = [state(optimizer), state(other)]
    for pair in ((chunks, optimizer), (again, other)):
        step(*pair)
    return [*found, state(optimizer), state(other)]


if __name__ == "__main__":
    main()
