"""What is in a shard folder, and whether it is whole.

    python toolkits/inspect_shards.py --shard_dir runs/IL/shards --contact_sheet sheet.png

Counts, lengths, image sizes, the histogram of actions, duplicates, and the checksums of the tars against the manifest.
Exit code 2 when something is damaged. OpenWebVoyager's tar folders (a `shardlist.json` alone) are read too.
"""

import collections
import dataclasses
import io
import re
import statistics
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from common import cli
from common.errors import UserError
from common.files import read_json, write_json
from common.tables import Table, print_table
from data.action import ActionError, parse_reply
from data.foreign_tars import is_foreign
from data.images import opened, size_of, to_rgb
from data.legacy import read_legacy_tar
from data.shard import Sample, read_manifest, read_shard, shares_images, task_of
from data.whole_trajectory import split_steps
from toolkits.convert_foreign_tars import convert
from toolkits.readers.released_tar import is_released

_TILE = (256, 192)
_CAPTION = 42
"""Characters in a tile's width."""
_TOOL = re.compile(r'<tool_call>\s*\{"name": "(?:computer_use", "arguments": \{"action": ")?(\w+)"')
_BROWSERGYM = re.compile(r"^\s*(?:#[^\n]*\n)*\s*(?:Action: )?(\w+)\(", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Config:
    """Show and verify a shard folder."""

    shard_dir: str
    """A folder made by convert_to_tar_data.py, one of OpenWebVoyager's, or others' webdataset tars."""
    contact_sheet: str = ""
    """A PNG to write: one screenshot each of samples spread over the folder, with what the agent did."""
    num_tiles: int = 24
    """Screenshots on the contact sheet."""
    verify: bool = True
    """Compare the tars' checksums with the manifest's."""
    output: str = ""
    """A JSON file for the numbers."""


@dataclasses.dataclass
class Tally:
    """What was counted. `stored`: (width, height) of each distinct image, by its length and checksum."""

    num_samples: int = 0
    num_steps: int = 0
    num_images: int = 0
    stored: dict[tuple[int, int], tuple[int, int]] = dataclasses.field(default_factory=dict)
    characters: list[int] = dataclasses.field(default_factory=list)
    turns: collections.Counter[int] = dataclasses.field(default_factory=collections.Counter)
    actions: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    tasks: set[str] = dataclasses.field(default_factory=set)
    conversations: collections.Counter[int] = dataclasses.field(default_factory=collections.Counter)
    columns: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)

    def add(self, sample: Sample) -> None:
        texts = [turn["value"] for turn in sample.conversations]
        self.num_samples += 1
        self.num_images += len(sample.images)
        self.characters.append(sum(map(len, texts)))
        self.turns[len(texts) // 2] += 1
        teaches = split_steps({**sample.extra, "id": sample.id, "conversations": sample.conversations})
        replies = texts[1::2][-len(teaches) :]
        self.num_steps += len(replies)
        self.actions.update(map(action_name, replies))
        self.tasks.add(task_of(sample.id))
        self.conversations[hash(tuple(texts))] += 1
        self.columns.update(list(sample.extra))  # a dict's values would be added up
        for image in sample.read_images():
            checksum = (len(image), zlib.crc32(image))
            if checksum not in self.stored:
                self.stored[checksum] = _size(sample.id, image)

    def report(self) -> dict[str, Any]:
        """The numbers, as JSON can hold them."""
        sizes = collections.Counter(f"{width}x{height}" for width, height in self.stored.values())
        lengths = sorted(self.characters) or [0]
        return {
            "samples": self.num_samples,
            "steps": self.num_steps,
            "tasks": len(self.tasks),
            "images": self.num_images,
            "distinct images": len(self.stored),
            "distinct image bytes": sum(num_bytes for num_bytes, _ in self.stored),
            "samples with the same text as another": sum(n - 1 for n in self.conversations.values()),
            "characters (median, longest)": [round(statistics.median(lengths)), lengths[-1]],
            "turns": {str(count): self.turns[count] for count in sorted(self.turns)},
            "image sizes": dict(sizes.most_common(8)),
            "actions": dict(self.actions.most_common()),
            "columns": dict(self.columns),
        }


def action_name(reply: str) -> str:
    """The action's name, of our grammar, or written as a function or tool call; "unreadable" when it is neither."""
    try:
        return type(parse_reply(reply).action).__name__
    except ActionError:
        call = _TOOL.search(reply) or _BROWSERGYM.search(reply)
        return call[1] if call else "unreadable"


def _size(sample_id: str, image: bytes) -> tuple[int, int]:
    try:
        with opened(io.BytesIO(image)) as found:
            height, width = size_of(found)
            return width, height
    except UserError as error:
        raise UserError(f"sample {sample_id}: a broken image ({error})") from None


def main(config: Config) -> None:
    """Read all samples, print the report, draw the contact sheet."""
    folder = Path(config.shard_dir)
    if is_foreign(folder) and not (folder / "shardlist.json").exists():
        folder = convert(folder)
    shards = list_shards(folder, config.verify)
    total = sum(count for _, count in shards)
    every = max(1, total // max(1, config.num_tiles))
    tally, tiles = Tally(), []
    for number, sample in enumerate(read_samples(shards)):
        tally.add(sample)
        if config.contact_sheet and number % every == 0 and sample.images and len(tiles) < config.num_tiles:
            tiles.append(draw_tile(sample))
    if tally.num_samples != total:
        raise UserError(f"{folder}: the tars hold {tally.num_samples} samples, their list says {total}")
    num_bytes = sum(path.stat().st_size for path, _ in shards)
    ours = (folder / "manifest.json").exists()
    numbers = {
        "shards": len(shards),
        "bytes": num_bytes,
        "checksums": "good" if ours and config.verify else "not compared",
        "images shared among samples": "yes" if ours and shares_images(read_manifest(folder)) else "no",
        **tally.report(),
    }
    _print(folder, numbers)
    if config.contact_sheet:
        write_contact_sheet(Path(config.contact_sheet), tiles)
    if config.output:
        write_json(Path(config.output), numbers)


def list_shards(folder: Path, verify: bool) -> list[tuple[Path, int]]:
    """(tar, number of samples) of ours, or of OpenWebVoyager's when there is a `shardlist.json` only."""
    if (folder / "manifest.json").exists() or not (folder / "shardlist.json").exists():
        entries = read_manifest(folder, verify)["shards"]
    else:
        entries = read_json(folder / "shardlist.json")
    try:
        return [(folder / Path(entry["url"]).name, int(entry["nsamples"])) for entry in entries]
    except (TypeError, KeyError, ValueError) as error:
        raise UserError(f"{folder}: its list of shards is damaged ({error!r})") from None


def read_samples(shards: list[tuple[Path, int]]) -> Iterator[Sample]:
    """Every sample of every tar, whichever layout it has."""
    for path, _ in shards:
        yield from (read_legacy_tar if is_released(path) else read_shard)(path)


def draw_tile(sample: Sample) -> Image.Image:
    """The newest screenshot, with the sample's id and the agent's action under it."""
    tile = Image.new("RGB", (_TILE[0], _TILE[1] + 30), "white")
    try:
        with opened(io.BytesIO(sample.read_images()[-1])) as found:
            screenshot = to_rgb(found)
    except UserError as error:
        raise UserError(f"sample {sample.id}: a broken image ({error})") from None
    screenshot.thumbnail((_TILE[0] - 4, _TILE[1]))  # a gap to the next one
    tile.paste(screenshot, ((_TILE[0] - screenshot.width) // 2, 0))
    action = sample.conversations[-1]["value"].rpartition("Action:")[2].strip().split("\n")[0]
    captions = sample.id[-_CAPTION:], action[:_CAPTION]  # what tells a task's samples apart stands at the id's end
    for line, text in enumerate(captions):
        ImageDraw.Draw(tile).text((3, _TILE[1] + 2 + 13 * line), _printable(text), fill="black")
    return tile


def _printable(text: str) -> str:
    """The built-in font knows Latin-1."""
    return text.encode("latin1", "replace").decode("latin1")


def write_contact_sheet(path: Path, tiles: list[Image.Image], columns: int = 4) -> None:
    """All tiles in a grid, as a PNG."""
    width, height = _TILE[0], _TILE[1] + 30
    sheet = Image.new("RGB", (columns * width, max(1, -(-len(tiles) // columns)) * height), "white")
    for number, tile in enumerate(tiles):
        sheet.paste(tile, (number % columns * width, number // columns * height))
    path.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(path, "PNG")
    print(path)


def _print(folder: Path, numbers: dict[str, Any]) -> None:
    table = Table([""], sentences=[""], title=str(folder))
    for name, value in numbers.items():
        if isinstance(value, dict):
            value = "\n".join(f"{key}: {count}" for key, count in value.items()) or "none"
        elif isinstance(value, int):
            value = f"{value:,}"
        table.add(name, str(value))
    print_table(table)


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
