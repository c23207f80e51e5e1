"""Data sets in rows, with their images in columns (bytes or paths), as samples: Hugging Face's, verl's, EasyR1's.

Read are Parquet files, folders of them as the Hub has them, what `save_to_disk` wrote (`*.arrow`), and image folders
(`metadata.jsonl` or `.csv` with `file_name`). Of a folder that has splits, those for validation and test are left out;
give their files to have them. Source of the layouts: huggingface/datasets (`docs/source/image_dataset.mdx`,
`features/image.py`), volcengine/verl `examples/data_preprocess/geo3k.py`, hiyouga/EasyR1 `verl/utils/dataset.py`; The
Cauldron's `texts`.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common.errors import UserError
from toolkits.readers.interchange.conversation import read_conversation
from toolkits.readers.interchange.conversations_file import sample
from toolkits.readers.interchange.image_fields import FIELDS, SURE, find_images, is_held
from toolkits.readers.interchange.own_fields import OWN
from toolkits.readers.interchange.spellings import ANSWERS, captioned, is_told
from toolkits.readers.reading.addresses import keep_addresses
from toolkits.readers.reading.left_out import LeftOut
from toolkits.readers.reading.pictures import begins_as_image
from toolkits.readers.reading.row_files import is_hidden, rows_of
from toolkits.readers.reading.splits import to_train_on

_CAPTIONS = ("text", "caption")
_FILES = ("*.parquet", "*.arrow", "metadata.jsonl", "metadata.csv")


def read_rows_file(path: Path, image_dir: Path, round_id: int) -> Iterator[dict[str, Any]]:
    """One sample a row; rows keep their `id`, or get `<file name>--<number>`.

    Raises:
        UserError: naming the file and the row.
    """
    left_out, given = LeftOut(), [path]
    if path.is_dir():
        given = [file for pattern in _FILES for file in sorted(path.rglob(pattern))]
        given = [file for file in given if not (file.name.startswith("cache-") or is_hidden(path, file))]
        given = to_train_on(path, given, left_out)
    if not given:
        raise UserError(f"{path}: no *.parquet, *.arrow, metadata.jsonl or metadata.csv in this folder or below")
    for file in given:
        for number, (where, row) in enumerate(_rows(file, image_dir), start=1):
            entry = _entry(where, row, left_out)
            told = None if entry is None else read_conversation(where, entry, left_out)
            if entry and told:
                yield from sample(where, entry.get("id"), f"{file.stem}--{number:07d}", told, image_dir, left_out)
    left_out.give_reason(left_out.num_kept)
    left_out.tell(path)
    keep_addresses(image_dir, left_out)


def _rows(file: Path, image_dir: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    rows = rows_of(file)
    if file.suffix.lower() in (".parquet", ".arrow"):
        return rows
    return ((where, _with_images(row, image_dir, file)) for where, row in rows)


def _with_images(row: dict[str, Any], image_dir: Path, file: Path) -> dict[str, Any]:
    """An image folder's `file_name`, or `file_names`, as its images."""
    if isinstance(names := row.get("file_names"), list):
        return {**row, "images": [_from(image_dir, file, name) for name in names]}
    return {**row, "image": _from(image_dir, file, row["file_name"])} if row.get("file_name") else row


def _from(image_dir: Path, file: Path, name: Any) -> Any:
    """An image's path from `image_dir`; it stands from the folder of the file that names it."""
    if not isinstance(name, str) or not file.parent.is_relative_to(image_dir):
        return name
    return str(file.parent.relative_to(image_dir) / name)


def _entry(where: str, row: dict[str, Any], left_out: LeftOut) -> dict[str, Any] | None:
    """A row as a record of a conversation; its nulls say nothing. None: its text is blank."""
    entry: dict[str, Any] = {name: value for name, value in row.items() if value is not None or name in ANSWERS}
    info = entry.get("extra_info")
    if OWN not in entry and isinstance(info, dict) and info.get(OWN) is not None:
        entry |= {OWN: info[OWN], "id": info.get("id")}
        entry = {name: value for name, value in entry.items() if name not in ("data_source", "ability", "extra_info")}
    _gather_images(entry, left_out)
    if isinstance(entry.get("texts"), list):
        pairs = [(text.get("user"), text.get("assistant")) for text in entry.pop("texts") if isinstance(text, dict)]
        entry["conversation"] = [{"human": asked, "assistant": told} for asked, told in pairs]
    elif not is_told(entry):
        caption = next((name for name in _CAPTIONS if isinstance(entry.get(name), str)), None)
        field, images = find_images(entry)
        if caption is not None and field:
            if not entry[caption].strip():
                left_out["rows whose text is blank"] += 1
                return None
            entry = captioned(entry, len(images), entry.pop(caption))
    for name in [name for name, value in entry.items() if name not in SURE and not _is_json(value)]:
        left_out[f"{name} of rows, which JSON cannot hold"] += 1
        del entry[name]
    return entry


def _gather_images(entry: dict[str, Any], left_out: LeftOut) -> None:
    """The columns of images as `images`, unless there are such; of others than are meant nothing can be kept."""
    held = [name for name, value in entry.items() if name not in SURE and is_held(value) and _may_be(name, value)]
    if "images" not in entry and "image" not in entry:
        meant = [name for name in FIELDS if name in held][:1] or held
        if len(meant) > 1:
            left_out.taken[f"{' and '.join(meant)} of rows, all as inputs"] += 1
        entry["images"] = [one for name in meant for one in _listed(entry.pop(name))]
        if not meant:
            del entry["images"]
        held = [name for name in held if name not in meant]
    if "images" in entry and is_held(entry.get("image")):
        held.append("image")
    for name in held:
        left_out[f"images of the column {name}, beside others"] += 1
        del entry[name]


def _may_be(name: str, value: Any) -> bool:
    """Bytes may be anything where the column is not called as one of images."""
    return name in FIELDS or all(not isinstance(one, bytes) or begins_as_image(one) for one in _listed(value))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True
