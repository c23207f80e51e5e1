"""The nine minutes on one GPU: planned aloud, each line stopped at its limit, what is done kept and not done again."""

import json
from pathlib import Path
from typing import Any

import psutil
import pytest

from common.errors import UserError
from tests.conftest import ROOT
from tests.gpu import floors, short
from tests.gpu.short import Config, Line


def line(name: str, says: str, limit_s: float = 60.0) -> Line:
    return Line(name, limit_s, "tests.gpu.stand_in", lambda config: {"says": says}, lambda found: f"{found['figure']}!")


def measured(monkeypatch: pytest.MonkeyPatch, folder: Path, *lines: Line, **options: Any) -> tuple[int, dict[str, Any]]:
    """(exit code, {name: its line in gpu.json})"""
    monkeypatch.setattr(short, "lines", lambda: list(lines))
    code = short.main(Config(cpu=True, output_dir=folder, **options))
    return code, {one["name"]: one for one in json.loads((folder / "gpu.json").read_text())["lines"]}


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr(short.host, "describe", lambda: {"gpus": [], "versions": {"torch": "2.11"}})
    monkeypatch.setattr(short, "_commit", lambda: "abc")


def test_the_plan_is_said_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured(monkeypatch, tmp_path, line("first", "1"), line("second", "2"))
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("no GPU: a rehearsal; torch 2.11") and said[1].startswith("missing: ")
    assert said[2] == "lines: first (60 s at most), second (60 s at most)"
    assert [one.split(", ")[0] for one in said[3:5]] == ["first: pass", "second: pass"]


def test_what_failed_runs_again_and_what_passed_does_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code, found = measured(monkeypatch, tmp_path, line("good", "1"), line("bad", "fails"), line("last", "3"))
    assert code == 1 and [one["status"] for one in found.values()] == ["pass", "fail", "pass"]
    assert "a figure that cannot be" in found["bad"]["reason"] and found["last"]["figures"] == {"figure": 3}
    code, again = measured(monkeypatch, tmp_path, line("good", "fails"), line("bad", "2"), line("last", "fails"))
    assert code == 0 and again["good"] == found["good"] and again["bad"]["summary"] == "2!"


def test_weights_that_a_fresh_machine_lacks_are_made_again(tmp_path: Path) -> None:
    policy = next(one for one in short.lines() if one.name == "policy")
    config = Config(cpu=True, output_dir=tmp_path, scratch=tmp_path)
    assert policy.has_lost(config) and not line("good", "1").has_lost(config)
    Path(policy.arguments(config)["folder"]).mkdir(parents=True)
    assert not policy.has_lost(config)


@pytest.mark.parametrize("changed", ["commit", "host"])
def test_figures_of_another_commit_or_machine_are_not_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, changed: str
) -> None:
    measured(monkeypatch, tmp_path, line("good", "1"))
    if changed == "commit":
        monkeypatch.setattr(short, "_commit", lambda: "def")
    else:
        monkeypatch.setattr(short.host, "describe", lambda: {"gpus": [], "versions": {"torch": "2.12"}})
    assert measured(monkeypatch, tmp_path, line("good", "2"))[1]["good"]["figures"] == {"figure": 2}


def test_a_line_is_stopped_at_its_limit_with_all_that_it_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(short, "LEAST_S", 0.0)
    code, found = measured(monkeypatch, tmp_path, line("endless", "sleeps", limit_s=1.0), line("next", "2"))
    assert code == 1 and found["endless"]["reason"] == "stopped after 3 s"  # a rehearsal has three times as long
    assert found["next"]["status"] == "pass"
    child = int((tmp_path / "logs" / "endless.log").read_text().split()[0])
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE


def test_without_time_the_rest_is_skipped_and_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code, found = measured(monkeypatch, tmp_path, line("first", "1"), budget_s=short.LEAST_S - 1)
    assert code == 0 and (found["first"]["status"], found["first"]["reason"]) == ("skip", "no time was left")


def test_an_unknown_line_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--only rowing: the lines are ceilings, parity"):
        short.main(Config(cpu=True, only=("rowing",), output_dir=tmp_path))


def test_every_line_runs_a_module_that_is_there(tmp_path: Path) -> None:
    for config in (Config(cpu=True, output_dir=tmp_path), Config(output_dir=tmp_path)):
        for one in short.lines():
            assert (short.ROOT / f"{one.module.replace('.', '/')}.py").exists() or one.module == "tests.gpu"
            assert one.arguments(config) is not None


def test_the_predictions_are_those_of_the_docs_and_of_lines_that_there_are() -> None:
    assert floors.markdown() in (ROOT / "docs" / "howto" / "gpu.md").read_text()
    names = {name.split("`")[1] for name, _ in floors.table()}
    assert names <= {one.name for one in short.lines()}


def test_memory_that_runs_out_is_told() -> None:
    found = {"replies": 24, "crossed": 0, "wrong_version": 1, "errors": 0, "reloads": 2, "out_of_memory": 3}
    soaked = next(one for one in short.lines() if one.name == "out_of_memory")
    assert soaked.summary(found | {"asked_again": 1}).startswith(
        "24 replies, 1 wrong, 2 reloads; memory ran out 3 times"
    )
    assert soaked.arguments(Config())["starve_every"] > 0
