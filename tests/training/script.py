"""What tests need to run train_idefics2.sh as a user does, to kill it, and to read what it did."""

import functools
import json
import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from tests import tiny
from tests.conftest import ROOT
from tests.forked import run_command

ITERATION = re.compile(r"iteration (\d+)/\d+ \| loss (\S+) \| grad norm (\S+) \|")


class Run:
    """One call of the script: TP=2 x PP=1 by default, checkpoints every second of six steps."""

    def __init__(self, shards: Path, megatron: Path, output: Path, **options: object) -> None:
        flags = {
            **{"tp": 2, "pr": "fp32", "batch_size": 2, "global_batch_size": 8, "num_workers": 0, "ac": "none"},
            **{"train_iters": 6, "save_interval": 2, "lr": 1e-3, "lr_warmup_iters": 2, "run_name": "run", **options},
        }
        variables = {"DATASET_PATH": shards, "PRETRAIN_CHECKPOINT_PATH": megatron, "OUTPUT_BASEPATH": output}
        self.checkpoints = output / "checkpoint" / "run"
        self.metrics_file = output / "log" / "run" / "metrics.jsonl"
        self.start(flags, variables)

    def start(self, flags: dict[str, object], variables: dict[str, Path]) -> None:
        self.process = tiny.start_script(ROOT / "training" / "train_idefics2.sh", flags, **variables)

    def lines(self) -> Iterator[str]:
        return self.process.stdout  # no generator, which would close the pipe with itself

    def wait_for(self, part: str) -> None:
        """Until a line of the output has `part` in it."""
        assert any(part in line for line in self.lines()), f"ended without {part!r}"

    def wait_for_steps(self, number: int) -> None:
        """Until it has reported so many steps, or has ended."""
        for line in self.lines():
            number -= bool(ITERATION.search(line))
            if number <= 0:
                return

    def finish(self, exit_code: int = 0) -> str:
        output = self.process.communicate(timeout=800)[0]
        assert self.process.returncode == exit_code, output
        return output

    def kill(self) -> None:
        """As a power cut would, but for processes that left the group, which must notice by themselves."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class ForkedRun(Run):
    """The same, but for how its processes start: a test of what it computes waits for no imports."""

    def start(self, flags: dict[str, object], variables: dict[str, Path]) -> None:
        self.command = functools.partial(run_command, "training.launch.command", flags, **variables)

    def finish(self, exit_code: int = 0) -> str:
        return self.command(exit_code, MODEL_TYPE="idefics2")


def metrics(output: str) -> dict[int, tuple[str, str]]:
    """(loss, gradient norm) as printed, by iteration."""
    return {int(number): (loss, norm) for number, loss, norm in ITERATION.findall(output)}


def steps(run: Run) -> list[dict[str, Any]]:
    """Of metrics.jsonl what each step reported, in the order of writing; a step done again after a kill comes again."""
    lines = [json.loads(line) for line in run.metrics_file.read_text().splitlines()]
    return [line for line in lines if "loss" in line]


def wait_until_gone(argument: str, timeout_s: float = 120) -> None:
    """Until no process has `argument` in its environment's OUTPUT_BASEPATH."""
    deadline = time.monotonic() + timeout_s
    while any(output_of(process) == argument for process in psutil.process_iter()):
        assert time.monotonic() < deadline, "ranks outlive the launcher that was killed"
        time.sleep(0.2)


def output_of(process: psutil.Process) -> str | None:
    try:
        return process.environ().get("OUTPUT_BASEPATH")
    except psutil.Error:
        return None
