"""What one rank of the trainer that lives on does. Run by training/online/worker.py under torchrun.

A kill at any point is harmless, by the order of the acts of a version: learn, record the metrics, checkpoint (with the
fates of the groups), tell the fates, publish the weights, ask the server to take them in. What is missing is done at
the next start.
"""

import time
from typing import Any

import torch

from data.checkpoint_folder import find_weights
from models.family import Family
from models.processor import load_processor
from models.registry import family
from training import layout
from training.batches.collate import TokenizedSample
from training.batches.pixel_queue import PixelQueue
from training.checkpoints import checkpoint
from training.critics.feature_networks import Target
from training.loop.clock import Clock
from training.loop.metrics import StepMetrics
from training.loop.optimization import Guard, build_optimizer, build_scheduler
from training.loop.parallel import Chunks, build_model, finish_param_sync, unwrap
from training.loop.stop import Stop
from training.loop.vision_meter import VisionMeter
from training.online.columns import ColumnMaker
from training.online.config import OnlineConfig
from training.online.dealing import Dealer
from training.online.exactness import Difference, compare
from training.online.fates import Fates
from training.online.feed import Batch, GroupSource, LiveFeed
from training.online.group import GroupReader
from training.online.publish import WeightsPublisher
from training.online.report import OnlineReporter
from training.online.server_link import ServerLink
from training.online.values import Critic, CriticOptions
from training.train import adapter_record, build_collator, build_encoder, report_kernels, start_or_resume, train_step

_PAUSE_S = 0.5


def train_online(config: OnlineConfig) -> None:
    """Learn version after version, until stopped or all of `num_versions` are published."""
    trainer = Trainer(config)
    trainer.publish_if_missing()
    while not (trainer.is_complete or trainer.stop.requested()):
        batch = trainer.next_batch()
        if batch is None:
            break
        began = time.monotonic()
        apart = trainer.compare(batch)
        apart.check(config.max_logprob_difference)
        steps = trainer.learn(batch)
        trained = time.monotonic()
        trainer.reporter.record(trainer.version + 1, batch.figures, apart, steps, trained - began)
        trainer.save(batch)
        saved = time.monotonic()
        trainer.publish()
        trainer.reporter.report(saved - trained, time.monotonic() - saved)
    trainer.close()


class Trainer:
    """One rank's part of the living policy, at a `version`."""

    def __init__(self, config: OnlineConfig) -> None:
        """Build the model; begin with the pretrained weights, or go on from the newest checkpoint. A collective."""
        self.config, self.training, self.stop = config, config.as_training(), Stop()
        layout.initialize(self.training.layout, config.seed)
        self.is_first = torch.distributed.get_rank() == 0
        self._build()
        self.fates = Fates(config.run.learned, writes=self.is_first)
        pretrained, hf_files = find_weights(config.pretrain_checkpoint_path)[0], self.training.hf_files
        self.state = checkpoint.TrainingState(
            *(unwrap(self.model), self.optimizer, self.scheduler, Guard(config.spike_factor), self.fates),
            *(self.training.layout, adapter_record(self.training, pretrained)),
        )
        self.version = start_or_resume(self.training, self.state, pretrained, hf_files)
        if self.version == 0:
            self.fates.rewrite()
        identity = config.identity(self.training)
        self.writer = checkpoint.CheckpointWriter(self.training.checkpoint_path, identity, config.keep_last)
        self.links = [ServerLink(address, config.run) for address in config.api_localhost if self.is_first]
        self.publisher = WeightsPublisher(
            unwrap(self.model), self.kind, self.hf, config.run, config.keep_weights, self.training.trainable.lora
        )
        self.reporter = OnlineReporter(self.training)
        source = GroupSource(config, self.reader, self.fates) if self.is_first else None
        self.feed = LiveFeed(config, source, self.dealer, self.maker)
        self.clock = Clock(VisionMeter(unwrap(self.model)[0].vision_modules(), self.kind.vision_side(self.hf)))

    def _build(self) -> None:
        config, hf_files = self.training, self.training.hf_files
        self.kind: Family = family(hf_files)
        self.hf: Any = self.kind.read_config(hf_files)
        self.model: Chunks = build_model(self.kind, self.hf, config.layout, config.trainable, config.seed)
        report_kernels(self.model)
        self.optimizer = build_optimizer(config, self.model)
        self.scheduler = build_scheduler(config, self.optimizer, config.train_iters)
        self.algorithm = config.build_algorithm()
        processor = load_processor(hf_files)
        image_encoder = self.kind.image_encoder(processor, self.hf)
        self.collator = build_collator(config, image_encoder, PixelQueue(config.num_workers))
        encoder = build_encoder(config, processor, image_encoder)
        self.dealer, critic, state_encoder = Dealer(self.collator, not config.packing), None, None
        if self.config.critic != "none":
            critic = Critic(config, self.kind, self.hf, self.dealer, self._critic_options(self.config.critic))
            state_encoder = build_encoder(config, processor, image_encoder, reads="state_and_action")
        self.maker = ColumnMaker(self.algorithm, self._token_losses, critic)
        self.reader = GroupReader(self.algorithm, encoder, state_encoder)

    def _critic_options(self, target: Target) -> CriticOptions:
        config = self.config
        folder, fitting = config.run_dir / "trainer" / "critic", (config.critic_width, config.critic_lr, config.seed)
        return CriticOptions(target, config.critic_folds, config.critic_iters, *fitting, folder)

    @property
    def is_complete(self) -> bool:
        """Whether all versions that were asked for are out."""
        return 0 < self.config.num_versions <= self.version

    def next_batch(self) -> Batch | None:
        """Wait for it; None once this run is asked to stop. A collective."""
        return self.feed.take(self.version, self._wait)

    def compare(self, batch: Batch) -> Difference:
        """With what the server said, before anything is learned. A collective."""

        def is_same(weights_version: str) -> bool:
            return self.config.run.version_of(weights_version) == self.version

        return compare(self.model, self.collator, batch.compared, self.config.seq_len, is_same)

    def _token_losses(self, samples: list[TokenizedSample] | None) -> dict[str, torch.Tensor]:
        """Of the first rank's `samples`, as the policy is. A collective."""
        return self.dealer.outputs(self.model, samples, self.config.seq_len)

    def learn(self, batch: Batch) -> list[StepMetrics]:
        """All optimizer steps of a batch. A collective."""
        metrics = []
        for step in batch.steps:
            self.clock.restart()
            done = train_step(self.training, self.hf, self.model, self.algorithm, self.state, step, self.clock)
            metrics.append(done)
            if done.skipped and self.reporter.active:
                print(f"a step was skipped, because of {done.skipped}", flush=True)
        return metrics

    def save(self, batch: Batch) -> None:
        """The next version is a checkpoint, with what became of its groups. A collective."""
        finish_param_sync(self.model)
        if self.is_first:
            for number in batch.figures["groups"]:
                self.fates.add(number, self.version, "learned")
        self.version += 1
        self.writer.save(self.state, self.version)
        self.writer.wait()
        self.fates.tell()

    def publish(self) -> None:
        """A collective."""
        self.publisher.publish(self.version, self.training.hf_files)
        self._tell_servers()

    def publish_if_missing(self) -> None:
        """What a kill left undone, or the weights to begin with. A collective."""
        if self.is_first:
            print(
                f"version {self.version}: waiting for groups of rollouts in {self.config.run.trajectories}", flush=True
            )
        missing = [self.is_first and not self.config.run.version(self.version).exists()]
        torch.distributed.broadcast_object_list(missing)
        if missing[0]:
            self.publish()
        else:
            self._tell_servers()

    def close(self) -> None:
        """At the end."""
        self.reporter.close()
        layout.finalize()

    def _tell_servers(self) -> None:
        for link in self.links:
            link.take_in(self.version)

    def _wait(self) -> bool:
        """Between looks for groups, on the first rank; whether to go on."""
        for link in self.links:
            link.look(self.version)
        time.sleep(_PAUSE_S)
        return not self.stop.received
