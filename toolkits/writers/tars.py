"""Our samples in tars: plain webdataset, and energon's dataset with its index. Both are shard folders of ours, too.

A sample has all its images under its own key (`data/shards/shard.py`); convert_to_tar_data.py writes the same,
shuffled. Of a folder with `--share_images` this makes one that any reader takes.
"""

from collections.abc import Iterator
from pathlib import Path

from data.shards.foreign_tars import EXPORTED
from data.shards.shard import Sample, write_shards
from toolkits.readers.reading.left_out import LeftOut
from toolkits.readers.reading.references import NAMES
from toolkits.shards.energon_index import write_energon_index
from toolkits.writers.samples import ExportSample, Options


def write_webdataset(samples: Iterator[ExportSample], out_dir: Path, options: Options, left_out: LeftOut) -> None:
    """`elcano-000000.tar`, ..."""
    _write(samples, out_dir, options)


def write_energon(samples: Iterator[ExportSample], out_dir: Path, options: Options, left_out: LeftOut) -> None:
    """The same with `.nv-meta/`: what `energon prepare` would make."""
    write_energon_index(out_dir, _write(samples, out_dir, options))


def _write(samples: Iterator[ExportSample], out_dir: Path, options: Options) -> list[str]:
    """The names of the tars."""
    manifest = write_shards(out_dir, map(_as_sample, samples), options.max_samples_per_file, {EXPORTED: options.source})
    return [shard["url"] for shard in manifest["shards"]]


def _as_sample(one: ExportSample) -> Sample:
    names = {NAMES: [name for name, _ in one.images]} if one.images else {}
    return Sample(one.id, one.conversations, [image for _, image in one.images], {**one.extra, **names})
