"""The loss on the data set's validation split: samples of tasks that training never sees."""

from itertools import islice

import torch

from data.shard import read_manifest
from training.collate import Collator, MicroBatch
from training.config import Config
from training.dataset import in_batches, read_in_order
from training.encoding import ConversationEncoder
from training.metrics import mean_loss
from training.parallel import Chunks
from training.step import forward_only


class Evaluator:
    """Computes it every `eval_interval` steps and at the end, where the shard folder has a validation split."""

    def __init__(self, config: Config, chunks: Chunks, encoder: ConversationEncoder, collator: Collator) -> None:
        self.config, self.chunks, self.encoder, self.collator = config, chunks, encoder, collator
        shards = read_manifest(config.dataset_path)["shards"]
        self.has_samples = any(shard.get("split") == "val" for shard in shards)

    def is_due(self, iteration: int, train_iters: int) -> bool:
        last = iteration == train_iters
        return self.has_samples and (
            last or (self.config.eval_interval > 0 and not iteration % self.config.eval_interval)
        )

    def loss(self) -> tuple[float, int]:
        """(mean over the samples, number of samples); the same samples every time. A collective over all ranks."""
        samples = read_in_order(self.config.dataset_path, self.encoder, splits=("val",))
        total, count = 0.0, 0
        for chunk in self.chunks:
            chunk.eval()
        for batch in in_batches(islice(samples, self.config.eval_samples or None), self.config.global_batch_size):
            losses = forward_only(self.chunks, self.collator.collate(batch), self.config.seq_len, _loss)
            total += mean_loss(losses) * len(batch)
            count += len(batch)
        for chunk in self.chunks:
            chunk.train()
        return total / count, count


def _loss(batch: MicroBatch, losses: torch.Tensor, non_loss_data: bool = True) -> torch.Tensor:
    return (losses * batch.loss_weights).sum() / batch.mean_num_samples
