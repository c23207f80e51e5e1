"""Training on GPUs at a released model's width: tokens/s, MFU and peak memory, with as many of its layers as fit.

    python -m benchmarks.training_gpu                       # idefics2-8b, all GPUs of this host, TP = their number
    python -m benchmarks.training_gpu --shape qwen3-vl-4b --freeze_vision False --seq_len 32768 --rows 1
    python -m benchmarks.training_gpu --tp 1 --layers 8
    python -m benchmarks.training_gpu --cpu                 # a tiny model on two CPU ranks: proves this program, no GPU

Random weights in bf16, samples of `--sample_len` tokens with screenshots of 1024x768 in front and a reply in their last
eighth, as many in a row as it holds. FLOPs are the model's, without recomputation (`training/batches/flops.py`).
On the vision side those of what learns count three times, of what is frozen once. A critic's samples are prompts alone.
"""

import dataclasses
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, Literal

import torch
import tyro

from benchmarks.training_samples import screenshot
from common import cli
from common.errors import UserError
from common.files import read_json, write_json
from models.images import ImageEncoder
from models.processor import load_processor
from models.registry import family, family_of
from tests.rehearsal.checkpoints import SHAPES
from tests.rehearsal.processors import write_processor
from tests.rehearsal.sizes import SIZES
from training import config as train_config
from training.batches.collate import Collator, MicroBatch, TokenizedSample
from training.batches.columns import SampleColumns
from training.launch import torchrun
from training.memory.per_gpu import plan
from training.samples.pictures import Picture

_USABLE = 0.85  # of a GPU's memory, by the dry run's estimate


@dataclasses.dataclass(frozen=True)
class Config:
    """Measure training steps on this host's GPUs."""

    shape: str = "idefics2-8b"
    """A folder of training/memory/shapes."""
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
    seq_len: int = 0
    """Tokens of a row; 0: 8192, on a CPU 1024."""
    sample_len: int = 0
    """Tokens of a sample; 0: half a row."""
    images: int = 1
    """Screenshots of a sample."""
    packing: bool = True
    """Rows hold as many samples as fit, else one each and padding."""
    freeze_vision: bool | None = None
    """The tower does not learn; None: as the family is trained by default."""
    forward_only: bool = False
    """As scoring reads samples: no gradients, no optimizer."""
    write: Literal["logprobs", "values", "features"] = "logprobs"
    """As `score.sh --write`: a critic's values, trained unless --forward_only, or what a small critic reads."""
    cpu: bool = False
    """A tiny model on two ranks of this CPU instead."""
    output: Path = Path("training_gpu.json")
    """A JSON file for the numbers."""

    @property
    def num_ranks(self) -> int:
        return 2 if self.cpu else torch.cuda.device_count()

    @property
    def row(self) -> int:
        """Tokens of a row."""
        return self.seq_len or (1024 if self.cpu else 8192)

    @property
    def sample(self) -> int:
        """Tokens of a sample."""
        return self.sample_len or self.row // 2

    @property
    def samples_of_row(self) -> int:
        return self.row // self.sample if self.packing else 1

    @property
    def folder(self) -> Path:
        """Of the shape."""
        return SHAPES / self.shape


def main(config: Config) -> int:
    """Start one rank per GPU."""
    if config.cpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    if not config.num_ranks:
        raise UserError("no GPU here: MFU is measured on one; on CPU run benchmarks/training.py")
    if config.write == "features" and not config.forward_only:
        raise UserError("--write features: are read with --forward_only; what learns from them is a critic of its own")
    if config.num_ranks % (config.tp or config.num_ranks):
        raise UserError(f"{config.num_ranks} GPUs cannot be cut into TP={config.tp}")
    return torchrun.start("benchmarks.training_gpu", config.num_ranks, torchrun.Hosts())


def rank_main(config: Config) -> None:
    """Build, warm up, measure, report on the first rank."""
    from training import layout
    from training.modules import kernels

    kernels.prepare()
    options = _options(config)
    hf = (
        tiny_shape(config) if config.cpu else released_shape(config, config.layers or _layers_that_fit(config, options))
    )
    layout.initialize(options.layout, seed=0)
    try:
        measured = (_measure_scoring if config.forward_only else _measure)(config, options, hf)
    except torch.OutOfMemoryError as error:
        raise UserError(
            f"{hf.get_text_config().num_hidden_layers} layers do not fit; give fewer --layers ({error})"
        ) from None
    if torch.distributed.get_rank() == 0:
        gpu = "none" if config.cpu else torch.cuda.get_device_name()
        what = {"shape": config.shape, "gpu": gpu, "ranks": config.num_ranks, "tp": options.tp}
        what |= {"layers": hf.get_text_config().num_hidden_layers, "ac": config.ac, "packing": config.packing}
        what |= {"seq_len": config.row, "sample_len": config.sample, "rows": config.rows, "images": config.images}
        what |= {"tower_learns": options.trainable.vision, "write": config.write}
        write_json(config.output, {**what, **measured})
        print({**what, **measured})
    layout.finalize()


def _options(config: Config) -> train_config.Config:
    """As options of a training run."""
    tp = config.tp or config.num_ranks
    replicas = config.num_ranks // tp
    published = family(config.folder).training.get("FREEZE_VISION") == "true"
    return train_config.Config(
        dataset_path=Path(),
        pretrain_checkpoint_path=config.folder,
        tp=tp,
        sp=tp > 1,
        do=replicas > 1,
        overlap=replicas > 1,
        ac=config.ac,
        packing=config.packing,
        seq_len=config.row,
        global_batch_size=config.samples_of_row * config.rows * replicas,
        image_num=config.images * config.samples_of_row,
        freeze_vision=published if config.freeze_vision is None else config.freeze_vision,
        lr_warmup_iters=0,
        algorithm="critic" if config.write == "values" else "sft",
    )


def released_shape(config: Config, layers: int = 0) -> Any:
    """The released configuration with so many layers; 0: all."""
    hf = family(config.folder).read_config(config.folder)
    text = hf.get_text_config()
    text.num_hidden_layers = layers or text.num_hidden_layers
    return hf


def tiny_shape(config: Config) -> Any:
    """Narrow layers; images take as many tokens."""
    size = next((size for size in SIZES["tiny"].values() if size.shape == config.shape), None)
    if size is None:
        known = ", ".join(sorted(size.shape for size in SIZES["tiny"].values()))
        raise UserError(f"--shape {config.shape}: on a CPU there are {known}")
    fields = read_json(config.folder / "config.json")
    for part, values in size.changes.items():
        fields[part] |= values
    with tempfile.TemporaryDirectory() as folder:
        write_json(Path(folder) / "config.json", fields)
        return family(Path(folder)).read_config(Path(folder))


def image_encoder(config: Config, hf: Any) -> ImageEncoder:
    """Of the released processor."""
    kind = family_of(hf)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fields = read_json(config.folder / "config.json")
        write_json(folder / "config.json", fields)
        write_processor(folder, fields)
        return kind.image_encoder(load_processor(folder), hf)


def _layers_that_fit(config: Config, options: train_config.Config) -> int:
    """The most layers that the dry run's arithmetic puts into this GPU: it is linear in them."""
    usable = torch.cuda.get_device_properties(0).total_memory * _USABLE
    most = released_shape(config).get_text_config().num_hidden_layers
    least = max(1, family_of(released_shape(config)).num_deepstack(released_shape(config)))
    few, all_of_them = (
        plan(options, released_shape(config, n), torch.cuda.device_count())[0].total for n in (least, most)
    )
    if few > usable:
        raise UserError(f"not even {least} layers of {config.shape} fit into this GPU; give a larger --tp")
    return min(most, least + int((usable - few) / (all_of_them - few) * (most - least)))


def _measure_scoring(config: Config, options: train_config.Config, hf: Any) -> dict[str, float | str]:
    """Samples/s of `score.sh`'s forward pass, with what it reads on the CPU."""
    from megatron.core import parallel_state
    from megatron.core.transformer.module import Float16Module

    from training.critics.scoring import by_sample, give_hidden_states
    from training.loop.step import forward_only
    from training.modules.registry import model_class
    from training.train import build_collator

    model = model_class(family_of(hf))(hf, options.layout, options.trainable, None)
    _draw_weights(model.eval())
    if config.write == "features":
        give_hidden_states(model)
    chunk = Float16Module(model.config, model) if options.layout.bf16 else model
    encoder = image_encoder(config, hf)
    batches = _micro_batches(config, options, build_collator(options, encoder), encoder)
    seconds = []
    for _ in range(1 + config.steps):
        begin = time.perf_counter()
        read = forward_only([chunk], batches, options.seq_len, by_sample)
        seconds.append(time.perf_counter() - begin)
    median = statistics.median(seconds[1:])
    assert sum(map(len, read)) == options.global_batch_size // parallel_state.get_data_parallel_world_size()
    return {
        "kernels": str(model.kernels),
        "samples_per_s": options.global_batch_size / median,
        "tokens_per_s": sum(sum(batch.lengths) for batch in batches) / median,
        "step_seconds": median,
    }


def _measure(config: Config, options: train_config.Config, hf: Any) -> dict[str, float | str | None]:
    from training.batches.collate import OptimizerStep
    from training.batches.flops import peak_flops
    from training.checkpoints import checkpoint
    from training.loop.clock import Clock
    from training.loop.optimization import Guard, build_optimizer, build_scheduler
    from training.loop.parallel import build_model, unwrap
    from training.loop.vision_meter import VisionMeter
    from training.train import build_collator, train_step

    chunks = build_model(family_of(hf), hf, options.layout, options.trainable)
    models = unwrap(chunks)
    _draw_weights(models[0])
    optimizer = build_optimizer(options, chunks)
    optimizer.reload_model_params()
    scheduler = build_scheduler(options, optimizer, train_iters=1000)
    state = checkpoint.TrainingState(models, optimizer, scheduler, Guard(0.0), None, options.layout)
    clock = Clock(VisionMeter(models[0].vision_modules(), family_of(hf).vision_side(hf)))
    encoder = image_encoder(config, hf)
    collator = build_collator(options, encoder)
    batches = _micro_batches(config, options, collator, encoder)
    step = OptimizerStep(batches, [])
    measured = []
    for _ in range(2 + config.steps):
        clock.restart()
        measured.append(train_step(options, hf, chunks, options.build_algorithm(), state, step, clock))
    timed, peak = measured[2:], peak_flops()
    seconds = statistics.median(metrics.step_seconds for metrics in timed)
    flops_per_gpu = timed[0].flops / seconds / torch.distributed.get_world_size()
    said = max(stage.total for stage in plan(options, hf, torch.distributed.get_world_size()))
    return {
        "kernels": str(models[0].kernels),
        "samples_per_s": options.global_batch_size / seconds,
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


def _micro_batches(
    config: Config, options: train_config.Config, collator: Collator, encoder: ImageEncoder
) -> list[MicroBatch]:
    """Samples of random tokens behind their screenshots; the last eighth of each is its reply, where one is read."""
    shown, reply = picture(config), config.sample * 7 // 8
    places = torch.arange(config.sample)
    loss_mask = {
        "logprobs": places >= reply,
        "values": places == config.sample - 1,
        "features": (places == reply) | (places == config.sample - 1),
    }[config.write]
    samples = []
    for number in range(options.global_batch_size):
        ids = token_ids(encoder, shown, config.sample, number, config.images)
        columns = SampleColumns({"weight": 1.0, "outcome": float(number % 2)})
        samples.append(TokenizedSample(f"sample-{number}", ids, loss_mask, [shown] * config.images, columns))
    own = samples[collator.place.data_rank :: collator.place.data_size]
    return [batch.with_pixels() for batch in collator.collate(own)]


def picture(config: Config) -> Picture:
    """A screenshot."""
    return screenshot((320, 240) if config.cpu else (1024, 768))


def token_ids(encoder: ImageEncoder, shown: Picture, length: int, seed: int, images: int = 1) -> torch.Tensor:
    """[length]: random tokens behind those of the screenshots."""
    marks = images * encoder.num_tokens(*shown.size)
    if marks + 1 >= length * 7 // 8:
        raise UserError(f"--sample_len {length}: {images} screenshots take {marks} tokens of it")
    ids = torch.randint(encoder.vocab_size - 1, (length,), generator=torch.Generator().manual_seed(seed))
    ids += ids >= encoder.token_id  # any but an image's
    ids[1 : 1 + marks] = encoder.token_id
    return ids


if __name__ == "__main__":
    if "LOCAL_RANK" in os.environ:
        torchrun.run_rank(rank_main, tyro.cli(Config, use_underscores=True))
    else:
        cli.run(Config, main, description=__doc__)
