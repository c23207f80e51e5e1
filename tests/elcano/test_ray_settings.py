"""What `--executor ray` says and sets before there is any Ray."""

import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from common.errors import UserError
from common.ray_cluster import settings
from common.ray_cluster.settings import prepare
from tests.conftest import ROOT
from tests.elcano.ray_nodes import NEEDS_RAY

SETS = """
import os
from common.ray_cluster.settings import prepare
address = os.environ.get("RAY_ADDRESS", "")
prepare(address, f"--executor ray: RAY_ADDRESS={address}")
"""
WITHOUT_RAY = "import sys; sys.modules['ray'] = None\nfrom elcano.cli import main; main()"


def started(script: str, *words: object, **variables: str) -> subprocess.CompletedProcess:
    own = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    command = [sys.executable, "-c", script, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env={**own, **variables})


def test_without_ray_it_is_said_in_one_line(tmp_path: Path) -> None:
    recipe = ROOT / "examples" / "quickstart" / "recipe.py"
    done = started(WITHOUT_RAY, "run", recipe, "--executor", "ray", "--output_dir", tmp_path / "run")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: --executor ray: Ray is not installed here; run: pip install -e '{ROOT}[ray]'\n"
    assert not (tmp_path / "run").exists()


@NEEDS_RAY
@pytest.mark.parametrize(
    "address, says",
    [
        ("127.0.0.1:1", "nothing answers there"),
        ("127.0.0.1:99999", "nothing answers there"),
        ("no.such.host.invalid:6379", "nothing answers there"),
        ("ray://127.0.0.1:10001", "start the run on a node of the cluster, and give its address as HOST:PORT"),
        ("head", "HOST:PORT"),
        ("10.0.0..1:6379", "nothing answers there"),
        ("127.0.0.1:\N{SUPERSCRIPT TWO}", "HOST:PORT"),
    ],
)
def test_an_address_without_a_cluster_is_refused(address: str, says: str) -> None:
    done = started(SETS, RAY_ADDRESS=address)
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"common.errors.UserError: --executor ray: RAY_ADDRESS={address}: ") and says in last


@contextlib.contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """The address of one that says this to whoever connects, and nothing more."""
    taken: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    taken.append(server.accept()[0])
                    taken[-1].sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
    for connection in taken:
        connection.close()


def _put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `prepare` sets in this process, in the end."""
    for name in ("AUTH_MODE", "NUM_REDIS_GET_RETRIES", "USAGE_STATS_ENABLED", "IGNORE_UNHANDLED_ERRORS"):
        monkeypatch.setenv(f"RAY_{name}", "")


@NEEDS_RAY
@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0\0\0", b"\0\0\0\7\0\0\0\0\0"])
def test_what_answers_and_is_no_ray_is_refused_soon(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray would try for two minutes, and then name another address."""
    monkeypatch.setattr(settings, "_ANSWER_S", 0.5)
    _put_back(monkeypatch)
    with answering(answer) as address, pytest.raises(UserError, match=f"^--at {address}: what answers there is no Ray"):
        prepare(address, f"--at {address}")


@NEEDS_RAY
def test_a_server_of_http2_may_be_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    _put_back(monkeypatch)
    with answering(b"\0\0\x12\4\0\0\0\0\0") as address:
        prepare(address, "")


INTERRUPTED = """
import os, ray, signal
from common.ray_cluster import cluster

def shutdown():
    os.kill(os.getpid(), signal.SIGINT)
    print("shut down")

ray.shutdown, cluster._start = shutdown, lambda said: None
cluster.join("", "")
"""


@NEEDS_RAY
def test_an_unknown_way_of_authentication_is_told() -> None:
    last = started(SETS, RAY_ADDRESS="127.0.0.1:1", RAY_AUTH_MODE="banana").stderr.splitlines()[-1]
    assert last.endswith(":1: RAY_AUTH_MODE=banana: Ray knows token and disabled; unset it for a token")


SILENT = """
from types import SimpleNamespace
from common.ray_cluster import cluster

task = SimpleNamespace(options=lambda **_: task, remote=lambda: "asked")
cluster.ray = SimpleNamespace(remote=lambda _: task, wait=lambda asked, **_: ([], asked))
cluster.nodes = lambda: [cluster.Node("a" * 56, "10.0.0.1", 4, 0, 8, "")]
cluster._check_safe("--at 10.0.0.1:1")
"""


@NEEDS_RAY
def test_a_node_that_does_not_say_whether_it_asks_for_a_token_is_not_trusted() -> None:
    last = started(SILENT, RAY_AUTH_MODE="token").stderr.splitlines()[-1]
    assert "--at 10.0.0.1:1: 10.0.0.1 did not say within 60 s whether it asks for a token; end that node" in last


@NEEDS_RAY
def test_another_ctrl_c_at_the_end_interrupts_nothing() -> None:
    done = started(INTERRUPTED)
    assert (done.returncode, done.stdout, done.stderr) == (0, "shut down\n", "")


@NEEDS_RAY
def test_a_cluster_of_its_own_has_a_token_that_only_this_user_reads() -> None:
    script = SETS + (
        "path = os.environ['RAY_AUTH_TOKEN_PATH']\n"
        "print(os.environ['RAY_AUTH_MODE'], os.environ.get('RAY_AUTH_TOKEN'), len(open(path).read()), path)\n"
        "print(oct(os.stat(path).st_mode & 0o777), oct(os.stat(os.path.dirname(path)).st_mode & 0o777))"
    )
    script += "\nprint(os.environ['RAY_event_stats'], os.environ['RAY_memory_monitor_refresh_ms'])"
    runs = [
        started(script, RAY_event_stats="1", RAY_AUTH_MODE="disabled", RAY_AUTH_TOKEN="mine").stdout.split()
        for _ in range(2)
    ]
    for said in runs:
        assert [*said[:3], *said[4:6]] == ["token", "None", "64", "0o600", "0o700"]
        assert said[6:] == ["1", "0"]  # what the user says of Ray, and what is not needed on one machine
    paths = [Path(said[3]) for said in runs]
    assert paths[0] != paths[1] and not any(path.parent.exists() for path in paths)
