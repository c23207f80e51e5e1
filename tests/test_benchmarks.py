"""Every benchmark starts by the commands in its first lines."""

import re
import subprocess
import sys

import pytest

from tests.conftest import ROOT

COMMAND = re.compile(r"^ *python ((?:-m )?benchmarks\S+(?: checkpoints| data)?)", re.MULTILINE)
COMMANDS = sorted({found for path in (ROOT / "benchmarks").glob("*.py") for found in COMMAND.findall(path.read_text())})


@pytest.mark.parametrize("command", COMMANDS)
def test_a_benchmark_tells_its_options(command: str) -> None:
    done = subprocess.run([sys.executable, *command.split(), "--help"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and "usage" in done.stdout, done.stderr
