"""Old pickled formats, read without running what they say.

OpenWebVoyager's tars hold `<key>.conversations` (a Python list's repr) and `<key>.input_image` (a pickled list of
`io.BytesIO`); its clients send `/predict` a pickled list of PIL images. The unpickler here builds exactly those objects
and refuses every other global.
"""

import ast
import io
import pickle
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image

from data.errors import UserError
from data.shard import Sample

_ALLOWED_MODES = {"1": 1, "L": 1, "P": 1, "LA": 2, "RGB": 3, "RGBA": 4}
MAX_PIXELS = 50_000_000


class _PickledImage:
    """Stands for any PIL image class: takes the state PIL pickles, `[info, mode, size, palette, raw bytes]`."""

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def to_image(self) -> Image.Image:
        _, mode, size, palette, raw = self.state[:5]  # newer Pillow appends the file name
        width, height = size
        if mode not in _ALLOWED_MODES or not 0 < width * height <= MAX_PIXELS:
            raise UserError(f"pickled image of mode {mode!r} and size {size}: not supported")
        image = Image.frombytes(mode, (width, height), raw)
        if mode == "P" and palette:
            image.putpalette(palette)
        return image


def _is_image_class(module: str, name: str) -> bool:
    plugin = module.startswith("PIL.") and module.endswith("ImagePlugin") and name.endswith("ImageFile")
    return plugin or (module, name) == ("PIL.Image", "Image")


class _SafeUnpickler(pickle.Unpickler):
    """Resolves names only from its own table, never by import."""

    def __init__(self, data: bytes, allow_images: bool):
        super().__init__(io.BytesIO(data))
        self.allow_images = allow_images

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("_io", "BytesIO"):
            return io.BytesIO
        if self.allow_images and _is_image_class(module, name):
            return _PickledImage
        raise UserError(f"refused: the pickle asks for {module}.{name}, which is not an image")


def _load(data: bytes, allow_images: bool) -> Any:
    try:
        return _SafeUnpickler(data, allow_images).load()
    except UserError:
        raise
    except Exception as error:  # a pickle can be broken in any way; all of them mean the same to the user
        raise UserError(f"not a readable pickle of images ({type(error).__name__})") from None


def unpickle_images(data: bytes) -> list[Image.Image]:
    """The images of an old `/predict` client's pickle.

    Raises:
        UserError: anything in it that is not a list of plain images.
    """
    images = _load(data, allow_images=True)
    if not isinstance(images, list) or not all(isinstance(image, _PickledImage) for image in images):
        raise UserError("the pickle is not a list of images")
    try:
        return [image.to_image() for image in images]
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"a pickled image has a broken state ({type(error).__name__})") from None


def read_legacy_tar(path: str | Path) -> Iterator[Sample]:
    """The samples of one of OpenWebVoyager's released tars.

    Raises:
        UserError: a member that is neither conversations nor images, or a pickle that holds anything else.
    """
    waiting: dict[str, dict[str, bytes]] = {}
    for name, content in _members(path):
        key, _, extension = name.rpartition(".")
        if extension not in ("conversations", "input_image"):
            raise UserError(f"{path}: unexpected member {name!r}")
        waiting.setdefault(key, {})[extension] = content
        if len(waiting[key]) == 2:
            yield _legacy_sample(path, key, waiting.pop(key))
    if waiting:
        raise UserError(f"{path}: sample {next(iter(waiting))!r} lacks its images or its conversations")


def _members(path: str | Path) -> Iterator[tuple[str, bytes]]:
    """(name, content) of every file in a tar."""
    try:
        with tarfile.open(path) as tar:
            for member in tar:
                if file := tar.extractfile(member):
                    yield member.name, file.read()
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except tarfile.TarError as error:
        raise UserError(f"{path}: not a readable tar ({str(error).splitlines()[0]})") from None


def _legacy_sample(path: str | Path, key: str, parts: dict[str, bytes]) -> Sample:
    try:
        conversations = ast.literal_eval(parts["conversations"].decode("utf-8"))
        turns = [{"from": turn["from"], "value": turn["value"]} for turn in conversations]
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError, KeyError):
        raise UserError(f"{path}: sample {key!r}: its conversations are not a list of turns") from None
    images = _load(parts["input_image"], allow_images=False)
    if not isinstance(images, list) or not all(isinstance(image, io.BytesIO) for image in images):
        raise UserError(f"{path}: sample {key!r}: its images are not a list of files")
    return Sample(key, turns, [image.getvalue() for image in images])
