"""What server tests share: page-like inputs, and a handle on a running server."""

import base64
import contextlib
import dataclasses
import io
import json
import os
import random
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from common.processes import die_with_parent

ROOT = Path(__file__).resolve().parents[2]
SERVER = ROOT / "server" / "hf_online_server.py"


def screenshot(seed: int, size: tuple[int, int] = (256, 192)) -> Image.Image:
    """A page-like picture that differs by seed."""
    rng = random.Random(seed)
    image = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(image)
    for _ in range(20):
        x, y = rng.randrange(size[0]), rng.randrange(size[1])
        draw.rectangle((x, y, x + 30, y + 12), fill=tuple(rng.randrange(256) for _ in range(3)))
    return image


def png(image: Image.Image, kind: str = "PNG") -> str:
    """Base64 of an image file."""
    buffer = io.BytesIO()
    image.save(buffer, kind)
    return base64.b64encode(buffer.getvalue()).decode()


def observation(seed: int, num_lines: int) -> str:
    """An accessibility tree of some length."""
    rng = random.Random(seed)
    words = ["home", "search", "basket", "red", "shoe", "deal", "ticket", "rome"]
    lines = [f"\t[{i}] link '{rng.choice(words)} {rng.choice(words)}'" for i in range(2, num_lines + 2)]
    return "\n".join(["[1] RootWebArea 'Shop' focused: True", *lines])


def server_environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}


@dataclasses.dataclass
class RunningServer:
    process: subprocess.Popen
    ready_line: str

    @property
    def url(self) -> str:
        return self.ready_line.split(" on ")[1]

    def post(self, path: str, body: Any, timeout_s: float = 60) -> tuple[int, Any]:
        """(status, parsed JSON)."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, content, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=timeout_s) as response:
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(self.url + path, timeout=60) as response:
            return json.load(response)


@contextlib.contextmanager
def running_server(folder: Path, *flags: str, program: Sequence[str] = (str(SERVER),)) -> Iterator[RunningServer]:
    """The server over `folder` on a free port, in a process of its own, until the block ends."""
    command = [sys.executable, *program, "--model_name_or_path", str(folder), "--port", "0", *flags]
    process = subprocess.Popen(
        command, env=server_environment(), stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent
    )
    try:
        line = process.stdout.readline().strip()
        assert line.startswith("serving "), "the server did not start; what it said is above"
        yield RunningServer(process, line)
    finally:
        process.kill()
        process.wait()


def wait_for(condition: Callable[[], bool]) -> None:
    """Until it holds; far later than it should take, fail."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
