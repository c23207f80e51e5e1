"""The fuzz and soak benchmarks, short; docs/serving.md has the long ones."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.server.helpers import server_environment


def report(script: str, tmp_path: Path, *flags: str) -> dict:
    command = [sys.executable, str(ROOT / "benchmarks" / script), "--output", str(tmp_path / "report.json"), *flags]
    done = subprocess.run(command, cwd=tmp_path, env=server_environment(), capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((tmp_path / "report.json").read_text())


@pytest.mark.slow
def test_hostile_requests_break_nothing(tmp_path: Path) -> None:
    found = report("serving_fuzz.py", tmp_path, "--num_requests", "300")
    assert found["requests"] == 300 and found["num_faults"] == 0 and found["changed_honest_replies"] == 0
    assert not found["commands_run_by_pickles"] and found["still_running_or_waiting"] == 0
    assert found["statuses"]["400"] > 100


@pytest.mark.slow
def test_no_reply_is_crossed_while_weights_change(tmp_path: Path) -> None:
    flags = ("--duration_s", "20", "--num_clients", "6", "--num_episodes", "2", "--reload_every_s", "5")
    found = report("serving_soak.py", tmp_path, *flags)
    assert (found["crossed"], found["wrong_version"], found["errors"]) == (0, 0, 0)
    assert found["replies"] > 5 and found["reloads"] >= 1
    assert found["still_running_or_waiting"] == 0


@pytest.mark.slow
def test_no_reply_is_stale_while_replicas_are_killed(tmp_path: Path) -> None:
    flags = ("--duration_s", "40", "--num_clients", "6", "--num_episodes", "2", "--reload_every_s", "12")
    found = report("serving_soak.py", tmp_path, *flags, "--replicas", "2", "--kill_every_s", "15")
    assert (found["crossed"], found["wrong_version"], found["errors"]) == (0, 0, 0)
    assert found["replies"] > 5 and found["kills"] >= 1 and found["still_running_or_waiting"] == 0
