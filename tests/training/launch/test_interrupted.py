"""Ctrl-C, which the terminal sends to the launcher and to all ranks."""

import os
import signal
import subprocess
import sys

from tests.conftest import ROOT

LAUNCH = (
    "import signal, sys\n"
    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # also where the tests run in the background
    "from training.launch import torchrun\n"
    "sys.exit(torchrun.start('tests.training.launch.waiting_rank', 2, torchrun.Hosts()))\n"
)


def test_ctrl_c_is_one_line() -> None:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([sys.executable, "-c", LAUNCH], cwd=ROOT, start_new_session=True, **pipes)
    try:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == ["waiting\n"] * 2
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 128 + signal.SIGINT
    assert said.splitlines()[-1] == "stopped by SIGINT; what was saved is kept" and "Traceback" not in said, said
