"""Stages: complete once, never twice; a failure is one line that names the log."""

import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from common.errors import UserError
from common.processes import free_port
from elcano.services import service
from elcano.stage import Logbook, last_words, python, run_command
from tests.conftest import ROOT


def test_a_complete_stage_is_skipped_and_a_failed_one_is_not(tmp_path):
    logbook = Logbook(tmp_path)
    with pytest.raises(RuntimeError), logbook.stage("IL/train") as needed:
        assert needed
        raise RuntimeError("killed")
    assert logbook.seconds() == {}
    for expected in (True, False):
        with Logbook(tmp_path).stage("IL/train") as needed:
            assert needed is expected
    assert list(logbook.seconds()) == ["IL/train"]


def test_a_failed_command_tells_its_last_words(tmp_path):
    script = (
        "import sys; print('noise'); print('error: no such shard folder', file=sys.stderr); print('after'); sys.exit(2)"
    )
    with pytest.raises(UserError, match="ended with code 2: no such shard folder"):
        run_command([sys.executable, "-c", script], tmp_path / "x.log")
    assert last_words(tmp_path / "x.log") == "no such shard folder"


def test_flags_as_a_person_types_them():
    command = python(
        "a.py", test_file=Path("t.jsonl"), headless=True, text_only=False, seed=None, files=["x", "y"], temperature=0
    )
    assert command[1:] == ["a.py", "--test_file", "t.jsonl", "--headless", "--files", "x", "y", "--temperature", "0"]


def test_a_service_is_reaped_and_an_early_death_is_reported(tmp_path):
    port = free_port()
    command = [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1"]
    url = f"http://127.0.0.1:{port}/"
    with service(command, url, tmp_path / "s.log"):
        assert urllib.request.urlopen(url).status == 200
    with pytest.raises(OSError):
        urllib.request.urlopen(url, timeout=1)
    with pytest.raises(UserError, match="a service ended at start with code 2: port in use"):
        dying = [sys.executable, "-c", "print('error: port in use'); raise SystemExit(2)"]
        with service(dying, url, tmp_path / "d.log"):
            pass


def test_a_service_is_found_whatever_proxy_is_set(monkeypatch, tmp_path):
    """As on clusters; what no_proxy holds already stays."""
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("NO_PROXY", "intranet,localhost")
    script = (
        "import os, sys; from pathlib import Path; from common import cli; from elcano import services\n"
        "services.START_TIMEOUT_S = 20\n"
        "def main(log):\n"
        "    with services.embedded_sites(log):\n"
        "        print(os.environ['no_proxy'], os.environ['NO_PROXY'])\n"
        "sys.exit(cli.guarded(main, Path(sys.argv[1])))\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "sites.log")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["intranet,localhost,127.0.0.1,.localhost,::1"] * 2
