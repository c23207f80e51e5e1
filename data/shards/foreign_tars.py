"""Webdataset tars that others made: where the shards that training reads in their place lie, and what was found.

toolkits/convert_foreign_tars.py makes these shards once; the trainer's launcher asks for them. They lie in the folder's
own `.elcano`, or where that cannot be written in the user's cache, by the names, sizes and times of the tars.
"""

import dataclasses
import hashlib
import json
import os
from pathlib import Path

from common.errors import UserError
from common.files import read_json, user_cache, write_json
from data.shards.tar import list_tars

ENERGON = Path(".nv-meta", "dataset.yaml")
_FORMAT = 1
_OWN = ".elcano"
_MANIFEST = "manifest.json"
EXPORTED = "exported_from"
"""By this, in its manifest's `source`, a folder is known that export_data.py wrote."""
_NOTE = "made_of.json"


@dataclasses.dataclass(frozen=True)
class MadeOf:
    """What shards were made of; the last that is written of them. `left_out` and `taken` (for what nothing names):
    counted by kind, in words."""

    kind: str
    num_tars: int
    num_samples: int
    num_images: int
    left_out: str
    taken: str = ""

    def write(self, shards: Path) -> None:
        write_json(shards / _NOTE, dataclasses.asdict(self))

    @staticmethod
    def read(shards: Path) -> "MadeOf | None":
        """None where they were not made, or not all."""
        try:
            return MadeOf(**read_json(shards / _NOTE))
        except (UserError, OSError, TypeError):
            return None

    def line(self, folder: Path, shards: Path) -> str:
        """For the user."""
        left_out = f"; left out: {self.left_out}" if self.left_out else ""
        left_out += f"; taken in: {self.taken}" if self.taken else ""
        found = f"{self.num_samples} samples with {self.num_images} images in {self.num_tars} {self.kind} tars"
        return f"{folder}: {found}{left_out}; read as {shards}"


def is_foreign(folder: Path) -> bool:
    """Whether there are tars in it or below, but no manifest of ours there or beside one of them. Plain webdataset of
    export_data.py is taken as others', though it has a manifest."""
    if not folder.is_dir():
        return False
    if (folder / _MANIFEST).exists():
        return _is_plain(folder) and bool(list_tars(folder))
    places = {tar.parent for tar in list_tars(folder)}
    return bool(places) and not any((place / _MANIFEST).exists() for place in places)


def _is_plain(folder: Path) -> bool:
    """Whether its manifest is somebody else's, or that of plain webdataset of ours. Shards that lost energon's index,
    as copies without hidden files do, are neither: as plain tars what they hold out would be trained on."""
    manifest = read_json(folder / _MANIFEST)
    if not isinstance(manifest, dict) or "shards" not in manifest:
        return True
    source = manifest.get("source")
    return isinstance(source, dict) and EXPORTED in source and not (folder / ENERGON).is_file()


def shards_of(folder: Path) -> Path:
    """The place of the shards of a foreign folder, whether they are there or not."""
    files = [*list_tars(folder), *sorted((folder / ENERGON).parent.glob("*.yaml"))]
    states = [(str(file.relative_to(folder)), (stat := file.stat()).st_size, stat.st_mtime_ns) for file in files]
    own = folder / _OWN / _digest([_FORMAT, states])
    if not own.parent.is_symlink() and ((own / _NOTE).exists() or os.access(folder, os.W_OK)):
        return own
    return user_cache() / "shards" / _digest([own.name, str(folder.resolve())])


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]
