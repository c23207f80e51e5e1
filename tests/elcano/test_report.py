"""The report of a run: what summary.json promises, and a picture."""

import json

from elcano.report import Result, write_report


def test_summary_and_picture(tmp_path):
    fields = {"success_rate": 0.4, "num_tasks": 75, "num_success": 30, "num_invalid": 0, "mean_steps": 4.5}
    result = Result.from_summary("IL", {**fields, "sites": {}})
    write_report(tmp_path, [result], {"IL/test": 60.0, "IL/train": 30.5})
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["rounds"] == [{"name": "IL", **fields}]
    assert summary["seconds_per_stage"]["IL/train"] == 30.5
    assert summary["total_seconds"] == 90.5
    assert (tmp_path / "success.png").read_bytes().startswith(b"\x89PNG")
