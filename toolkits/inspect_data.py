"""What is in data, before anything is trained on it: shards, sample files, trajectories, others' tars, and every format
of import_data.py.

    python toolkits/inspect_data.py --data runs/IL/shards --contact_sheet sheet.png
    python toolkits/inspect_data.py --data train.parquet --model CHECKPOINT --seq_len 8192 --output report.json
    python toolkits/inspect_data.py --data train.json --image_dir images --against test.json --against_image_dir images
    elcano view report.json

Counts, lengths, image sizes, the histogram of our canonical actions, exact and near duplicates, what splits share, and
of shards the checksums. Memory does not grow with the data. Exit code 2 when something is damaged.
"""

import base64
import dataclasses
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from common import cli
from common.errors import UserError
from common.files import write_json
from common.inputs import keep_inputs
from common.options.limits import Checked, at_least
from common.shown.tables import Table, print_table
from data.data_report import MARK
from data.shards.shard import read_manifest, shares_images, task_of
from toolkits.convert_foreign_tars import converted
from toolkits.samples.sources import Opened, Source, kind_of, list_shards, names_task, open_samples
from toolkits.samples.tally import Tally
from toolkits.samples.tiles import Tiles, encoded
from toolkits.shards.seen import Seen

_IN_REPORT = 24
"""Screenshots that a report holds."""


@dataclasses.dataclass(frozen=True)
class Config(Checked):
    """Show and verify data."""

    data: tuple[str, ...]
    """Folders or files: shards, OpenWebVoyager's and others' tars, sample files, trajectory folders, and whatever
    import_data.py reads."""
    contact_sheet: str = ""
    """A PNG to write: one screenshot each of samples spread over the data, with what the agent did."""
    num_tiles: Annotated[int, at_least(0)] = 24
    """Screenshots on the contact sheet at most."""
    verify: bool = True
    """Compare the tars' checksums with the manifest's."""
    output: str = ""
    """A JSON file for the numbers; `elcano view` opens it."""
    format: str = "auto"
    """What the files are, as import_data.py names it, or `shards`, `samples`, `trajectories`; `auto` looks at them."""
    image_dir: str = ""
    """The folder that holds their images; empty: the one that the files are in."""
    against: tuple[str, ...] = ()
    """Data of another split, such as a test set: what its samples share with those of `data` is counted."""
    against_image_dir: str = ""
    """The folder of its images; empty: the one that its files are in."""
    near_duplicates: bool = True
    """Also compare images by their looks, for which each is decoded."""
    model: str = ""
    """A checkpoint folder, Hugging Face's or Megatron's: lengths are counted in its tokens, its images' among them."""
    seq_len: Annotated[int, at_least(1)] = 8192
    """With `--model`: SEQ_LEN of the training. Longer samples lose the end of their newest observation."""
    image_num: Annotated[int, at_least(0)] = 3
    """With `--model`: IMAGE_NUM of the training."""


def main(config: Config) -> None:
    """Read all samples, print the report, draw the contact sheet."""
    for flag in ("output", "contact_sheet"):
        keep_inputs(f"--{flag}", getattr(config, flag), (*config.data, *config.against))
    sources = [_source(path, config.image_dir, config.format) for path in config.data]
    others = [_source(path, config.against_image_dir, "auto") for path in config.against]
    shards = [shard for source in sources for shard in _shards(source, config.verify)]
    lengths = None
    if config.model:
        from toolkits.samples.token_lengths import TokenLengths  # imported here: it needs torch

        lengths = TokenLengths.of(Path(config.model), config.seq_len, config.image_num)
    seen = Seen(near=config.near_duplicates)
    tally, tiles = Tally(seen), Tiles(config.num_tiles if config.contact_sheet else _IN_REPORT if config.output else 0)
    for found in _samples(sources, ""):
        sizes = tally.add(found)
        if lengths:
            lengths.add(found.sample, sizes)
        tiles.offer(found.sample)
    if shards and all(kind_of(source) == "shards" for source in sources):
        _check_counts(config, shards, tally.num_samples.total())
    numbers = {**_of_shards(sources, shards, config.verify), **tally.report(), **(lengths.report() if lengths else {})}
    if others:
        numbers["leaks"] = _leaks(tally, others)
    title = ", ".join(config.data)
    _print(title, numbers)
    if config.contact_sheet:
        tiles.write(Path(config.contact_sheet))
    if config.output:
        shown = [
            {"id": id, "action": said, "jpeg": base64.b64encode(encoded(one)).decode()} for one, id, said in tiles.kept
        ]
        write_json(Path(config.output), {"kind": MARK, "data": title, **numbers, "tiles": shown[:_IN_REPORT]})
    seen.close()


def _source(path: str, image_dir: str, form: str) -> Source:
    return converted(Source(Path(path), form, Path(image_dir) if image_dir else None))


def _samples(sources: list[Source], split: str) -> Iterator[Opened]:
    """Of all sources; `split` in place of their own where it is given."""
    for source in sources:
        kind = kind_of(source)
        with tempfile.TemporaryDirectory(prefix="inspect-") as scratch:
            for found in open_samples(source, Path(scratch)):
                own = "" if names_task(kind, found.sample) else f"{source.path}: {task_of(found.sample.id)}"
                yield dataclasses.replace(found, split=split or found.split, task=own)


def _shards(source: Source, verify: bool) -> list[tuple[Path, int, str]]:
    return list_shards(source.path, verify) if kind_of(source) == "shards" else []


def _check_counts(config: Config, shards: list[tuple[Path, int, str]], found: int) -> None:
    total = sum(count for _, count, _ in shards)
    if found != total:
        raise UserError(f"{', '.join(config.data)}: the tars hold {found} samples, their list says {total}")


def _of_shards(sources: list[Source], shards: list[tuple[Path, int, str]], verify: bool) -> dict[str, Any]:
    """What only shards have."""
    if not shards:
        return {}
    manifests = [read_manifest(source.path) for source in sources if (source.path / "manifest.json").exists()]
    return {
        "shards": len(shards),
        "bytes": sum(path.stat().st_size for path, _, _ in shards),
        "checksums": "good" if manifests and verify else "not compared",
        "images shared among samples": "yes" if any(map(shares_images, manifests)) else "no",
    }


def _leaks(tally: Tally, others: list[Source]) -> dict[str, Any]:
    """Of all that `tally` knows into `others`, which it counts no further."""
    for found in _samples(others, "against"):
        tally.add(found)
    return tally.report()["leaks"]


def _print(title: str, numbers: dict[str, Any]) -> None:
    table = Table([""], sentences=[""], title=title)
    for name, value in numbers.items():
        table.add(name, _cell(value))
    print_table(table)


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return "\n".join(f"{key}: {_inline(count)}" for key, count in value.items()) or "none"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {', '.join(one) if isinstance(one, list) else one}" for key, one in value.items())
    return str(value)


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
