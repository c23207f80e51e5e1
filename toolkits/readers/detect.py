"""Which format a file or folder has, by looking at names and at the first record; nothing of it is run."""

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import read_object
from data.shards.tar import list_tars
from toolkits.readers.detect_sets import OF_FILES, set_of_file, set_of_folder, set_of_record
from toolkits.readers.logs.released_tar import is_released
from toolkits.readers.reading.braces import files_of
from toolkits.readers.reading.row_files import data_files, is_json
from toolkits.readers.reading.steps import text_of
from toolkits.readers.reading.stream import stream_records

_ENDINGS = {
    **dict.fromkeys((".parquet", ".arrow"), "hf"),
    **dict.fromkeys((".tar", ".tgz", ".gz", ".bz2", ".zst"), "webdataset"),
    ".html": "visualwebarena",
}
_ITEMS = ("message", "reasoning", "computer_call", "computer_call_output")
_FOLDERS: list[tuple[str, Callable[[Path], bool]]] = [
    ("energon", lambda folder: (folder / ".nv-meta" / "dataset.yaml").is_file()),
    ("online_mind2web", lambda folder: (folder / "result.json").is_file() and (folder / "trajectory").is_dir()),
    ("agentlab", lambda folder: _has(folder, "summary_info.json") or _has(folder, "step_*.pkl.gz")),
    ("atif", lambda folder: _has(folder, "trajectory*.json")),
    ("llama_factory", lambda folder: _lists_files(folder / "dataset_info.json")),
    ("webdataset", lambda folder: any(map(_has_table, list_tars(folder)))),
    (
        "hf",
        lambda folder: (
            _has(folder, "*.parquet")
            or _has(folder, "*.arrow")
            or any(_has(folder, f"metadata.{end}") for end in ("jsonl", "csv"))
        ),
    ),
    ("webdataset", lambda folder: bool(list_tars(folder))),
    ("adp", lambda folder: (folder / "trajectories.jsonl").is_file()),
]
_RECORDS: list[tuple[str, Callable[[Mapping[str, Any]], bool]]] = [
    ("atif", lambda record: text_of(record.get("schema_version")).startswith("ATIF")),
    ("adp", lambda record: _listed(record, "content", "class_")),
    ("mind2web", lambda record: {"annotation_id", "actions"} <= record.keys()),
    ("devtools_recorder", lambda record: "title" in record and _listed(record, "steps", "type")),
    ("browser_use", lambda record: _listed(record, "history", "model_output")),
    ("openai_cua", lambda record: record.get("type") in _ITEMS or _listed(record, "output", "type")),
    ("openai_cua", lambda record: {"role", "content"} <= record.keys()),
    ("messages", lambda record: bool({"messages", "conversations", "conversation"} & record.keys())),
    ("messages", lambda record: bool({"instruction", "query"} & record.keys())),
]


def detect(path: Path) -> str:
    """The name of its format.

    Raises:
        UserError: there is nothing, or nothing known.
    """
    path = files_of(path)[0]
    if not path.exists():
        raise UserError(f"{path}: no such file or folder")
    if path.is_file() and not path.stat().st_size:
        raise UserError(f"{path}: an empty file")
    if path.is_dir():
        found = set_of_folder(path) or next((name for name, looks in _FOLDERS if looks(path)), None)
        found = _of_files(path, found) if found in (None, "hf") else found
    elif is_released(path):
        found = "openwebvoyager_tar"
    elif path.name == "dataset_info.json":
        found = "llama_factory"
    elif is_json(path):
        first = next((value for _, value in stream_records(path) if value), {})
        first = first if isinstance(first, dict) else {}
        found = set_of_record(first) or next((name for name, looks in _RECORDS if looks(first)), None)
    else:
        found = set_of_file(path) or _ENDINGS.get(path.suffix.lower())
    if found is None:
        raise UserError(f"{path}: of no format that shows; name it by --format (--help lists all)")
    return found


def _has(folder: Path, pattern: str) -> bool:
    return next(folder.rglob(pattern), None) is not None


def _of_files(folder: Path, found: str | None) -> str | None:
    """By the first of its files, where a format's reader takes folders of these; else `found`."""
    files = data_files(folder) if found is None else sorted(folder.rglob("*.parquet"))
    with contextlib.suppress(UserError):
        first = detect(files[0]) if files else ""
        return first if first in ("messages", *OF_FILES) else found
    return found


def _has_table(tar: Path) -> bool:
    """As img2dataset writes it beside each tar, of addresses and captions."""
    return tar.with_name(f"{tar.name.partition('.')[0]}.parquet").is_file()


def _lists_files(path: Path) -> bool:
    """LLaMA-Factory's; what `save_to_disk` leaves has the same name."""
    try:
        return any(isinstance(one, dict) and "file_name" in one for one in read_object(path).values())
    except UserError:
        return False


def _listed(record: Mapping[str, Any], name: str, key: str) -> bool:
    """Whether `record[name]` is a list of objects, the first of which has `key`."""
    items = record.get(name)
    return isinstance(items, list) and bool(items) and isinstance(items[0], dict) and key in items[0]
