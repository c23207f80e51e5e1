"""The loss on the data set's validation split: samples of tasks that training never sees."""

from collections.abc import Iterator
from itertools import islice

import torch

from data.shard import read_manifest
from training.collate import Collator, MicroBatch, Share
from training.config import Config
from training.dataset import in_batches, tokenize_share
from training.encoding import ConversationEncoder
from training.feed import Replica
from training.metrics import mean_loss
from training.parallel import Chunks
from training.step import forward_only
from training.stored_sample import read_in_order


class Evaluator:
    """Computes it every `eval_interval` steps and at the end, where the shard folder has a validation split."""

    def __init__(
        self, config: Config, chunks: Chunks, encoder: ConversationEncoder, collator: Collator, replica: Replica
    ) -> None:
        self.config, self.chunks, self.encoder, self.collator = config, chunks, encoder, collator
        self.replica = replica
        shards = read_manifest(config.dataset_path)["shards"]
        self.has_samples = any(shard.get("split") == "val" for shard in shards)

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
            losses = forward_only(self.chunks, self.collator.step(share).micro_batches, self.config.seq_len, _loss)
            total += mean_loss(losses) * len(share.keys)
            count += len(share.keys)
        for chunk in self.chunks:
            chunk.train()
        return total / count, count

    def _shares(self) -> Iterator[Share]:
        samples = read_in_order(self.config.dataset_path, splits=("val",))
        wanted = islice(samples, self.config.eval_samples or None)
        place = self.collator.place
        for batch in in_batches(wanted, self.config.global_batch_size):
            yield tokenize_share(self.encoder, batch, place.data_rank, place.data_size)


def _loss(batch: MicroBatch, losses: torch.Tensor, non_loss_data: bool = True) -> torch.Tensor:
    return (losses * batch.loss_weights).sum() / batch.mean_num_samples
