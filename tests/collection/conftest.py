"""The websites and browsers of the tests of environments, and the embedded teacher."""

import subprocess
from collections.abc import Callable

import pytest

from tests.environments.conftest import browser, collector, site, url, wild  # noqa: F401


@pytest.fixture
def teacher(spawn: Callable[..., subprocess.Popen]) -> str:
    """Its base URL."""
    process = spawn("environments/sites/expert/server.py", "--port", "0", stdout=subprocess.PIPE)
    return process.stdout.readline().strip().rpartition(" ")[2]
