"""Files of conversations, JSON or JSON lines, as samples: OpenAI's messages, ms-swift's, LLaMA-Factory's, ShareGPT's.

LLaMA-Factory's files say by `dataset_info.json` which field is what: give that file, or its folder. Of another folder
all JSON lines are read, packed ones too, or else all JSON. Images lie in `--image_dir` (data URLs become files there),
or where the records' paths end in it.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from common.errors import UserError
from common.files import read_object
from toolkits.readers.interchange.conversation import Told, read_conversation
from toolkits.readers.reading.addresses import fetched, is_address, keep_addresses
from toolkits.readers.reading.left_out import LeftOut
from toolkits.readers.reading.references import leads_elsewhere, name_in, names_told
from toolkits.readers.reading.row_files import is_hidden, json_files, rows_of
from toolkits.readers.reading.splits import to_train_on
from toolkits.readers.reading.steps import NoImageError, record

_INFO = "dataset_info.json"
_COLUMNS = {
    **{name: name for name in ("messages", "system", "tools", "images", "videos", "audios", "history", "chosen")},
    **{"prompt": "instruction", "query": "input", "response": "output", "rejected": "rejected", "kto_tag": "label"},
}
"""LLaMA-Factory's names of columns, and what `read_conversation` calls them."""
_ROLES = {
    **{"user_tag": "user", "assistant_tag": "assistant", "observation_tag": "observation"},
    **{"function_tag": "function_call", "system_tag": "system"},
}


def read_conversations(path: Path, image_dir: Path, round_id: int) -> Iterator[dict[str, Any]]:
    """One sample a record; records keep their ids, or get `<file name>--<number>`.

    Raises:
        UserError: naming file and record.
    """
    left_out = LeftOut()
    info = path / _INFO if path.is_dir() else path
    if path.is_dir() and not info.exists():
        for file in _files(path, left_out, f"{path}: no {_INFO} and no *.jsonl or *.json in this folder or below"):
            yield from _read(file, image_dir, left_out, None)
    elif info.name != _INFO:
        yield from _read(path, image_dir, left_out, None)
    else:
        for name, described in read_object(info).items():
            if not isinstance(described, dict) or not isinstance(described.get("file_name"), str):
                left_out["data sets that are not files here"] += 1
                continue
            file = PurePosixPath(described["file_name"])
            if file.is_absolute() or ".." in file.parts:
                raise UserError(f"{info}: the file of {name!r:.60} lies outside of its folder")
            for one in _files(info.parent / file, left_out, f"{info.parent / file}: an empty folder"):
                yield from _read(one, image_dir, left_out, described)
    left_out.give_reason(left_out.num_kept)
    left_out.tell(path)
    keep_addresses(image_dir, left_out)


def _files(path: Path, left_out: LeftOut, else_said: str) -> list[Path]:
    """The file itself, or those of a folder to train on."""
    if not path.is_dir():
        return [path]
    others = [one for one in sorted(path.rglob("*")) if one.suffix.lower() in (".parquet", ".arrow", ".csv")]
    found = to_train_on(path, json_files(path) or [one for one in others if not is_hidden(path, one)], left_out)
    if not found:
        raise UserError(else_said)
    return found


def _read(
    path: Path, image_dir: Path, left_out: LeftOut, described: Mapping[str, Any] | None
) -> Iterator[dict[str, Any]]:
    for number, (where, entry) in enumerate(rows_of(path), start=1):
        entry = entry if described is None else _named(where, entry, described)
        told = read_conversation(where, entry, left_out)
        if told:
            yield from sample(where, entry.get("id"), f"{path.stem}--{number:07d}", told, image_dir, left_out)


def sample(
    where: str, identifier: Any, default: str, told: Told, image_dir: Path, left_out: LeftOut
) -> Iterator[dict[str, Any]]:
    """The record, unless one of its images is at an address and was not fetched."""
    name = str(default if identifier is None else identifier).replace("/", "_")
    if missing := [one for one in told.images if is_address(one) and not fetched(one, [image_dir])]:
        left_out["samples with images at an address"] += 1
        left_out.addresses.update(missing)
        return
    try:
        named = _named_images(where, name, told, image_dir)
    except NoImageError as error:
        if any(map(leads_elsewhere, told.images)):
            raise
        left_out.leave_out("samples of which an image is not there", error)
        return
    left_out.num_kept += 1
    yield record(name, named, told.turns, told.extra)


def _named_images(where: str, name: str, told: Told, image_dir: Path) -> list[str]:
    named = zip(told.images, names_told(told.extra, len(told.images)), strict=True)
    return [name_in(where, image_dir, image, name, n, called) for n, (image, called) in enumerate(named)]


def _named(where: str, entry: Mapping[str, Any], described: Mapping[str, Any]) -> dict[str, Any]:
    """A record with our names of what `dataset_info.json` describes."""
    columns, tags = described.get("columns") or {}, described.get("tags") or {}
    if not isinstance(columns, dict) or not isinstance(tags, dict):
        raise UserError(f"{where}: {_INFO} has columns or tags that are no object")
    named = {name: value for name, value in entry.items() if name not in columns.values()}
    for theirs, ours in _COLUMNS.items():
        if columns.get(theirs) in entry:
            named[ours] = entry[columns[theirs]]
    turns = named.pop("messages", None) or named.pop("conversations", None)
    if isinstance(turns, list):
        role, content = tags.get("role_tag", "from"), tags.get("content_tag", "value")
        roles = {tags[tag]: ours for tag, ours in _ROLES.items() if tag in tags}
        named["messages"] = [
            {
                **turn,
                **({"role": roles.get(turn[role], turn[role]), "content": turn.get(content)} if role in turn else {}),
            }
            for turn in turns
            if isinstance(turn, dict)
        ]
    return named
