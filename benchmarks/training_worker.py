"""A process of `benchmarks/training.py`: one rank of one side. It waits for jobs on its standard input.

Each line is {"do": "prepare" | "run", "job": {...}}, the answer to it {"loss": ..., "tokens": ..., "computed": ...,
"work": ...}. To prepare is to load the model, make the step's micro-batches and warm up on one of them; to run is one
optimizer step on all. Waiting takes no CPU.
"""

import dataclasses
import json
import os
import sys
from pathlib import Path

from common import cli
from common.processes import die_with_parent
from training.modules import kernels


@dataclasses.dataclass(frozen=True)
class Config:
    side: str
    """elcano, or reference."""
    folder: Path
    """Of the models."""
    dataset_path: Path | None = None
    replicas: int = 1
    """Of ours; the other ranks are tensor-parallel."""


def main(config: Config) -> None:
    """Answer until the input ends."""
    die_with_parent()
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print is no answer
    if config.side == "elcano":
        kernels.prepare()  # before Megatron is imported
    import torch

    from benchmarks.training_sides import Elcano, Job, Models, Reference
    from training.batches.collate import MicroBatch

    if config.side == "elcano":
        torch.distributed.init_process_group("gloo")
    models = Models(config.folder, config.dataset_path)
    sides: dict[str, Elcano | Reference] = {}
    batches: dict[Job, list[MicroBatch]] = {}
    tokens: dict[Job, int] = {}
    for line in sys.stdin:
        message = json.loads(line)
        job = Job(**message["job"])
        if job.model not in sides:
            is_ours = config.side == "elcano"
            sides[job.model] = Elcano(models, job.model, config.replicas) if is_ours else Reference(models, job.model)
        side = sides[job.model]
        if message["do"] == "prepare":
            batches[job], tokens[job] = side.micro_batches(job), models.num_tokens(job)
        step = batches[job][:1] if message["do"] == "prepare" else batches[job]
        loss, work = side.step(job, step)
        computed = sum(batch.tokens.numel() for batch in step)
        answers.write(json.dumps({"loss": loss, "tokens": tokens[job], "computed": computed, "work": work}) + "\n")


if __name__ == "__main__":
    cli.run(Config, main)
