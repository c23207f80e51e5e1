"""LLaVA's and ShareGPT's JSON (a list, or one object a line), as samples.

Read are `image` or `images`, `conversations` ({"from", "value"}) or `messages` ({"role", "content"}), and `id` where
there is one. A system turn opens the first user turn; images that no `<image>` stands for come first.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import read_json
from data.conversation import IMAGE
from toolkits.readers.steps import find_image, record

_SENDERS = {"human": "human", "user": "human", "gpt": "gpt", "assistant": "gpt", "model": "gpt", "system": "system"}


def read_llava(path: Path, image_dir: Path, round_id: int) -> Iterator[dict[str, Any]]:
    """One sample a record; records keep their ids, or get `<file name>--<number>`."""
    for number, entry in enumerate(_entries(path), start=1):
        where = f"{path}: record {number}"
        if not isinstance(entry, dict):
            raise UserError(f"{where}: not an object")
        identifier = str(entry.get("id", f"{path.stem}--{number:07d}")).replace("/", "_")
        images = entry.get("images", entry.get("image")) or []
        images = [images] if isinstance(images, str) else images
        if not isinstance(images, list) or not all(isinstance(name, str) for name in images):
            raise UserError(f"{where}: its images are not names")
        turns = _turns(where, entry)
        if images and not any(IMAGE in text for text in turns):
            turns[0] = f"{IMAGE}\n" * len(images) + turns[0]
        yield record(identifier, [find_image(where, image_dir, name) for name in images], turns, {})


def _entries(path: Path) -> Iterator[Any]:
    if path.suffix != ".jsonl":
        content = read_json(path)
        if not isinstance(content, list):
            raise UserError(f"{path}: not a list of records")
        yield from content
        return
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    for number, line in enumerate(lines, start=1):
        try:
            yield json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path}: record {number}: not valid JSON ({error})") from None


def _turns(where: str, entry: dict[str, Any]) -> list[str]:
    """The texts of user and assistant in turn."""
    turns = entry.get("conversations", entry.get("messages"))
    if not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
        raise UserError(f"{where}: has no list of conversations or messages")
    senders = [_SENDERS.get(str(turn.get("from", turn.get("role")))) for turn in turns]
    texts = [turn.get("value", turn.get("content")) for turn in turns]
    if not all(isinstance(text, str) for text in texts):
        raise UserError(f"{where}: a turn has no text")
    if senders[:1] == ["system"] and len(texts) > 1:
        texts = [f"{texts[0]}\n{texts[1]}", *texts[2:]]
        senders = senders[1:]
    if not texts or senders != ["human", "gpt"] * (len(senders) // 2):
        raise UserError(f"{where}: turns must alternate user, assistant; they are {senders}")
    return texts
