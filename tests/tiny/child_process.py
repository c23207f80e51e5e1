"""The environment in which tests run the training commands."""

import dataclasses
import os
import sys

from tests.conftest import ROOT
from training.config import Config


def environment(**variables: str) -> dict[str, str]:
    """For a child process: this Python, one thread, and none of this machine's training options."""
    options = {field.name.upper() for field in dataclasses.fields(Config)}
    inherited = {name: value for name, value in os.environ.items() if name not in options}
    return {**inherited, "PYTHON": sys.executable, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **variables}
