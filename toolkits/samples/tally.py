"""What is counted of a stream of samples. Memory does not grow with it: what must be remembered lies in `Seen`."""

import collections
import dataclasses
import io
import json
from collections.abc import Sequence
from typing import Any

import xxhash

from common.errors import UserError
from data.actions.screen import Screen
from data.images import opened, size_of
from data.samples.whole_trajectory import split_steps
from data.shards.shard import Sample, task_of
from toolkits.samples.action_kinds import action_kinds
from toolkits.samples.sources import Opened
from toolkits.shards.seen import Seen, SeenImage

_NO_SCREEN = Screen((1280, 720), (1280, 720))
_MOST_NAMED = 5
_MOST_KINDS = 200
SAME, ALIKE, TASK, PICTURE = "the same", "alike", "of the same task", "with the same screenshot"
LEAKS = (SAME, ALIKE, TASK, PICTURE)
"""What a sample can share with one of another split: text and images; the reply and a screenshot that looks like its
newest one; the task; the newest screenshot."""


@dataclasses.dataclass
class Leak:
    """Of one split into another: how many of its samples share something, and the first of them."""

    counts: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    named: list[str] = dataclasses.field(default_factory=list)


class Tally:
    """Of all samples, and of what the samples of one split share with those of another that were added before."""

    def __init__(self, seen: Seen) -> None:
        self.seen = seen
        self.num_samples: collections.Counter[str] = collections.Counter()
        self.num_steps = self.num_images = self.num_distinct = self.num_distinct_bytes = self.num_looks = 0
        self.num_same_text = self.num_same = self.num_alike = self.num_tasks = 0
        self.sizes: collections.Counter[str] = collections.Counter()
        self.characters: collections.Counter[int] = collections.Counter()
        self.turns: collections.Counter[int] = collections.Counter()
        self.actions: collections.Counter[str] = collections.Counter()
        self.sites: collections.Counter[str] = collections.Counter()
        self.columns: collections.Counter[str] = collections.Counter()
        self.leaks: dict[str, Leak] = {}

    def add(self, found: Opened) -> list[tuple[int, int]]:
        """Count a sample; returns (height, width) of its images. `UserError` names it where it is none."""
        sample = found.sample
        sample.check()
        texts = [turn["value"] for turn in sample.conversations]
        images, sizes = self._images(sample)
        self.num_samples[found.split] += 1
        self.characters[sum(map(len, texts))] += 1
        self.turns[len(texts) // 2] += 1
        _count(self.sites, found.site or "unknown")
        for name in sample.extra:
            _count(self.columns, name)
        steps = split_steps({**sample.extra, "id": sample.id, "conversations": sample.conversations})
        replies = texts[1::2][-len(steps) :]
        self.num_steps += len(replies)
        screen = newest_screen(sizes)
        for kind in [kind for reply in replies for kind in action_kinds(reply, screen)]:
            _count(self.actions, kind)
        self._compare(found, texts, images)
        return sizes

    def _images(self, sample: Sample) -> tuple[list[SeenImage], list[tuple[int, int]]]:
        images: list[SeenImage] = []
        sizes: list[tuple[int, int]] = []
        for content in sample.read_images():
            try:
                with opened(io.BytesIO(content)) as picture:
                    sizes.append(size_of(picture))
                images.append(self.seen.image(content))
            except UserError as error:
                raise UserError(f"sample {sample.id}: a broken image ({error})") from None
            self.num_images += 1
            if images[-1].is_new:
                self.num_distinct += 1
                self.num_distinct_bytes += len(content)
                self.num_looks += images[-1].is_new_look
                height, width = sizes[-1]
                _count(self.sizes, f"{width}x{height}")
        return images, sizes

    def _compare(self, found: Opened, texts: Sequence[str], images: Sequence[SeenImage]) -> None:
        """With all that were added before, of its own split and of others."""
        sample, split = found.sample, found.split
        keys = keys_of(sample, texts, images, found.task)
        before = {kind: self.seen.mark(kind, key, split) for kind, key in keys.items()}
        self.num_same_text += split in self.seen.mark("text", _digest(*texts), split)
        self.num_same += split in before[SAME]
        self.num_alike += split in before[ALIKE] and split not in before[SAME]
        self.num_tasks += split not in before[TASK]
        for other in sorted({one for splits in before.values() for one in splits} - {split}):
            leak = self.leaks.setdefault(f"{split} samples found in {other}", Leak())
            leak.counts.update(kind for kind in LEAKS if other in before.get(kind, ()))
            if len(leak.named) < _MOST_NAMED:
                leak.named.append(sample.id)

    def report(self) -> dict[str, Any]:
        """The numbers, as JSON can hold them."""
        total = self.num_samples.total()
        looks = {"distinct looks of images": self.num_looks} if self.seen.near else {}
        alike = {"samples that are near duplicates": self.num_alike} if self.seen.near else {}
        return {
            "samples": total,
            **({"samples by split": dict(self.num_samples)} if len(self.num_samples) > 1 else {}),
            "steps": self.num_steps,
            "tasks": self.num_tasks,
            "sites": dict(self.sites.most_common()),
            "images": self.num_images,
            "distinct images": self.num_distinct,
            **looks,
            "distinct image bytes": self.num_distinct_bytes,
            "samples with the same text as another": self.num_same_text,
            "samples that are exact duplicates": self.num_same,
            **alike,
            "characters (median, longest)": quantiles(self.characters),
            "turns": {str(count): self.turns[count] for count in sorted(self.turns)},
            "image sizes": dict(self.sizes.most_common(8)),
            "actions": dict(self.actions.most_common()),
            "columns": dict(self.columns),
            "leaks": {name: {**leak.counts, "first": leak.named} for name, leak in sorted(self.leaks.items())},
        }


def keys_of(sample: Sample, texts: Sequence[str], images: Sequence[SeenImage], task: str = "") -> dict[str, bytes]:
    """What makes samples the same, alike, of one task (by default the one that its id says), with one screenshot."""
    newest = images[-1].digest if images else b""
    look = str(images[-1].alike) if images else json.dumps(list(texts))  # without images only the same are alike
    keys = {
        SAME: _digest(*texts, *(image.digest.hex() for image in images)),
        ALIKE: _digest(texts[-1], look),
        TASK: (task or task_of(sample.id)).encode(),
    }
    return {**keys, PICTURE: newest} if newest else keys


def quantiles(counted: collections.Counter[int]) -> list[int]:
    """[median, largest] of numbers that were counted."""
    total = counted.total()
    if not total:
        return [0, 0]
    middle = [_at(counted, (total - 1) // 2), _at(counted, total // 2)]
    return [round(sum(middle) / 2), max(counted)]


def _at(counted: collections.Counter[int], rank: int) -> int:
    """The number at a rank from 0, in order of size."""
    for number in sorted(counted):
        rank -= counted[number]
        if rank < 0:
            return number
    return 0


def _count(counter: collections.Counter[str], name: str) -> None:
    """A hostile set could name millions of kinds."""
    counter[name if name in counter or len(counter) < _MOST_KINDS else "others"] += 1


def newest_screen(sizes: Sequence[tuple[int, int]]) -> Screen:
    """That of the last of (height, width)."""
    if not sizes:
        return _NO_SCREEN
    height, width = sizes[-1]
    return Screen((width, height), (width, height))


def _digest(*parts: str) -> bytes:
    return xxhash.xxh128_digest("".join(f"{len(part)}:{part}" for part in parts).encode(errors="surrogatepass"))
