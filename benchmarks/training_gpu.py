"""Training on GPUs at a released model's width: tokens/s, MFU and peak memory, with as many of its layers as fit.

    python -m benchmarks.training_gpu                       # idefics2-8b, all GPUs of this host, TP = their number
    python -m benchmarks.training_gpu --shape qwen3-vl-4b --freeze_vision False --seq_len 32768 --rows 1
    python -m benchmarks.training_gpu --tp 1 --layers 8 --trace step      # where a step's time goes, too
    python -m benchmarks.training_gpu --cpu                 # a tiny model on two CPU ranks: proves this program, no GPU

Random weights in bf16, samples of `--sample_len` tokens with screenshots of 1024x768 in front and a reply in their last
eighth, as many in a row as it holds. FLOPs are the model's, without recomputation (`training/batches/flops.py`).
On the vision side those of what learns count three times, of what is frozen once. A critic's samples are prompts alone.
"""

import dataclasses
import os
import statistics
import time
from pathlib import Path
from typing import Any, Literal

import torch
import tyro

from benchmarks import shapes
from benchmarks.traced import traced
from benchmarks.training_samples import screenshot
from common import cli
from common.errors import UserError
from common.files import write_json
from models.images import ImageEncoder
from models.registry import family, family_of
from tests.rehearsal.checkpoints import SHAPES
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
    trace: Path | None = None
    """Begins the names of two files about one more step (`benchmarks/traced.py`)."""
    cpu: bool = False
    """A tiny model on `--tp` ranks of this CPU instead, two where that is 0."""
    output: Path = Path("training_gpu.json")
    """A JSON file for the numbers."""

    @property
    def num_ranks(self) -> int:
        return (self.tp or 2) if self.cpu else torch.cuda.device_count()

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
    layers = depth(config)
    try:
        found = measure(config, layers)
    except torch.OutOfMemoryError as error:
        raise UserError(f"{layers} layers do not fit; give fewer --layers ({error})") from None
    if torch.distributed.get_rank() == 0:
        write_json(config.output, found)
        print(found)
    layout.finalize()


def depth(config: Config) -> int:
    """Layers of the language model: as asked for, or as many as fit."""
    if config.cpu:
        return shapes.tiny(config.shape).get_text_config().num_hidden_layers
    return config.layers or _layers_that_fit(config, _options(config))


def measure(config: Config, layers: int) -> dict[str, Any]:
    """What was measured, and of what; the layout stays, for what the ranks have yet to agree on. Kernels must have
    been prepared.

    Raises:
        torch.OutOfMemoryError: so many layers do not fit.
    """
    from training import layout

    options = _options(config)
    hf = shapes.tiny(config.shape) if config.cpu else shapes.released(config.shape, layers)
    layout.initialize(options.layout, seed=0)
    measured = (_measure_scoring if config.forward_only else _measure)(config, options, hf)
    gpu = "none" if config.cpu else torch.cuda.get_device_name()
    return {
        **{"shape": config.shape, "gpu": gpu, "ranks": config.num_ranks, "tp": options.tp, "layers": layers},
        **{"ac": config.ac, "packing": config.packing, "seq_len": config.row, "sample_len": config.sample},
        **{"rows": config.rows, "images": config.images, "samples": options.global_batch_size},
        **{"tower_learns": options.trainable.vision, "write": config.write},
        "forward_only": config.forward_only,
        **measured,
    }


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


def _layers_that_fit(config: Config, options: train_config.Config) -> int:
    """The most layers that the dry run's arithmetic puts into this GPU: it is linear in them."""
    usable = torch.cuda.get_device_properties(0).total_memory * _USABLE
    most = shapes.released(config.shape).get_text_config().num_hidden_layers
    least = max(1, family_of(shapes.released(config.shape)).num_deepstack(shapes.released(config.shape)))
    few, all_of_them = (
        plan(options, shapes.released(config.shape, n), torch.cuda.device_count())[0].total for n in (least, most)
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
    shapes.draw_weights(model.eval())
    if config.write == "features":
        give_hidden_states(model)
    chunk = Float16Module(model.config, model) if options.layout.bf16 else model
    encoder = shapes.image_encoder(config.shape)
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
    shapes.draw_weights(models[0])
    optimizer = build_optimizer(options, chunks)
    optimizer.reload_model_params()
    scheduler = build_scheduler(options, optimizer, train_iters=1000)
    state = checkpoint.TrainingState(models, optimizer, scheduler, Guard(0.0), None, options.layout)
    clock = Clock(VisionMeter(models[0].vision_modules(), family_of(hf).vision_side(hf)))
    encoder = shapes.image_encoder(config.shape)
    collator = build_collator(options, encoder)
    batches = _micro_batches(config, options, collator, encoder)
    step = OptimizerStep(batches, [])
    measured = []
    for _ in range(2 + config.steps):
        clock.restart()
        measured.append(train_step(options, hf, chunks, options.build_algorithm(), state, step, clock))
    timed, peak = measured[2:], peak_flops()
    memory = max(metrics.memory_gb for metrics in timed)
    if config.trace is not None:
        clock.restart()
        with traced(config.trace):
            train_step(options, hf, chunks, options.build_algorithm(), state, step, clock)
    seconds = statistics.median(metrics.step_seconds for metrics in timed)
    flops_per_gpu = timed[0].flops / seconds / torch.distributed.get_world_size()
    said = max(stage.total for stage in plan(options, hf, torch.distributed.get_world_size()))
    return {
        "kernels": str(models[0].kernels),
        "samples_per_s": options.global_batch_size / seconds,
        "tokens_per_s": timed[0].num_tokens / seconds,
        "tflops_per_gpu": flops_per_gpu / 1e12,
        "mfu": flops_per_gpu / peak if peak else None,
        "peak_memory_gib": memory,
        "dry_run_gib": said / 2**30,
        "step_seconds": seconds,
        **{f"{phase}_seconds": value for phase, value in timed[-1].seconds.items()},
    }


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
