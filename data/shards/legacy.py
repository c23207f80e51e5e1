"""Old pickled formats, read without running what they say; and written for readers that know nothing else.

OpenWebVoyager's tars hold `<key>.conversations` (a Python list's repr) and `<key>.input_image` (a pickled list of
`io.BytesIO`); its clients send `/predict` a pickled list of PIL images. Exactly those objects are built, every other
global is refused.
"""

import ast
import hashlib
import io
import itertools
import pickle
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from PIL import Image

from common.errors import UserError
from common.files import write_json
from common.safe_pickle import refuse, safe_unpickle
from data.images import MAX_PIXELS
from data.shards.shard import Sample, image_type
from data.shards.tar import Member, TarWriter, scan

_ALLOWED_MODES = {"1": 1, "L": 1, "P": 1, "LA": 2, "RGB": 3, "RGBA": 4}
_IMAGE_PART = re.compile(r"\d+\.(?:png|jpg|webp)")
_MAX_IMAGE_OPCODES = 1_000_000  # a palette is 768 of them, and a request has at most some dozens of images
_MAX_LEGACY_KEY = 100 - len(".conversations")  # its reader, wids, knows no header but the first, of 100 characters


class PickledImage:
    """Stands for any PIL image class: takes the state PIL pickles, `[info, mode, size, palette, raw bytes]`.

    Its picture is made when it is asked for, since one pickle may refer to the same bytes many times."""

    mode: str
    size: tuple[int, int]  # width and height in pixels

    def __setstate__(self, state: Any) -> None:
        self._state = state

    def check(self) -> None:
        """Raises `UserError` for a state that makes no picture."""
        try:
            _, self.mode, (width, height), self._palette, self._raw = self._state[
                :5
            ]  # newer Pillow appends a file name
            self.size = width, height
            supported = self.mode in _ALLOWED_MODES and width > 0 < height and width * height <= MAX_PIXELS
            row_bytes = -(-width // 8) if self.mode == "1" else width * _ALLOWED_MODES.get(self.mode, 0)
            whole = isinstance(self._raw, bytes) and len(self._raw) == row_bytes * height
        except Exception as error:
            raise UserError(f"a pickled image has a broken state ({type(error).__name__})") from None
        if not supported:
            raise UserError(f"pickled image of mode {self.mode!r} and size {self.size}: not supported")
        if not whole:
            raise UserError("a pickled image has a broken state (its bytes are not those of its size)")

    def digest(self) -> str:
        """A hash that is the same for equal pictures."""
        digest = hashlib.sha256(f"{self.mode} {self.size} {self._palette}".encode())
        digest.update(self._raw)
        return digest.hexdigest()

    def to_image(self) -> Image.Image:
        image = Image.frombytes(self.mode, self.size, self._raw)
        if self.mode == "P" and self._palette:
            try:
                image.putpalette(self._palette)
            except Exception as error:  # whatever Pillow finds wrong with it
                raise UserError(f"a pickled image has a broken palette ({type(error).__name__})") from None
        return image


def _is_image_class(module: str, name: str) -> bool:
    plugin = module.startswith("PIL.") and module.endswith("ImagePlugin") and name.endswith("ImageFile")
    return plugin or (module, name) == ("PIL.Image", "Image")


def _find_image(module: str, name: str) -> Any:
    return PickledImage if _is_image_class(module, name) else _find_file(module, name)


def _find_file(module: str, name: str) -> Any:
    return io.BytesIO if (module, name) == ("_io", "BytesIO") else refuse(module, name)


def unpickle_images(data: bytes, check_number: Callable[[int], None] = lambda number: None) -> list[PickledImage]:
    """The images of an old `/predict` client's pickle; what it refers to several times is one object here, too.

    `check_number` is told how many there are before they are looked at, and may raise.

    Raises:
        UserError: anything in it that is not a list of plain images, or far more steps than their pickle takes.
    """
    images = safe_unpickle(data, _find_image, max_opcodes=_MAX_IMAGE_OPCODES)
    if not isinstance(images, list) or not all(isinstance(image, PickledImage) for image in images):
        raise UserError("the pickle is not a list of images")
    check_number(len(images))
    for image in images:
        image.check()
    return images


def read_legacy_tar(path: str | Path) -> Iterator[Sample]:
    """The samples of one of OpenWebVoyager's released tars, or of one that `LegacyWriter` wrote (which wrote images as
    files before).

    Raises:
        UserError: a member that is neither conversations nor images, or a pickle that holds anything else.
    """
    members = scan(path)
    try:
        with open(path, "rb") as file:
            for key, group in itertools.groupby(members, key=lambda member: member.name.partition(".")[0]):
                yield _legacy_sample(key, _read_parts(file, group))
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def _read_parts(file: BinaryIO, members: Iterable[Member]) -> dict[str, bytes]:
    """The contents of one sample's members by what follows the key."""
    parts = {}
    for member in members:
        part = member.name.partition(".")[2]
        plain = part in ("conversations", "input_image") or _IMAGE_PART.fullmatch(part)
        if not plain or not member.name.isprintable() or "/" in member.name:
            raise UserError(f"unexpected member {member.name!r}")
        file.seek(member.offset)
        parts[part] = file.read(member.size)
    return parts


def _legacy_sample(key: str, parts: dict[str, bytes]) -> Sample:
    if "conversations" not in parts:
        raise UserError(f"sample {key!r} lacks its conversations")
    try:
        conversations = ast.literal_eval(parts.pop("conversations").decode("utf-8"))
        turns = [{"from": turn["from"], "value": turn["value"]} for turn in conversations]
        if not all(isinstance(text, str) for turn in turns for text in turn.values()):
            raise TypeError
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError, KeyError):
        raise UserError(f"sample {key!r}: its conversations are not a list of turns") from None
    if "input_image" in parts:
        images = _unpickle_files(key, parts["input_image"])
    else:
        images = [parts[part] for part in sorted(parts, key=lambda part: int(part.partition(".")[0]))]
    sample = Sample(key, turns, images)
    sample.check()
    return sample


def _unpickle_files(key: str, content: bytes) -> list[bytes]:
    try:
        files = safe_unpickle(content, _find_file)
    except UserError as error:
        raise UserError(f"sample {key!r}: {error}") from None
    if not isinstance(files, list) or not all(isinstance(file, io.BytesIO) for file in files):
        raise UserError(f"sample {key!r}: its images are not a list of files")
    return [file.getvalue() for file in files]


class LegacyWriter:
    """Writes a tar that OpenWebVoyager's own trainer reads: `<key>.conversations`, the repr of a list of turns, which
    it evaluates, and `<key>.input_image`, a pickle of a list of `io.BytesIO` that hold the encoded images.

    Whoever reads such a tar runs what it says, so nothing but data goes in: turns are two texts each, of which the
    repr is a literal, and the pickle names `_io.BytesIO` and nothing else. Further fields of a sample (rewards, token
    ids) have no place there.
    """

    def __init__(self, path: Path):
        self._tar = TarWriter(path)

    def add(self, sample: Sample) -> None:
        """Raises `UserError` when the sample contradicts itself, its id is too long or an image of it is none."""
        sample.check()
        if not sample.key.isascii() or len(sample.key) > _MAX_LEGACY_KEY:
            limit = f"{_MAX_LEGACY_KEY} ASCII characters"
            raise UserError(
                f"sample {sample.id}: OpenWebVoyager's trainer reads ids of up to {limit}; leave out --legacy"
            )
        turns = [{"from": str(turn["from"]), "value": str(turn["value"])} for turn in sample.conversations]
        contents = [image.read_bytes() if isinstance(image, Path) else bytes(image) for image in sample.images]
        for content in contents:
            image_type(content)
        self._tar.add(f"{sample.key}.conversations", str(turns).encode())
        images = pickle.dumps([io.BytesIO(content) for content in contents], protocol=4)
        self._tar.add(f"{sample.key}.input_image", images)

    def close(self) -> None:
        self._tar.close()


def write_legacy_list(folder: Path, sizes: dict[str, int]) -> None:
    """`shardlist.json` of the tars of `folder`, by which OpenWebVoyager's trainer finds them."""
    write_json(folder / "shardlist.json", [{"url": name, "nsamples": count} for name, count in sizes.items()], indent=4)
