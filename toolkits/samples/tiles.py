"""Contact sheet of samples: the newest screenshot of each, with its id and what the agent did."""

import io
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw

from common.errors import UserError
from data.images import opened, to_rgb
from data.shards.shard import Sample

WIDTH, HEIGHT = 256, 192
_CAPTION = 42
"""Characters in a tile's width."""


class Tiles:
    """Screenshots of samples spread over a stream whose length nobody knows: of `most` at least half, all of one
    distance."""

    def __init__(self, most: int) -> None:
        self.most, self._every, self._number = most, 1, 0
        self.kept: list[tuple[Image.Image, str, str]] = []
        """(screenshot, id, action)"""

    def offer(self, sample: Sample) -> None:
        """The next sample with an image."""
        if not self.most or not sample.images:
            return
        if self._number % self._every == 0:
            if len(self.kept) == self.most:
                self.kept = self.kept[::2]
                self._every *= 2
            if self._number % self._every == 0:
                self.kept.append((_small(sample), sample.id, action_of(sample)))
        self._number += 1

    def sheet(self, columns: int = 4) -> Image.Image:
        """All in a grid, with captions."""
        tiles = [_tile(*one) for one in self.kept]
        height = HEIGHT + 30
        sheet = Image.new("RGB", (columns * WIDTH, max(1, -(-len(tiles) // columns)) * height), "white")
        for number, tile in enumerate(tiles):
            sheet.paste(tile, (number % columns * WIDTH, number // columns * height))
        return sheet

    def write(self, path: Path) -> None:
        """As a PNG."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.sheet().save(path, "PNG")
        print(path)


def action_of(sample: Sample) -> str:
    """The first line of what the last reply does."""
    return sample.conversations[-1]["value"].rpartition("Action:")[2].strip().split("\n")[0]


def encoded(picture: Image.Image) -> bytes:
    """A JPEG of a few kilobytes."""
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=80)
    return file.getvalue()


def _small(sample: Sample) -> Image.Image:
    try:
        newest = sample.images[-1]
        with opened(newest if isinstance(newest, Path) else io.BytesIO(newest)) as found:
            screenshot = to_rgb(found)
    except UserError as error:
        raise UserError(f"sample {sample.id}: a broken image ({error})") from None
    screenshot.thumbnail((WIDTH - 4, HEIGHT))  # a gap to the next one
    return screenshot


def _tile(screenshot: Image.Image, identifier: str, action: str) -> Image.Image:
    tile = Image.new("RGB", (WIDTH, HEIGHT + 30), "white")
    tile.paste(screenshot, ((WIDTH - screenshot.width) // 2, 0))
    captions: Sequence[str] = (
        identifier[-_CAPTION:],
        action[:_CAPTION],
    )  # what tells a task's samples apart ends the id
    for line, text in enumerate(captions):
        ImageDraw.Draw(tile).text((3, HEIGHT + 2 + 13 * line), _printable(text), fill="black")
    return tile


def _printable(text: str) -> str:
    """The built-in font knows Latin-1."""
    return text.encode("latin1", "replace").decode("latin1")
