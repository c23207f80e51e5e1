"""The figures of one GPU in nine minutes: `bash tests/gpu.sh --short`; `--short --cpu` rehearses it in a small form.

Lines run one after the other, the most valuable first, each in processes of its own that are stopped at its second.
What a line does not use the next ones have; rows that were not reached come again at the end. What is done stands in
gpu.json at once; started again on the same kind of machine and commit, only what is missing runs.
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
from common.processes import die_with_parent
from elcano.console import console
from tests.conftest import ROOT
from tests.gpu import goals, host
from tests.gpu.result import STOPPED, Result
from tests.gpu.short_lines import Config, Line, chosen, plan

LEAST_S = 15.0
"""A line is not begun with less time."""
_REHEARSAL = 3
"""Times as long as on a GPU a line may take; longer still with a larger budget, on a machine that has other work."""
_AFTER, _INTERRUPTED = f"{STOPPED} after", f"{STOPPED} from outside"
_TEXT_END = 400  # characters of a failed command's last words


def main(config: Config) -> int:
    """Say what will be done and what is missing, do it, write."""
    begin = time.monotonic()
    wanted = chosen(config)
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "0")
    os.environ["CUDA_VISIBLE_DEVICES"] = "" if config.cpu else visible.partition(",")[0]
    if not config.cpu and not torch.cuda.is_available():
        raise UserError("no GPU is visible here; `bash tests/gpu.sh --short --cpu` rehearses it without one")
    config.output_dir.mkdir(parents=True, exist_ok=True)
    report = {"at": time.strftime("%Y-%m-%d"), "commit": _commit(), "rehearsal": config.cpu, "host": host.describe()}
    path = config.output_dir / "gpu.json"
    results = _results_before(path, report)
    done = {name for name, one in results.items() if one.status == "pass" and one.commit == report["commit"]}
    found = {line: [name for name in names if name not in done] for line, names in wanted.items()}
    undone = {line: names for line, names in found.items() if names}
    _say_plan(config, report, undone, sorted(done))

    def keep(result: Result) -> None:
        results[result.name] = dataclasses.replace(result, commit=report["commit"])
        told = result.reason if result.status != "pass" else result.summary
        console.print(f"{result.name}: {result.status}, {result.seconds:.0f} s, {told}", soft_wrap=True)
        lines = [dataclasses.asdict(one) for one in results.values()]
        write_json(path, {**report, "goals": goals.judged(results), "lines": lines})

    ends, end, left = begin, begin + config.budget_s, {}
    for line, names in undone.items():
        ends += line.limit_s
        alone = time.monotonic() + _REHEARSAL * line.limit_s * max(1.0, config.budget_s / Config.budget_s)
        left[line] = _run(line, names, config, min(end, alone if config.cpu else ends), keep)
    for line, names in left.items():
        for name in _run(line, names, config, end, keep):
            if name not in results or results[name].status != "pass":  # of another commit: it stays
                keep(Result(name, "skip", "no time was left"))
    for goal in goals.judged(results):
        console.print(f"{goal['goal']}: {goal['held']} ({goal['figure']})", soft_wrap=True)
    console.print(str(path), soft_wrap=True)
    return int(any(result.status == "fail" for result in results.values()))


def _say_plan(config: Config, report: dict[str, Any], undone: dict[Line, list[str]], done: list[str]) -> None:
    gpus = ", ".join(gpu["name"] for gpu in report["host"]["gpus"]) or "no GPU: a rehearsal"
    versions = ", ".join(f"{name} {version}" for name, version in report["host"]["versions"].items())
    console.print(f"{gpus}; {versions}", soft_wrap=True)
    for said in [*plan(config, undone), *([f"done before: {', '.join(done)}"] if done else [])]:
        console.print(said, soft_wrap=True)


def _run(line: Line, names: list[str], config: Config, end: float, keep: Callable[[Result], None]) -> list[str]:
    """Measure the named figures until `end`, in one process more for each that fails; returns those left."""
    while names and end - (begin := time.monotonic()) >= LEAST_S:
        attempt = _Attempt(line, names, config, keep)
        try:
            failure = _stopped_at(
                attempt.command, end - begin, config.output_dir / "logs" / f"{line.name}.log", attempt
            )
        except KeyboardInterrupt:
            failure = _INTERRUPTED
        names = attempt.ended(failure)
        if failure == _INTERRUPTED:
            raise KeyboardInterrupt
        if failure.startswith(_AFTER):
            break
    return names


class _Attempt:
    """One process of a line. Called while it runs, it keeps each row as soon as that is written: whatever ends all of
    this then, what was measured is known."""

    def __init__(self, line: Line, names: list[str], config: Config, keep: Callable[[Result], None]) -> None:
        self.command, self._output = _command(line, names, config), line.output(config)
        self._line, self._asked, self._left, self._keep = line, names, list(names), keep
        self._since = time.monotonic()
        self._output.unlink(missing_ok=True)

    def __call__(self) -> None:
        if self._line.rows and self._output.exists():
            written = read_json(self._output)
            for name in [name for name in self._left if _row(name) in written]:
                self._add(name, written[_row(name)], "")

    def ended(self, failure: str) -> list[str]:
        """What is left to another process; of one that wrote nothing, the first figure failed."""
        self()
        if not self._line.rows and self._output.exists():
            self._add(self._left[0], read_json(self._output), failure)
        elif self._left == self._asked:
            self._add(self._left[0], {"error": failure or "wrote no figures"}, "")
        return self._left

    def _add(self, name: str, figures: Any, failure: str) -> None:
        now = time.monotonic()
        told = shlex.join(self.command).replace(sys.executable, "python").replace(f"{ROOT}/", "")
        self._keep(_result(self._line, name, figures, failure, told, round(now - self._since, 1)))
        self._left.remove(name)
        self._since = now


def _row(name: str) -> str:
    return name.partition(".")[2]


def _command(line: Line, names: list[str], config: Config) -> list[str]:
    output = line.output(config)
    written: dict[str, Any] = {"output_dir": output.parent} if line.has_folder else {"output": output}
    rows = {"rows": [_row(name) for name in names]} if line.rows else {}
    return [sys.executable, "-m", line.module, *_words(written | rows | line.arguments(config))]


def _result(line: Line, name: str, figures: Any, failure: str, command: str, seconds: float) -> Result:
    result = Result(name, commands=[command], seconds=seconds)
    error = failure or (figures.get("error", "") if isinstance(figures, dict) else "")
    if error:
        result.status, result.reason = "fail", error
    if "error" not in figures:
        result.figures = figures
        with contextlib.suppress(
            KeyError, IndexError, ValueError
        ):  # of a line that was stopped before it had all of them
            result.summary = line.summary(figures)
    return result


def _stopped_at(command: list[str], limit_s: float, log: Path, look: Callable[[], None]) -> str:
    """Run it with everything that it starts, and `look` every second; "" or why it failed."""
    log.parent.mkdir(exist_ok=True)
    environment = {**os.environ, "PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    environment.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
    environment.setdefault("HF_HUB_OFFLINE", "1")  # a machine that reaches nothing would wait for answers
    with open(log, "w") as file:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=die_with_parent,
        )
        try:
            if (code := _waited(process, limit_s, look)) is None:
                return f"{_AFTER} {limit_s:.0f} s"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return "" if code == 0 else f"exit code {code}: {log.read_text(errors='replace').strip()[-_TEXT_END:]}"


def _waited(process: subprocess.Popen[bytes], limit_s: float, look: Callable[[], None]) -> int | None:
    """Its exit code, or None of one that still runs."""
    end = time.monotonic() + limit_s
    while (left := end - time.monotonic()) > 0:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(timeout=min(left, 1.0))
        look()
    return None


def _results_before(path: Path, report: dict[str, Any]) -> dict[str, Result]:
    """Of the same kind of machine; each knows its commit."""
    before = read_json(path) if path.exists() else {}
    if before.get("rehearsal") != report["rehearsal"]:
        return {}
    if any(before["host"].get(name) != report["host"].get(name) for name in ("gpus", "versions")):
        return {}
    return {line["name"]: Result(**line) for line in before["lines"]}


def _commit() -> str:
    """Or what COMMIT says, where the working tree came without its repository."""
    if given := os.environ.get("COMMIT"):
        return given
    with contextlib.suppress(FileNotFoundError):  # a machine without git
        done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
        return done.stdout.strip()
    return ""


def _words(flags: dict[str, Any]) -> list[str]:
    words: list[str] = []
    for name, value in flags.items():
        if isinstance(value, bool):
            words.append(f"--{name}" if value else f"--no_{name}")
        elif isinstance(value, list | tuple):
            words += [f"--{name}", *map(str, value)]
        else:
            words += [f"--{name}", str(value)]
    return words


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what is known by then is written
    cli.run(Config, main, description=__doc__)
