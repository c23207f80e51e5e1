"""A rank of tests/training/batches/test_feed.py: takes steps as the training loop does and reports what it saw."""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import torch

from training.modules import kernels

kernels.prepare()

from megatron.core import parallel_state  # noqa: E402

from models.processor import load_processor  # noqa: E402
from models.registry import family  # noqa: E402
from models.tokens.encoding import ConversationEncoder  # noqa: E402
from training import layout  # noqa: E402
from training.algorithms.sft import Sft  # noqa: E402
from training.batches.collate import MicroBatch  # noqa: E402
from training.batches.pixel_queue import PixelQueue  # noqa: E402
from training.config import Config  # noqa: E402
from training.modules.batching import IGNORE  # noqa: E402
from training.train import build_collator, build_cost_model, build_encoder, build_feed  # noqa: E402


def main(job: dict[str, Any]) -> None:
    """Write `<number of loader processes>-rank<n>.json` for each number."""
    layout.initialize(options(job, 0).layout, seed=0)
    for number in job["num_workers"]:
        report = take(options(job, number), job["steps"])
        (Path(job["out"]) / f"{number}-rank{torch.distributed.get_rank()}.json").write_text(json.dumps(report))
    layout.finalize()


def options(job: dict[str, Any], num_workers: int) -> Config:
    return Config(
        dataset_path=Path(job["shards"]),
        pretrain_checkpoint_path=Path(job["policy"]),
        tp=job["tp"],
        pp=job["pp"],
        batch_size=2,
        global_batch_size=job["batch"],
        num_workers=num_workers,
        seq_len=2048,
        pad_to_longest=True,
    )


def take(config: Config, num_steps: int) -> dict[str, Any]:
    """What a rank sees in so many steps."""
    kind = family(config.pretrain_checkpoint_path)
    processor = load_processor(config.pretrain_checkpoint_path)
    images = kind.image_encoder(processor, kind.read_config(config.pretrain_checkpoint_path))
    encoder = build_encoder(config, processor, images)
    cost_model = build_cost_model(config, kind, kind.read_config(config.pretrain_checkpoint_path), encoder)
    count = count_calls(encoder)
    collator = build_collator(config, images, PixelQueue(config.num_workers))
    feed = build_feed(config, cost_model, Sft(), collator)
    steps = []
    for _ in range(num_steps):
        step = feed.take()
        loaded = [batch.images.load() for batch in step.micro_batches]
        steps.append(
            {
                "keys": step.keys,
                "own": [key for batch in step.micro_batches for key in batch.keys],
                "tokens": {key: digest for batch in step.micro_batches for key, digest in digests(batch).items()},
                "units": sum(images.num_units for images in loaded),
                "encoded": sum(len(images.pixels["pixel_values"]) for images in loaded if images.pixels),
            }
        )
    feed.close()
    report = {"reads": feed.replica.reads, "replica": parallel_state.get_data_parallel_rank(), "steps": steps}
    return {**report, "tokenized": count[0]}


def count_calls(encoder: ConversationEncoder) -> list[int]:
    """How often the encoder is asked for a sample's tokens in this process."""
    count, encode = [0], encoder.encode

    def counted(*arguments: Any) -> Any:
        count[0] += 1
        return encode(*arguments)

    encoder.encode = counted
    return count


def digests(batch: MicroBatch) -> dict[str, str]:
    """Of each sample's tokens, labels and weight."""
    found = {}
    for row, (key, length) in enumerate(zip(batch.keys, batch.lengths, strict=True)):
        parts = [batch.tokens[row, :length], batch.labels[row, :length], batch.columns.per_sample["weight"][row]]
        assert (batch.labels[row, length - 1 :] == IGNORE).all()
        found[key] = hashlib.sha256(b"".join(part.numpy().tobytes() for part in parts)).hexdigest()[:16]
    return found


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
