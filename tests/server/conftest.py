"""A tiny policy on disk, and the real server over it in a process of its own."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import tiny
from tests.server.helpers import SERVER, RunningServer, server_environment


@pytest.fixture(scope="session")
def tiny_policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.build_decisive_policy(tmp_path_factory.mktemp("tiny") / "policy")


@pytest.fixture(scope="session")
def start_server() -> Iterator[Callable[..., RunningServer]]:
    """`start_server(folder, *flags)` -> a ready server on a free port; all are stopped in the end."""
    started: list[subprocess.Popen] = []

    def start(folder: Path, *flags: str) -> RunningServer:
        command = [sys.executable, str(SERVER), "--model_name_or_path", str(folder), "--port", "0", *flags]
        process = subprocess.Popen(
            command, env=server_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        started.append(process)
        line = process.stdout.readline().strip()
        assert line.startswith("serving "), process.stderr.read()
        return RunningServer(process, line)

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture(scope="session")
def server(start_server: Callable[..., RunningServer], tiny_policy: Path) -> RunningServer:
    return start_server(tiny_policy, "--max_batch_size", "4", "--max_new_tokens", "24")
