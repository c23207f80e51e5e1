"""An index of a few trajectories, kept in the test's own folder."""

from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from toolkits.viewer.answers import Answers
from toolkits.viewer.app import create_app
from toolkits.viewer.index import Index


@pytest.fixture
def opened(tmp_path: Path) -> Callable[..., Answers]:
    """`opened(folder, ...)`: answers about them, read to the end."""

    def open_folders(*folders: Path) -> Answers:
        index = Index(folders, tmp_path / "cache" / "index.sqlite")
        index.refresh()
        return Answers(index)

    return open_folders


@pytest.fixture
def client(opened: Callable[..., Answers]) -> Callable[..., TestClient]:
    """As `opened`, asked over HTTP from this machine."""
    return lambda *folders, token="": TestClient(create_app(opened(*folders), token), "http://localhost:8090")
