"""ScreenSpot, its second version, and ScreenSpot-Pro, as episodes of one click at the center of a box.

    v1, v2   {"img_filename", "instruction", "bbox": [left, top, width, height] in pixels, "data_type": text or icon,
             "data_source"}: `screenspot_mobile.json`, `screenspot_desktop_v2.json`, ... (njucckevin/SeeClick
             `pretrain/screenspot_test.py`, OS-Copilot/ScreenSpot-v2)
    rows     the same with `image`, and the box as shares: [left, top, right, bottom]
             (rootsautomation/ScreenSpot, HongxinLi/ScreenSpot_v2 on Hugging Face: Parquet)
    Pro      {"img_filename", "instruction", "bbox": [left, top, right, bottom] in pixels, "img_size", "ui_type",
             "group", "application", "platform"} (likaixin2000/ScreenSpot-Pro-GUI-Grounding `eval_screenspot_pro.py`)

Results are by platform: mobile, desktop or web, as the file's name or else the source says; of Pro by its group.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from data.actions.screen import PX, REL1, Scale
from toolkits.readers.reading.references import image_behind
from toolkits.readers.reading.steps import find_image, text_of
from toolkits.readers.reading.stream import stream_objects
from toolkits.readers.research.episodes import Episode, size_told
from toolkits.readers.research.sets.grounding import asked_of, pointing, sides_of

_PLATFORMS = ("mobile", "desktop", "web")
_OF_SOURCE = {"ios": "mobile", "android": "mobile", "windows": "desktop", "macos": "desktop"}


def read_screenspot(paths: Sequence[Path], image_dir: Path) -> Iterator[Episode]:
    """An episode for every record or row.

    Raises:
        UserError: naming file and record.
    """
    for path in paths:
        for where, record in _records(path):
            name = text_of(record.get("img_filename")) or text_of(record.get("file_name")) or where
            scale, box = _box(where, record)
            image = _image(where, record, image_dir)
            episode = pointing(where, name, image, asked_of(record), scale, box)
            kind = text_of(record.get("ui_type")) or text_of(record.get("data_type"))
            yield dataclasses.replace(episode, platform=_platform(path, record), kind=kind)


def _records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    if path.suffix != ".parquet":
        yield from stream_objects(path)
        return
    from data.shards.parquet.parquet_file import iter_rows  # imported here: pyarrow takes a second

    for place, row in enumerate(iter_rows(path), start=1):
        yield f"{path}: row {place}", row


def _image(where: str, record: Mapping[str, Any], image_dir: Path) -> Path | bytes:
    if record.get("image") is not None:
        return image_behind(where, record["image"], [image_dir])
    name = text_of(record.get("img_filename"))
    if not name:
        raise UserError(f"{where}: has no img_filename")
    return image_dir / find_image(where, image_dir, name)


def _box(where: str, record: Mapping[str, Any]) -> tuple[Scale, list[float]]:
    """What its numbers count, and [left, top, right, bottom]."""
    sides = sides_of(where, record.get("bbox"), 4)
    if "ui_type" in record or "img_size" in record:
        told = record.get("img_size")
        size = size_told(*told) if isinstance(told, list) and len(told) == 2 else None
        return Scale("px", lambda _: size) if size else PX, sides  # the image may be a smaller copy
    if all(side <= 1 for side in sides):
        return REL1, sides
    left, top, width, height = sides
    return PX, [left, top, left + width, top + height]


def _platform(path: Path, record: Mapping[str, Any]) -> str:
    if group := text_of(record.get("group")):
        return group
    named = next((name for name in _PLATFORMS if name in path.stem), "")
    source = text_of(record.get("data_source")).lower()
    return named or _OF_SOURCE.get(source, "web" if source else "")
