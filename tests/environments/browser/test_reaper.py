"""The watchdog: no browser survives the collector, even where somebody killed the watchdog first."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from common.reaper import Reaper, _processes, reap
from tests.conftest import ROOT
from tests.waiting import wait_until

COLLECTOR = """
import sys, time
from pathlib import Path
from common.reaper import Reaper
reaper = Reaper()
reaper.watch(Path(sys.argv[1]))
print(reaper._process.pid, flush=True)
while True:
    time.sleep(0.05)
    print(reaper._process.pid, flush=True)
"""

SHELL = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)", input()])
time.sleep(100)
"""


def test_a_watchdog_that_was_killed_is_replaced_and_still_watches(tmp_path: Path) -> None:
    profile = tmp_path / "profile"
    profile.mkdir()
    command = [sys.executable, "-c", "import time; time.sleep(1000)", str(profile)]
    browser = subprocess.Popen(command, start_new_session=True)
    collector = subprocess.Popen(
        [sys.executable, "-c", COLLECTOR, str(profile)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    first = int(collector.stdout.readline())
    os.kill(first, signal.SIGKILL)
    while int(collector.stdout.readline()) == first:
        pass
    time.sleep(0.2)
    collector.kill()
    collector.wait()
    assert browser.wait(30) == -signal.SIGKILL
    wait_until(lambda: not profile.exists())


def test_the_session_of_somebody_who_looks_into_a_profile_survives(tmp_path: Path) -> None:
    """A person's `tail -f <profile>/chromium.log` names the profile too; the shell around it is not ours."""
    shell = subprocess.Popen([sys.executable, "-c", SHELL], stdin=subprocess.PIPE, start_new_session=True, text=True)
    shell.stdin.write(str(tmp_path / "profile") + "\n")
    shell.stdin.flush()
    wait_until(lambda: _processes(tmp_path / "profile"))
    reap(tmp_path / "profile")
    assert shell.poll() is None
    shell.kill()
    shell.wait()


def test_what_was_done_is_left_alone(tmp_path: Path) -> None:
    profile = tmp_path / "profile"
    profile.mkdir()
    reaper = Reaper()
    reaper.watch(profile)
    reaper.done(profile)
    command = [sys.executable, "-c", "import time; time.sleep(1000)", str(profile)]
    other = subprocess.Popen(command, start_new_session=True)
    reaper.close()
    assert other.poll() is None
    other.kill()
    other.wait()
