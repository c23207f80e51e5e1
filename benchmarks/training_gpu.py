"""Training on GPUs at idefics2-8b's size: tokens/s, MFU and peak memory, with as many of its 32 layers as fit.

    python -m benchmarks.training_gpu                       # all GPUs of this host, TP = their number
    python -m benchmarks.training_gpu --tp 1 --layers 8
    python -m benchmarks.training_gpu --cpu                 # a tiny model on two CPU ranks: proves this program, no GPU

Random weights in bf16, rows of 8192 tokens that hold two samples with three screenshots each, the published batch of 64
samples cut down to `--rows` rows a step. FLOPs are the model's, without recomputation (`training/flops.py`).
"""

import dataclasses
import io
import os
import statistics
from pathlib import Path
from typing import Any, Literal

import torch
import tyro
from PIL import Image

from common import cli
from common.errors import UserError
from common.files import write_json
from models.images import ImageEncoder
from models.registry import family, family_of
from training import config as train_config
from training import torchrun
from training.algorithms.sft import Sft
from training.collate import Collator, MicroBatch, TokenizedSample
from training.columns import SampleColumns
from training.memory import plan
from training.modules.batching import Pixels
from training.pictures import read_picture

SHAPE = Path(__file__).resolve().parent.parent / "training" / "shapes" / "idefics2-8b"
_SCREENSHOTS = 3  # of a sample
_SCREENSHOT = (980, 980)  # height and width of a screenshot after resizing, as published
_USABLE = 0.85  # of a GPU's memory, by the dry run's estimate


@dataclasses.dataclass(frozen=True)
class Config:
    """Measure training steps on this host's GPUs."""

    tp: int = 0
    """Tensor-parallel size; 0: all GPUs."""
    layers: int = 0
    """Of the language model; 0: as many as fit."""
    ac: Literal["full", "selective", "none"] = "selective"
    """Activation recomputation."""
    rows: int = 8
    """Micro-batches of a step on each replica."""
    steps: int = 5
    """Timed ones, after two others."""
    cpu: bool = False
    """A tiny model on two ranks of this CPU instead."""
    output: Path = Path("training_gpu.json")
    """A JSON file for the numbers."""

    @property
    def num_ranks(self) -> int:
        return 2 if self.cpu else torch.cuda.device_count()

    @property
    def seq_len(self) -> int:
        """Tokens of a row, which holds two samples."""
        return 512 if self.cpu else 8192


def main(config: Config) -> int:
    """Start one rank per GPU."""
    if config.cpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    if not config.num_ranks:
        raise UserError("no GPU here: MFU is measured on one; on CPU run benchmarks/training.py")
    if config.num_ranks % (config.tp or config.num_ranks):
        raise UserError(f"{config.num_ranks} GPUs cannot be cut into TP={config.tp}")
    return torchrun.start("benchmarks.training_gpu", config.num_ranks, torchrun.Hosts())


def rank_main(config: Config) -> None:
    """Build, warm up, measure, report on the first rank."""
    from training import layout
    from training.modules import kernels

    kernels.prepare()
    options = _options(config)
    hf = _tiny_shape() if config.cpu else _shape(config.layers or _layers_that_fit(options))
    layout.initialize(options.layout, seed=0)
    try:
        measured = _measure(options, hf, config.steps)
    except torch.OutOfMemoryError as error:
        raise UserError(
            f"{hf.text_config.num_hidden_layers} layers do not fit; give fewer --layers ({error})"
        ) from None
    if torch.distributed.get_rank() == 0:
        gpu = "none" if config.cpu else torch.cuda.get_device_name()
        what = {"gpu": gpu, "ranks": config.num_ranks, "tp": options.tp}
        what |= {"layers": hf.text_config.num_hidden_layers, "ac": config.ac}
        write_json(config.output, {**what, **measured})
        print({**what, **measured})
    layout.finalize()


def _options(config: Config) -> train_config.Config:
    """As options of a training run."""
    tp = config.tp or config.num_ranks
    replicas = config.num_ranks // tp
    return train_config.Config(
        dataset_path=Path(),
        pretrain_checkpoint_path=SHAPE,
        tp=tp,
        sp=tp > 1,
        do=replicas > 1,
        overlap=replicas > 1,
        ac=config.ac,
        packing=True,
        seq_len=config.seq_len,
        global_batch_size=2 * config.rows * replicas,
        image_num=2 * _SCREENSHOTS,
        lr_warmup_iters=0,
    )


def _shape(layers: int = 0) -> Any:
    """idefics2-8b with so many layers; 0: all."""
    hf = family(SHAPE).read_config(SHAPE)
    hf.text_config.num_hidden_layers = layers or hf.text_config.num_hidden_layers
    return hf


def _tiny_shape() -> Any:
    """Two narrow layers of everything; images take as many tokens."""
    hf = _shape(layers=2)
    for part in (hf.text_config, hf.vision_config):
        part.hidden_size, part.intermediate_size, part.num_attention_heads = 64, 128, 4
    hf.text_config.num_key_value_heads, hf.text_config.head_dim = 2, 16
    hf.vision_config.num_hidden_layers = 2
    connector = hf.perceiver_config
    connector.hidden_size, connector.resampler_depth = 64, 1
    connector.resampler_n_heads, connector.resampler_head_dim, connector.num_key_value_heads = 4, 16, 2
    return hf


def _layers_that_fit(options: train_config.Config) -> int:
    """The most of idefics2-8b's layers that the dry run's arithmetic puts into this GPU: it is linear in them."""
    usable = torch.cuda.get_device_properties(0).total_memory * _USABLE
    most = _shape().text_config.num_hidden_layers
    one, all_of_them = (plan(options, _shape(n), torch.cuda.device_count())[0].total for n in (1, most))
    if one > usable:
        raise UserError("not even one layer of idefics2-8b fits into this GPU; give a larger --tp")
    return min(most, 1 + int((usable - one) / (all_of_them - one) * (most - 1)))


def _measure(options: train_config.Config, hf: Any, steps: int) -> dict[str, float | str | None]:
    from training import checkpoint
    from training.clock import Clock
    from training.collate import OptimizerStep
    from training.flops import peak_flops
    from training.optimization import Guard, build_optimizer, build_scheduler
    from training.parallel import build_model, unwrap
    from training.train import build_collator, train_step
    from training.vision_meter import VisionMeter

    chunks = build_model(family(SHAPE), hf, options.layout)
    models = unwrap(chunks)
    _draw_weights(models[0])
    optimizer = build_optimizer(options, chunks)
    optimizer.reload_model_params()
    scheduler = build_scheduler(options, optimizer, train_iters=1000)
    state = checkpoint.TrainingState(models, optimizer, scheduler, Guard(0.0), None, options.layout)
    clock = Clock(VisionMeter(models[0].vision_modules(), family_of(hf).vision_side(hf)))
    collator = build_collator(options, Screenshots(hf.perceiver_config.resampler_n_latents, hf.image_token_id))
    batches = _micro_batches(collator, hf, options)
    step = OptimizerStep(batches, [])
    measured = []
    for _ in range(2 + steps):
        clock.restart()
        measured.append(train_step(options, hf, chunks, Sft(), state, step, clock))
    timed, peak = measured[2:], peak_flops()
    seconds = statistics.median(metrics.step_seconds for metrics in timed)
    flops_per_gpu = timed[0].flops / seconds / torch.distributed.get_world_size()
    said = max(stage.total for stage in plan(options, hf, torch.distributed.get_world_size()))
    return {
        "kernels": str(models[0].kernels),
        "tokens_per_s": timed[0].num_tokens / seconds,
        "tflops_per_gpu": flops_per_gpu / 1e12,
        "mfu": flops_per_gpu / peak if peak else None,
        "peak_memory_gib": max(metrics.memory_gb for metrics in timed),
        "dry_run_gib": said / 2**30,
        "step_seconds": seconds,
        **{f"{phase}_seconds": value for phase, value in timed[-1].seconds.items()},
    }


def _draw_weights(model: torch.nn.Module) -> None:
    """Small random ones, alike on all ranks; norms begin at one."""
    torch.manual_seed(0)
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1:
            parameter.data.normal_(std=0.02)
        else:
            parameter.data.fill_(0.0 if name.endswith("bias") else 1.0)


def _micro_batches(collator: Collator, hf: Any, options: train_config.Config) -> list[MicroBatch]:
    """Samples of random tokens; the last eighth of each is its reply."""
    images, length = hf.perceiver_config.resampler_n_latents * _SCREENSHOTS, options.seq_len // 2
    samples, picture = [], read_picture("screenshot", _png())
    for number in range(options.global_batch_size):
        generator = torch.Generator().manual_seed(number)
        ids = torch.randint(hf.image_token_id, (length,), generator=generator)
        ids[1 : 1 + images] = hf.image_token_id
        loss_mask = torch.arange(length) >= length * 7 // 8
        samples.append(
            TokenizedSample(
                f"sample-{number}", ids, loss_mask, [picture] * _SCREENSHOTS, SampleColumns({"weight": 1.0})
            )
        )
    own = samples[collator.place.data_rank :: collator.place.data_size]
    return [batch.with_pixels() for batch in collator.collate(own)]


def _png() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", _SCREENSHOT[::-1]).save(file, "PNG")
    return file.getvalue()


class Screenshots(ImageEncoder):
    """An image encoder whose every image is noise of a screenshot's size."""

    def __init__(self, latents: int, token_id: int) -> None:
        self.latents, self.token_id = latents, token_id

    def num_units(self, height: int, width: int) -> int:
        return 1

    def num_tokens(self, height: int, width: int) -> int:
        return self.latents

    def encode(self, images: list[Any]) -> Pixels:
        rows, columns = (size // 14 for size in _SCREENSHOT)
        noise = torch.randn(len(images), 3, rows * 14, columns * 14)
        return {"pixel_values": noise, "patch_mask": torch.ones(len(images), rows, columns, dtype=torch.bool)}

    def position_ids(self, token_ids: torch.Tensor, sizes: Any) -> None:
        return None


if __name__ == "__main__":
    if "LOCAL_RANK" in os.environ:
        torchrun.run_rank(rank_main, tyro.cli(Config, use_underscores=True))
    else:
        cli.run(Config, main, description=__doc__)
