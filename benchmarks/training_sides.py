"""The sides that `benchmarks/training.py` compares; each trains in a process of its own, when it is told to.

Ours is `training.train.train_step`, as the training loop calls it: Megatron's schedule, guard, clipping, Adam and the
step's figures. The others train Hugging Face's model in a plain PyTorch loop with clipping and AdamW, on the same
micro-batches: `huggingface` lets the model compute its loss, as `Trainer` does; `loop` makes the best of it by hand:
logits and loss of the reply's tokens only, no mask where padding on the right needs none, fused AdamW.
"""

import dataclasses
import math
from functools import partial
from pathlib import Path
from typing import Literal

import torch
from torch.nn import functional
from transformers import AutoModelForImageTextToText, AutoProcessor

from benchmarks import training_samples
from models.registry import family
from models.tokens.encoding import ConversationEncoder
from training import layout
from training.algorithms.algorithm import PredictedTokens
from training.algorithms.sft import Sft
from training.batches.chain import chain
from training.batches.collate import Collator, MicroBatch, Place, TokenizedSample
from training.batches.flops import language_flops
from training.batches.packing import deal_out
from training.config import Config
from training.modules.batching import IGNORE

LR = 1e-12  # below the rounding of the weights: sides that have taken different numbers of steps compute the same loss


@dataclasses.dataclass(frozen=True)
class Job:
    """What to train on, and how."""

    model: str
    """Name of the model's folders."""
    mode: Literal["padded", "packed"]
    side: Literal["elcano", "huggingface", "loop"]
    threads: int
    num_samples: int
    """Of the one step that a round is."""
    seq_len: int
    batch_size: int = 2
    """Samples of a micro-batch, padded to its longest; packed, a micro-batch is one row."""
    pad_to_seq_len: bool = False
    lengths: training_samples.Lengths = "sites"
    dealt_by: Literal["number", "cost"] = "cost"
    """How replicas get their shares: as many samples each, or as the trainer does, of even cost."""
    chained: bool = False
    """Steps that go on from each other are one sequence (`training.batches.chain`)."""


@dataclasses.dataclass(frozen=True)
class Models:
    """Where the models lie, as both sides read them, and samples, if they are not to be drawn."""

    folder: Path
    dataset_path: Path | None

    def hf(self, name: str) -> Path:
        return self.folder / name / "hf"

    def megatron(self, name: str) -> Path:
        return self.folder / name / "megatron"

    def options(self, job: Job, tp: int) -> Config:
        """A job as the options of a training run."""
        return Config(
            dataset_path=self.dataset_path or Path(),
            pretrain_checkpoint_path=self.megatron(job.model),
            batch_size=1 if job.mode == "packed" else job.batch_size,
            global_batch_size=job.num_samples,
            lr=LR,
            min_lr=LR,
            lr_schedule="constant",
            lr_warmup_iters=0,
            seq_len=job.seq_len,
            packing=job.mode == "packed",
            pad_to_longest=not job.pad_to_seq_len,
            pr="fp32",
            ac="none",
            tp=tp,
        )

    def samples(self, job: Job) -> list[TokenizedSample]:
        """The same for every side."""
        folder = self.hf(job.model)
        kind, processor = family(folder), AutoProcessor.from_pretrained(folder)
        hf = kind.read_config(folder)
        if self.dataset_path is None:
            text, latents = hf.text_config, hf.perceiver_config.resampler_n_latents
            drawn = (job.num_samples, text.vocab_size, hf.image_token_id, latents)
            if job.lengths == "trajectories":
                trajectories = training_samples.draw_trajectories(*drawn)
                return [one for steps in trajectories for one in (chain(steps) if job.chained else steps)]
            return training_samples.draw(job.lengths, *drawn)
        encoder = ConversationEncoder(processor, kind.image_encoder(processor, hf), job.seq_len, 1, "answer")
        return training_samples.read(self.dataset_path, job.num_samples, encoder)

    def num_tokens(self, job: Job) -> int:
        """What a step learns from: of steps that go on from each other every token once, however they are computed."""
        return sum(len(sample.ids) for sample in self.samples(dataclasses.replace(job, chained=True)))


class Reference:
    """Hugging Face's model in a plain PyTorch loop."""

    def __init__(self, models: Models, name: str) -> None:
        self.models = models
        folder = models.hf(name)
        kind = family(folder)
        self.encoder = kind.image_encoder(AutoProcessor.from_pretrained(folder), kind.read_config(folder))
        self.model = AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).train()
        parameters = list(self.model.parameters())
        self.adams = {
            "huggingface": torch.optim.AdamW(parameters, LR, weight_decay=0.0),
            "loop": torch.optim.AdamW(parameters, LR, weight_decay=0.0, fused=True),
        }

    def micro_batches(self, job: Job) -> list[MicroBatch]:
        """A step's, as one replica of one rank has them."""
        options = self.models.options(job, tp=1)
        collator = Collator(Place(0, 1, 0, 1, True), self.encoder, options.batch_size, job.seq_len)
        samples = self.models.samples(job)
        return [batch.with_pixels() for batch in collator.collate(samples)]

    def step(self, job: Job, batches: list[MicroBatch]) -> tuple[float, None]:
        """One optimizer step; its loss, and nothing of replicas."""
        torch.set_num_threads(job.threads)
        replies = partial(self._loss_of_replies, job.num_samples / len(batches))
        adam, compute = self.adams[job.side], self._own_loss if job.side == "huggingface" else replies
        adam.zero_grad()
        total = 0.0
        for batch in batches:
            loss = compute(batch) / len(batches)
            loss.backward()
            total += float(loss)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        adam.step()
        return total, None

    def _own_loss(self, batch: MicroBatch) -> torch.Tensor:
        """The mean over tokens, where ours is the mean over samples of their tokens' mean."""
        mask = torch.arange(batch.tokens.size(1)) < torch.tensor(batch.lengths)[:, None]
        labels = torch.full_like(batch.labels, IGNORE)
        labels[:, 1:] = batch.labels[:, :-1]
        return self.model(
            input_ids=batch.tokens, attention_mask=mask.long(), pixel_values=self._pixels(batch), labels=labels
        ).loss

    def _loss_of_replies(self, mean_num_samples: float, batch: MicroBatch) -> torch.Tensor:
        hidden = self.model.model(input_ids=batch.tokens, pixel_values=self._pixels(batch)).last_hidden_state
        labeled = batch.labels != IGNORE
        losses = functional.cross_entropy(self.model.lm_head(hidden[labeled]), batch.labels[labeled], reduction="none")
        return Sft().token_losses(PredictedTokens(-losses, batch.columns)).sum() / mean_num_samples

    def _pixels(self, batch: MicroBatch) -> torch.Tensor:
        """[b, images of a sample, 3, height, width]; screenshots have one size."""
        pixels = batch.images.load().pixels["pixel_values"]
        return pixels.view(len(batch.tokens), -1, *pixels.shape[1:])


class Elcano:
    """This rank's part of our training loop, on `replicas`."""

    def __init__(self, models: Models, name: str, replicas: int = 1) -> None:
        from megatron.core import parallel_state

        from training.checkpoints import checkpoint
        from training.loop.clock import Clock
        from training.loop.optimization import Guard, build_optimizer, build_scheduler
        from training.loop.parallel import build_model, unwrap
        from training.loop.vision_meter import VisionMeter

        self.models, self.replicas = models, replicas
        any_job = Job(name, "packed", "elcano", 1, 1, 8192)
        self.config = models.options(any_job, torch.distributed.get_world_size() // replicas)
        if not parallel_state.model_parallel_is_initialized():
            layout.initialize(self.config.layout, seed=0)
        kind = family(models.hf(name))
        self.hf = kind.read_config(models.hf(name))
        self.encoder = kind.image_encoder(AutoProcessor.from_pretrained(models.hf(name)), self.hf)
        self.chunks = build_model(kind, self.hf, self.config.layout)
        optimizer = build_optimizer(self.config, self.chunks)
        scheduler = build_scheduler(self.config, optimizer, train_iters=1000)
        inner = unwrap(self.chunks)
        self.state = checkpoint.TrainingState(inner, optimizer, scheduler, Guard(50.0), None, self.config.layout)
        checkpoint.load_model(inner, checkpoint_weights(models.megatron(name)))
        optimizer.reload_model_params()
        self.vision = kind.vision_side(self.hf)
        self.clock = Clock(VisionMeter(inner[0].vision_modules(), self.vision))

    def micro_batches(self, job: Job) -> list[MicroBatch]:
        from training.train import build_collator

        collator = build_collator(self.models.options(job, self.config.tp), self.encoder)
        samples = self.models.samples(job)
        costs = [1.0 if job.dealt_by == "number" else self._cost(sample) for sample in samples]
        same_count = job.mode == "padded" or job.dealt_by == "number"
        own = deal_out(costs, self.replicas, same_count)[collator.place.data_rank]
        return [batch.with_pixels() for batch in collator.collate([samples[index] for index in own])]

    def _cost(self, sample: TokenizedSample) -> float:
        """As `training.batches.cost` estimates it."""
        images = sum(3 * self.vision.image_flops(self.encoder, *picture.size) for picture in sample.images)
        labels = int(sample.loss_mask.sum())
        return language_flops(self.hf.text_config, [len(sample.ids)], [sample.num_read], labels) + images

    def step(self, job: Job, batches: list[MicroBatch]) -> tuple[float, float | None]:
        """Its loss, and the work of the busiest replica by the mean."""
        from training.batches.collate import OptimizerStep
        from training.train import train_step

        torch.set_num_threads(job.threads)
        self.clock.restart()
        step = OptimizerStep(batches, [key for batch in batches for key in batch.keys])
        metrics = train_step(self.config, self.hf, self.chunks, Sft(), self.state, step, self.clock)
        assert metrics.skipped is None and math.isfinite(metrics.loss)
        return metrics.loss, metrics.work_max_to_mean


def checkpoint_weights(folder: Path) -> Path:
    """Of a converted checkpoint."""
    from data.checkpoint_folder import find_weights

    return find_weights(folder)[0]
