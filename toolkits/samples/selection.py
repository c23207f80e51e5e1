"""Which samples of a mix (data/shards/mix_file.py) are kept, one by one, and how often an epoch has each."""

import io
from collections.abc import Sequence
from pathlib import Path

from common.errors import UserError
from common.seeds import draw
from data.actions.screen import Screen
from data.images import opened, size_of
from data.shards.mix_file import Mix, MixSource
from data.shards.shard import Sample, task_of
from toolkits.samples.action_kinds import action_kinds
from toolkits.samples.sources import TRAIN, VALIDATION, Opened
from toolkits.samples.tally import ALIKE, SAME, TASK, keys_of, newest_screen
from toolkits.shards.seen import Seen, SeenImage


class Selection:
    """Decides in the order of the stream: what comes first stays. All it remembers is in `seen`."""

    def __init__(self, mix: Mix, seen: Seen) -> None:
        self.mix, self.seen = mix, seen

    def split_of(self, source: MixSource, found: Opened) -> str:
        """Held out are a validation source, what its own data holds out, and a part of the tasks."""
        is_out = source.validation or found.split != TRAIN
        return VALIDATION if is_out or draw(task_of(found.sample.id)) < self.mix.validation_fraction else TRAIN

    def times(self, source: MixSource, sample: Sample, split: str) -> int:
        """How often an epoch has it."""
        whole = int(source.weight)
        rest = draw(str(self.mix.seed), sample.id) < source.weight - whole
        return 1 if split != TRAIN else whole + rest

    def refused(self, source: MixSource, found: Opened) -> str:
        """By what it says alone: the kind of the reason; "" where it may be kept."""
        sample = found.sample
        if source.sites and found.site not in source.sites:
            return "of other sites"
        if any(not _has(sample.extra.get(name), wanted) for name, wanted in source.where.items()):
            return "not as `where` asks"
        if source.actions and not {*action_kinds(sample.conversations[-1]["value"], _screen(sample))} & {
            *source.actions
        }:
            return "of other actions"
        return ""

    def known(self, sample: Sample, split: str, images: Sequence[SeenImage]) -> str:
        """By what was kept before, which it joins where it may be kept ("")."""
        keys = keys_of(sample, [turn["value"] for turn in sample.conversations], images)
        compared = {"near": (SAME, ALIKE), "exact": (SAME,), "none": ()}[self.mix.dedupe]
        before = {kind: self.seen.splits_of(kind, keys[kind]) for kind in (SAME, ALIKE, TASK)}
        for kind in compared:
            if split in before[kind]:
                return "exact duplicates" if kind == SAME else "near duplicates"
        if any({*before[kind]} - {split} for kind in (*compared, SAME, TASK)):
            return f"also in {VALIDATION if split == TRAIN else TRAIN}"
        for kind in (SAME, ALIKE, TASK):
            self.seen.mark(kind, keys[kind], split)
        return ""

    def over_cap(self, number: int, source: MixSource, found: Opened, split: str) -> str:
        """The cap that it would exceed, if any; `number` is its source's."""
        for kind, key, most in self._caps(number, source, found, split):
            if self.seen.counted(kind, key) >= most:
                return f"over the cap of a {kind}"
        return ""

    def count(self, number: int, source: MixSource, found: Opened, split: str) -> None:
        """It is kept."""
        for kind, key, _ in self._caps(number, source, found, split):
            self.seen.count(kind, key)

    def _caps(self, number: int, source: MixSource, found: Opened, split: str) -> list[tuple[str, str, int]]:
        """(kind, key, most), where there is a cap."""
        own, task = ("source", str(number), source.most), task_of(found.sample.id)
        shared = [("site", found.site, self.mix.most_per_site), ("task", task, self.mix.most_per_task)]
        return [cap for cap in [own, *(shared if split == TRAIN else [])] if cap[2]]

    def check_id(self, where: str, sample: Sample) -> None:
        """`UserError` for one that is there already."""
        if self.seen.mark("id", sample.key.encode()):
            raise UserError(f"{where}: sample {sample.id} is there already; give this source a prefix")


def _screen(sample: Sample) -> Screen:
    """Its newest image, in whose pixels some action spaces point."""
    sizes: list[tuple[int, int]] = []
    try:
        for image in sample.images[-1:]:
            with opened(image if isinstance(image, Path) else io.BytesIO(image)) as picture:
                sizes.append(size_of(picture))
    except UserError as error:
        raise UserError(f"sample {sample.id}: a broken image ({error})") from None
    return newest_screen(sizes)


def _has(value: object, wanted: object) -> bool:
    return value in wanted if isinstance(wanted, list) and not isinstance(value, list) else value == wanted
