"""How tests run the training commands."""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

from common.processes import die_with_parent
from tests.conftest import ROOT
from training.config import Config


def environment(**variables: str) -> dict[str, str]:
    """For a child process: this Python, one thread, and none of this machine's training options."""
    options = {field.name.upper() for field in dataclasses.fields(Config)}
    inherited = {name: value for name, value in os.environ.items() if name not in options}
    return {**inherited, "PYTHON": sys.executable, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **variables}


def start_script(script: Path, flags: dict[str, object], **variables: object) -> subprocess.Popen:
    """A shell script with these flags, in a session of its own; its output is one pipe."""
    return subprocess.Popen(
        ["bash", str(script), *(text for name, value in flags.items() for text in (f"--{name}", str(value)))],
        env=environment(**{name: str(value) for name, value in variables.items()}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=die_with_parent,
    )
