"""Our step against the seeds' step: same pages, same machine, same run, a stub model that clicks on.

    python benchmarks/collection.py --output collection.json --plot collection.png

The seeds' step is in `benchmarks/seeds_step.py`; what each side is called:

    ours            browser contexts over CDP, accessibility tree + screenshot in one round trip, settling by events
    owv             OpenWebVoyager: tree (two CDP calls a node) + PNG
    pae             WebVoyager and PAE's default: marks (three commands each) + PNG + taking the marks away, no tree
    pae_tree        PAE with its tree: both
    ..._sleeps      the same with the pauses of the released code: 3 s a click (owv), 10 s (pae, pae_tree)

Wall-clock figures are only good as ratios within a run: sides take turns, repeat by repeat.
"""

import dataclasses
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)  # this file bears the room's name and would hide it

from benchmarks import collection_sides as sides
from benchmarks.collection_plot import Summary, plot, print_table, summarize
from benchmarks.collection_site import Site
from benchmarks.figures import Figure, Load, plain, watched
from common import cli
from common.files import write_json


@dataclasses.dataclass(frozen=True)
class Config:
    """Compare collection steps per second."""

    num_sessions: tuple[int, ...] = (1, 4, 16, 64)
    """Sessions at the same time."""
    sides: tuple[str, ...] = ("ours", "pae_tree", "pae", "owv")
    """What to measure at each number of sessions; `_sleeps` behind a seed's name adds its pauses."""
    most_seed_sessions: int = 16
    """Above this the seeds are left out: 64 of their Chromes take 12 GB."""
    seconds: float = 10.0
    """Length of one measurement, after everybody's first step."""
    repeats: int = 3
    """Every side's turns at each number of sessions."""
    observation_rounds: int = 5
    """Observations of the 300-node page by each side; 0 leaves that part out."""
    output: Path = Path("collection.json")
    """A JSON file for the numbers."""
    plot: Path | None = None
    """A PNG with steps/s by number of sessions."""


def main(config: Config) -> None:
    """Measure, print, write."""
    sides.check(config.sides)
    with Site() as site, watched(config.repeats) as load:
        observation = sides.compare_observations(site.url("n300"), config.observation_rounds)
        rows: list[Summary] = []
        for sessions in config.num_sessions:
            chosen = [name for name in config.sides if name == "ours" or sessions <= config.most_seed_sessions]
            turns = [
                list(sides.measure(chosen, sessions, site.url("shop"), config.seconds)) for _ in range(config.repeats)
            ]
            rows += summarize(turns)
            write(config.output, load, observation, rows)
    write(config.output, load, observation, rows)
    print_table(rows, observation, load)
    if config.plot:
        plot(rows, config.plot)


def write(path: Path, load: Load, observation: dict[str, Figure], rows: list[Summary]) -> None:
    """What is known so far."""
    steps = [dataclasses.asdict(row) for row in rows]
    write_json(path, {"load": dataclasses.asdict(load), "observation_n300": plain([observation])[0], "steps": steps})


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
