"""The real path at full width on a CPU: `bash tests/rehearsal.sh`, whose first lines say what it does.

Prints a table for each model and writes rehearsal.json; exit code 1 when a figure is worse than it may be, 2 when a
stage failed, which is named with its log. The same command goes on where it stopped.
"""

import dataclasses
import os
import sys
import time
from pathlib import Path
from typing import Literal, get_args

from common import cli
from common.files import write_json
from elcano.console import console
from elcano.stages.stage import Logbook
from tests.rehearsal.report import agreement_rows, memory_rows, print_rows, sight_rows
from tests.rehearsal.sizes import SIZES
from tests.rehearsal.stages import Rehearsal

Name = Literal["idefics2", "llava_next", "smolvlm_256m", "qwen3_vl_2b", "qwen3_vl_4b", "qwen3_vl_8b"]


@dataclasses.dataclass(frozen=True)
class Config:
    """Rehearse the real path."""

    output_dir: Path = Path("runs/rehearsal")
    """Everything of the run: logs, trajectories, checkpoints."""
    models: tuple[Name, ...] = get_args(Name)
    """Which are rehearsed."""
    size: Literal["full", "tiny"] = "full"
    """full: the released models' widths; tiny: their processors before a tiny model, for the tests."""


def main(config: Config) -> int:
    """Rehearse each model and print what was found."""
    os.environ["PYTHON"] = sys.executable  # for the scripts
    output = config.output_dir.absolute()
    found, holds = {}, True
    for model in config.models:
        folder = output / model
        Rehearsal(model, SIZES[config.size][model], folder).run()
        rows = sight_rows(folder) + agreement_rows(folder)
        if config.size == "full":  # a tiny model is smaller than what surrounds it
            rows += memory_rows(folder)
        print_rows(model, rows)
        seconds = Logbook(folder).seconds()
        console.print(f"{model}: {sum(seconds.values()) / 60:.1f} minutes")
        holds = holds and all(row.holds for row in rows)
        found[model] = {"rows": [dataclasses.asdict(row) | {"holds": row.holds} for row in rows], "seconds": seconds}
        write_json(output / "rehearsal.json", {"size": config.size, "at": time.strftime("%Y-%m-%d"), **found})
    console.print(f"{output / 'rehearsal.json'}: {'everything holds' if holds else 'not everything holds'}")
    return int(not holds)


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
