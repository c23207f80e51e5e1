"""`elcano show` on whatever lies around."""

import dataclasses
import fcntl
import json
import os
from pathlib import Path

import pytest

from common.errors import UserError
from common.progress import Progress
from elcano.folders import at_work, describe_folder, working_in


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("config.json", "a Hugging Face checkpoint"),
        ("latest_checkpointed_iteration.txt", "a Megatron checkpoint"),
        ("manifest.json", "python toolkits/inspect_data.py"),
        ("taskshop--1/steps.jsonl", "python collection/run.py --status"),
        ("policy/config.json", "in it, policy is a Hugging Face checkpoint"),
        ("checkpoint/run/latest_checkpointed_iteration.txt", "in it, checkpoint/run is a Megatron checkpoint"),
        ("notes.txt", "nothing in it is of Elcano's making"),
    ],
)
def test_a_folder_is_named_with_the_command_that_tells_more(tmp_path: Path, file: str, said: str) -> None:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text("{}")
    assert said in describe_folder(tmp_path)
    assert describe_folder(tmp_path / file) == "it is a file"
    assert describe_folder(tmp_path / "nowhere") == "there is no such folder; give the --output_dir of a run"


def make_run(folder: Path) -> Path:
    (folder / "stages").mkdir(parents=True)
    (folder / "IL" / "logs").mkdir(parents=True)
    for name in ("recipe.json", ".lock"):
        (folder / name).write_text("{}")
    return folder


def test_runs_in_a_folder_are_named(tmp_path: Path) -> None:
    run = make_run(tmp_path / "quickstart")
    assert describe_folder(tmp_path) == f"runs lie in it: elcano show {run}"
    (run / "recipe.json").unlink()  # the stages of somebody else
    assert describe_folder(tmp_path) == "nothing in it is of Elcano's making"


def test_a_run_under_way_says_at_what(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    report = run / "IL" / "logs" / "train.progress.json"
    with open(run / ".lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert at_work(run) == "what has not said anything yet"
        progress = Progress("steps", done=10, total=40, facts="loss 0.5", before=0, begun_at=0.0)
        report.write_text(json.dumps(dataclasses.asdict(progress)))
        assert at_work(run).startswith("IL/logs/train.log: 10/40 steps, loss 0.5, ")
        (run / "stages" / "IL.train.json").write_text("{}")
        os.utime(report, (0, 0))
        assert at_work(run) == "what has not said anything yet"
    assert at_work(run) == ""


def test_a_folder_that_cannot_be_written_is_told() -> None:
    with pytest.raises(UserError, match=r"^/proc: .*; give a folder that can be written as --output_dir$"):
        working_in(Path("/proc")).__enter__()
