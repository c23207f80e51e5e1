"""An index of a few trajectories, kept in the test's own folder."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from toolkits.viewer.answers import Answers
from toolkits.viewer.app import create_app
from toolkits.viewer.index import Index

Opened = Callable[..., Answers]


def rows(answers: Answers, run: str) -> dict[str, dict[str, Any]]:
    """By name, what the table shows."""
    columns = json.loads(answers.answer("rows", {"run": run}))["columns"]
    return {name: {field: values[at] for field, values in columns.items()} for at, name in enumerate(columns["name"])}


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    """`opened(folder, ...)`: answers about them, read to the end."""

    def open_folders(*folders: Path) -> Answers:
        index = Index(folders, tmp_path / "cache" / "index.sqlite")
        index.refresh()
        return Answers(index)

    return open_folders


@pytest.fixture
def client(opened: Opened) -> Callable[..., TestClient]:
    """As `opened`, asked over HTTP from this machine."""
    return lambda *folders, token="": TestClient(create_app(opened(*folders), token), "http://localhost:8090")
