"""Proof of a machine with GPUs: `bash tests/gpu.sh`, whose first lines say what it does.

Every line passes, fails or is skipped with a reason; a table and gpu.json tell which, with hardware, versions, commands
and figures. Exit code 1 when a line failed.
"""

import dataclasses
import os
import sys
import time
from pathlib import Path

import torch

from common import cli
from common.errors import UserError
from common.files import write_json
from common.shown.tables import Table, print_table
from elcano.console import console
from tests.gpu import host
from tests.gpu.lines import LINES, Line
from tests.gpu.result import FailedError, Machine, Result, SkippedError


@dataclasses.dataclass(frozen=True)
class Config:
    """Run every line of the proof."""

    cpu: bool = False
    """Each line in a small form without a GPU: proves the lines, not the machine."""
    only: tuple[str, ...] = ()
    """Only these lines. None: all."""
    max_ranks: int = 8
    """Parity: layouts of more ranks are left out."""
    output_dir: Path = Path("runs/gpu")
    """Receives gpu.json, logs and what the lines write."""


def main(config: Config) -> int:
    """Run, print, write."""
    unknown = set(config.only) - set(LINES)
    if unknown:
        raise UserError(f"--only {' '.join(sorted(unknown))}: the lines are {', '.join(LINES)}")
    os.environ["PYTHON"] = sys.executable  # for the scripts
    machine = _machine(config)
    report = {"at": time.strftime("%Y-%m-%d"), "small_cpu_mode": machine.small, "host": host.describe()}
    results: list[Result] = []
    for name, line in LINES.items():
        if not config.only or name in config.only:
            results.append(_run(name, line, machine))
            lines = [dataclasses.asdict(result) for result in results]
            write_json(machine.folder / "gpu.json", {**report, "lines": lines})
    _print(results)
    console.print(str(machine.folder / "gpu.json"), soft_wrap=True)
    return int(any(result.status == "fail" for result in results))


def _machine(config: Config) -> Machine:
    folder = config.output_dir.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    if config.cpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        return Machine(0, 0.0, folder, config.max_ranks)
    if not torch.cuda.is_available():
        raise UserError("no GPU is visible here; `bash tests/gpu.sh --cpu` runs every line in a small form without one")
    memory = min(gpu["memory_gib"] for gpu in host.describe()["gpus"])
    return Machine(torch.cuda.device_count(), memory, folder, config.max_ranks)


def _run(name: str, line: Line, machine: Machine) -> Result:
    result, begin = Result(name), time.monotonic()
    console.print(f"[bold]▶ {name}[/bold]")
    try:
        line(machine, result)
    except SkippedError as error:
        result.status, result.reason = "skip", str(error)
    except (FailedError, UserError) as error:
        result.status, result.reason = "fail", str(error)
    result.seconds = round(time.monotonic() - begin, 1)
    console.print(f"  {result.status} {result.reason or result.summary}", soft_wrap=True)
    return result


def _print(results: list[Result]) -> None:
    table = Table(["line", ""], ["seconds"], [""])
    for result in results:
        table.add(result.name, result.status, f"{result.seconds:.0f}", result.reason or result.summary)
    print_table(table, console)


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
