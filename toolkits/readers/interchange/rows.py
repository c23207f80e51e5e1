"""Data sets in rows, with their images in columns (bytes or paths), as samples: Hugging Face's, verl's, EasyR1's.

Read are Parquet files, folders of them as the Hub has them, what `save_to_disk` wrote (`*.arrow`), and image folders
(`metadata.jsonl` with `file_name`). Of a folder that has splits, those for validation and test are left out; give their
files to have them. Source of the layouts: huggingface/datasets (`docs/source/image_dataset.mdx`, `features/image.py`),
volcengine/verl `examples/data_preprocess/geo3k.py`, hiyouga/EasyR1 `verl/utils/dataset.py`; The Cauldron's `texts`.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import parse_json
from common.shown.terminal import in_short
from toolkits.readers.interchange.conversation import read_conversation
from toolkits.readers.interchange.conversations_file import sample
from toolkits.readers.interchange.splits import to_train_on
from toolkits.readers.reading.addresses import keep_addresses
from toolkits.readers.reading.left_out import LeftOut
from toolkits.readers.reading.stream import stream_objects

OWN = "elcano"
"""A column of ours: what else a sample has, as JSON."""
_CAPTIONS = ("text", "caption")
_ROWS_AT_ONCE = 16


def read_rows_file(path: Path, image_dir: Path, round_id: int) -> Iterator[dict[str, Any]]:
    """One sample a row; rows keep their `id`, or get `<file name>--<number>`.

    Raises:
        UserError: naming the file and the row.
    """
    left_out, given = LeftOut(), [path]
    if path.is_dir():
        given = [file for pattern in ("*.parquet", "*.arrow", "metadata.jsonl") for file in sorted(path.rglob(pattern))]
        given = [file for file in given if not file.name.startswith("cache-")]
        given = to_train_on(path, given, left_out)
    if not given:
        raise UserError(f"{path}: no *.parquet, *.arrow or metadata.jsonl in this folder or below")
    for file in given:
        for number, row in enumerate(_rows(file), start=1):
            where = f"{file}: row {number}"
            entry = _entry(where, row, left_out)
            told = read_conversation(where, entry, left_out)
            if told:
                yield from sample(where, entry.get("id"), f"{file.stem}--{number:07d}", told, image_dir, left_out)
    left_out.tell(path)
    keep_addresses(image_dir, left_out)


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    if file.suffix == ".arrow":
        return _arrow_rows(file)
    if file.suffix == ".jsonl":
        return ({**row, "image": row.get("file_name")} for _, row in stream_objects(file))
    from data.shards.parquet.parquet_file import iter_rows  # imported here, as below: pyarrow takes a second

    return iter_rows(file)


def _arrow_rows(file: Path) -> Iterator[dict[str, Any]]:
    import pyarrow
    from pyarrow import ipc

    try:
        with pyarrow.OSFile(str(file)) as source, ipc.open_stream(source) as reader:
            for batch in reader:
                batch.validate(full=True)
                for start in range(0, batch.num_rows, _ROWS_AT_ONCE):
                    yield from batch.slice(start, _ROWS_AT_ONCE).to_pylist()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise UserError(f"{file}: not an Arrow file or a damaged one ({in_short(str(error))})") from None


def _entry(where: str, row: dict[str, Any], left_out: LeftOut) -> dict[str, Any]:
    """A row as a record of a conversation; its nulls say nothing."""
    entry = {name: value for name, value in row.items() if value is not None}
    info = entry.get("extra_info")
    own = entry.pop(OWN, None)
    if own is None and isinstance(info, dict) and info.get(OWN) is not None:
        own = entry.pop("extra_info")[OWN]
        entry = {name: value for name, value in entry.items() if name not in ("data_source", "ability")}
    if own is not None:
        try:
            entry |= parse_json(own)
        except (ValueError, TypeError):
            raise UserError(f"{where}: its column {OWN} is no JSON object") from None
    if "images" not in entry and "image" not in entry:
        named = [name for name, value in entry.items() if _is_image(value)]
        entry["images"] = [one for name in named for one in _listed(entry.pop(name))]
    caption = next((entry[name] for name in _CAPTIONS if isinstance(entry.get(name), str)), None)
    if isinstance(entry.get("texts"), list):
        pairs = [(text.get("user"), text.get("assistant")) for text in entry.pop("texts") if isinstance(text, dict)]
        entry["conversation"] = [{"human": asked, "assistant": told} for asked, told in pairs]
    elif caption is not None and not {"messages", "conversations", "conversation", "prompt"} & entry.keys():
        images = _listed(entry.pop("images", None) or entry.pop("image", None))
        entry = {"id": entry.get("id"), "images": images, "query": "<image>" * len(images), "response": caption}
    for name in [name for name, value in entry.items() if not _is_image(value) and not _is_json(value)]:
        left_out[f"{name} of rows, which JSON cannot hold"] += 1
        del entry[name]
    return entry


def _listed(value: Any) -> list[Any]:
    return [] if value is None else value if isinstance(value, list) else [value]


def _is_image(value: Any) -> bool:
    """As `datasets` stores one, or a list of them; or the bytes alone."""
    if isinstance(value, list):
        return bool(value) and all(map(_is_image, value))
    return isinstance(value, bytes) or (isinstance(value, dict) and {"bytes", "path"} >= value.keys() and bool(value))


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True
