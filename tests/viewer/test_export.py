"""Runs as files that open without a server."""

from collections.abc import Callable
from pathlib import Path

import pytest

from common.errors import UserError
from tests.toolkits.trajectories import write_trajectory
from viewer import export
from viewer.__main__ import main as view
from viewer.answers import Answers
from viewer.export import export_run, export_runs
from viewer.options import ViewConfig


def test_several_runs_are_exported_below_a_page_that_leads_to_each(
    tmp_path: Path, opened: Callable[..., Answers]
) -> None:
    write_trajectory(tmp_path / "a" / "test")
    write_trajectory(tmp_path / "b" / "test")
    own = tmp_path / "out" / "run1" / "trajectories" / "holiday.gif"
    own.parent.mkdir(parents=True)
    own.touch()
    pages = export_runs(opened(tmp_path / "a", tmp_path / "b"), tmp_path / "out", with_films=False)
    assert sorted(pages.values()) == [("a", 1), ("b", 1)] and all(page.is_file() for page in pages)
    assert own.exists()
    assert '"b": "run2/index.html"' in (tmp_path / "out" / "index.html").read_text()


def test_a_trajectory_that_cannot_be_exported_is_left_out_with_a_line(
    tmp_path: Path, opened: Callable[..., Answers], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in (1, 2):
        write_trajectory(tmp_path / "r", f"Shop--{number}")
    answers, page = opened(tmp_path / "r"), export.trajectory_page
    monkeypatch.setattr(
        export, "trajectory_page", lambda *given: page(*given) if given[1]["name"] == "taskShop--2" else 1 // 0
    )
    assert export_run(answers, answers.index.runs[0], tmp_path / "out") == 1
    assert "taskShop--1 is left out: integer division" in capsys.readouterr().err


def test_a_page_that_cannot_be_written_is_told_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_trajectory(tmp_path / "r", "Shop--1", num_steps=1)
    taken = tmp_path / "out" / "index.html"
    taken.mkdir(parents=True)
    with pytest.raises(UserError, match=f"--export: {taken}: Is a directory"):
        view(ViewConfig((tmp_path / "r",), export=tmp_path / "out"))
