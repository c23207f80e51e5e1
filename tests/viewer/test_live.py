"""The wall of sessions under way: who thinks and who stalls, what ended, what servers and commands say, alarms."""

import asyncio
import contextlib
import io
import json
import os
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from PIL import Image
from starlette.testclient import TestClient

from data.outcome import Outcome, Verdict
from data.trajectory import write_outcome
from tests.toolkits.trajectories import screenshot, write_trajectory
from tests.viewer.conftest import Opened
from viewer import thumbnail as thumbnails
from viewer.live import wall
from viewer.serving import servers


def test_the_wall_shows_who_thinks_and_who_stalls(tmp_path: Path, opened: Opened) -> None:
    folder = write_trajectory(tmp_path / "r", "Shop--1", status=None, num_steps=2)
    (folder / "screenshot3.png").write_bytes((folder / "screenshot1.png").read_bytes())
    lines = (folder / "steps.jsonl").read_text().splitlines(keepends=True)
    (folder / "steps.jsonl").write_text("{broken\n" + lines[1])  # which keeps its place
    answers = opened(tmp_path / "r")
    [session] = json.loads(answers.answer("live", {}))["sessions"]
    assert (session["number"], session["thinking"], session["action"]) == (3, True, "ANSWER; blue")
    late = wall(answers.index, time.time() + 300)
    assert len(late["sessions"]) == 1 and "taskShop--1: nothing for" in late["alarms"][0]
    assert wall(answers.index, time.time() + 700)["alarms"] == []  # nobody is at work
    newer = write_trajectory(tmp_path / "r", "Shop--2", status=None, num_steps=2)
    os.utime(newer, (time.time() + 650,) * 2)
    answers.index.refresh()
    assert "taskShop--1: nothing for" in wall(answers.index, time.time() + 700)["alarms"][0]


def test_a_port_that_answers_slowly_does_not_hold_the_wall() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        asked = threading.Thread(target=drip, args=[listener])
        asked.start()
        begun = time.monotonic()
        assert servers([f"http://127.0.0.1:{listener.getsockname()[1]}/predict"]) == []
        assert time.monotonic() - begun < 2
        asked.join()


def drip(listener: socket.socket) -> None:
    connection = listener.accept()[0]
    with connection, contextlib.suppress(OSError):
        for byte in b"HTTP/1.0 200 OK\r\n\r\n" + b" " * 20:
            connection.send(bytes([byte]))
            time.sleep(0.2)


def test_the_wall_tells_of_the_server_and_alarms(tmp_path: Path, opened: Opened) -> None:
    with health({"status": "stuck", "num_waiting": 3, "num_running": 8, "weights_version": "step-2"}) as port:
        for number, policy in enumerate((f"http://127.0.0.1:{port}/predict", "http://127.0.0.1:99999/predict")):
            folder = write_trajectory(tmp_path / "r", f"Shop--{number}", num_steps=1)
            summary = json.loads((folder / "trajectory.json").read_text())
            (folder / "trajectory.json").write_text(json.dumps(summary | {"provenance": {"policy": policy}}))
        behind = write_trajectory(tmp_path / "r", "Shop--2", status=None, num_steps=1)
        step = json.loads((behind / "steps.jsonl").read_text())
        (behind / "steps.jsonl").write_text(json.dumps(step | {"weights_version": "step-1"}) + "\n")
        for number in (3, 4, 5):
            write_outcome(write_trajectory(tmp_path / "r", f"Shop--{number}"), Outcome(Verdict.BLOCKED, "captcha"))
        failed = write_trajectory(tmp_path / "r", "Shop--6")
        write_outcome(failed, Outcome(Verdict.INVALID, "judge: no answer", "gpt"))
        labeled = write_trajectory(tmp_path / "r", "Shop--7")  # its folder changes now, and it ended long ago
        write_outcome(labeled, Outcome(Verdict.BLOCKED, "captcha"))
        for name in ("trajectory.json", "outcome.json"):
            os.utime(labeled / name, (0, 0))
        copied = write_trajectory(tmp_path / "r", "Shop--8", num_steps=1)  # in far less time than its step took
        step = json.loads((copied / "steps.jsonl").read_text())
        (copied / "steps.jsonl").write_text(json.dumps(step | {"timings_s": {"policy_s": 1000}}) + "\n")
        for first in (tmp_path / "r").glob("*/screenshot1.png"):
            os.utime(first, (time.time() - 30,) * 2)
        said = tmp_path / "r" / "IL" / "logs" / "train.progress.json"
        said.parent.mkdir(parents=True)
        said.write_text('{"unit": "steps", "done": 3, "total": 9, "facts": "loss 0.5", "before": 0, "begun_at": 0}')
        (said.parent / "test.progress.json").write_text('{"done": 9, "total": 9, "facts": "0 active"}')  # it has ended
        found = json.loads(opened(tmp_path / "r").answer("live", {}))
        assert servers([f"http://10.0.0.1:{port}/predict"]) == []  # no other machine is asked
    [work] = found["at_work"]
    assert (work["what"], work["done"], work["facts"]) == ("IL/train", 3, "loss 0.5") and 0 <= work["silent_s"] < 60
    [server] = found["servers"]
    assert (server["num_waiting"], server["num_running"], server["num_behind"]) == (3, 8, 1)
    assert found["steps_per_s"] == round((1 + 1 + 4 * 4) / 30, 1)
    [ended] = found["ended"]
    assert (ended["set"], ended["count"]) == ("r/.", 6)
    site = "shop.localhost"
    expected = [f"{site} turned the agent away 3 times", "the judge gpt failed 1 times"]
    assert found["alarms"] == [*expected, f"the server on port {port} is stuck"]
    assert json.loads(opened(tmp_path / "r").answer("live", {}))["servers"] == []  # it has ended


@contextlib.contextmanager
def health(said: dict[str, Any]) -> Iterator[int]:
    """What answers `/health` on this machine; yields its port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        is_asked = (await reader.readuntil(b"\r\n\r\n")).startswith(b"GET /health ")
        writer.write(b"HTTP/1.1 503 x\r\n\r\n" + (json.dumps(said).encode() if is_asked else b""))
        writer.close()

    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(answer, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield server.sockets[0].getsockname()[1]
    loop.call_soon_threadsafe(server.close)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()


def test_pictures_of_the_wall_are_small(tmp_path: Path, client: Callable[..., TestClient]) -> None:
    folder = write_trajectory(tmp_path / "r", "Shop--1", status=None)
    Image.new("RGB", (1024, 768), (9, 90, 200)).save(folder / "screenshot1.png")
    (folder / "screenshot2.png").write_bytes((folder / "screenshot1.png").read_bytes()[:200])
    asked, where = client(tmp_path / "r"), {"set": "r/.", "name": folder.name}
    found = asked.get("/thumbnail", params={**where, "number": "1", "at": "5"})
    assert Image.open(io.BytesIO(found.content)).size == (256, 192)
    assert "immutable" in found.headers["cache-control"] and "script-src" in found.headers["content-security-policy"]
    assert asked.get("/thumbnail", params={**where, "number": "2"}).status_code == 422
    (folder / "screenshot2.png").write_bytes(_with_odd_profile(screenshot(1)))
    assert asked.get("/thumbnail", params={**where, "number": "2", "at": "6"}).status_code == 422
    reads: list[int] = []
    for number in [*range(100), 99]:
        thumbnails.thumbnail(number, lambda: reads.append(1) or screenshot(1))
    assert len(reads) == 100 and len(thumbnails._made) <= 64  # of the small ones alone


def _with_odd_profile(png: bytes) -> bytes:
    """A chunk behind the pixels on which Pillow raises `IndexError`."""
    chunk = b"iCCP" + b"x\0"
    return png[:-12] + (2).to_bytes(4) + chunk + zlib.crc32(chunk).to_bytes(4) + png[-12:]
