"""Shard: webdataset tars of training samples. No pickle anywhere.

One sample is its screenshots `<key>.0.png`, `<key>.1.png`, ... in the order of the `<image>` marks, and `<key>.json` =
{"id", "conversations": [{"from": "human" | "gpt", "value"}], "num_images", ...}; further fields (`weight`, `advantage`,
...) are carried as they are. Every sample has all its images under its own key, so that any webdataset reader gets it
whole. With `share_images`, which the manifest names, a tar stores identical screenshots once: a sample that shows some
of another sample of its tar names the members of all its images in a field `images`. Beside the tars lie
`manifest.json` (counts, bytes, checksums, source) and `shardlist.json` (OpenWebVoyager's list of shards).
"""

import dataclasses
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from common.errors import UserError
from common.files import file_digest, read_json, write_json
from data.conversation import IMAGE
from data.image_check import check_whole
from data.names import check_name
from data.shards.tar import Member, TarWriter, list_tars, scan

FORMAT_VERSION = 3  # 1 never shared images, 2 always did; both had `sha256` instead of `xxh128`
RESERVED = ("id", "conversations", "num_images", "images")

Content = TypeVar("Content")

_END_BYTES = 256
_MEMBER_NAME = re.compile(r"([^./]+)\.(json|\d+\.(?:png|jpg|webp))")
_STEP = re.compile(r"(?:--run\d+)?--r\d+--step\d+(?:--c\d+)?$")


@dataclasses.dataclass(frozen=True)
class Sample:
    """One training sample; `images` are encoded PNG, JPEG or WebP files, or the paths of such files.

    `extra` travels in the json member.
    """

    id: str
    conversations: list[dict[str, str]]
    images: Sequence[bytes | Path]
    extra: dict[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        check_name("the sample id", self.id)

    @property
    def key(self) -> str:
        """The member name."""
        return key_of(self.id)

    def check(self) -> None:
        """Raises `UserError` when it says nothing, or the `<image>` marks and the images disagree."""
        if not self.conversations:
            raise UserError(f"sample {self.id}: has no turns")
        marks = sum(turn["value"].count(IMAGE) for turn in self.conversations if turn["from"] == "human")
        if marks != len(self.images):
            raise UserError(f"sample {self.id}: {marks} {IMAGE} marks but {len(self.images)} images")

    def read_images(self) -> list[bytes]:
        """As they are encoded, those that are paths from their files."""
        return [image.read_bytes() if isinstance(image, Path) else image for image in self.images]


def key_of(sample_id: str) -> str:
    """What a sample's members are called: a dot would end a webdataset key."""
    return sample_id.replace(".", "_")


def task_of(sample_id: str) -> str:
    """What the samples of all steps, tries and rounds of a task have in common."""
    return _STEP.sub("", sample_id)


def image_type(encoded: bytes) -> str:
    """`png`, `jpg` or `webp`, by the first bytes."""
    if encoded.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if encoded.startswith(b"\xff\xd8\xff"):
        return "jpg"
    if encoded[:4] == b"RIFF" and encoded[8:12] == b"WEBP":
        return "webp"
    raise UserError("an image is neither PNG, JPEG nor WebP")


class ShardWriter:
    """Writes one tar. The same samples give the same bytes. With `share_images` identical images are stored once. A
    file that several samples show is looked at once."""

    def __init__(self, path: Path, share_images: bool = False):
        self.path, self._tar, self._num_samples = path, TarWriter(path), 0
        self._place = self._share if share_images else self._store
        self._whole: set[Path] = set()
        self._by_path: dict[Path, str] = {}
        self._by_ends: dict[tuple[int, bytes], list[Member]] = {}

    def add(self, sample: Sample) -> None:
        """Raises `UserError` when the sample contradicts itself or an image of it is none, or cut."""
        sample.check()
        names = [self._place(sample, number, image) for number, image in enumerate(sample.images)]
        fields = {
            **{name: value for name, value in sample.extra.items() if name not in RESERVED},
            "id": sample.id,
            "conversations": sample.conversations,
            "num_images": len(sample.images),
        }
        if not all(name.startswith(f"{sample.key}.{number}.") for number, name in enumerate(names)):
            fields["images"] = names
        try:
            encoded = json.dumps(fields, ensure_ascii=False, allow_nan=False).encode()
        except UnicodeEncodeError:
            raise UserError(f"sample {sample.id}: a text holds half a surrogate pair, which is no character") from None
        except ValueError:
            raise UserError(f"sample {sample.id}: holds NaN or an infinite number, which is no JSON") from None
        self._tar.add(f"{sample.key}.json", encoded)
        self._num_samples += 1

    def _store(self, sample: Sample, number: int, image: bytes | Path) -> str:
        """Add `image`; returns its member's name."""
        return self._add(sample, number, image, image.read_bytes() if isinstance(image, Path) else image).name

    def _share(self, sample: Sample, number: int, image: bytes | Path) -> str:
        """The name of the member that holds `image`, added unless the tar has it."""
        if isinstance(image, Path) and image in self._by_path:
            return self._by_path[image]
        content = image.read_bytes() if isinstance(image, Path) else image
        # the last bytes of a PNG hold a checksum of all its pixels; one of every byte would take as long as the copy
        twins = self._by_ends.setdefault((len(content), content[:_END_BYTES] + content[-_END_BYTES:]), [])
        member = next((twin for twin in twins if self._tar.read(twin) == content), None)
        if member is None:
            member = self._add(sample, number, image, content)
            twins.append(member)
        if isinstance(image, Path):
            self._by_path[image] = member.name
        return member.name

    def _add(self, sample: Sample, number: int, image: bytes | Path, content: bytes) -> Member:
        try:
            kind = image_type(content)
            if isinstance(image, bytes) or image not in self._whole:
                check_whole(content)
        except UserError as error:
            where = f"{image}: " if isinstance(image, Path) else ""
            raise UserError(f"sample {sample.id}: {where}{error}") from None
        if isinstance(image, Path):
            self._whole.add(image)
        return self._tar.add(f"{sample.key}.{number}.{kind}", content)

    @property
    def members(self) -> list[Member]:
        """What the tar holds so far, in order."""
        return self._tar.members

    def close(self) -> dict[str, Any]:
        """Complete the tar; returns its entry of the manifest."""
        xxh128 = self._tar.close()
        return {
            "url": self.path.name,
            "nsamples": self._num_samples,
            "bytes": self._tar.num_bytes,
            "xxh128": xxh128,
        }


def write_shards(
    out_dir: Path, samples: Iterable[Sample], max_samples: int, source: dict[str, Any], share_images: bool = False
) -> dict[str, Any]:
    """Write `samples` as `elcano-%06d.tar` into the existing empty folder `out_dir`; returns the manifest."""
    shards: list[dict[str, Any]] = []
    seen: set[str] = set()
    writer = None
    for number, sample in enumerate(samples):
        if sample.key in seen:
            raise UserError(f"sample {sample.id}: its key {sample.key!r} occurs twice")
        seen.add(sample.key)
        if writer is None or number % max_samples == 0:
            if writer is not None:
                shards.append(writer.close())
            writer = ShardWriter(out_dir / f"elcano-{len(shards):06d}.tar", share_images)
        writer.add(sample)
    if writer is not None:
        shards.append(writer.close())
    return write_manifest(out_dir, shards, source, share_images)


def write_manifest(
    out_dir: Path, shards: list[dict[str, Any]], source: dict[str, Any], share_images: bool = False
) -> dict[str, Any]:
    """Write `shardlist.json` and `manifest.json` for shards whose entries `ShardWriter.close` gave.

    Entries with `"split": "val"` are held out and counted apart.
    """
    train = [shard for shard in shards if shard.get("split") != "val"]
    held_out = [shard for shard in shards if shard.get("split") == "val"]
    manifest = {
        "format_version": FORMAT_VERSION,
        "num_samples": sum(shard["nsamples"] for shard in train),
        **({"num_validation_samples": sum(shard["nsamples"] for shard in held_out)} if held_out else {}),
        "share_images": share_images,
        "shards": shards,
        "source": source,
    }
    urls = [{"url": shard["url"], "nsamples": shard["nsamples"]} for shard in train]
    write_json(out_dir / "shardlist.json", urls, flush=False)
    write_json(out_dir / "manifest.json", manifest, flush=False)
    return manifest


def shares_images(manifest: Mapping[str, Any]) -> bool:
    """Whether a sample may lack an image under its own key, by the manifest of any version."""
    return manifest.get("share_images", manifest.get("format_version", 1) > 1)


def checksum(entry: Mapping[str, Any]) -> tuple[str, str]:
    """(kind, hexadecimal digits) of a tar, by its entry of a manifest of any version; `KeyError` when it has none."""
    kind = "xxh128" if "xxh128" in entry else "sha256"
    return kind, entry[kind]


def read_manifest(folder: str | Path, verify: bool = False) -> dict[str, Any]:
    """The manifest of a shard folder; with `verify` every tar's size and checksum is compared.

    Raises:
        UserError: not a shard folder, a tar missing, or its bytes changed.
    """
    folder = Path(folder)
    if not (folder / "manifest.json").exists():
        raise UserError(
            f"{folder}: not a shard folder (no manifest.json); make one with toolkits/convert_to_tar_data.py"
            f"{_of_others(folder)}"
        )
    manifest = read_json(folder / "manifest.json")
    try:
        entries = [(shard["url"], shard["bytes"], *checksum(shard)) for shard in manifest["shards"]]
        if type(manifest["num_samples"]) is not int or type(manifest.get("format_version", 1)) is not int:
            raise TypeError("a number that is none")
    except (TypeError, KeyError, ValueError) as error:
        raise UserError(f"{folder / 'manifest.json'}: not a shard manifest ({error!r}); convert again") from None
    for url, num_bytes, kind, digest in entries:
        if not isinstance(url, str) or Path(url).name != url:
            raise UserError(f"{folder / 'manifest.json'}: {url!r} is not the name of a tar beside it")
        path = folder / url
        if not path.exists() or path.stat().st_size != num_bytes:
            raise UserError(f"{path}: missing or of another size than manifest.json says; convert again")
        if verify and file_digest(path, kind) != digest:
            raise UserError(f"{path}: its checksum is not the one in manifest.json; convert again")
    return manifest


def _of_others(folder: Path) -> str:
    return ", or of tars that others made with toolkits/convert_foreign_tars.py" if list_tars(folder) else ""


def read_shard(path: str | Path) -> Iterator[Sample]:
    """The samples of one tar, in order.

    Raises:
        UserError: naming the tar and the sample, when the tar is damaged or a sample is none.
    """
    members = scan(path)
    by_name = {member.name: member for member in members}
    matches: list[tuple[re.Match[str], Member]] = []
    for member in members:
        match = _MEMBER_NAME.fullmatch(member.name)
        if match is None:
            raise UserError(
                f"{path}: unexpected member {member.name!r}, so no tar of Elcano's (<id>.0.png, <id>.json); "
                "make it one of Elcano's with toolkits/convert_foreign_tars.py"
            )
        matches.append((match, member))
    with open(path, "rb") as file:

        def fetch(name: str) -> bytes:
            member = by_name[name]
            file.seek(member.offset)
            return file.read(member.size)

        for key, group in itertools.groupby(matches, key=lambda pair: pair[0][1]):
            parts = {match[2]: fetch(member.name) for match, member in group}
            try:
                yield _sample(key, parts, fetch)
            except UserError as error:
                raise UserError(f"{path}: {error}") from None


def _sample(key: str, parts: dict[str, bytes], fetch: Callable[[str], bytes]) -> Sample:
    if "json" not in parts:
        raise UserError(f"sample {key!r} has images but no json")
    fields = parse_fields(key, parts.pop("json"))
    extra = {name: value for name, value in fields.items() if name not in RESERVED}
    sample = Sample(fields["id"], fields["conversations"], sample_images(key, fields, parts, fetch), extra)
    sample.check()
    return sample


def parse_fields(key: str, content: bytes) -> dict[str, Any]:
    """The json member of sample `key`; raises `UserError` unless it is one."""
    try:
        fields = json.loads(content)
        texts = [turn[name] for turn in fields["conversations"] for name in ("from", "value")]
        if not isinstance(fields["id"], str) or not all(isinstance(text, str) for text in texts):
            raise TypeError("id and turns must be text")
        if not isinstance(fields.get("images", []), list):
            raise TypeError("images must be a list of names")
        return fields
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserError(f"sample {key}: unreadable json member ({error!r})") from None


def sample_images(
    key: str, fields: Mapping[str, Any], own: Mapping[str, Content], fetch: Callable[[str], Content]
) -> list[Content]:
    """The images of sample `key` in order, or what else stands for them. `own` are its members by the name after the
    key (`0.png`), `fetch` gives a member of another sample of the tar by its full name.

    Raises:
        UserError: an image that the tar does not hold.
    """
    if "images" not in fields:
        return [own[part] for part in sorted(own, key=lambda part: int(part.split(".")[0]))]
    images = []
    for name in fields["images"]:
        try:
            head, _, part = name.partition(".")
            images.append(own[part] if head == key else fetch(name))
        except (KeyError, AttributeError):
            raise UserError(f"sample {key}: its image {name!r} is not in the shard") from None
    return images
