"""A tiny real policy on disk, for attacks on what loads it."""

from pathlib import Path

import pytest

from tests.server.tiny_model import save_tiny_idefics2


@pytest.fixture(scope="session")
def tiny_policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_idefics2(tmp_path_factory.mktemp("tiny") / "policy")
