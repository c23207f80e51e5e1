"""The figures of one GPU in nine minutes: `bash tests/gpu.sh --short`; `--short --cpu` rehearses it in a small form.

Lines run one after the other, the most valuable first, each in processes of its own that are stopped at its limit. What
is done stands in gpu.json at once; started again on the same machine and commit, only what is missing runs.
"""

import contextlib
import dataclasses
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch

from common import cli
from common.errors import UserError
from common.files import read_json, write_json
from elcano.console import console
from tests.conftest import ROOT
from tests.gpu import host
from tests.gpu.missing import MODULES, is_missing
from tests.gpu.result import Result
from tests.gpu.short_lines import Config, Line, lines

LEAST_S = 15.0
"""A line is not begun with less time."""
_TEXT_END = 400  # characters of a failed command's last words


def main(config: Config) -> int:
    """Say what will be done and what is missing, do it, write."""
    chosen = [line for line in lines() if not config.only or line.name in config.only]
    unknown = set(config.only) - {line.name for line in chosen}
    if unknown:
        raise UserError(f"--only {' '.join(sorted(unknown))}: the lines are {', '.join(line.name for line in lines())}")
    if config.cpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    elif not torch.cuda.is_available():
        raise UserError("no GPU is visible here; `bash tests/gpu.sh --short --cpu` rehearses it without one")
    config.output_dir.mkdir(parents=True, exist_ok=True)
    report = {"at": time.strftime("%Y-%m-%d"), "commit": _commit(), "rehearsal": config.cpu, "host": host.describe()}
    path, end = config.output_dir / "gpu.json", time.monotonic() + config.budget_s
    done = _passed_before(path, report)
    for line in chosen:
        if line.has_lost(config):
            done.pop(line.name, None)
    _say_plan(report, chosen, done)
    results: dict[str, Result] = dict(done)
    for line in chosen:
        if line.name not in done:
            results[line.name] = _run(line, config, end - time.monotonic())
            write_json(path, {**report, "lines": [dataclasses.asdict(result) for result in results.values()]})
    console.print(str(path), soft_wrap=True)
    return int(any(result.status == "fail" for result in results.values()))


def _say_plan(report: dict[str, Any], chosen: list[Line], done: dict[str, Result]) -> None:
    gpus = ", ".join(gpu["name"] for gpu in report["host"]["gpus"]) or "no GPU: a rehearsal"
    versions = ", ".join(f"{name} {version}" for name, version in report["host"]["versions"].items())
    missing = list(filter(is_missing, (*MODULES, "transformer_engine", "apex", "flash_attn")))
    console.print(f"{gpus}; {versions}", soft_wrap=True)
    console.print(f"missing: {', '.join(missing) or 'nothing'}; our own layers are measured", soft_wrap=True)
    plan = [
        f"{line.name}{' (done before)' if line.name in done else f' ({line.limit_s:.0f} s at most)'}" for line in chosen
    ]
    console.print(f"lines: {', '.join(plan)}", soft_wrap=True)


def _run(line: Line, config: Config, left_s: float) -> Result:
    result, begin = Result(line.name), time.monotonic()
    limit_s = min(left_s, line.limit_s * (3 if config.cpu else 1))
    if limit_s < LEAST_S:
        result.status, result.reason = "skip", "no time was left"
        console.print(f"{line.name}: skip, no time was left")
        return result
    output = line.output(config)
    output.unlink(missing_ok=True)
    written = {"output_dir": output.parent} if line.has_folder else {"output": output}
    command = [sys.executable, "-m", line.module, *_words(written | line.arguments(config))]
    result.commands.append(shlex.join(command).replace(sys.executable, "python").replace(f"{ROOT}/", ""))
    failure = _stopped_at(command, limit_s, config.output_dir / "logs" / f"{line.name}.log")
    result.seconds = round(time.monotonic() - begin, 1)
    if output.exists():
        result.figures = read_json(output)
        result.summary = line.summary(result.figures)
    if failure or not output.exists():
        result.status, result.reason = "fail", failure or "wrote no figures"
    console.print(
        f"{line.name}: {result.status}, {result.seconds:.0f} s, {result.reason or result.summary}", soft_wrap=True
    )
    return result


def _stopped_at(command: list[str], limit_s: float, log: Path) -> str:
    """Run it with everything that it starts; "" or why it failed."""
    log.parent.mkdir(exist_ok=True)
    environment = {**os.environ, "PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    environment.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
    with open(log, "w") as file:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            code = process.wait(timeout=limit_s)
        except subprocess.TimeoutExpired:
            return f"stopped after {limit_s:.0f} s"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return "" if code == 0 else f"exit code {code}: {log.read_text(errors='replace').strip()[-_TEXT_END:]}"


def _passed_before(path: Path, report: dict[str, Any]) -> dict[str, Result]:
    """Of the same machine and commit."""
    if not path.exists():
        return {}
    before = read_json(path)
    if any(before.get(name) != report[name] for name in ("commit", "rehearsal", "host")):
        return {}
    return {line["name"]: Result(**line) for line in before["lines"] if line["status"] == "pass"}


def _commit() -> str:
    with contextlib.suppress(FileNotFoundError):  # a machine without git
        done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
        return done.stdout.strip()
    return ""


def _words(flags: dict[str, Any]) -> list[str]:
    words: list[str] = []
    for name, value in flags.items():
        if isinstance(value, bool):
            words.append(f"--{name}" if value else f"--no_{name}")
        elif isinstance(value, list):
            words += [f"--{name}", *map(str, value)]
        else:
            words += [f"--{name}", str(value)]
    return words


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
