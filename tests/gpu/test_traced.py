"""What is kept of a profile is small, and has what other threads did."""

import gzip
import json
import threading
from pathlib import Path

import pytest
import torch

from benchmarks import traced


def test_a_trace_is_small_and_has_all_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traced, "EVENTS", 20)
    matrix = torch.ones(64, 64)

    def work() -> None:
        for _ in range(40):
            torch.linalg.inv(matrix + torch.eye(64) * 100)

    with traced.traced(tmp_path / "traces" / "step"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert "aten::linalg_inv" in (tmp_path / "traces" / "step.txt").read_text()
    with gzip.open(tmp_path / "traces" / "step.json.gz") as file:
        events = json.load(file)["traceEvents"]
    assert sum(event["ph"] == "X" for event in events) == 20
    assert all("args" not in event for event in events if event["ph"] == "X")
