"""Shard: webdataset tars of training samples. No pickle anywhere.

One sample is `<key>.json` = {"id", "conversations": [{"from": "human" | "gpt", "value"}], "num_images", ...} and its
screenshots `<key>.0.png`, `<key>.1.png`, ... in the order of the `<image>` marks. Beside the tars lie `manifest.json`
(counts, bytes, checksums, source) and `shardlist.json` (OpenWebVoyager's list of shards).
"""

import dataclasses
import hashlib
import itertools
import json
import re
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import webdataset

from data.conversation import IMAGE
from data.errors import UserError
from data.files import read_json, write_json

FORMAT_VERSION = 1
IMAGE_TYPES = ("png", "jpg", "webp")


@dataclasses.dataclass(frozen=True)
class Sample:
    """One training sample; `images` are encoded PNG, JPEG or WebP files. `extra` travels in the json member."""

    id: str
    conversations: list[dict[str, str]]
    images: list[bytes]
    extra: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def key(self) -> str:
        """The member name: a dot would end a webdataset key."""
        return self.id.replace(".", "_")

    def check(self) -> None:
        """Raises `UserError` when the `<image>` marks and the images disagree."""
        marks = sum(turn["value"].count(IMAGE) for turn in self.conversations if turn["from"] == "human")
        if marks != len(self.images):
            raise UserError(f"sample {self.id}: {marks} {IMAGE} marks but {len(self.images)} images")


def image_type(encoded: bytes) -> str:
    """`png`, `jpg` or `webp`, by the first bytes."""
    if encoded.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if encoded.startswith(b"\xff\xd8\xff"):
        return "jpg"
    if encoded[:4] == b"RIFF" and encoded[8:12] == b"WEBP":
        return "webp"
    raise UserError("an image is neither PNG, JPEG nor WebP")


def write_shards(out_dir: Path, samples: Iterable[Sample], max_samples: int, source: dict[str, Any]) -> dict[str, Any]:
    """Write `samples` as `elcano-%06d.tar` into the existing empty folder `out_dir`; returns the manifest.

    Byte for byte the same for the same samples: tar members carry no time and no owner.
    """
    shards: list[dict[str, Any]] = []
    seen: set[str] = set()
    batch: list[Sample] = []
    for sample in samples:
        sample.check()
        if sample.key in seen:
            raise UserError(f"sample {sample.id}: its key {sample.key!r} occurs twice")
        seen.add(sample.key)
        batch.append(sample)
        if len(batch) == max_samples:
            shards.append(_write_shard(out_dir, len(shards), batch))
            batch = []
    if batch:
        shards.append(_write_shard(out_dir, len(shards), batch))
    manifest = {
        "format_version": FORMAT_VERSION,
        "num_samples": sum(shard["nsamples"] for shard in shards),
        "shards": shards,
        "source": source,
    }
    write_json(out_dir / "shardlist.json", [{"url": shard["url"], "nsamples": shard["nsamples"]} for shard in shards])
    write_json(out_dir / "manifest.json", manifest)
    return manifest


def _write_shard(out_dir: Path, index: int, samples: list[Sample]) -> dict[str, Any]:
    path = out_dir / f"elcano-{index:06d}.tar"
    with webdataset.TarWriter(str(path), mtime=0, user="elcano", group="elcano") as writer:
        for sample in samples:
            fields = {
                **sample.extra,
                "id": sample.id,
                "conversations": sample.conversations,
                "num_images": len(sample.images),
            }
            member: dict[str, Any] = {"__key__": sample.key, "json": json.dumps(fields, ensure_ascii=False).encode()}
            for number, image in enumerate(sample.images):
                member[f"{number}.{image_type(image)}"] = image
            writer.write(member)
    return {"url": path.name, "nsamples": len(samples), "bytes": path.stat().st_size, "sha256": _sha256(path)}


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_manifest(folder: str | Path, verify: bool = False) -> dict[str, Any]:
    """The manifest of a shard folder; with `verify` every tar's size and checksum is compared.

    Raises:
        UserError: not a shard folder, a tar missing, or its bytes changed.
    """
    folder = Path(folder)
    if not (folder / "manifest.json").exists():
        raise UserError(
            f"{folder}: not a shard folder (no manifest.json); make one with toolkits/convert_to_tar_data.py"
        )
    manifest = read_json(folder / "manifest.json")
    for shard in manifest["shards"]:
        path = folder / shard["url"]
        if not path.exists() or path.stat().st_size != shard["bytes"]:
            raise UserError(f"{path}: missing or of another size than manifest.json says; convert again")
        if verify and _sha256(path) != shard["sha256"]:
            raise UserError(f"{path}: its checksum is not the one in manifest.json; convert again")
    return manifest


def read_shard(path: str | Path) -> Iterator[Sample]:
    """The samples of one tar, in order."""
    for key, members in itertools.groupby(_members(Path(path)), key=lambda member: member[0]):
        fields, images = None, {}
        for _, kind, content in members:
            if kind == "json":
                fields = json.loads(content)
            else:
                images[int(kind)] = content
        if fields is None:
            raise UserError(f"{path}: sample {key!r} has images but no json")
        yield _sample(fields, images)


def _members(path: Path) -> Iterator[tuple[str, str, bytes]]:
    """(key, "json" or the image's number, content) of every member."""
    with tarfile.open(path) as tar:
        for member in tar:
            match = re.fullmatch(r"([^.]+)\.(?:(json)|(\d+)\.(?:png|jpg|webp))", Path(member.name).name)
            file = tar.extractfile(member)
            if match is None or file is None:
                raise UserError(f"{path}: unexpected member {member.name!r}")
            yield match[1], match[2] or match[3], file.read()


def _sample(fields: dict[str, Any], images: dict[int, bytes]) -> Sample:
    extra = {name: value for name, value in fields.items() if name not in ("id", "conversations", "num_images")}
    sample = Sample(fields["id"], fields["conversations"], [images[number] for number in sorted(images)], extra)
    sample.check()
    return sample
