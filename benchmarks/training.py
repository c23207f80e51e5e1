"""Our training step against Hugging Face's model in a PyTorch loop: same weights, samples and number of threads.

    python benchmarks/training.py --output training.json --plot training.png     # about 6 minutes on 2 cores
    python -m benchmarks.training_gpu                                            # MFU of idefics2-8b's layers on GPUs

Compared are tokens (without padding) per second of CPU, of all processes of a side together, in rounds that take turns.
A round is one optimizer step; all sides start from the same weights, and their losses must agree. At TP=2 we have two
processes of one thread, the others one process of two. Then packing is compared with padding every sample to 8192
tokens, the published trainer's way. `training_sides.py` says what each side does; samples have the lengths of the
quickstart's, or are your own (`--dataset_path`).
"""

import dataclasses
import sys
import tempfile
from pathlib import Path
from typing import Literal

sys.path[0] = str(Path(__file__).resolve().parent.parent)  # this file bears the room's name and would hide it

from benchmarks import training_jobs as jobs
from benchmarks import training_report as report
from data import cli
from data.files import write_json


@dataclasses.dataclass(frozen=True)
class Config:
    """Compare training steps on CPU."""

    models: tuple[Literal["quickstart", "larger"], ...] = ("quickstart", "larger")
    """The quickstart's starting policy; a wider and deeper one with grouped-query attention."""
    rounds: int = 3
    """Every side's turns; the middle one of the ratios counts."""
    padding: bool = True
    """Also compare packing with padding to 8192 tokens."""
    dataset_path: Path | None = None
    """Folder of shards with one image a sample, in place of drawn samples."""
    output: Path = Path("training.json")
    """A JSON file for the numbers."""
    plot: Path | None = None
    """A PNG of the ratios."""


def main(config: Config) -> None:
    """Measure, print, write."""
    with tempfile.TemporaryDirectory() as folder:
        parameters = jobs.make_models(Path(folder), config.models)
        with jobs.teams(Path(folder), config.dataset_path) as teams:
            rows = [row for model in config.models for row in jobs.compare_sides(teams, model, config.rounds)]
            padding = jobs.compare_padding(teams, config.models[0], config.rounds) if config.padding else []
    result = report.summarize(rows, padding, parameters)
    write_json(config.output, result)
    report.print_tables(result)
    if config.plot:
        report.plot(result, config.plot)


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
