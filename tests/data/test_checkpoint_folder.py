"""What an iteration's folder says of the run that wrote it."""

import json
from pathlib import Path

import pytest

from data.checkpoint_folder import unfinished


@pytest.mark.parametrize(
    ("name", "said", "expected"),
    [
        ("iter_0000020", {"train_iters": 300}, "step 20 of 300: its run has not come to its end"),
        ("iter_0000300", {"train_iters": 300}, ""),
        ("iter_0000020", {}, ""),
        ("iter_0000020", ["another", "file"], ""),
        ("release", {"train_iters": 300}, ""),
    ],
)
def test_an_unfinished_run_is_told(tmp_path: Path, name: str, said: object, expected: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "run.json").write_text(json.dumps(said))
    assert unfinished(tmp_path / name) == expected
    assert unfinished(tmp_path / "nowhere") == ""
