"""A tiny real policy on disk, for attacks on what loads it."""

from pathlib import Path

import pytest

from tests import tiny


@pytest.fixture(scope="session")
def tiny_policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.build_decisive_policy(tmp_path_factory.mktemp("tiny") / "policy")
