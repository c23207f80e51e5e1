"""One rank of benchmarks/online_exactness.py: a trainer that compares its first batch, and learns nothing."""

import dataclasses

from common.files import write_json
from training.config import parse_with_environment
from training.launch import torchrun
from training.modules import kernels
from training.online.config import OnlineConfig


def main(config: OnlineConfig) -> None:
    """Leave `difference.json` in the run's folder."""
    kernels.prepare(config.te)
    from training.online.loop import Trainer

    trainer = Trainer(config)
    batch = trainer.next_batch()
    assert batch is not None  # nobody stops it
    apart = trainer.compare(batch)
    if trainer.is_first:
        found = {"rollouts": batch.figures["rollouts"], **dataclasses.asdict(apart)}
        write_json(config.run_dir / "difference.json", found, indent=1)
    trainer.close()


if __name__ == "__main__":
    torchrun.run_rank(main, parse_with_environment(OnlineConfig, "train_online.sh"))
