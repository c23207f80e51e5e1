"""Wire images: screenshots as clients send them, checked and decoded. Nothing received is ever unpickled freely.

A request may show one picture many times: what is the same is decoded once, be it the same text or the same bytes.
"""

import base64
import binascii
import dataclasses
import hashlib
import io
import re
from collections.abc import Callable, Sequence
from typing import Any

from PIL import Image

from common.errors import UserError
from data.image_check import decoded
from data.images import opened, size_of, to_rgb
from data.shards.legacy import PickledImage, unpickle_images

_DATA_URL = re.compile(r"data:[\w.+/-]*;base64,", re.IGNORECASE)
"""Whatever kind of file it says it is: clients guess by a name, and the bytes tell."""


@dataclasses.dataclass(frozen=True)
class WireImage:
    """`key` is a hash of what was received; `load` decodes it to what a model is shown, or raises `UserError`."""

    key: str
    size: tuple[int, int]  # height and width in pixels, as shown
    load: Callable[[], Image.Image]


def from_predict(images: list[str] | str, check_number: Callable[[int], None] = lambda number: None) -> list[WireImage]:
    """`/predict`'s images: a list of base64 files, or an old client's base64 pickle of PIL images.

    `check_number` is told how many they are before anything is decoded, and may raise.
    """
    if not isinstance(images, str):
        check_number(len(images))
        return _from_files(images, [f"image {number}" for number in range(1, len(images) + 1)])
    pickled = unpickle_images(_unbase64(images, "images"), check_number)
    read = _shared({place: _from_pickled(one) for place, one in {id(one): one for one in pickled}.items()})
    return [read[id(one)] for one in pickled]


def from_data_urls(urls: Sequence[str]) -> list[WireImage]:
    """OpenAI's `image_url`s; only data URLs, since a server that fetches addresses for its clients can be abused."""
    files = []
    for url in urls:
        match = _DATA_URL.match(url)
        if match is None:
            raise UserError("image_url must be a data URL (data:image/png;base64,...)")
        files.append(url[match.end() :])
    return _from_files(files, ["image_url"] * len(files))


def _from_files(texts: Sequence[str], names: Sequence[str]) -> list[WireImage]:
    distinct = dict(zip(reversed(texts), reversed(names), strict=True))  # the first name of each
    read = _shared({text: _from_file(_unbase64(text, name)) for text, name in distinct.items()})
    return [read[text] for text in texts]


def _shared(images: dict[Any, WireImage]) -> dict[Any, WireImage]:
    """The same bytes are one image, which is held once."""
    by_key: dict[str, WireImage] = {}
    return {place: by_key.setdefault(image.key, image) for place, image in images.items()}


def _unbase64(text: str, what: str) -> bytes:
    try:
        return base64.b64decode("".join(text.split()) if "\n" in text else text, validate=True)
    except (binascii.Error, ValueError):
        raise UserError(f"{what}: not valid base64") from None


def _from_file(encoded: bytes) -> WireImage:
    with opened(io.BytesIO(encoded)) as image:  # its header alone
        size = size_of(image)
    return WireImage(hashlib.sha256(encoded).hexdigest(), size, lambda: decoded(encoded))


def _from_pickled(image: PickledImage) -> WireImage:
    return WireImage(image.digest(), (image.size[1], image.size[0]), lambda: to_rgb(image.to_image()))
