"""Sample files (JSON lists of {"id", "images", "conversations", ...}): read, checked, their images found."""

import json
import os
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, overload

from common.errors import UserError
from data.names import check_name
from data.shards.shard import RESERVED, Sample, key_of
from toolkits.readers.reading.stream import stream_records

Record = dict[str, Any]

_quoted = json.encoder.encode_basestring_ascii


class FiledSample(Sample):
    """A sample whose turns and further fields are read from a file each time that they are asked for. `origin`: the
    sample file that it is from."""

    origin: Path
    _place: tuple[BinaryIO, int, int]

    def __init__(self, name: str, images: Sequence[Path], origin: Path, place: tuple[BinaryIO, int, int]) -> None:
        for field, value in (("id", name), ("images", images), ("origin", origin), ("_place", place)):
            object.__setattr__(self, field, value)

    def __getattr__(self, name: str) -> Any:
        """What is not in memory."""
        if name not in ("conversations", "extra"):
            raise AttributeError(name)
        return getattr(self.read(), name)

    def read(self) -> Sample:
        """With all of it."""
        file, offset, length = self._place
        record = json.loads(os.pread(file.fileno(), length, offset))
        extra = {name: value for name, value in record.items() if name not in RESERVED}
        return Sample(self.id, record["conversations"], self.images, extra)


class FiledSamples(Sequence[FiledSample]):
    """Samples in the order of their ids, made when they are asked for. Of each its id and the paths of its images are
    in memory; what it says lies in a file without a name in `work_dir`, or where temporary files are."""

    def __init__(self, work_dir: Path | None):
        self._file: BinaryIO = tempfile.TemporaryFile(dir=work_dir)  # noqa: SIM115 - the samples read it
        self._ids: list[str] = []
        self._images: list[tuple[str, ...]] = []
        self._origins: list[Path] = []
        self._offsets = array("Q", [0])
        self._order = array("Q")

    def add(self, record: Record, images: Iterable[str], origin: Path) -> None:
        text = json.dumps({name: value for name, value in record.items() if name != "images"}).encode()
        self._file.write(text)
        self._offsets.append(self._offsets[-1] + len(text))
        self._ids.append(record["id"])
        self._images.append(tuple(images))
        self._origins.append(origin)

    def close(self) -> None:
        """No more are added."""
        self._file.flush()
        self._order = array("Q", sorted(range(len(self._ids)), key=self._ids.__getitem__))

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, index: int) -> FiledSample: ...
    @overload
    def __getitem__(self, index: slice) -> list[FiledSample]: ...
    def __getitem__(self, index: int | slice) -> FiledSample | list[FiledSample]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        at = self._order[index]
        begin, end = self._offsets[at : at + 2]
        images = [Path(path) for path in self._images[at]]
        return FiledSample(self._ids[at], images, self._origins[at], (self._file, begin, end - begin))


def read_samples(files: Sequence[Path], folders: Sequence[Path], work_dir: Path | None = None) -> FiledSamples:
    """The samples of all files, so that the order of the files does not matter; no image is read.

    Raises:
        UserError: naming file and sample, when a record is none, an id occurs twice or an image is missing.
    """
    images, samples, keys = ImageFolders(folders), FiledSamples(work_dir), set[str]()
    for file in files:
        if not file.is_file():
            raise UserError(f"{file}: {'a folder, not a JSON file' if file.is_dir() else 'no such file'}")
        for number, (_, record) in enumerate(stream_records(file), start=1):
            check_record(f"{file}: sample {number}", record)
            if (key := key_of(record["id"])) in keys:
                raise UserError(f"{file}: sample {record['id']} occurs twice; give each round its own --round_id")
            keys.add(key)
            samples.add(record, images.find(f"{file}: sample {record['id']}", record["images"]), file)
    samples.close()
    if not samples:
        raise UserError(f"{', '.join(map(str, files))}: no samples; nothing to train on")
    return samples


def encode_record(record: Record) -> bytes:
    """A record as it stands in a sample file, indented as published: `json.dumps(..., indent=2)`, whose encoder is slow
    with an indent.

    Raises:
        UserError: it holds NaN, or what JSON has no word for.
    """
    try:
        return _indented(record, "  ").encode()
    except RecursionError:
        raise UserError(f"sample {record.get('id')}: a field of it is nested too deeply") from None
    except (ValueError, TypeError) as error:
        what = "NaN or an infinite number" if isinstance(error, ValueError) else str(error)
        raise UserError(f"sample {record.get('id')}: holds what is no JSON ({what})") from None


def encode_once(where: str, records: Iterable[tuple[str, Record]]) -> Iterator[bytes]:
    """`encode_record` of each (file that it stands in, record) of `where`.

    Raises:
        UserError: a record is none, an id occurs twice, or there is no record at all.
    """
    known: set[str] = set()
    for file, record in records:
        check_record(file, record)
        if record["id"] in known:
            raise UserError(f"{file}: sample {record['id']} occurs twice")
        known.add(record["id"])
        try:
            yield encode_record(record)
        except UserError as error:
            raise UserError(f"{file}: {error}") from None
    if not known:
        raise UserError(f"{where}: no samples")


def write_list(path: Path, records: Iterable[bytes]) -> int:
    """A JSON list of `encode_record`'s records, written beside `path` and moved there; returns how many there are."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    count = 0
    try:
        with open(temporary, "wb") as file:
            for count, record in enumerate(records, start=1):
                file.write((b"[\n  " if count == 1 else b",\n  ") + record)
            file.write(b"\n]" if count else b"[]")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return count


def _indented(value: Any, margin: str) -> str:
    if isinstance(value, str):
        return _quoted(value)
    inner = f"{margin}  "
    if isinstance(value, dict) and value:
        items = [f"{inner}{_quoted(key)}: {_indented(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(items) + f"\n{margin}}}"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(f"{inner}{_indented(item, inner)}" for item in value) + f"\n{margin}]"
    return json.dumps(value, allow_nan=False)


def check_record(where: str, record: Any) -> None:
    """Raises `UserError` unless `record` is {"id", "images", "conversations"} with alternating human and gpt turns."""
    if not isinstance(record, dict) or not {"id", "images", "conversations"} <= record.keys():
        raise UserError(f"{where}: needs id, images and conversations")
    check_name(f"{where}: its id", record["id"])
    where = f"{where} ({record['id']})"
    if not isinstance(record["conversations"], list) or not isinstance(record["images"], list):
        raise UserError(f"{where}: images and conversations must be lists")
    senders = [turn.get("from") if isinstance(turn, dict) else None for turn in record["conversations"]]
    if not senders or len(senders) % 2 or senders != ["human", "gpt"] * (len(senders) // 2):
        raise UserError(f"{where}: turns must alternate human, gpt; they are {senders}")
    texts = [turn.get("value") for turn in record["conversations"]] + record["images"]
    if not all(isinstance(text, str) for text in texts):
        raise UserError(f"{where}: values and image names must be text")
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        raise UserError(f"{where}: a text holds half a surrogate pair, which is no character") from None
    try:
        Sample(record["id"], record["conversations"], record["images"]).check()
    except UserError as error:
        raise UserError(f"{where.partition(': ')[0]}: {error}") from None


class ImageFolders:
    """Looks images up by name; of two folders that have one, the first counts."""

    def __init__(self, folders: Sequence[Path], flag: str = "--image_dirs"):
        self.folders, self._flag = folders, flag
        self._known: dict[str, str] = {}
        """The path of each image that was found, so that samples share it."""
        self._folders: dict[str, Path] = {}
        for folder in reversed(folders):
            if not folder.is_dir():
                raise UserError(f"{self._flag} {folder}: no such folder")
            self._folders.update((entry.name, folder) for entry in os.scandir(folder))

    def find(self, where: str, names: Iterable[str]) -> list[str]:
        """The paths of `names`, which may lie in sub-folders; `UserError` when one is in none of the folders."""
        return [self._known.get(name) or self._find(where, name) for name in names]

    def _find(self, where: str, name: str) -> str:
        if name in self._folders:
            return self._known.setdefault(name, str(self._folders[name] / name))
        relative = PurePosixPath(name)
        if "\0" not in name and not relative.is_absolute() and ".." not in relative.parts:
            for folder in self.folders:
                if (path := folder / relative).is_file():
                    return self._known.setdefault(name, str(path))
        where_looked = ", ".join(map(str, self.folders))
        raise UserError(f"{where}: its image {name} is in none of {where_looked}; say by {self._flag} where it is")
