"""Trajectories on a device by the ordinary collector, and what becomes of one whose device dies."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from data.trajectory import read_trajectory
from tests.conftest import ROOT
from tests.environments.adb_clients import color, phone
from tests.environments.android_devices import start_phone, wait
from tests.environments.recording_screen import RecordingScreen

pytest.importorskip("adbutils", reason="elcano[android]")


def command(folder: Path, tasks: list[dict], **flags: str) -> list[str]:
    (folder / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    flags |= {"env": "android", "test_file": str(folder / "tasks.jsonl"), "output_dir": str(folder / "results")}
    words = [word for name, value in flags.items() for word in (f"--{name}", *value.split())]
    return [sys.executable, "collection/run.py", *words, "--device_tree"]


def task(name: str, script: str, **fields: object) -> dict:
    ends_in_clock = {"eval_types": ["site_state"], "site_state": {"front": "org.elcano.clock"}}
    return {"id": name, "ques": script, "web": "android://org.elcano.clock", "eval": ends_in_clock, **fields}


def test_a_run_on_a_device(url: str, adb_server: str, tmp_path: Path) -> None:
    """For which a second session waits, and keeps nothing from the first."""
    screen = RecordingScreen()
    sessions = {"num_sessions": "2", "max_busy_pages": "1"}
    tasks = [task("open", "Click [1] | Type [2]; hi | ANSWER; done"), task("long", "Wait | Wait", max_steps=1)]
    with phone(screen) as address:
        where = {"devices": address, "adb_server": adb_server, "api_localhost": f"{url}/predict"}
        words = command(tmp_path, tasks, **where, **sessions)
        done = subprocess.run([*words, "--judge", "oracle"], cwd=ROOT, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr
    opened, long = (read_trajectory(tmp_path / "results" / f"task{name}") for name in ("open", "long"))
    assert opened.outcome.success and opened.provenance["device"]["serial"] == address
    assert "[1] button" in opened.trees[0] and opened.steps[0].url == "android://org.elcano.clock"
    assert ("tap", 60, 40) in screen.done and ("type", "hi") in screen.done
    assert len(long.steps) == 1 and long.status == "max_steps"  # its own limit, below the run's
    assert color(long.final_screenshot()) > 0
    assert done.stderr.count("Traceback") == 0 and "browser" not in done.stderr


def test_a_device_that_dies_ends_no_run(url: str, adb_server: str, tmp_path: Path) -> None:
    """kill -9 in the middle: the trajectory is taken again, once the device is back."""
    process, address = start_phone(tmp_path / "done")
    tasks = [task("open", "Click [1] | Wait | Wait | ANSWER; done")]
    words = command(tmp_path, tasks, devices=address, adb_server=adb_server, api_localhost=f"{url}/predict")
    run = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        wait(lambda: '"tap"' in (tmp_path / "done").read_text())
        process.kill()
        process.wait()
        process, _ = start_phone(tmp_path / "done", address.rpartition(":")[2])
        said, _ = run.communicate(timeout=250)
    finally:
        for left in (run, process):
            left.kill()
            left.wait()
    assert run.returncode == 0, said
    assert "invalid" in said  # the first time
    assert read_trajectory(tmp_path / "results" / "taskopen").answer == "done"
    assert (tmp_path / "done").read_text().count('"tap"') == 2


@pytest.mark.parametrize(
    ("world", "flag", "value"), [("sites", "devices", "emulator-5554"), ("android", "reset_command", "make reset")]
)
def test_flags_that_mean_nothing_to_a_world(world: str, flag: str, value: str) -> None:
    words = [sys.executable, "collection/run.py", "--env", world, f"--{flag}", value, "--dry_run"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=250)
    assert done.returncode == 2 and f"--{flag} means nothing to --env {world}" in done.stderr
