"""Checkpoints in Megatron's own format, damaged: the trainer says in one line which one it cannot load."""

import ast
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from common.errors import UserError
from models.checkpoint.torch_dist_metadata import METADATA_FILE, read_metadata

ROOT = Path(__file__).resolve().parents[3]
WORKER = Path(__file__).parents[1] / "damage_worker.py"


@pytest.mark.parametrize("num_cases", [30, pytest.param(400, marks=pytest.mark.slow)])
def test_no_damage_is_a_traceback(tmp_path: Path, num_cases: int) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(WORKER), str(tmp_path), str(num_cases)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=ROOT)
    counts = ast.literal_eval(done.stdout.splitlines()[-1]) if not done.returncode else done.stderr[-2000:]
    assert set(counts) == {"read", "refused"} and counts["refused"] > num_cases * 0.6, counts


class Runs:
    def __reduce__(self) -> Any:
        return os.mkdir, ("ran",)


def test_metadata_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / METADATA_FILE).write_bytes(pickle.dumps(Runs()))
    with pytest.raises(UserError, match=r"asks for posix\.mkdir"):
        read_metadata(tmp_path)
    assert not (tmp_path / "ran").exists()
