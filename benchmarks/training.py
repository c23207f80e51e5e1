"""Our training step against Hugging Face's model in a PyTorch loop: same weights, samples and number of threads.

    python benchmarks/training.py --output training.json --plot training.png     # about 15 minutes on 2 cores
    python benchmarks/training.py --models --output padding.json                 # packing against padding alone
    python benchmarks/training.py --models --padding trajectories --output trajectories.json    # whole trajectories
    python -m benchmarks.training_gpu                                            # MFU of idefics2-8b's layers on GPUs

Compared are tokens (without padding) per second of CPU, of all processes of a side together, in rounds that take turns.
A round is one optimizer step; all sides start from the same weights, and their losses must agree. At TP=2 we have two
processes of one thread, the others one process of two. Then packing is compared with padding every sample to 8192
tokens (the published trainer's way), with padding to the longest of a micro-batch, and with one sample at a time, on
the lengths of the embedded sites and of pages of real applications. Of mixed trajectories (turns with and without a
screenshot, with and without trees) on two replicas a token counts once, however often it is computed: so the ways learn
the same from as many tokens. `training_sides.py` says what each side does;
samples have the lengths of the quickstart's, or are your own (`--dataset_path`).
"""

import dataclasses
import sys
import tempfile
from pathlib import Path
from typing import Literal

sys.path[0] = str(Path(__file__).resolve().parent.parent)  # this file bears the room's name and would hide it

from benchmarks import training_jobs as jobs
from benchmarks import training_report as report
from benchmarks.figures import watched
from common import cli
from common.files import write_json

_PADDED_MODEL = "quickstart"


@dataclasses.dataclass(frozen=True)
class Config:
    """Compare training steps on CPU."""

    models: tuple[Literal["quickstart", "larger"], ...] = ("quickstart", "larger")
    """The quickstart's starting policy; a wider and deeper one with grouped-query attention."""
    rounds: int = 3
    """Every side's turns."""
    padding: tuple[Literal["sites", "pages", "trajectories"], ...] = ("sites", "pages", "trajectories")
    """Lengths on which packing is compared with padding: of the embedded sites, of pages of real applications, of mixed
    trajectories, which are packed whole, too, on two replicas."""
    dataset_path: Path | None = None
    """Folder of shards with one image a sample, in place of drawn samples."""
    output: Path = Path("training.json")
    """A JSON file for the numbers."""
    plot: Path | None = None
    """A PNG of the ratios."""


def main(config: Config) -> None:
    """Measure, print, write."""
    models = dict.fromkeys([*config.models, *([_PADDED_MODEL] if config.padding else [])])
    with tempfile.TemporaryDirectory() as folder, watched(config.rounds) as load:
        parameters = jobs.make_models(Path(folder), list(models))
        with jobs.teams(Path(folder), config.dataset_path) as teams:
            rows = [row for model in config.models for row in jobs.compare_sides(teams, model, config.rounds)]
            padding = {
                lengths: jobs.compare_trajectories(teams, _PADDED_MODEL, config.rounds)
                if lengths == "trajectories"
                else jobs.compare_padding(teams, _PADDED_MODEL, config.rounds, lengths)
                for lengths in (config.padding if config.dataset_path is None else config.padding[:1])
            }
    result = report.summarize(rows, padding, {model: parameters[model] for model in config.models}, load)
    write_json(config.output, result)
    report.print_tables(result)
    if config.plot:
        report.plot(result, config.plot)


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
