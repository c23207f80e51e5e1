"""The collectors as commands."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from data.trajectory import is_complete
from environments.browser.gate.url_policy import is_loopback_name
from tests.conftest import ROOT


@dataclass
class Collector:
    """Runs a collector on a task file of its own in `folder`; flags as keyword arguments."""

    folder: Path
    script: str = "collection/run.py"

    @property
    def results(self) -> Path:
        return self.folder / "results"

    def arguments(self, tasks: list[dict[str, Any]], **flags: Any) -> list[str]:
        file = self.folder / "tasks.jsonl"
        file.write_text("".join(json.dumps(task) + "\n" for task in tasks))
        defaults = {"test_file": file, "output_dir": self.results}
        words = [self.script]
        for name, value in {**defaults, "headless": True, **flags}.items():
            if value is not False:
                words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
        return words if "private_hosts" in flags else [*words, *list_hosts(task["web"] for task in tasks)]

    def run(self, tasks: list[dict[str, Any]], **flags: Any) -> subprocess.CompletedProcess:
        hidden = ("OPENAI_API_KEY", "DISPLAY", "WAYLAND_DISPLAY")
        environment = {name: value for name, value in os.environ.items() if name not in hidden}
        command = [sys.executable, *self.arguments(tasks, **flags)]
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280)

    def folders(self) -> list[Path]:
        return sorted(self.results.glob("task*"))

    def complete(self) -> list[Path]:
        return [folder for folder in self.folders() if is_complete(folder)]


def list_hosts(addresses: Iterable[str]) -> list[str]:
    """The flag by which a user says that these websites on this machine are theirs."""
    parts = [urlsplit(address) for address in addresses]
    hosts = sorted({part.netloc for part in parts if part.port and is_loopback_name(part.hostname or "")})
    return ["--private_hosts", *hosts] if hosts else []


def task(name: int | str, web: str, script: str, **fields: Any) -> dict[str, Any]:
    """A task whose `ques` is the script of `website.py`'s policy."""
    return {"id": f"T--{name}", "ques": script, "web": web, **fields}
