"""An index of a few trajectories, kept in the test's own folder."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from viewer.answers import Answers
from viewer.app import create_app
from viewer.catalog.index import Index

Opened = Callable[..., Answers]
TOKEN = "secret"


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
    """As `opened`, asked over HTTP by a browser that has been let in, or with `cookies={}` one that has not."""

    def ask(*folders: Path, cookies: dict[str, str] | None = None) -> TestClient:
        let_in = {"elcano_view_8090": TOKEN} if cookies is None else cookies
        return TestClient(create_app(opened(*folders), TOKEN), "http://localhost:8090", cookies=let_in)

    return ask
