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
from collections.abc import Callable
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

LEAST_S = 15.0
"""A line is not begun with less time."""
_TEXT_END = 400  # characters of a failed command's last words


@dataclasses.dataclass(frozen=True)
class Config:
    """Measure what one GPU can prove."""

    cpu: bool = False
    """Small forms on two cores: proves the lines, not the machine."""
    budget_s: float = 540.0
    """All lines together."""
    only: tuple[str, ...] = ()
    """Only these lines. None: all."""
    output_dir: Path = Path("runs/gpu")
    """Receives gpu.json, logs and what the lines write."""
    scratch: Path = Path("/dev/shm")
    """Receives a policy of 4B (9 GB)."""

    @property
    def policy(self) -> Path:
        name = "qwen3-vl-4b"
        return self.output_dir.absolute() / "policy" if self.cpu else self.scratch / f"elcano-{name}"


@dataclasses.dataclass(frozen=True)
class Line:
    """`arguments` are those of `python -m module`, which writes figures as JSON to its `--output`, or as gpu.json
    into an `--output_dir` of its own; `summary` makes a line of text of it."""

    name: str
    limit_s: float
    module: str
    arguments: Callable[[Config], dict[str, Any]]
    summary: Callable[[Any], str] = str
    has_folder: bool = False

    def output(self, config: Config) -> Path:
        folder = config.output_dir.absolute()
        return folder / self.name / "gpu.json" if self.has_folder else folder / f"{self.name}.json"


def lines() -> list[Line]:
    """In their order."""
    train, baseline = "benchmarks.training_gpu", "benchmarks.training_gpu_baseline"
    packed = {"seq_len": 32768, "sample_len": 4096, "rows": 1, "steps": 3, "ac": "full"}
    padded = {"seq_len": 4096, "sample_len": 3500, "rows": 8, "steps": 3, "ac": "full", "packing": False}
    few = {"samples": 8, "sample_len": 4096, "steps": 3}
    return [
        Line("ceilings", 40, "tests.gpu.ceilings", _cpu({}, {}), _ceilings),
        Line("parity", 90, "tests.gpu", _parity, _parity_summary, has_folder=True),
        Line(
            "training_qwen3_vl_4b", 75, train, _training("qwen3-vl-4b", packed, freeze_vision=False), _training_summary
        ),
        Line("transformers_qwen3_vl_4b", 60, baseline, _baseline("qwen3-vl-4b", few), _training_summary),
        Line("policy", 60, "tests.gpu.policy", _policy, lambda found: f"{found['bytes'] / 1e9:.2f} GB"),
        Line("serving_one", 60, "benchmarks.serving", _serving("1x4000", "published"), _serving_summary),
        Line("serving_many", 90, "benchmarks.serving", _serving("16x4000 64x4000", "micro_batching"), _serving_summary),
        Line("scoring_qwen3_vl_8b", 45, train, _scoring("qwen3-vl-8b", packed), _scoring_summary),
        Line(
            "training_qwen3_vl_8b", 75, train, _training("qwen3-vl-8b", packed, freeze_vision=True), _training_summary
        ),
        Line(
            "training_idefics2_8b", 75, train, _training("idefics2-8b", packed, freeze_vision=False), _training_summary
        ),
        Line(
            "reload",
            45,
            "tests.server.soak",
            _reload,
            lambda found: f"{found['replies']} replies, {found['reloads']} reloads",
        ),
        Line("publishing_8b", 60, "benchmarks.online_publish", _publishing, _publishing_summary),
        Line(
            "transformers_compiled", 75, baseline, _baseline("qwen3-vl-4b", few | {"compile": True}), _training_summary
        ),
        Line(
            "serving_without_caches",
            60,
            "benchmarks.serving",
            _serving("16x4000", "ours_without_caches"),
            _serving_summary,
        ),
        Line("training_padded", 60, train, _training("qwen3-vl-4b", padded, freeze_vision=False), _training_summary),
    ]


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
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip()


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


def _cpu(flags: dict[str, Any], small: dict[str, Any]) -> Callable[[Config], dict[str, Any]]:
    return lambda config: {**small, "cpu": True} if config.cpu else flags


def _parity(config: Config) -> dict[str, Any]:
    return {"only": ["parity_with_our_layers"]} | ({"cpu": True} if config.cpu else {})


def _training(shape: str, flags: dict[str, Any], freeze_vision: bool) -> Callable[[Config], dict[str, Any]]:
    def arguments(config: Config) -> dict[str, Any]:
        if config.cpu:
            small = {"seq_len": 1024, "sample_len": 512 if flags.get("packing", True) else 900, "rows": 1, "steps": 1}
            return {"shape": shape, "cpu": True, **{**flags, **small}, "freeze_vision": str(freeze_vision)}
        return {"shape": shape, "tp": 1, **flags, "freeze_vision": str(freeze_vision)}

    return arguments


def _scoring(shape: str, flags: dict[str, Any]) -> Callable[[Config], dict[str, Any]]:
    train = _training(shape, flags, freeze_vision=True)
    return lambda config: train(config) | {"forward_only": True}


def _baseline(shape: str, flags: dict[str, Any]) -> Callable[[Config], dict[str, Any]]:
    small = {"samples": 1, "sample_len": 512, "steps": 1}
    return lambda config: {"shape": shape, **flags, **({"cpu": True, **small} if config.cpu else {})}


def _policy(config: Config) -> dict[str, Any]:
    small = {"tiny": True, "device": "cpu"} if config.cpu else {}
    return {"shape": "qwen3-vl-4b", "folder": config.policy, **small}


def _serving(settings: str, baseline: str) -> Callable[[Config], dict[str, Any]]:
    def arguments(config: Config) -> dict[str, Any]:
        sides = {"sides": [baseline, "ours"], "num_workers": 1, "model_name_or_path": config.policy}
        if config.cpu:
            return sides | {"quick": True, "device": "cpu"}
        large = {"max_batch_size": 64, "prefill_chunk": 2048, "repeats": 1, "device": "cuda:0"}
        return sides | large | {"settings": settings.split()}

    return arguments


def _reload(config: Config) -> dict[str, Any]:
    device = "cpu" if config.cpu else "cuda:0"
    return {"device": device, "duration_s": 12 if config.cpu else 25, "num_clients": 4, "reload_every_s": 4}


def _publishing(config: Config) -> dict[str, Any]:
    size = {"num_layers": 1, "repeats": 1} if config.cpu else {"num_layers": 16, "repeats": 2, "device": "cuda"}
    return {"work_dir": (config.output_dir if config.cpu else config.scratch).absolute() / "publishing", **size}


def _ceilings(found: Any) -> str:
    return f"{found['bf16_tflops']:.3g} TFLOP/s in bf16, {found['memory_tb_per_s']:.3g} TB/s"


def _parity_summary(found: Any) -> str:
    return found["lines"][0]["summary"]


def _training_summary(found: Any) -> str:
    mfu = "unknown" if found["mfu"] is None else f"{found['mfu']:.1%}"
    said = f", {found['dry_run_gib']:.1f} by --dry_run" if "dry_run_gib" in found else ""
    memory = f", {found['peak_memory_gib']:.1f} GiB{said}" if found["peak_memory_gib"] else ""
    return f"{found['layers']} layers: {found['tokens_per_s']:.0f} tokens/s, MFU {mfu}{memory}"


def _publishing_summary(found: Any) -> str:
    wall = {name: min(wall for wall, _ in found[name]) for name in ("published", "copied")}
    return (
        f"{found['bytes'] / 1e9:.1f} GB: published in {wall['published']:.1f} s, copied in {wall['copied']:.1f}, "
        f"loaded in {min(found['loaded']):.1f}"
    )


def _scoring_summary(found: Any) -> str:
    return f"{found['layers']} layers: {found['samples_per_s']:.2f} samples/s, {found['tokens_per_s']:.0f} tokens/s"


def _serving_summary(found: Any) -> str:
    return "; ".join(
        f"{row['side']}, {row['agents']} agents: {row['requests_per_s']['median']:.2f} requests/s"
        for row in found["rows"]
    )


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
