"""What a user of transformers gets on the same GPU.

    python -m benchmarks.training_gpu_baseline --shape qwen3-vl-4b

Hugging Face's model in bf16 with SDPA attention, gradient checkpointing where `--ac full`, PyTorch's fused AdamW; the
same samples as `benchmarks/training_gpu.py`, one row a sample without padding. `--compile` compiles the layers of the
language model. Counted are the same FLOPs (`training/batches/flops.py`).
"""

import dataclasses
import os
import statistics
import time
from pathlib import Path
from typing import Any, Literal

import torch

from benchmarks import shapes, training_gpu
from common import cli
from common.files import write_json
from models.registry import family_of
from training.batches.flops import language_flops, peak_flops
from training.samples.pictures import Picture


@dataclasses.dataclass(frozen=True)
class Config:
    """Measure training steps of transformers' model."""

    shape: str = "idefics2-8b"
    """A folder of training/memory/shapes."""
    layers: int = 0
    """Of the language model; 0: all."""
    samples: int = 8
    """Of a step."""
    sample_len: int = 4096
    """Tokens of a sample."""
    micro_batch_size: int = 1
    """Samples computed at once."""
    freeze_vision: bool = False
    """The tower does not learn."""
    ac: Literal["full", "none"] = "full"
    """Gradient checkpointing."""
    compile: bool = False
    """Compile each layer of the language model."""
    steps: int = 3
    """Timed ones, after two others."""
    cpu: bool = False
    """A tiny model on this CPU instead."""
    output: Path = Path("training_gpu_baseline.json")
    """A JSON file for the numbers."""


def main(config: Config) -> None:
    """Measure and write."""
    if config.cpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    write_json(config.output, found := measure(config))
    print(found)


def measure(config: Config) -> dict[str, Any]:
    """Build, warm up, measure."""
    device = torch.device("cpu" if config.cpu else "cuda")
    ours = training_gpu.Config(shape=config.shape, layers=config.layers, cpu=config.cpu)
    hf = shapes.tiny(config.shape) if config.cpu else shapes.released(config.shape, config.layers)
    encoder = shapes.image_encoder(config.shape)
    model = _model(config, hf, device)
    learned = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=1e-6, fused=device.type == "cuda")
    picture = training_gpu.picture(ours)
    batches = [
        _batch(config, encoder, picture, number, device) for number in range(0, config.samples, config.micro_batch_size)
    ]
    seconds = []
    for _ in range(2 + config.steps):
        begin = time.perf_counter()
        for batch in batches:
            (model(**batch, use_cache=False).loss / len(batches)).backward()
        torch.nn.utils.clip_grad_norm_(learned, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if device.type == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begin)
    return _figures(config, hf, encoder, picture, statistics.median(seconds[2:]))


def _model(config: Config, hf: Any, device: torch.device) -> Any:
    with device:
        model = family_of(hf).auto_model().from_config(hf, dtype=torch.bfloat16, attn_implementation="sdpa")
    model = model.to(device).train()
    if config.ac == "full":
        model.gradient_checkpointing_enable({"use_reentrant": False})
    if config.freeze_vision:
        for name in family_of(hf).tower_names:
            model.model.get_submodule(name if hasattr(model.model, name) else "vision_model").requires_grad_(False)
    if config.compile:
        for layer in model.get_decoder().layers:
            layer.compile()
    return model


def _batch(
    config: Config, encoder: Any, picture: Picture, number: int, device: torch.device
) -> dict[str, torch.Tensor]:
    size = min(config.micro_batch_size, config.samples - number)
    rows = [training_gpu.token_ids(encoder, picture, config.sample_len, number + row) for row in range(size)]
    ids = torch.stack(rows)
    labels = ids.clone()
    labels[:, : config.sample_len * 7 // 8] = -100
    image = picture.decode("screenshot")
    pixels = [encoder.process(image) for _ in range(size)]
    images = {name: torch.cat([each[name] for each in pixels]).to(device) for name in pixels[0]}
    if "mm_token_type_ids" in _arguments(config):
        images["mm_token_type_ids"] = (ids == encoder.token_id).int().to(device)
    return {"input_ids": ids.to(device), "labels": labels.to(device), **images}


def _arguments(config: Config) -> set[str]:
    """Of the model's forward pass."""
    import inspect

    hf = shapes.released(config.shape)
    with torch.device("meta"):
        kind = type(family_of(hf).auto_model().from_config(hf))
    return set(inspect.signature(kind.forward).parameters)


def _figures(config: Config, hf: Any, encoder: Any, picture: Picture, seconds: float) -> dict[str, Any]:
    length, count = config.sample_len, config.samples
    reply = length - length * 7 // 8
    flops = language_flops(hf.get_text_config(), [length] * count, [reply + 1] * count, count * reply)
    flops += (
        count * (1 if config.freeze_vision else 3) * family_of(hf).vision_side(hf).image_flops(encoder, *picture.size)
    )
    peak = peak_flops()
    return {
        **{key: value for key, value in dataclasses.asdict(config).items() if key != "output"},
        "gpu": "none" if config.cpu else torch.cuda.get_device_name(),
        "layers": hf.get_text_config().num_hidden_layers,
        "samples_per_s": count / seconds,
        "tokens_per_s": count * length / seconds,
        "mfu": flops / seconds / peak if peak else None,
        "peak_memory_gib": torch.cuda.max_memory_allocated() / 2**30 if not config.cpu else None,
        "step_seconds": seconds,
    }


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
