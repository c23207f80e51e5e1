"""Every benchmark starts by the commands in its first lines."""

import re
import subprocess
import sys

import pytest

from tests.conftest import ROOT

COMMAND = re.compile(r"^ *python ((?:-m )?benchmarks\S+(?: checkpoints| data)?)", re.MULTILINE)
TEXTS = [path.read_text() for path in (ROOT / "benchmarks").glob("*.py")]
COMMANDS = sorted(
    {found for text in TEXTS if "--help" in text or "cli.run(" in text for found in COMMAND.findall(text)}
)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_benchmark_tells_its_options(command: str) -> None:
    done = subprocess.run([sys.executable, *command.split(), "--help"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and "usage" in done.stdout, done.stderr
