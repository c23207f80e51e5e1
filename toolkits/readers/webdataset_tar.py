"""Plain webdataset tars of others, packed or not, as samples whose images become files.

The members of a sample share the name before the first dot (`a/b` in `./a/b.jpg`, `a/b.0.JPEG`, `a/b.caption.txt`).
A `json` member with `conversations` or `messages` is a sample of LLaVA's; else the text (`txt`, or `caption` in the
json) is what is to be said to the images. Other members are left out, and their kinds named once.
"""

import contextlib
import gzip
import re
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from common.errors import UserError
from common.files import decode_text, parse_json, write_atomic
from common.terminal import printable
from data.conversation import IMAGE
from data.names import check_name
from data.shard import image_type
from data.tar import Member, scan
from toolkits.readers.llava import marked_turns
from toolkits.readers.steps import record

_IMAGES, _TEXTS = ("png", "jpg", "jpeg", "webp"), ("txt", "text", "caption")
_MAX_MEMBER_BYTES = 256 * 2**20
_MAX_UNPACKED = 2**34
_PIECE = 2**20


class _Read(NamedTuple):
    record: dict[str, Any]
    images: list[Member]


def read_webdataset(path: Path, image_dir: Path, round_id: int) -> Iterator[dict[str, Any]]:
    """One sample each, in the order of their first members. Nothing is written of a bad tar.

    Raises:
        UserError: naming the tar and the sample.
    """
    with _unpacked(path, image_dir) as tar, open(tar, "rb") as file:
        groups, left_out = _groups(path, scan(tar))
        read = [_sample(f"{path}: sample {key!r}", key, parts, file) for key, parts in groups.items()]
        if left_out:
            print(printable(f"{path}: left out are members that end in {', '.join(sorted(left_out))}"), file=sys.stderr)
        for sample in read:
            for name, member in zip(sample.record["images"], sample.images, strict=True):
                write_atomic(image_dir / name, _content(file, member), flush=False)
            yield sample.record


@contextlib.contextmanager
def _unpacked(path: Path, folder: Path) -> Iterator[Path]:
    """The tar itself, or what a `.tgz` holds, as a file that is gone afterwards."""
    try:
        with open(path, "rb") as file:
            is_packed = file.read(2) == b"\x1f\x8b"
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    if not is_packed:
        yield path
        return
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder) as unpacked:
        try:
            with gzip.open(path) as packed:
                while piece := packed.read(_PIECE):
                    unpacked.write(piece)
                    if unpacked.tell() > _MAX_UNPACKED:
                        raise UserError(
                            f"{path}: unpacks to more than {_MAX_UNPACKED // 2**30} GiB; unpack it yourself"
                        )
        except (OSError, EOFError, zlib.error) as error:
            raise UserError(f"{path}: cannot be unpacked ({error})") from None
        unpacked.flush()
        try:
            yield Path(unpacked.name)
        except UserError as error:
            raise UserError(str(error).replace(unpacked.name, str(path))) from None


def _groups(path: Path, members: list[Member]) -> tuple[dict[str, dict[str, Member]], set[str]]:
    """(members by key and by what follows it, in lower case; the endings that are left out)."""
    groups: dict[str, dict[str, Member]] = {}
    left_out = set()
    for member in members:
        folder, _, file_name = member.name.removeprefix("./").rpartition("/")
        stem, _, ending = file_name.partition(".")
        kind = ending.lower().rpartition(".")[2]
        if not stem or "__MACOSX" in folder:  # .DS_Store and its like
            continue
        if kind not in (*_IMAGES, *_TEXTS, "json"):
            left_out.add(kind or file_name)
            continue
        parts = groups.setdefault(f"{folder}/{stem}" if folder else stem, {})
        if ending.lower() in parts:
            raise UserError(f"{path}: has two members {member.name!r}")
        parts[ending.lower()] = member
    return groups, left_out


def _sample(where: str, key: str, parts: dict[str, Member], file: BinaryIO) -> _Read:
    images = [parts[ending] for ending in sorted(parts, key=_place) if ending.rpartition(".")[2] in _IMAGES]
    texts = {ending: _text(where, file, parts[ending]) for ending in parts if parts[ending] not in images}
    fields: dict[str, Any] = {}
    for ending, text in texts.items():
        if ending.endswith("json"):
            fields |= _object(where, text)
    caption = next((text for ending, text in texts.items() if not ending.endswith("json")), fields.get("caption"))
    if "conversations" in fields or "messages" in fields:
        turns = marked_turns(where, fields, len(images))
    elif isinstance(caption, str) and caption.strip() and images:
        turns = [IMAGE * len(images), caption.strip()]
    else:
        raise UserError(f"{where}: has neither conversations (in a json member) nor images with a text (txt)")
    identifier = str(fields.get("id", key)).replace("/", "_")
    check_name(f"{where}: its id", identifier)
    try:
        names = [f"{identifier}.{n}.{image_type(_head(file, image))}" for n, image in enumerate(images)]
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
    return _Read(record(identifier, names, turns, {}), images)


def _place(ending: str) -> tuple[int, str]:
    """Images by their number, where they have one."""
    number = re.match(r"\d{1,9}(?=\.)", ending)
    return (int(number[0]) if number else -1, ending)


def _head(file: BinaryIO, member: Member) -> bytes:
    file.seek(member.offset)
    return file.read(min(member.size, 16))


def _content(file: BinaryIO, member: Member) -> bytes:
    if member.size > _MAX_MEMBER_BYTES:
        raise UserError(f"{member.name!r} has {member.size} bytes, more than an image or a text takes")
    file.seek(member.offset)
    return file.read(member.size)


def _text(where: str, file: BinaryIO, member: Member) -> str:
    try:
        return decode_text(_content(file, member))
    except UnicodeDecodeError:
        raise UserError(f"{where}: {member.name} is not a text in UTF-8 or UTF-16") from None


def _object(where: str, text: str) -> dict[str, Any]:
    try:
        fields = parse_json(text)
    except ValueError as error:
        raise UserError(f"{where}: its json member is not valid JSON ({error})") from None
    if not isinstance(fields, dict):
        raise UserError(f"{where}: its json member is no object")
    return fields
