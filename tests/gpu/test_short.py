"""The nine minutes on one GPU: planned aloud, each line stopped at its second, what is done kept and not done again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from common.errors import UserError
from tests.conftest import ROOT
from tests.gpu import floors, policy, serving_rows, short, short_lines, training_rows
from tests.gpu.short import Config, Line


def line(name: str, says: str, limit_s: float = 60.0, rows: tuple[str, ...] = ()) -> Line:
    return Line(
        name, limit_s, "tests.gpu.stand_in", lambda config: {"says": says}, lambda found: f"{found['figure']}!", rows
    )


def measured(monkeypatch: pytest.MonkeyPatch, folder: Path, *lines: Line, **options: Any) -> tuple[int, dict[str, Any]]:
    """(exit code, {name: its line in gpu.json})"""
    monkeypatch.setattr(short_lines, "lines", lambda config: list(lines))
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
    assert said[2] == "lines, each until its second at most: first (by 60 s), second (by 120 s)"
    assert [one.split(", ")[0] for one in said[3:5]] == ["first: pass", "second: pass"]


def test_what_failed_runs_again_and_what_passed_does_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code, found = measured(monkeypatch, tmp_path, line("good", "1"), line("bad", "fails"), line("last", "3"))
    assert code == 1 and [one["status"] for one in found.values()] == ["pass", "fail", "pass"]
    assert "a figure that cannot be" in found["bad"]["reason"] and found["last"]["figures"] == {"figure": 3}
    code, again = measured(monkeypatch, tmp_path, line("good", "fails"), line("bad", "2"), line("last", "fails"))
    assert code == 0 and again["good"] == found["good"] and again["bad"]["summary"] == "2!"


def test_a_row_that_fails_costs_itself_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One that says its error, and one that ends its process: each row is a line, and a second run takes no other."""
    rows = line("rows", "rows", rows=("1", "error", "2", "crash", "3"))
    code, found = measured(monkeypatch, tmp_path, rows)
    status = {name: one["status"] for name, one in found.items()}
    assert code == 1
    assert status == {f"rows.{row}": "pass" if row.isdigit() else "fail" for row in ("1", "error", "2", "crash", "3")}
    assert "it does not fit" in found["rows.error"]["reason"] and "exit code 1" in found["rows.crash"]["reason"]
    again = measured(monkeypatch, tmp_path, rows)[1]
    assert again["rows.3"] == found["rows.3"] and again["rows.crash"]["commands"] != found["rows.crash"]["commands"]


def test_rows_that_were_not_reached_come_in_the_time_that_is_left(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A process that is stopped behind its first row; the second row takes all of the time there is."""

    def stopped(command: list[str], limit_s: float, log: Path, look: object) -> str:
        first, output = command[command.index("--rows") + 1], Path(command[command.index("--output") + 1])
        if first != "endless":
            output.write_text(json.dumps({first: {"figure": int(first)}}))
        return f"stopped after {limit_s:.0f} s"

    monkeypatch.setattr(short, "_stopped_at", stopped)
    code, found = measured(monkeypatch, tmp_path, line("rows", "rows", rows=("1", "endless", "2")))
    assert code == 1 and [one["status"] for one in found.values()] == ["pass", "fail", "skip"]
    assert found["rows.endless"]["reason"].startswith("stopped after")


def test_what_is_known_when_it_is_ended_from_outside_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def ended(command: list[str], limit_s: float, log: Path, look: object) -> str:
        Path(command[command.index("--output") + 1]).write_text(json.dumps({"1": {"figure": 1}}))
        raise KeyboardInterrupt

    monkeypatch.setattr(short, "_stopped_at", ended)
    with pytest.raises(KeyboardInterrupt):
        measured(monkeypatch, tmp_path, line("rows", "rows", rows=("1", "2")))
    assert [one["name"] for one in json.loads((tmp_path / "gpu.json").read_text())["lines"]] == ["rows.1"]


def test_some_lines_leave_the_others_as_they_were(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lines = (line("good", "1"), line("bad", "fails"), line("rows", "rows", rows=("1", "error")))
    found = measured(monkeypatch, tmp_path, *lines)[1]
    again = measured(monkeypatch, tmp_path, line("good", "1"), line("bad", "2"), lines[2], only=("bad", "rows.1"))[1]
    assert again["bad"]["status"] == "pass" and again["rows.error"] == found["rows.error"]
    assert list(again) == list(found)


def test_a_row_is_kept_while_the_next_one_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine that is lost half way has written what it measured."""

    def look(command: list[str], limit_s: float, log: Path, look: Callable[[], None]) -> str:
        output = Path(command[command.index("--output") + 1])
        for rows in ({}, {"1": {"figure": 1}}, {"1": {"figure": 1}, "2": {"figure": 2}}):
            output.write_text(json.dumps(rows))
            look()
            seen.append(
                [one["name"] for one in json.loads((tmp_path / "gpu.json").read_text())["lines"]] if rows else []
            )
        return ""

    seen: list[list[str]] = []
    monkeypatch.setattr(short, "_stopped_at", look)
    measured(monkeypatch, tmp_path, line("rows", "rows", rows=("1", "2")))
    assert seen == [[], ["rows.1"], ["rows.1", "rows.2"]]


def test_it_looks_at_the_rows_while_a_line_runs(tmp_path: Path) -> None:
    looked: list[bool] = []
    assert short._stopped_at(["sleep", "1.5"], 60, tmp_path / "line.log", lambda: looked.append(True)) == ""
    assert looked


def test_the_plan_at_once_is_of_what_was_asked(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    flags = ["--cpu", "--budget_s", "100", "--only", "ceilings", "serving.ours_64", "--output_dir", str(tmp_path)]
    assert short_lines.main(flags) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "lines, each until its second at most: ceilings (by 20 s)",
        "in time that these leave, or when started again: serving (1 of 6 rows, by 145 s)",
    ]
    assert short_lines.main(["--only", "rowing"]) == 2
    assert capsys.readouterr().err.startswith("error: --only rowing: the lines are ceilings")


def test_weights_that_a_fresh_machine_lacks_are_made_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made: list[Path] = []
    monkeypatch.setattr(policy, "make_checkpoint", lambda folder, *_: made.append(folder) or folder.mkdir())
    for _ in range(2):
        assert policy.ensure(tmp_path / "policy", "qwen3-vl-4b", "cpu").is_dir()
    assert len(made) == 1
    asked = {one.name: one.arguments(Config(scratch=tmp_path)) for one in short_lines.lines(Config())}
    assert asked["serving"]["policy"] == tmp_path / "elcano-qwen3-vl-4b"
    assert asked["candidates_qwen3_vl_8b"]["make"] == "qwen3-vl-8b"


def test_one_line_again_after_a_change_leaves_the_others_with_their_commit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lines = (line("good", "1"), line("bad", "fails"))
    measured(monkeypatch, tmp_path, *lines)
    monkeypatch.setattr(short, "_commit", lambda: "def")
    found = measured(monkeypatch, tmp_path, lines[0], line("bad", "2"), only=("bad",))[1]
    assert {name: (one["figures"]["figure"], one["commit"]) for name, one in found.items()} == {
        "good": (1, "abc"),
        "bad": (2, "def"),
    }


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
    with pytest.raises(UserError, match="--only rowing: the lines are ceilings, attention, parity"):
        short.main(Config(cpu=True, only=("rowing",), output_dir=tmp_path))


def test_every_line_runs_a_module_that_is_there(tmp_path: Path) -> None:
    for config in (Config(cpu=True, output_dir=tmp_path), Config(output_dir=tmp_path)):
        for one in short_lines.lines(config):
            assert (short.ROOT / f"{one.module.replace('.', '/')}.py").exists() or one.module == "tests.gpu"
            assert one.arguments(config) is not None


def test_every_row_is_one_that_its_module_knows() -> None:
    known = {
        "tests.gpu.training_rows": {*training_rows.ROWS, *training_rows.BASELINES},
        "tests.gpu.serving_rows": set(serving_rows.ROWS),
    }
    asked: dict[str, list[str]] = {module: [] for module in known}
    for one in short_lines.lines(Config()):
        asked.get(one.module, []).extend(one.rows)
    assert {module: sorted(rows) for module, rows in asked.items()} == {
        module: sorted(rows) for module, rows in known.items()
    }


def test_what_is_planned_fits_into_the_time(tmp_path: Path) -> None:
    """The rows that nobody promised come last, and are told apart."""
    *promised, extra = short_lines.lines(Config())
    assert sum(one.limit_s for one in promised) <= Config().budget_s
    said = short_lines.plan(Config(scratch=tmp_path), short_lines.chosen(Config()))
    assert [text.split(":")[0] for text in said] == [
        *("missing", "weights", "lines, each until its second at most"),
        "in time that these leave, or when started again",
    ]
    assert said[3].split(": ")[1].startswith(extra.name) and str(tmp_path) in said[1]


def test_a_small_shared_memory_is_told_and_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    space = {tmp_path / "shm": 64e6, tmp_path: 60e9}
    (tmp_path / "shm").mkdir()

    class Usage:
        def __init__(self, folder: Path) -> None:
            self.free = space[folder]

    monkeypatch.setattr(short_lines.shutil, "disk_usage", Usage)
    assert short_lines.place_for_weights(*space, tmp_path / "absent") == tmp_path
    said = short_lines.plan(Config(scratch=tmp_path / "shm"), {})[1]
    assert said.endswith("which has 0 GB, and 50 are wanted: give another --scratch")


def test_the_predictions_are_those_of_the_docs_and_of_lines_that_there_are() -> None:
    assert floors.markdown() in (ROOT / "docs" / "howto" / "gpu.md").read_text()
    names = {name.split("`")[1] for name, _ in floors.table()}
    assert names <= {name for one in short_lines.lines(Config()) for name in one.figures}


def test_a_figure_is_read_as_a_share_of_the_depth_that_ran() -> None:
    found = {"shape": "qwen3-vl-8b", "samples": 8, "sample_len": 4096, "tower_learns": True, "write": "logprobs"}
    floor = [floors.of_training(found | {"layers": layers, "forward_only": False}) for layers in (10, 20)]
    assert 1.6 < floor[1].tflop / floor[0].tflop < 2.0  # the tower and the logits are the same
    share = floors.read("NVIDIA H200", 4.0, floor[1])["share_of_floor"]
    assert share == pytest.approx(floor[1].tflop / floors.TFLOPS / 4.0)
    assert floors.read("none", 4.0, floor[1]) == {}


def test_memory_that_runs_out_is_told() -> None:
    found = {"replies": 24, "crossed": 0, "wrong_version": 1, "errors": 0, "reloads": 2, "out_of_memory": 3}
    soaked = next(one for one in short_lines.lines(Config()) if one.name == "out_of_memory")
    assert soaked.summary(found | {"asked_again": 1}).startswith(
        "24 replies, 1 wrong, 2 reloads; memory ran out 3 times"
    )
    assert soaked.arguments(Config())["starve_every"] > 0
