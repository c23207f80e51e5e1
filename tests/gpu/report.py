"""The figures of a short proof as Markdown, for docs/results/gpu_proof.md: `python -m tests.gpu.report`."""

import dataclasses
from pathlib import Path
from typing import Any

from common import cli
from common.errors import UserError
from common.files import read_json


@dataclasses.dataclass(frozen=True)
class Config:
    """Print what was measured."""

    gpu_json: Path = Path("runs/gpu/gpu.json")
    """As `bash tests/gpu.sh --short` wrote it."""


def main(config: Config) -> None:
    """Print."""
    if not config.gpu_json.exists():
        raise UserError(f"{config.gpu_json}: is not there; `bash tests/gpu.sh --short` writes it")
    print(markdown(read_json(config.gpu_json)))


def markdown(found: dict[str, Any]) -> str:
    """Where it ran, the goals, the figures."""
    host = found["host"]
    gpus = ", ".join(f"{gpu['name']}, {gpu['memory_gib']:.0f} GiB" for gpu in host["gpus"]) or "no GPU: a rehearsal"
    versions = ", ".join(f"{name} {version}" for name, version in host["versions"].items())
    rows = [f"{found['at']}, commit {found['commit'] or 'unknown'}, {gpus}, {versions}.", ""]
    rows += ["| goal | | figure |", "|---|---|---|"]
    rows += [f"| {goal['goal']} | {goal['held']} | {goal['figure']} |" for goal in found["goals"]]
    rows += ["", "| figure | | seconds |", "|---|---|---|"]
    for line in found["lines"]:
        told = line["summary"] if line["status"] == "pass" else f"{line['status']}: {_last_line(line['reason'])}"
        told += f" (commit {line['commit']})" if line["commit"] != found["commit"] else ""
        rows.append(f"| `{line['name']}` | {told} | {line['seconds']:.0f} |")
    return "\n".join(rows)


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1].replace("|", "/") if text.strip() else ""


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
