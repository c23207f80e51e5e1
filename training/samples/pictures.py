"""The encoded images of samples: where they lie, how large they are, what they show."""

import dataclasses
import io
import os
from pathlib import Path
from typing import BinaryIO

from PIL import Image
from PIL.ContainerIO import ContainerIO

from common.errors import UserError
from data.image_check import decoded
from data.images import opened, size_of


@dataclasses.dataclass(frozen=True)
class FilePart:
    """`size` bytes from `offset` on of the file `path`."""

    path: Path
    offset: int
    size: int

    def read(self) -> bytes:
        with open(self.path, "rb") as file:
            return os.pread(file.fileno(), self.size, self.offset)


@dataclasses.dataclass(frozen=True)
class Picture:
    """An encoded image, itself or its place, and its height and width in pixels.

    Samples carry places, so that what goes from process to process is small, and an image is read by the ranks that
    encode it only.
    """

    source: bytes | FilePart
    height: int
    width: int

    @property
    def size(self) -> tuple[int, int]:
        """(height, width)"""
        return self.height, self.width

    def decode(self, key: str) -> Image.Image:
        """What a model is shown of it; `UserError` naming sample `key` when it is broken."""
        content = self.source if isinstance(self.source, bytes) else self.source.read()
        try:
            return decoded(content)
        except UserError as error:
            raise broken(key, error) from None


def read_picture(key: str, source: bytes | FilePart) -> Picture:
    """The image of sample `key` at `source`, of which only the header is read; `UserError` when it has none."""
    if isinstance(source, bytes):
        return _read_header(key, source, io.BytesIO(source))
    with open(source.path, "rb") as file:
        return _read_header(key, source, ContainerIO(file, source.offset, source.size))


def _read_header(key: str, source: bytes | FilePart, file: BinaryIO | ContainerIO[bytes]) -> Picture:
    try:
        with opened(file) as image:
            return Picture(source, *size_of(image))
    except UserError as error:
        raise broken(key, error) from None


def broken(key: str, error: object) -> UserError:
    """What is said of a sample with an image that cannot be decoded."""
    return UserError(f"sample {key}: broken image ({error}); make the shards again")
