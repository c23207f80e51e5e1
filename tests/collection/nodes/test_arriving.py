"""What killed drivers left arriving: removed at the next start, and nothing of those that are at work."""

import subprocess
import sys
from pathlib import Path

import pytest

from collection.campaign.arriving import arriving_in, probe, remove_left
from collection.campaign.lease import leases
from common.errors import UserError
from tests.conftest import ROOT

DRIVER = """
import sys
from pathlib import Path
from collection.campaign.arriving import arriving_in, probe
from collection.campaign.lease import leases
output_dir = Path(sys.argv[1])
with leases(output_dir) as held, arriving_in(output_dir) as arriving, probe(arriving, held):
    for task in ("alive", "alive--run2", "odd--run7"):
        held.take(task.partition("--run2")[0])
        (arriving / f"task{task}" / "0a1b").mkdir(parents=True)
    print("at work", flush=True)
    sys.stdin.read()
"""


def names(output_dir: Path) -> set[str]:
    return {path.name for path in (output_dir / ".arriving").iterdir()}


def test_what_a_killed_driver_left_is_removed_and_nothing_of_one_at_work(tmp_path: Path) -> None:
    command = [sys.executable, "-c", DRIVER, tmp_path]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout.readline() == "at work\n"
        of_driver = names(tmp_path)
        for dead in ("taskdead/0a1b/taskdead", "taskdead--run3/0a1b"):
            (tmp_path / ".arriving" / dead).mkdir(parents=True)
        (tmp_path / ".arriving" / "taskdead/0a1b/taskdead/screenshot1.png").write_bytes(b"half")
        (tmp_path / ".arriving" / "probe-dead").touch()
        with leases(tmp_path) as held:
            remove_left(tmp_path, held)
            assert names(tmp_path) == of_driver and len(of_driver) == 4
            assert not held.take("alive") and held.take("dead")
        driver.kill()
    with leases(tmp_path) as held:
        remove_left(tmp_path, held)
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_the_folder_goes_with_the_last_driver(tmp_path: Path) -> None:
    with leases(tmp_path) as held, arriving_in(tmp_path) as arriving, probe(arriving, held) as seen:
        assert seen.exists() and seen.parent == tmp_path / ".arriving"
    assert not arriving.exists()


def test_a_file_in_its_place_is_told(tmp_path: Path) -> None:
    (tmp_path / ".arriving").touch()
    with leases(tmp_path) as held:
        remove_left(tmp_path, held)
    with pytest.raises(UserError, match=r"\.arriving, where .* cannot be made \(File exists\); delete what is in"):
        arriving_in(tmp_path).__enter__()
