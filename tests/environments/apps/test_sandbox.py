"""What an application's server can still do: by a program that tries everything else, in the sandbox and without it."""

import json
import os
import subprocess
import sys
import sysconfig
from contextlib import nullcontext
from pathlib import Path

import pytest

from common.processes import free_port, listen
from environments.apps.sandbox import Sandbox, complaint

pytestmark = pytest.mark.skipif(complaint() != "", reason=complaint())

PROBE = """
import json, os, signal, socket, subprocess, sys
home, outside, other_port, own_port, pid = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
def bind(port):
    with socket.socket() as server:
        server.bind(("127.0.0.1", port))
        server.listen()
def datagram():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", other_port))
def write(path):
    with open(path, "w") as file:
        file.write("x")
tries = {
    "reads the home folder": lambda: open(home + "/secret").read(),
    "lists the home folder": lambda: os.listdir(home),
    "reads accounts": lambda: open("/etc/passwd").read(),
    "reads other processes": lambda: open(f"/proc/{pid}/environ", "rb").read(),
    "writes outside": lambda: write(outside + "/made"),
    "overwrites outside": lambda: write(home + "/secret"),
    "cuts off outside": lambda: os.truncate(home + "/secret", 0),
    "removes outside": lambda: os.remove(home + "/secret"),
    "moves into its own": lambda: os.rename(home + "/secret", "taken"),
    "connects": lambda: socket.create_connection(("127.0.0.1", other_port), 5).close(),
    "sends a datagram": datagram,
    "listens elsewhere": lambda: bind(0),
    "signals": lambda: os.kill(pid, 0),
    "becomes root": lambda: os.chown("own", 12345, 12345),
    "writes its own": lambda: write("own"),
    "lists its own": lambda: os.listdir("."),
    "listens": lambda: bind(own_port),
    "starts programs": lambda: subprocess.run(["/bin/sh", "-c", "exit 0"], check=True),
}
order = ["writes its own", *(name for name in tries if name != "writes its own")]
def works(name):
    try:
        tries[name]()
    except OSError:
        return False
    return True
print(json.dumps([name for name in order if works(name)]))
"""
ALLOWED = ["writes its own", "lists its own", "listens", "starts programs"]


def tried(is_sandboxed: bool, folder: Path) -> set[str]:
    own, home, outside = (folder / name for name in ("own", "home", "outside"))
    for path in (own, home, outside):
        path.mkdir()
    (home / "secret").write_text("secret")
    port = free_port()
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    venv = [Path(sys.prefix), Path(sysconfig.get_path("stdlib"))]
    with listen(0) as other, Sandbox(venv, own, port) if is_sandboxed else nullcontext() as sandbox:
        words = [str(home), str(outside), other.getsockname()[1], port, stranger.pid]
        done = subprocess.run(
            [sys.executable, "-c", PROBE, *map(str, words)],
            cwd=own,
            env={"PATH": os.environ["PATH"], "TMPDIR": str(own)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            preexec_fn=sandbox and sandbox.enter,
        )
    stranger.communicate(b"\n")
    assert done.returncode == 0, done.stderr
    assert not is_sandboxed or (home / "secret").read_text() == "secret"
    return set(json.loads(done.stdout))


def test_a_server_reads_and_writes_its_own_alone(tmp_path: Path) -> None:
    assert tried(True, tmp_path) == set(ALLOWED)


def test_the_probe_finds_what_is_open_without_the_sandbox(tmp_path: Path) -> None:
    """Where it is the sandbox, and not the probe, that makes the difference."""
    could = tried(False, tmp_path)
    everywhere = {
        "reads the home folder",
        "writes outside",
        "connects",
        "sends a datagram",
        "listens elsewhere",
        "signals",
    }
    assert could >= everywhere | set(ALLOWED)


def test_temporary_files_and_long_paths_are_its_own(tmp_path: Path) -> None:
    """The folder may be a link, as /tmp is on some machines."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    program = "import tempfile; tempfile.NamedTemporaryFile(); print(tempfile.gettempdir())"
    with Sandbox([Path(sys.prefix)], tmp_path / "link", free_port()) as sandbox:
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={"TMPDIR": str(tmp_path / "link")},
            cwd=tmp_path / "link",
            capture_output=True,
            text=True,
            preexec_fn=sandbox.enter,
        )
    assert done.stdout.strip() == str(tmp_path / "link"), done.stderr
