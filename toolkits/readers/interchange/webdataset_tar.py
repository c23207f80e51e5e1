"""Plain webdataset tars of others, packed or not, by `s-{000..002}.tar` or in folders, as samples whose images become
files.

Which members make a sample: webdataset_keys.py. An image is what begins as one, whatever its ending; a GIF, BMP or TIFF
what is called one, too. A `json` member with turns, or with question and answer, is a conversation (conversation.py);
else the text (`txt`, or `caption` in the json) is what is to be said to the images, and a sample whose text is blank is
left out, and counted. What else a json has stays in the sample. Other members are left out, and counted by kind. Of
several tars keys count for each by itself.
"""

import contextlib
import hashlib
import itertools
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple

from common.errors import UserError
from common.files import decode_text, parse_json
from common.parallel import run_parallel
from common.shown.terminal import in_short
from data.conversation import IMAGE
from data.names import check_name
from data.shards.shard import image_type
from data.shards.tar import Member, list_tars, scan
from toolkits.readers.interchange.conversation import UNSHOWN, read_conversation
from toolkits.readers.interchange.image_fields import SURE, find_images
from toolkits.readers.interchange.own_fields import of_our_shards
from toolkits.readers.interchange.spellings import are_messages, captioned, is_told
from toolkits.readers.interchange.webdataset_keys import TEXTS, grouped, kind_of
from toolkits.readers.reading import packed
from toolkits.readers.reading.addresses import is_address
from toolkits.readers.reading.braces import files_of
from toolkits.readers.reading.left_out import LeftOut
from toolkits.readers.reading.pictures import as_png, begins_as_other, check_picture
from toolkits.readers.reading.references import held, names_told, place_image
from toolkits.readers.reading.splits import to_train_on
from toolkits.readers.reading.steps import record

_KNOWN = ("png", "jpg", "jpeg", "webp", *TEXTS, "json")
_PLAIN_IMAGE = re.compile(r"((\d{1,9}|image)\.)?[^.]*")
"""What follows the key of an image that needs no mark: `jpg`, `0.jpg`, `image.jpg`."""
_MAX_MEMBER_BYTES = 256 * 2**20
_MAX_UNPACKED = 2**34
_PIECE = 2**20
_SAMPLES = "samples.jsonl"


class NoTextError(UserError):
    """A sample from which nothing is to be learned."""


class Tar(NamedTuple):
    """`prefix` opens ids that are keys; samples whose key or id is `excluded` are left out."""

    path: Path
    prefix: str = ""
    excluded: Collection[str] = ()


Fields = Callable[[str, dict[str, Member], BinaryIO], dict[str, Any] | None]
"""(where, members by kind, the tar) to the record of a conversation, whose `images` are members; None: its text is
blank."""


def read_webdataset(path: Path, image_dir: Path, round_id: int, num_workers: int = 1) -> Iterator[dict[str, Any]]:
    """One sample each, in the order of their first members. Nothing is written of a bad tar.

    Raises:
        UserError: naming the tar and the sample.
    """
    left_out = LeftOut()
    yield from samples_of_tars(path, image_dir, left_out, num_workers)
    left_out.tell(path)


def samples_of_tars(path: Path, image_dir: Path, left_out: LeftOut, num_workers: int = 1) -> Iterator[dict[str, Any]]:
    """As `read_webdataset`, which tells what `left_out` counts."""
    tars = to_train_on(path, list_tars(path), left_out) if path.is_dir() else files_of(path)
    if not tars:
        raise UserError(f"{path}: no tar in this folder or below")
    named = [Tar(tar, f"{name}--" if len(tars) > 1 else "") for tar, name in zip(tars, _names(tars), strict=True)]
    return read_tars(named, image_dir, left_out, num_workers=num_workers)


def _names(tars: Sequence[Path]) -> list[str]:
    """Without endings; with the folders below that of all of them where several have a name."""
    names = [tar.name.partition(".")[0] for tar in tars]
    if len({*names}) == len(names):
        return names
    folder = os.path.commonpath(tars)
    return ["_".join([*tar.relative_to(folder).parts[:-1], name]) for tar, name in zip(tars, names, strict=True)]


def read_tars(
    tars: Sequence[Tar], image_dir: Path, left_out: LeftOut, fields: Fields | None = None, num_workers: int = 1
) -> Iterator[dict[str, Any]]:
    """The samples of all tars, in order. Each tar is read by one of `num_workers` processes (0: one per CPU) into a
    folder of its own within `image_dir`; images get their names here, so that these do not depend on who was first."""
    of_these = hashlib.sha256(repr([str(tar.path.absolute()) for tar in tars]).encode()).hexdigest()
    staging, is_new = image_dir / f".{of_these[:16]}.reading", not image_dir.exists()
    shutil.rmtree(staging, ignore_errors=True)  # what a killed run left

    def work(number: int) -> tuple[Path, LeftOut]:
        return _stage(tars[number], staging / str(number), fields)

    try:
        with contextlib.closing(run_parallel(work, range(len(tars)), num_workers, "tars")) as read:
            for tar, (folder, counted) in zip(tars, read, strict=True):
                left_out.add(counted)
                for placed in _placed(tar, folder, image_dir):
                    left_out.num_kept += 1
                    yield placed
                shutil.rmtree(folder)
        left_out.give_reason(left_out.num_kept)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        if is_new:
            with contextlib.suppress(OSError):  # something is in it
                image_dir.rmdir()


def _stage(tar: Tar, folder: Path, fields: Fields | None) -> tuple[Path, LeftOut]:
    """`folder` with the samples of a tar, a line each of (record, images of this folder), and what was left out."""
    folder.mkdir(parents=True)
    left_out, numbers = LeftOut(), itertools.count()

    def keep(where: str, image: Member | bytes) -> str:
        if isinstance(image, Member):
            where = f"{where}: {image.name}"
            content = as_png(where, _content(file, image), image.name)
        else:
            content = image
        check_picture(where, content)
        name = f"{next(numbers)}.{image_type(content)}"
        with open(f"{folder}/{name}", "wb") as kept:
            kept.write(content)
        return name

    with (
        _unpacked(tar.path, folder) as path,
        open(path, "rb") as file,
        open(folder / _SAMPLES, "w", encoding="ascii") as lines,
    ):
        # energon's keys end at the first dot; whoever names fields knows
        groups = grouped(tar.path, _members(scan(path), file, left_out), has_dots=False if fields else None)
        for key, parts in groups.items():
            found = _sample(tar, key, parts, file, left_out, fields or _fields) if key not in tar.excluded else None
            if found is not None:
                read, shown = found
                where = f"{tar.path}: sample {key!r}"
                images = [keep(where, image) for image in shown]
                lines.write(json.dumps([read, images]) + "\n")
    return folder, left_out


def _placed(tar: Tar, folder: Path, image_dir: Path) -> Iterator[dict[str, Any]]:
    """The samples that `_stage` left in `folder`; their images are moved to where they are to be."""
    with open(folder / _SAMPLES, encoding="ascii") as lines:
        for line in lines:
            read, images = json.loads(line)
            where, kept = f"{tar.path}: sample {read['id']!r}", []
            for number, (image, named) in enumerate(zip(images, read["images"], strict=True)):
                name = f"{read['id']}.{number}.{kind_of(image)}"
                kept.append(place_image(where, image_dir, folder / image, name, named))
            yield {**read, "images": kept}


@contextlib.contextmanager
def _unpacked(path: Path, folder: Path) -> Iterator[Path]:
    """The tar itself, or what a packed one holds, as a file that is gone afterwards."""
    try:
        is_packed = packed.is_packed(path)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    if not is_packed:
        yield path
        return
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder) as unpacked:
        try:
            with packed.opened(path) as stream:
                while piece := stream.read(_PIECE):
                    unpacked.write(piece)
                    if unpacked.tell() > _MAX_UNPACKED:
                        raise UserError(
                            f"{path}: unpacks to more than {_MAX_UNPACKED // 2**30} GiB; unpack it yourself"
                        )
        except packed.DAMAGE as error:
            raise UserError(f"{path}: cannot be unpacked ({error})") from None
        unpacked.flush()
        try:
            yield Path(unpacked.name)
        except UserError as error:
            raise UserError(str(error).replace(unpacked.name, str(path))) from None


def _members(members: list[Member], file: BinaryIO, left_out: LeftOut) -> Iterator[Member]:
    """Those that a sample may have."""
    for member in members:
        folder, _, name = member.name.removeprefix("./").rpartition("/")
        if name.startswith(".") or not name or "__MACOSX" in folder:  # .DS_Store and its like
            continue
        kind = kind_of(name.partition(".")[2])
        if not kind or (kind not in _KNOWN and not _is_image(file, member)):
            left_out[f"members that end in {kind or name}"] += 1
            continue
        yield member


def _is_image(file: BinaryIO, member: Member) -> bool:
    head = _head(file, member)
    with contextlib.suppress(UserError):
        return bool(image_type(head))
    return bool(begins_as_other(head, member.name))


def _sample(
    tar: Tar, key: str, parts: dict[str, Member], file: BinaryIO, left_out: LeftOut, fields: Fields
) -> tuple[dict[str, Any], list[Member | bytes]] | None:
    """(the record, whose `images` are what they were called, or ""; its images)."""
    where = f"{tar.path}: sample {key!r}"
    try:
        entry = fields(where, parts, file)
    except NoTextError as error:
        if fields is _fields and "." in key.rpartition("/")[2]:  # there its text may be another sample's
            raise
        left_out.leave_out("samples that have neither turns nor an image with a text", error, is_missing=False)
        return None
    if entry is None:
        left_out["samples whose text is blank"] += 1
        return None
    told = read_conversation(where, entry, left_out)
    shown = told and _shown(where, told.images, parts, left_out)
    if told is None or shown is None:
        return None
    opening, rest = told.turns[0].rpartition(IMAGE)[::2]
    is_marked = bool(opening.replace(IMAGE, "").strip()) or IMAGE in "".join([rest, *told.turns[1:]])
    if fields is _fields and not is_marked and len(shown) > 1:
        for ending in (one for one, member in parts.items() if member in shown and not _PLAIN_IMAGE.fullmatch(one)):
            left_out.taken[f"members that end in {ending}, as further inputs"] += 1
    identifier = str(tar.prefix + key if entry.get("id") is None else entry["id"]).replace("/", "_")
    check_name(f"{where}: its id", identifier)
    if {identifier, identifier.removeprefix(tar.prefix)} & {*tar.excluded}:
        return None
    names = names_told(told.extra, len(told.images))
    return record(identifier, names, told.turns, told.extra), shown


def _shown(
    where: str, references: Sequence[Any], parts: Mapping[str, Member], left_out: LeftOut
) -> list[Member | bytes] | None:
    """The images that a json refers to: members, or what it holds itself; None where one is neither."""
    shown: list[Member | bytes] = []
    for reference in references:
        found = reference if isinstance(reference, Member) else held(where, reference)
        if found is None and is_address(reference):
            left_out["samples with images at an address"] += 1
            return None
        name = PurePosixPath(str(reference).replace("\\", "/")).name
        if found is None:
            found = next((one for one in images_of(parts) if PurePosixPath(one.name).name == name), None)
            left_out[UNSHOWN] -= found is not None  # of a part that names it
        if found is None:
            error = UserError(f"{where}: its image {in_short(str(reference))} is no member of it")
            left_out.leave_out("samples of which an image is not there", error)
            return None
        shown.append(found)
    return shown


def _fields(where: str, parts: dict[str, Member], file: BinaryIO) -> dict[str, Any] | None:
    """Turns of the json, else a caption of the images."""
    images = images_of(parts)
    entry: dict[str, Any] = {}
    for ending in parts:
        if kind_of(ending) == "json":
            fields = _object(where, text_of_member(where, file, parts[ending]))
            if differ := [name for name in fields.keys() & entry.keys() if fields[name] != entry[name]]:
                raise UserError(f"{where}: its json members say different {', '.join(sorted(differ))}; leave one")
            entry |= fields
    entry = of_our_shards(entry, len(images))
    images = _as_named(images, entry)
    if images:  # by other names than they will have
        entry = {name: value for name, value in entry.items() if name not in SURE}
    texts = {ending: text_of_member(where, file, parts[ending]) for ending in parts if kind_of(ending) in TEXTS}
    if len({text.strip() for text in texts.values()}) > 1:
        raise UserError(f"{where}: has several texts ({', '.join(texts)}), which differ; leave one")
    if is_told(entry):
        return {**dict(list(texts.items())[:1]), **entry, "images": images}
    caption = next(iter(texts.values()), entry.get("caption"))
    if not isinstance(caption, str) or not images:
        raise NoTextError(f"{where}: has neither conversations (in a json member) nor images with a text (txt)")
    if not caption.strip():
        return None
    rest = {name: value for name, value in entry.items() if texts or name != "caption"}
    return captioned({**rest, "images": images}, len(images), caption.strip())


def _as_named(images: list[Member], entry: Mapping[str, Any]) -> list[Member]:
    """In the order in which the json names them all; else as they are."""
    named = [PurePosixPath(one).name for one in find_images(entry)[1] if isinstance(one, str)]
    found = [[image for image in images if PurePosixPath(image.name).name.endswith(name)] for name in named]
    is_order = len(named) == len(images) and all(len(one) == 1 for one in found)
    in_order = [one for ones in found for one in ones]
    return in_order if is_order and {one.name for one in in_order} == {one.name for one in images} else images


def images_of(parts: Mapping[str, Member]) -> list[Member]:
    """Those members of a sample that are images, in order."""
    return [parts[ending] for ending in sorted(parts, key=_place) if kind_of(ending) not in (*TEXTS, "json")]


def _place(ending: str) -> list[tuple[bool, int, str]]:
    """Images by their numbers, as people count: `img2.png` before `img10.png`."""
    parts = re.findall(r"\d{1,9}|\D+|\d", ending)
    return [(part.isdecimal(), int(part), "") if part.isdecimal() else (False, 0, part) for part in parts]


def _head(file: BinaryIO, member: Member) -> bytes:
    return os.pread(file.fileno(), min(member.size, 16), member.offset)


def _content(file: BinaryIO, member: Member) -> bytes:
    if member.size > _MAX_MEMBER_BYTES:
        raise UserError(f"{member.name!r} has {member.size} bytes, more than an image or a text takes")
    return os.pread(file.fileno(), member.size, member.offset)


def text_of_member(where: str, file: BinaryIO, member: Member) -> str:
    """What a member says."""
    try:
        return decode_text(_content(file, member))
    except UnicodeDecodeError:
        raise UserError(f"{where}: {member.name} is not a text in UTF-8 or UTF-16") from None


def _object(where: str, text: str) -> dict[str, Any]:
    try:
        fields = parse_json(text)
    except ValueError as error:
        raise UserError(f"{where}: its json member is not valid JSON ({error})") from None
    if are_messages(fields):
        return {"messages": fields}
    if not isinstance(fields, dict):
        raise UserError(f"{where}: its json member is no object")
    return fields
