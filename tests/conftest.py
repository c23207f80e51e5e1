"""Shared by all tests: where the field's real files lie, and a child process that is always reaped."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT.parent / "shared" / "fixtures" / "openwebvoyager"


@pytest.fixture(scope="session")
def fixtures() -> Path:
    """OpenWebVoyager's released example files; tests that need them skip where they are absent."""
    if not FIXTURES.is_dir():
        pytest.skip(f"needs OpenWebVoyager's example files in {FIXTURES}")
    return FIXTURES


@pytest.fixture
def spawn() -> Iterator[Callable[..., subprocess.Popen]]:
    """`spawn("script.py", "--flag")` starts a Python child in a process group of its own, killed after the test."""
    children: list[subprocess.Popen] = []

    def start(*arguments: object, **options: object) -> subprocess.Popen:
        command = [sys.executable, *map(str, arguments)]
        child = subprocess.Popen(command, cwd=ROOT, start_new_session=True, text=True, **options)
        children.append(child)
        return child

    yield start
    for child in children:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
