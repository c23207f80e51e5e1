"""Wire images: screenshots as clients send them, checked and decoded. Nothing received is ever unpickled freely."""

import base64
import binascii
import dataclasses
import hashlib
import io
import re
from collections.abc import Callable

from PIL import Image

from data.errors import UserError
from data.images import opened
from data.legacy import unpickle_images

_DATA_URL = re.compile(r"data:image/[\w.+-]+;base64,", re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class WireImage:
    """`key` is a hash of what was received; `load` decodes it to RGB, or raises `UserError`."""

    key: str
    size: tuple[int, int]  # height and width in pixels
    load: Callable[[], Image.Image]


def from_predict(images: list[str] | str) -> list[WireImage]:
    """`/predict`'s images: a list of base64 files, or an old client's base64 pickle of PIL images."""
    if isinstance(images, str):
        return [_from_pil(image) for image in unpickle_images(_unbase64(images, "images"))]
    return [_from_file(_unbase64(image, f"image {number}")) for number, image in enumerate(images, start=1)]


def from_data_url(url: str) -> WireImage:
    """OpenAI's `image_url`; only data URLs, since a server that fetches addresses for its clients can be abused."""
    match = _DATA_URL.match(url)
    if match is None:
        raise UserError("image_url must be a data URL (data:image/png;base64,...)")
    return _from_file(_unbase64(url[match.end() :], "image_url"))


def _unbase64(text: str, what: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise UserError(f"{what}: not valid base64") from None


def _from_file(encoded: bytes) -> WireImage:
    with opened(io.BytesIO(encoded)) as image:  # its header alone
        size = image.height, image.width
    return WireImage(hashlib.sha256(encoded).hexdigest(), size, lambda: _decode(encoded))


def _from_pil(image: Image.Image) -> WireImage:
    digest = hashlib.sha256(f"{image.mode} {image.size} {image.getpalette()}".encode() + image.tobytes())
    return WireImage(digest.hexdigest(), (image.height, image.width), lambda: image.convert("RGB"))


def _decode(encoded: bytes) -> Image.Image:
    with opened(io.BytesIO(encoded)) as image:
        return image.convert("RGB")
