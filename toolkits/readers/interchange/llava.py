"""LLaVA's and ShareGPT's JSON (a list, one object a line, or one object), as samples.

Read are `image` or `images`, `conversations` ({"from", "value"}) or `messages` ({"role", "content"}), and `id` where
there is one; what else stands there is carried along. A system turn opens the first user turn; images that no `<image>`
stands for come first.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common.errors import UserError
from data.conversation import IMAGE
from data.shards.shard import RESERVED
from toolkits.readers.interchange.image_fields import find_images
from toolkits.readers.interchange.own_fields import take_own
from toolkits.readers.reading.left_out import LeftOut
from toolkits.readers.reading.pictures import check_picture
from toolkits.readers.reading.references import leads_elsewhere
from toolkits.readers.reading.steps import NoImageError, find_image, record
from toolkits.readers.reading.stream import stream_records

_SENDERS = {"human": "human", "user": "human", "gpt": "gpt", "assistant": "gpt", "model": "gpt", "system": "system"}

_OF_SAMPLES = ("system", "tools", "functions", "videos", "video", "audios", "audio", "rejected", "rejected_response")
_OF_TURNS = (
    *("tool_calls", "function_call", "reasoning_content", "reasoning", "images", "image", "audio"),
    *("weight", "loss", "train", "trainable", "loss_mask", "loss_scale"),
)
"""Fields of other formats that samples here cannot hold. What ignores them learns other words than are meant."""
_SAID = (*RESERVED, *_OF_SAMPLES, "image", "messages")
_SAYS_NOTHING = (None, "", [], {})


def read_llava(path: Path, image_dir: Path, round_id: int) -> Iterator[dict[str, Any]]:
    """One sample a record; records keep their ids, or get `<file name>--<number>`."""
    left_out = LeftOut()
    for number, (where, entry) in enumerate(stream_records(path), start=1):
        if not isinstance(entry, dict):
            raise UserError(f"{where}: not an object")
        said = entry.get("id")
        identifier = str(f"{path.stem}--{number:07d}" if said is None else said).replace("/", "_")
        own = take_own(where, entry)
        field, images = find_images(entry)
        if not all(isinstance(name, str) for name in images):
            raise UserError(f"{where}: its images are not names")
        turns = marked_turns(where, entry, len(images), left_out)
        left_out["messages beside conversations"] += {"messages", "conversations"} <= entry.keys()
        rest = {name: value for name, value in entry.items() if name not in (*_SAID, field)}
        try:
            names = [find_image(where, image_dir, name) for name in images]
        except NoImageError as error:
            if any(map(leads_elsewhere, images)):
                raise
            left_out.leave_out("samples of which an image is not there", error)
            continue
        for name in names:
            check_picture(where, image_dir / name)
        left_out.num_kept += 1
        yield record(identifier, names, turns, rest | own)
    left_out.give_reason(left_out.num_kept)
    left_out.tell(path)


def marked_turns(where: str, entry: dict[str, Any], num_images: int, left_out: LeftOut) -> list[str]:
    """The texts of user and assistant in turn, with the marks of the images; `UserError` where they don't alternate."""
    turns = _turns(where, entry, left_out)
    if num_images and not any(IMAGE in text for text in turns):
        turns[0] = f"{IMAGE}\n" * num_images + turns[0]
    return turns


def _check_fields(where: str, entry: dict[str, Any], turns: list[dict[str, Any]]) -> None:
    """`UserError` for what would be lost; a turn that is to be learned, as all are (`"weight": 1`), says no more."""
    for name in _OF_SAMPLES:
        if entry.get(name) not in _SAYS_NOTHING:
            raise UserError(
                f"{where}: its {name} would be lost, for a sample has turns and images only; make turns of it, or "
                "leave it out"
            )
    for turn in turns:
        for name in _OF_TURNS:
            if turn.get(name) not in (*_SAYS_NOTHING, 1):
                raise UserError(
                    f"{where}: {name} {turn[name]!r:.40} of a turn would be lost, for a turn has a text only, "
                    "and every reply is learned; leave it out"
                )


def _turns(where: str, entry: dict[str, Any], left_out: LeftOut) -> list[str]:
    turns = entry.get("conversations", entry.get("messages"))
    if not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
        raise UserError(f"{where}: has no list of conversations or messages")
    _check_fields(where, entry, turns)
    for turn in turns:
        left_out.count_unread("turns", turn, ("from", "value", "role", "content", *_OF_TURNS))
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
