"""The loss on the data set's validation split: samples of tasks that training never sees.

Whatever the algorithm of the run, it is that of supervised fine-tuning, so that runs can be compared. A critic has
none.
"""

from collections.abc import Iterator
from functools import partial
from itertools import islice

import torch

from data.shards.shard import read_manifest
from training.algorithms.sft import Sft
from training.batches.collate import Collator, MicroBatch, Share
from training.batches.columns import ColumnJoin
from training.batches.cost import CostModel
from training.batches.dataset import in_batches, tokenize_share
from training.batches.feed import Replica
from training.config import Config
from training.loop.metrics import mean_loss
from training.loop.objective import Objective
from training.loop.parallel import Chunks
from training.loop.step import forward_only
from training.samples.stored_sample import read_in_order


class Evaluator:
    """Computes it every `eval_interval` steps and at the end, where the shard folder has a validation split."""

    def __init__(
        self, config: Config, chunks: Chunks, cost_model: CostModel, collator: Collator, replica: Replica
    ) -> None:
        self.config, self.chunks, self.cost_model, self.collator = config, chunks, cost_model, collator
        self.replica, self.algorithm = replica, Sft()
        self.left_out = config.left_out
        is_critic = bool(config.trainable.value_heads)
        num_samples = self.left_out.num_left(read_manifest(config.dataset_path), "val")
        self.has_samples = not is_critic and num_samples > 0

    def is_due(self, iteration: int, train_iters: int) -> bool:
        last = iteration == train_iters
        return self.has_samples and (
            last or (self.config.eval_interval > 0 and not iteration % self.config.eval_interval)
        )

    def loss(self) -> tuple[float, int]:
        """(mean over the samples, number of samples); the same samples every time. A collective over all ranks."""
        total, count = 0.0, 0
        for chunk in self.chunks:
            chunk.eval()
        for share in self.replica.receive(self._shares()):
            batches = self.collator.step(share).micro_batches
            loss = partial(_loss, Objective.of_step(self.algorithm, batches))
            losses = forward_only(self.chunks, batches, self.config.seq_len, loss)
            total += mean_loss(losses) * len(share.keys)
            count += len(share.keys)
        for chunk in self.chunks:
            chunk.train()
        return total / count, count

    def _shares(self) -> Iterator[Share]:
        samples = read_in_order(self.config.dataset_path, ("val",), self.left_out.keys)
        wanted = islice(samples, self.config.eval_samples or None)
        place, join = self.collator.place, ColumnJoin(self.algorithm)
        for batch in in_batches(wanted, self.config.global_batch_size):
            yield tokenize_share(self.cost_model, batch, place.data_rank, place.data_size, join)


def _loss(objective: Objective, batch: MicroBatch, losses: torch.Tensor, non_loss_data: bool = True) -> torch.Tensor:
    return objective(batch, losses)
