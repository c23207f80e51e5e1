"""The daemon against clients that others wrote: who may connect, and whether what they do lands where it should."""

import contextlib
import os
import socket
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from common.errors import UserError
from environments.android.daemon.keys import read_keys
from environments.browser.chromium import cdp
from environments.faults import BrowserError
from tests.environments.adb_clients import CLIENTS, Program, RefusedError, color, make_key, phone, server
from tests.environments.recording_screen import SIZE, RecordingScreen

pytest.importorskip("adbutils", reason="elcano[android]")


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Of somebody whose key the phone knows, and of somebody else."""
    known, unknown = tmp_path_factory.mktemp("known"), tmp_path_factory.mktemp("unknown")
    make_key(known), make_key(unknown)
    return known, unknown


@pytest.fixture(scope="module")
def server_port(homes: tuple[Path, Path]) -> Iterator[int]:
    with server(homes[0]) as port:
        yield port


@pytest.mark.parametrize("name", CLIENTS)
def test_what_a_client_does_lands_on_the_screen(name: str, homes: tuple[Path, Path], server_port: int) -> None:
    if name == "adb-shell":
        pytest.importorskip("adb_shell")
    screen = RecordingScreen()
    with phone(screen, read_keys(homes[0] / ".android" / "adbkey.pub")) as address:
        client = CLIENTS[name](homes[0], server_port, address)
        client.connect()
        assert client.shell("echo hi")[1].strip() == "hi"
        assert client.shell("nothing-like-this")[0] == 127
        client.do("input", "tap", "200", "240")
        client.do("input", "swipe", "200", "700", "210", "100", "250")
        client.do("input", "text", "two%swords")
        client.do("input", "keyevent", "KEYCODE_BACK" if name != "adbutils" else "BACK")
        assert screen.done == [
            ("tap", 200, 240),
            ("swipe", 200, 700, 210, 100, 250),
            ("type", "two words"),
            ("key", "back"),
        ]
        assert color(client.screenshot()) == 4  # of now, not of before
        assert client.shell("wm size")[1].strip() == "Physical size: {}x{}".format(*SIZE)
        if name == "adb-shell":
            client.close()


@pytest.mark.parametrize("name", CLIENTS)
def test_an_unknown_key_is_refused(name: str, homes: tuple[Path, Path], server_port: int) -> None:
    if name == "adb-shell":
        pytest.importorskip("adb_shell")
    screen = RecordingScreen()
    with phone(screen, read_keys(homes[1] / ".android" / "adbkey.pub")) as address:
        client = CLIENTS[name](homes[0], server_port, address)
        with pytest.raises(RefusedError):
            client.connect()
        if name == "adb":
            assert client.shell("input tap 1 1")[0] != 0
        assert screen.done == []


def test_nobody_gets_by_without_a_handshake(homes: tuple[Path, Path]) -> None:
    """A stream that is opened at once, a signature made up, and what is no packet at all."""
    screen = RecordingScreen()
    with phone(screen, read_keys(homes[0] / ".android" / "adbkey.pub")) as address:
        host, _, port = address.partition(":")
        for data in (_packet(b"OPEN", 1, 0, b"shell:input tap 1 1\0"), b"GET / HTTP/1.1\r\n\r\n" * 4):
            with socket.create_connection((host, int(port)), timeout=5) as connection:
                connection.sendall(data)
                assert connection.recv(100) == b""
        with socket.create_connection((host, int(port)), timeout=5) as connection:
            connection.sendall(_packet(b"CNXN", 0x01000001, 4096, b"host::\0"))
            assert connection.recv(24)[:4] == b"AUTH"
            connection.recv(20)
            connection.sendall(_packet(b"AUTH", 2, 0, bytes(256)))
            assert connection.recv(24)[:4] == b"AUTH"  # asked once more
        assert screen.done == []


def test_packets_at_random_end_no_daemon(homes: tuple[Path, Path], capfd: pytest.CaptureFixture) -> None:
    """Of a client that is let in: commands, numbers, services and bytes in any order."""
    random = Random(1)
    wanted = [b"shell:input tap 1 2\0", b"shell,v2:cat\0", b"exec:screencap -p\0", b"sync:\0", b"\xff:", b"shell:'|;&&"]
    with phone(RecordingScreen()) as address:
        host, _, port = address.partition(":")
        for _ in range(40):
            with socket.create_connection((host, int(port)), timeout=5) as connection, contextlib.suppress(OSError):
                connection.sendall(_packet(b"CNXN", 0x01000001, 4096, b"host::\0"))
                for _ in range(random.randrange(30)):
                    name = random.choice([b"AUTH", b"OPEN", b"OKAY", b"WRTE", b"CLSE"])
                    payload = random.choice([*wanted, random.randbytes(random.randrange(60))])
                    connection.sendall(_packet(name, random.randrange(5), random.randrange(6), payload))
        with socket.create_connection((host, int(port)), timeout=5) as connection:
            connection.sendall(_packet(b"CNXN", 0x01000001, 4096, b"host::\0"))
            assert connection.recv(4) == b"CNXN"
    said = capfd.readouterr()
    assert "Traceback" not in said.err + said.out


def _packet(name: bytes, first: int, second: int, payload: bytes) -> bytes:
    number = int.from_bytes(name, "little")
    header = (number, first, second, len(payload), sum(payload), number ^ 0xFFFFFFFF)
    return struct.pack("<6I", *header) + payload


@pytest.fixture(scope="module")
def client(homes: tuple[Path, Path], server_port: int) -> Iterator[Program]:
    """The program adb, connected to a phone that everybody may use."""
    screen = RecordingScreen()
    with phone(screen) as address:
        client = Program(homes[0], server_port, address)
        client.connect()
        client.screen, client.address = screen, address
        yield client


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("echo hi; exit 7", 7, "hi"),
        ("true && echo yes || echo no", 0, "yes"),
        ("nothing 2>/dev/null || echo failed", 0, "failed"),
        ("nothing 2>&1 | grep inaccessible", 0, "/system/bin/sh: nothing: inaccessible or not found"),
        ("echo 'a b' > /sdcard/x; cat /sdcard/x; rm /sdcard/x", 0, "a b"),
        ("cat /etc/passwd", 1, ""),
        ("echo $(id)", 0, "$(id)"),
        ("echo ';' '>' a\\;b \"&\" '2' '' 'it''s' '$?' x$?", 0, "; > a;b & 2  its $? x0"),
        ("echo a; nothing; echo $?", 0, "a\n127"),
        ("getprop sys.boot_completed", 0, "1"),
        ("pm list packages", 0, "package:org.elcano.clock\npackage:org.elcano.home"),
        ("pm clear org.elcano.nothing", 1, "Failed"),
        ("input tap somewhere 1", 1, ""),
        ("input tap nan inf", 1, ""),
        ("input swipe 1 1 2 2 inf", 1, ""),
        ("input keyevent KEYCODE_CAMERA", 1, ""),
        ("echo 'open", 2, ""),
        ("echo a &", 2, ""),
        ("echo a >\necho b", 2, ""),
        ("exec 8>/sdcard/x; flock -n 8", 1, ""),
        ("exec 8>/sdcard/x; flock -n 9 9>&8 && echo mine", 0, "mine"),
        ("flock -n 9 9>&-", 1, ""),
    ],
)
def test_a_command_line(client: Program, line: str, code: int, said: str) -> None:
    assert (client.shell(line)[0], client.shell(line)[1].strip()) == (code, said)


def test_an_app_is_started_and_named(client: Program) -> None:
    assert client.shell("am start -n org.elcano.clock/.Main")[0] == 0
    assert "org.elcano.clock/" in client.shell("dumpsys window | grep mCurrentFocus")[1]
    assert client.shell("am start -n org.elcano.nothing/.Main")[0] == 1
    assert client.shell("am start -a android.intent.action.VIEW -d https://example.org/")[0] == 0
    assert client.screen.done[-2:] == [("start", "org.elcano.clock"), ("view", "https://example.org/")]


def test_what_is_typed_in_comes_back(client: Program) -> None:
    """More than fits into one packet, through both directions of a stream."""
    data = os.urandom(100_000).hex().encode() + b"\n"
    command = [*client._command, "-s", client.address, "shell", "cat"]
    done = subprocess.run(command, input=data, capture_output=True, timeout=60)
    assert done.stdout == data


def test_a_file_is_fetched_and_none_is_taken_in(client: Program, tmp_path: Path) -> None:
    assert client.shell("uiautomator dump /sdcard/w.xml")[0] == 0
    fetched = client._run("-s", client.address, "pull", "/sdcard/w.xml", str(tmp_path / "w.xml"))
    assert fetched.returncode == 0 and "Save &quot;all&quot; &amp; &lt;go&gt;" in (tmp_path / "w.xml").read_text()
    assert client._run("-s", client.address, "push", __file__, "/sdcard/t.py").returncode != 0
    assert client._run("-s", client.address, "pull", "/etc/passwd", str(tmp_path)).returncode != 0


@pytest.mark.parametrize("fault", [BrowserError("it crashed"), cdp.RefusedError("its page was closed")])
def test_a_screen_that_broke_is_told_as_a_failed_command(client: Program, fault: Exception) -> None:
    client.screen.fault = fault
    code, _ = client.shell("screencap -p")
    client.screen.fault = None
    assert code == 1 and client.screen.done[-1] == ("revive",)


def test_a_file_of_keys_without_keys_is_refused_in_a_line(tmp_path: Path) -> None:
    for text in ("", "AAAA me@here", "no base64!"):
        (tmp_path / "keys").write_text(text)
        with pytest.raises(UserError, match="key"):
            read_keys(tmp_path / "keys")
