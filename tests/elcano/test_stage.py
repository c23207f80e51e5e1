"""Stages: complete once, never twice; a failure is one line that names the log."""

import io
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
from rich.console import Console

from common import progress
from common.errors import UserError
from elcano import executors
from elcano.console import line, live_line
from elcano.executors.executor import Command, load_executor, python
from elcano.executors.local import Executor, last_words
from elcano.resources import Resources
from elcano.stages.stage import Logbook
from tests.conftest import ROOT
from tests.elcano.captain import SERVES


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


def test_a_stage_that_is_to_reach_further_is_taken_up_again(tmp_path):
    for extent, expected in (("75 tasks", True), ("75 tasks", False), ("300 tasks", True), ("300 tasks", False)):
        with Logbook(tmp_path).stage("IL/test", extent) as needed:
            assert needed is expected


@pytest.mark.parametrize("content", ["{}", "[]", "null"])
def test_a_note_that_says_nothing_of_a_stage_is_one_line(tmp_path, content):
    logbook = Logbook(tmp_path)
    (logbook.folder / "IL.train.json").write_text(content)
    with pytest.raises(UserError, match=r"IL\.train\.json: not the note of a complete stage"):
        logbook.seconds()
    with pytest.raises(UserError, match="not the note"), logbook.stage("IL/train"):
        pass


def test_a_failed_command_tells_its_last_words(tmp_path):
    script = (
        "import sys; print('noise'); print('error: no such shard folder', file=sys.stderr); print('after'); sys.exit(2)"
    )
    with pytest.raises(UserError, match="ended with code 2: no such shard folder"):
        Executor().run(Command([sys.executable, "-c", script], tmp_path / "x.log"))
    assert last_words(tmp_path / "x.log") == "no such shard folder"


def test_a_stage_within_another_is_counted_once(tmp_path, monkeypatch):
    clock = iter([10.0, 11.0, 15.0, 15.5, 17.5, 20.0])
    monkeypatch.setattr("elcano.stages.stage.time.monotonic", lambda: next(clock))
    logbook = Logbook(tmp_path)
    with logbook.stage("optim-1/explore"):
        for name in ("IL/test", "IL-gray/test"):
            with logbook.stage(name):
                pass
    assert logbook.seconds() == {"IL/test": 4.0, "IL-gray/test": 2.0, "optim-1/explore": 4.0}


def test_a_command_runs_beside_a_block_and_is_waited_for(tmp_path):
    begun, told = tmp_path / "begun", tmp_path / "told"
    script = (
        f"import pathlib, time; begun, told = pathlib.Path({str(begun)!r}), pathlib.Path({str(told)!r})\n"
        "begun.touch()\nwhile not told.exists(): time.sleep(0.01)\ntold.write_text('read')"
    )
    with Executor().beside(Command([sys.executable, "-c", script], tmp_path / "x.log")):
        while not begun.exists():
            time.sleep(0.01)
        told.write_text("")
    assert told.read_text() == "read"


def test_a_command_beside_a_block_that_fails_is_ended(tmp_path):
    command = Command([sys.executable, "-c", "import time; time.sleep(600)"], tmp_path / "x.log")
    with pytest.raises(ValueError, match="of the block"), Executor().beside(command):
        raise ValueError("of the block")
    assert not [process for process in psutil.process_iter(["cmdline"]) if process.info["cmdline"] == command.words]


def test_a_command_that_fails_beside_another_ends_it(tmp_path):
    inner = Command([sys.executable, "-c", "import time; time.sleep(600)"], tmp_path / "inner.log")
    outer = Command([sys.executable, "-c", "import sys; sys.exit(3)"], tmp_path / "outer.log")
    executor = Executor()
    with pytest.raises(UserError, match="ended with code 3"), executor.beside(outer):
        executor.run(inner)
    assert not [process for process in psutil.process_iter(["cmdline"]) if process.info["cmdline"] == inner.words]


def test_a_command_that_failed_beside_a_block_is_said_behind_it(tmp_path):
    command, reached = Command([sys.executable, "-c", "import sys; sys.exit(3)"], tmp_path / "x.log"), False
    with pytest.raises(UserError, match="ended with code 3"), Executor().beside(command):
        time.sleep(0.2)
        reached = True
    assert reached


def test_flags_as_a_person_types_them():
    command = python(
        "a.py", "--judge", "oracle", test_file=Path("t.jsonl"), only_success=True, seed=None, files=["x", "y"], last_n=0
    )
    assert shlex.join(command[1:]) == ("a.py --judge oracle --test_file t.jsonl --only_success --files x y --last_n 0")


def test_a_service_is_reaped_and_an_early_death_is_reported(tmp_path):
    def files(host: str, port: int) -> Command:
        return Command([sys.executable, "-c", SERVES, host, str(port)], tmp_path / "s.log")

    with Executor().service(files, "/") as url:
        assert urllib.request.urlopen(url).status == 200
    with pytest.raises(OSError):
        urllib.request.urlopen(url, timeout=1)

    def dying(host: str, port: int) -> Command:
        return Command([sys.executable, "-c", "print('error: port in use'); raise SystemExit(2)"], tmp_path / "d.log")

    with (
        pytest.raises(UserError, match="a service ended at start with code 2: port in use"),
        Executor().service(dying, "/"),
    ):
        pass


def test_a_port_that_another_process_takes_in_between_is_left_to_it(tmp_path: Path) -> None:
    """Two runs that began at the same moment once used one server, which ended with one of them."""
    thief = HTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler, bind_and_activate=False)
    thief.server_bind()  # it says yes to whoever asks, as another run's websites do

    def command(host: str, port: int) -> Command:
        if port == thief.server_port:  # it is free when it is chosen, and taken when the service comes to it
            thief.server_activate()
            threading.Thread(target=thief.serve_forever, daemon=True).start()
        return Command([sys.executable, "-c", SERVES, host, str(port)], tmp_path / "s.log")

    with thief, Executor().service(command, "/", wanted_port=thief.server_port) as url:
        assert urlsplit(url).port != thief.server_port and urllib.request.urlopen(url).status == 200
        thief.shutdown()
    assert f"cannot listen on 127.0.0.1:{thief.server_port}" in (tmp_path / "s.log").read_text()


def test_a_service_is_found_whatever_proxy_is_set(monkeypatch, tmp_path):
    """As on clusters; what no_proxy holds already stays."""
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("NO_PROXY", "intranet,localhost")
    script = (
        "import os, sys; from pathlib import Path; from common import cli; from elcano.stages import services\n"
        "from elcano.executors import local\n"
        "local.START_TIMEOUT_S = 20\n"
        "def main(log):\n"
        "    with services.embedded_sites(local.Executor(), log):\n"
        "        print(os.environ['no_proxy'], os.environ['NO_PROXY'])\n"
        "sys.exit(cli.guarded(main, Path(sys.argv[1])))\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "sites.log")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["intranet,localhost,127.0.0.1,.localhost,::1"] * 2


SLOW_TO_END = """
import signal, sys, time
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path
from urllib.parse import urlsplit
from common.progress import Reporter
report = Reporter("steps", 40, before=10)
def end(*_):
    time.sleep(1)
    Path(sys.argv[1]).write_text("saved")
    raise SystemExit(143)
signal.signal(signal.SIGTERM, end)
for step in range(11, 21):
    report(step, "loss 0.5")
Path(sys.argv[2]).write_text("begun")
time.sleep(60)
"""


def test_an_interrupted_command_may_save_what_it_has(tmp_path):
    """Ctrl-C reaches the run only, which asks the command to end and waits for it."""
    saved, begun = tmp_path / "saved", tmp_path / "begun"
    command = Command([sys.executable, "-c", SLOW_TO_END, str(saved), str(begun)], tmp_path / "x.log")
    script = (
        "import sys; from elcano.executors.executor import Command; from elcano.executors.local import Executor\n"
        "from pathlib import Path; import signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # also where the tests run in the background
        "Executor().run(Command(sys.argv[2:], Path(sys.argv[1])))"
    )
    words = [sys.executable, "-c", script, str(command.log), *command.words]
    process = subprocess.Popen(words, cwd=ROOT, start_new_session=True, stderr=subprocess.DEVNULL)
    while not begun.exists():
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(20) != 0
    assert saved.read_text() == "saved"


def test_a_stage_shows_what_its_command_knows(tmp_path):
    path = tmp_path / "progress.json"
    assert progress.read(path) is None
    script = "from common.progress import Reporter; Reporter('tasks', 40, before=10)(20, '7 solved, 3.1 steps/s')"
    environment = {**os.environ, progress.VARIABLE: str(path)}
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, env={**environment, "PYTHONPATH": str(ROOT)}, check=True)
    found = progress.read(path)
    assert line(found, found.begun_at + 100) == "20/40 tasks, 7 solved, 3.1 steps/s, 3 min left"
    assert line(found, found.begun_at + 10) == "20/40 tasks, 7 solved, 3.1 steps/s, 20 s left"


def test_of_two_commands_under_way_each_is_named(monkeypatch):
    written = io.StringIO()
    monkeypatch.setattr("elcano.console.console", Console(file=written, width=200))
    monkeypatch.setattr("elcano.console._QUIET_S", -1.0)
    tasks, steps = (progress.Progress(unit, 20, 40, "", 0, time.time()) for unit in ("tasks", "steps"))
    with live_line() as show:
        show({"IL/trajectories": tasks})
        show({"IL/trajectories": tasks, "untrained/test": steps})
        show({"IL/trajectories": tasks, "untrained/test": None})
    alone, both, other = written.getvalue().splitlines()
    assert alone.startswith("  20/40 tasks")
    assert both.startswith("  IL/trajectories: 20/40 tasks") and "; untrained/test: 20/40 steps" in both
    assert other.startswith("  IL/trajectories: 20/40 tasks") and "untrained" not in other


def test_a_stage_says_that_others_took_time_within_it(tmp_path, capsys):
    logbook = Logbook(tmp_path)
    with logbook.stage("IL/explore"), logbook.stage("untrained/test"):
        time.sleep(0.1)
    assert capsys.readouterr().out.splitlines()[-2:] == ["✓ untrained/test: 0 s", "✓ IL/explore: 0 s more"]


def test_an_executor_is_one_file(tmp_path, monkeypatch):
    """A machine of another kind: nothing else of the repository is touched."""
    (tmp_path / "paper.py").write_text(
        "class Executor:\n"
        "    def run(self, command, resources):\n"
        "        command.log.write_text(' '.join(command.words))\n"
    )
    monkeypatch.setattr(executors, "__path__", [*executors.__path__, str(tmp_path)])
    load_executor("paper").run(Command(["bash", "train.sh"], tmp_path / "x.log"), Resources())
    assert (tmp_path / "x.log").read_text() == "bash train.sh"
    with pytest.raises(UserError, match="there are local, paper"):
        load_executor("cluster")


def test_a_command_gets_the_cores_and_the_gpus_it_needs(tmp_path, monkeypatch):
    """Cores are threads, GPUs the first of those that are visible; what it does not name is left as it is."""
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5,6")
    words = ["bash", "-c", "echo $OMP_NUM_THREADS $CUDA_VISIBLE_DEVICES"]
    for needs in (Resources(num_cores=3, num_gpus=2), Resources()):
        Executor().run(Command(words, tmp_path / "x.log"), needs)
    said = [line.strip() for line in (tmp_path / "x.log").read_text().splitlines() if line[:1].isdigit()]
    assert said == ["3 4,5", "7 4,5,6"]
    with pytest.raises(UserError, match="needs 4 GPUs, and 3 are visible"):
        Executor().run(Command(words, tmp_path / "x.log"), Resources(num_gpus=4))
