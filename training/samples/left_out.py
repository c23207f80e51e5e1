"""Samples that a run goes on without, because they cannot be read: as the survey found them, in the run's folder."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common.files import read_records, write_atomic


@dataclasses.dataclass(frozen=True)
class BadSample:
    """`key` names its members in the tar, `split` is that of its shard; `reason` names the sample."""

    key: str
    split: str
    reason: str


@dataclasses.dataclass(frozen=True)
class LeftOut:
    """Of a data set; none by default."""

    samples: Sequence[BadSample] = ()

    @property
    def keys(self) -> list[str]:
        return [sample.key for sample in self.samples]

    def num_left(self, manifest: dict[str, Any], split: str = "train") -> int:
        """How many of the manifest's samples are not left out."""
        of_split = [entry["nsamples"] for entry in manifest["shards"] if entry.get("split", "train") == split]
        return sum(of_split) - sum(sample.split == split for sample in self.samples)

    def write(self, path: Path) -> None:
        """And say so; where none is left out there is no file."""
        if self.samples:
            print(f"{len(self.samples)} bad samples are left out: {path}", flush=True)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, "".join(f"{json.dumps(dataclasses.asdict(sample))}\n" for sample in self.samples))
        elif path.exists():
            path.unlink()

    @staticmethod
    def read(path: Path) -> "LeftOut":
        """What `write` wrote."""
        return LeftOut([BadSample(**fields) for _, fields in read_records(path)] if path.exists() else ())
