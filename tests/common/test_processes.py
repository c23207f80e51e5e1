"""Sockets that services listen on."""

import asyncio
import shutil
import socket
import subprocess
import sys

import pytest

from common.processes import hold, listen
from tests.conftest import ROOT


def test_an_accepted_connection_sends_at_once() -> None:
    """Else an answer whose head and body are two packets waits for the client's delayed acknowledgment, 40 ms."""

    async def has_no_delay() -> bool:
        said: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        async def accept(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            accepted = writer.get_extra_info("socket")
            said.set_result(bool(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))
            writer.close()

        with listen(0) as listener:
            async with await asyncio.start_server(accept, sock=listener):
                _, writer = await asyncio.open_connection(*listener.getsockname())
                found = await asyncio.wait_for(said, 10)
                writer.close()
        return found

    assert asyncio.run(has_no_delay())


TWO_PORTS = """
ip link set lo up && echo "40000 40001" > /proc/sys/net/ipv4/ip_local_port_range && exec "$0" -c '
from common.processes import free_port, hold
with hold() as held:
    asked = {free_port() for _ in range(100)}
    assert len(asked) == 1 and held.getsockname()[1] not in asked, asked
'"""


@pytest.mark.skipif(not shutil.which("unshare") or not shutil.which("ip"), reason="needs unshare and ip")
def test_nobody_else_is_given_a_port_that_is_held() -> None:
    """On a machine that has two ports to give."""
    command = ["unshare", "--map-root-user", "--net", "bash", "-c", TWO_PORTS, sys.executable]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    if "unshare" in done.stderr:
        pytest.skip(f"this machine lends no network of our own: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr


def test_who_is_told_of_a_held_port_listens_there() -> None:
    serve = "import http.server, sys; http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), None)"
    with hold() as held:
        command = [sys.executable, "-c", serve, str(held.getsockname()[1])]
        assert subprocess.run(command, capture_output=True, timeout=60).returncode == 0
