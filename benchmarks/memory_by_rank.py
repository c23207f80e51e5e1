"""Memory and traffic of every rank of an 8-GPU run, without a GPU, held against `--dry_run`.

    python -m benchmarks.memory_by_rank                  # one rank of each kind, into docs/results/memory_by_rank.json
    python -m benchmarks.memory_by_rank --ranks all      # all 8 of each layout

idefics2-8b at full width and depth with the published values: rows of 8192 tokens, 3 screenshots, full recomputation,
bf16. Each rank is the trainer's own code on fake tensors, in a process of its own (`benchmarks/fake_rank.py`): a
minute of a CPU. Ranks are of one kind when they have the same stage and as many images.
"""

import dataclasses
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

from common import cli
from common.errors import UserError
from common.files import write_json
from common.shown.tables import Table, print_table
from models.registry import family
from training.config import Config as TrainConfig
from training.memory.activations import activation_bytes
from training.memory.per_gpu import plan
from training.modules.batching import image_share

SHAPE = Path(__file__).resolve().parent.parent / "training" / "memory" / "shapes" / "idefics2-8b"
LAYOUTS: dict[str, dict[str, Any]] = {
    "TP8": {"tp": 8},
    "TP4 x PP2": {"tp": 4, "pp": 2},
    "TP2 x DP4, distributed optimizer": {"tp": 2, "do": True},
    "TP4 x CP2": {"tp": 4, "cp": 2},
}
ROWS = ("weights", "gradients", "optimizer", "activations", "update")


@dataclasses.dataclass(frozen=True)
class Config:
    """Build and step 8 ranks of idefics2-8b in four layouts."""

    ranks: Literal["kinds", "all"] = "kinds"
    """One rank of each kind, or all of them."""
    jobs: int = 1
    """Ranks at a time; each takes one CPU and about 1 GB."""
    output: Path = Path("docs/results/memory_by_rank.json")
    """A JSON file for the numbers."""


def main(config: Config) -> int:
    """Measure, print a table of each layout, write all; 1 when a row is off by more than 10 %."""
    results = []
    for name, options in LAYOUTS.items():
        ranks = range(8) if config.ranks == "all" else one_of_each_kind(TrainConfig(Path(), SHAPE, **options))
        with ThreadPoolExecutor(config.jobs) as pool:
            measured = list(pool.map(lambda rank, options=options: measure(SHAPE, options, rank), ranks))
        results.append(compare(name, SHAPE, options, measured))
        print_table(table(results[-1]))
    write_json(config.output, results)
    worst = max(abs(ratio - 1) for layout in results for rank in layout["ranks"] for ratio in rank["ratio"].values())
    print(f"the dry run is within {worst:.1%} of every row")
    return int(worst > 0.1)


def one_of_each_kind(config: TrainConfig) -> list[int]:
    """The first rank of every (stage, number of images it encodes)."""
    seen: dict[tuple[int, int], int] = {}
    together = config.tp * config.cp
    for rank in range(8):
        stage = rank // (8 // config.pp)
        images = len(image_share(config.image_num * config.batch_size, rank % together, together)) if not stage else 0
        seen.setdefault((stage, images), rank)
    return list(seen.values())


def measure(
    checkpoint: Path, options: Mapping[str, Any], rank: int, world_size: int = 8, **changes: Mapping[str, Any]
) -> dict[str, Any]:
    """`benchmarks.fake_rank.RankMemory` of one rank; `text` and `vision` change the model's configuration.

    Raises:
        UserError: the rank's process failed.
    """
    request = {"checkpoint": str(checkpoint), "options": options, "rank": rank, "world_size": world_size, **changes}
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.fake_rank", json.dumps(request)]
    process = subprocess.run(command, capture_output=True, text=True)
    if process.returncode:
        raise UserError(f"rank {rank} of {options} failed: {process.stderr.strip().splitlines()[-1]}")
    return json.loads(process.stdout.splitlines()[-1])


def compare(
    name: str,
    checkpoint: Path,
    options: Mapping[str, Any],
    measured: Sequence[dict[str, Any]],
    world_size: int = 8,
    **changes: Mapping[str, Any],
) -> dict[str, Any]:
    """Each rank with the dry run's bytes and their ratio to the measured ones."""
    hf = family(checkpoint).read_config(checkpoint)
    for part, values in changes.items():
        for key, value in values.items():
            setattr(getattr(hf, f"{part}_config"), key, value)
    config = TrainConfig(Path(), checkpoint, num_gpus=world_size, **options)
    stages = plan(config, hf, world_size)
    ranks = []
    for rank in measured:
        dry_run = {row: getattr(stages[rank["stage"]], row) for row in ROWS}
        dry_run["activations"] = activation_bytes(config, hf, rank["stage"], rank["num_images"])  # not the fullest's
        ratio = {row: dry_run[row] / rank[row] for row in ROWS}
        ranks.append({**rank, "dry_run": dry_run, "ratio": ratio})
    return {"layout": name, "options": dict(options), "ranks": ranks}


def table(layout: dict[str, Any]) -> Table:
    """GiB on a rank of each kind, and the dry run's."""
    ranks = [f"rank {rank['rank']}: stage {rank['stage']}, {rank['num_images']} images" for rank in layout["ranks"]]
    printed = Table(["GiB: measured / dry run"], ranks, title=layout["layout"])
    for row in ROWS:
        cells = [f"{rank[row] / 2**30:.2f} / {rank['dry_run'][row] / 2**30:.2f}" for rank in layout["ranks"]]
        printed.add(row, *cells)
    for part, title in (("sent_by_micro_batch", "sent a micro-batch"), ("sent_by_step", "sent a step, besides")):
        kinds = sorted({kind for rank in layout["ranks"] for kind in rank[part]})
        for kind in kinds:
            cells = [f"{rank[part].get(kind, 0) / 2**30:.2f}" for rank in layout["ranks"]]
            printed.add(f"{title}: {kind}", *cells)
    return printed


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
