"""The task and the screens of 200x100 that the sets show."""

import io
from pathlib import Path

from PIL import Image

TASK = "Find the blue lamp."


SIZE = (200, 100)


def png(number: int = 0, size: tuple[int, int] = SIZE, kind: str = "PNG") -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, (40 * number % 256, 90, 120)).save(buffer, kind)
    return buffer.getvalue()


def pictures(folder: Path, *names: str) -> None:
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(png(number, kind="JPEG" if name.endswith(".jpg") else "PNG"))
