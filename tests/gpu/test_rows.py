"""Rows of one process: what fails costs itself alone, what does not fit is tried with fewer layers."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from common.errors import UserError
from tests.gpu import report, rows, training_rows


def test_a_row_that_fails_is_told_and_a_broken_process_ends(tmp_path: Path) -> None:
    def work(name: str) -> dict[str, Any]:
        raise {"does not fit": torch.OutOfMemoryError("x"), "refused": UserError("y"), "broken": RuntimeError("z")}[
            name
        ]

    output = tmp_path / "rows.json"
    with pytest.raises(RuntimeError):
        rows.measure(["does not fit", "refused", "broken", "behind"], output, work)
    assert [one["error"].split(":")[0] for one in json.loads(output.read_text()).values()] == [
        *("OutOfMemoryError", "UserError", "RuntimeError"),
    ]


def test_a_process_whose_rows_leave_memory_behind_measures_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "free_memory", lambda: 12.0)
    rows.measure(["one", "two"], tmp_path / "rows.json", lambda name: {"figure": name})
    assert json.loads((tmp_path / "rows.json").read_text()) == {"one": {"figure": "one"}}
    rows.measure(["one", "two"], tmp_path / "rows.json", lambda name: {"figure": name}, held_gib=12.0)
    assert len(json.loads((tmp_path / "rows.json").read_text())) == 2


def test_what_runs_out_of_memory_is_tried_with_fewer_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(options: Any, layers: int) -> dict[str, Any]:
        if layers > 15:
            raise torch.OutOfMemoryError(f"{layers} layers")
        done = {"samples": 8, "sample_len": options.sample, "tower_learns": True, "write": "logprobs"}
        return {"shape": options.shape, "layers": layers, "forward_only": False, "step_seconds": 5.0} | done

    monkeypatch.setattr(training_rows.training_gpu, "depth", lambda options: 21)
    monkeypatch.setattr(training_rows.training_gpu, "measure", lambda *asked: measure(*asked) | {"gpu": "NVIDIA H200"})
    monkeypatch.setattr(training_rows, "_leave", lambda: None)
    found = training_rows._measure("qwen3_vl_8b_packed_learned", training_rows.Config())
    assert found["layers"] == 12 and found["out_of_memory_with_layers"] == [21, 16]
    assert 0.05 < found["share_of_floor"] < 1.0
    monkeypatch.setattr(training_rows.training_gpu, "depth", lambda options: 36)
    with pytest.raises(UserError, match="not even 22 layers fit"):
        training_rows._measure("qwen3_vl_8b_packed_learned", training_rows.Config())


def test_the_report_has_goals_and_figures() -> None:
    host = {"gpus": [{"name": "NVIDIA H200", "memory_gib": 139.8}], "versions": {"torch": "2.11"}}
    lines = [
        {"name": "ceilings", "status": "pass", "summary": "700 TFLOP/s", "reason": "", "seconds": 9.2, "commit": "abc"},
        {"name": "parity", "status": "fail", "summary": "", "reason": "a\nb | c", "seconds": 4.0, "commit": "de"},
    ]
    goals = [{"goal": "memory", "held": "not held", "figure": "111 %"}]
    said = report.markdown({"at": "2026-11-29", "commit": "abc", "host": host, "goals": goals, "lines": lines})
    assert "NVIDIA H200, 140 GiB, torch 2.11." in said and "| memory | not held | 111 % |" in said
    assert "| `ceilings` | 700 TFLOP/s | 9 |" in said and "| `parity` | fail: b / c (commit de) | 4 |" in said
