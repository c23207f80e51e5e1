"""A record of a conversation in whichever of the trainers' spellings, as a sample: the one home of all of them.

| spelling          | turns                                                      | images                           |
|-------------------|------------------------------------------------------------|----------------------------------|
| OpenAI's messages | `messages`: `role`, `content` (a text or parts)            | parts `image_url`, `input_image` |
| ShareGPT, LLaVA   | `conversations`: `from`, `value`                           | `image` or `images`, `<image>`   |
| ms-swift          | `messages`, or `query`, `response`, `history`              | `images`, `<image>`              |
| LLaMA-Factory     | either, or `instruction`, `input`, `output`                | `images`, `<image>`              |
| verl, EasyR1      | `prompt`, `reward_model.ground_truth`; `problem`, `answer` | `images`, `<image>`              |

Sources: platform.openai.com's reference of chat and responses; haotian-liu/LLaVA `docs/Finetune_Custom_Data.md`;
modelscope/ms-swift `docs/source_en/Customization/Custom-dataset.md`; hiyouga/LLaMA-Factory `data/README.md`;
volcengine/verl `examples/data_preprocess/geo3k.py`; hiyouga/EasyR1 `verl/utils/dataset.py`.

A sample's turns are texts of user and assistant in turn. So a system prompt and the definitions of tools open the
first one, calls and their results are written out (tool_calls.py), and turns of one side in a row
become one.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from common.errors import UserError
from common.files import parse_json
from data.conversation import IMAGE
from data.shards.shard import RESERVED
from toolkits.readers.interchange.image_fields import SURE, find_images, listed, looks_like_images
from toolkits.readers.interchange.own_fields import take_own
from toolkits.readers.interchange.spellings import (
    AGENT,
    ANSWERS,
    NOTHING,
    SIDES,
    SYSTEM,
    USER,
    messages_of,
    opening,
    role_of,
    typed,
)
from toolkits.readers.interchange.tool_calls import tool_call, tool_response, tools_text
from toolkits.readers.reading.left_out import LeftOut

UNSHOWN = "images that no part shows"
_RESULTS = ("tool", "tool_response", "observation", "function", "function_response")
_CALLS = ("tool_call", "function_call")
_OTHER_MEDIA = {"videos": "videos", "video": "videos", "audios": "sounds", "audio": "sounds"}
_MAY_BE_EMPTY = (*_OTHER_MEDIA, "system", "tools", "functions")
_PLACES = ("image_url", "image", "source", "url", "path")
"""Where a part may have its image."""
_TO_BE_FILLED = ("<bbox>", "<ref-object>")
"""ms-swift's marks in a text, for which `objects` holds the words."""
_THOUGHTS = ("reasoning_content", "reasoning", "thinking")
"""Of DeepSeek's and vLLM's servers; of Ollama and gpt-oss."""
_NOT_LEARNED = ("weight", "loss", "train", "trainable", "loss_mask", "loss_scale")

_OF_TURNS = {
    *("role", "content", "from", "value", "human", "assistant", "tool_calls", "function_call", "tool_call_id", "id"),
    *(*_THOUGHTS, *_NOT_LEARNED, *SURE),
}
"""Fields of a turn that are read, or that name things within the record."""


@dataclasses.dataclass
class Told:
    """A conversation as a sample has it; `images` are references in the order of the marks in `turns`."""

    turns: list[str]
    images: list[Any]
    extra: dict[str, Any]


def read_conversation(where: str, entry: Mapping[str, Any], left_out: LeftOut) -> Told | None:
    """The sample, or None where there is none in it, which `left_out` counts.

    Raises:
        UserError: the record contradicts itself, or says of a reply that it is not to be learned.
    """
    left_out.num_read += 1
    entry = {**entry}
    own = take_own(where, entry)
    if lacks := next((what for name, what in _OTHER_MEDIA.items() if entry.get(name)), "") or _unfit(entry):
        left_out[f"samples with {lacks}"] += 1
        return None
    field, references = find_images(entry)
    used = {"id", "num_images", *(name for name, value in entry.items() if _says_nothing(name, value))}
    messages = messages_of(where, entry, used, left_out)
    rejected = [name for name in entry if name.startswith("rejected")]
    left_out["rejected replies"] += any(entry[name] for name in rejected)
    used |= {*rejected}
    reader = _Reader(where, references, left_out)
    sides: list[tuple[str, str]] = [(SYSTEM, text) for text in _opening(entry, used)]
    for message in messages:
        sides += reader.read(message)
    if reader.other_media:
        left_out[f"samples with {reader.other_media}"] += 1
        return None
    if entry.get("objects") and any(mark in text for _, text in sides for mark in _TO_BE_FILLED):
        left_out["samples with boxes to be filled in (objects)"] += 1
        return None
    shown = reader.taken if reader.placed else references
    sides = _with_typed_marks(sides, len(shown), left_out)
    turns, num_unshown = _in_turn(where, sides, left_out)
    if not turns:
        left_out["samples without a reply"] += 1
        return None
    if field in SURE or not references or not reader.placed:
        used |= {field} if field else set()
        left_out[UNSHOWN] += len(references) * reader.placed
    num_marks = sum(turn.count(IMAGE) for turn in turns[::2])
    if num_unshown and num_marks + num_unshown == len(shown):
        shown = shown[:num_marks]
    if not num_marks:
        turns[0] = f"{IMAGE}\n" * len(shown) + turns[0]
    elif num_marks != len(shown):
        raise UserError(f"{where}: {num_marks} {IMAGE} marks but {len(shown)} images")
    extra = {name: value for name, value in entry.items() if name not in used}
    for name in extra.keys() & {*RESERVED}:
        del extra[name]
        left_out[f"{name} beside what was read"] += 1
    if not shown and (named := [name for name, value in extra.items() if looks_like_images(value)]):
        left_out.columns |= {*named}
    left_out.num_bare += not shown
    return Told(turns, shown, extra | own)


def _says_nothing(name: str, value: Any) -> bool:
    """Whether a field of those that are read here is as good as not there."""
    if name in SURE:
        return not listed(value)
    return value is None if name in ANSWERS else name in _MAY_BE_EMPTY and value in NOTHING


def _unfit(entry: Mapping[str, Any]) -> str:
    return "a reply that was rated bad (label false)" if entry.get("label") is False else ""


def _opening(entry: Mapping[str, Any], used: set[str]) -> list[str]:
    system, tools = opening(entry, used)
    return ([system] if system else []) + ([tools_text(tools)] if tools else [])


@dataclasses.dataclass
class _Reader:
    """Reads messages one after the other; `taken` are the images of their parts, `references` those beside them, whose
    marks stand in the texts or in parts that name none."""

    where: str
    references: list[Any]
    left_out: LeftOut
    taken: list[Any] = dataclasses.field(default_factory=list)
    placed: bool = False
    other_media: str = ""

    def read(self, message: Mapping[str, Any]) -> list[tuple[str, str]]:
        role = role_of(message)
        if role not in SIDES:
            raise UserError(
                f"{self.where}: a turn of {message['role']!r:.40}, who is none of {', '.join(sorted(SIDES))}"
            )
        side = SIDES[role]
        if side == AGENT and (
            name := next((n for n in _NOT_LEARNED if message.get(n) not in (None, True, 1, 1.0, "")), "")
        ):
            raise UserError(
                f"{self.where}: {name} {message[name]!r:.40} of a turn would be lost, for every reply of a sample is "
                "learned; leave the turn or the field out"
            )
        text = self._with_images(message, self._text(message.get("content")))
        if role in _CALLS:
            text = _as_calls(text)
        elif role in _RESULTS:
            text = tool_response(text)
        self.left_out.count_unread("turns", message, _OF_TURNS)
        thought = next((message[name] for name in _THOUGHTS if message.get(name)), None)
        if side == AGENT and isinstance(thought, str):
            text = f"<think>\n{thought}\n</think>\n\n{text}"
        calls = [*(message.get("tool_calls") or []), *filter(None, [message.get("function_call")])]
        if side == AGENT and message.get("content") is None and not (calls or thought):
            self.left_out["replies that say nothing"] += 1
            return []
        return [(side, "\n".join(filter(None, [text, *map(self._call, calls)])))]

    def _with_images(self, message: Mapping[str, Any], text: str) -> str:
        """Those that the turn itself lists, as Ollama's do, before its text unless marks say where."""
        images = [one for name in SURE for one in listed(message.get(name))]
        if not images:
            return text
        self.placed = True
        self.taken += images
        return text if IMAGE in text else f"{IMAGE}\n" * len(images) + text

    def _text(self, content: Any) -> str:
        if content is None or isinstance(content, str):
            return content or ""
        if not isinstance(content, list | tuple):
            raise UserError(f"{self.where}: a turn's content is neither text nor parts")
        return "".join(map(self._part, content)).strip("\n" if any(map(_is_call, content)) else "")

    def _part(self, part: Any) -> str:
        if isinstance(part, str):
            return part
        part = part if isinstance(part, dict) else {}
        kind = part.get("type") or next((name for name in ("text", "image") if name in part), None)  # as Qwen writes
        if kind in ("text", "input_text", "output_text"):
            return typed(str(part.get("text") or ""))
        if kind in ("image_url", "image", "input_image"):
            found = next((part[name] for name in _PLACES if part.get(name)), None)
            found = _behind(found) if isinstance(found, dict) else found
            self.placed = True
            if found is None and self.references:
                found = self.references.pop(0)
            self.taken.append(found)
            return IMAGE
        if kind == "tool_use":
            return f"\n{self._call({'name': part.get('name'), 'arguments': part.get('input')})}\n"
        if kind == "tool_result":
            return f"\n{tool_response(self._text(part.get('content')))}\n"
        if kind == "redacted_thinking":
            self.left_out["thoughts that are encrypted"] += 1
            return ""
        if kind == "thinking":
            return f"<think>\n{part.get('thinking')!s}\n</think>\n\n"
        self.other_media = self.other_media or f"{kind!s:.20} parts"
        return ""

    def _call(self, call: Any) -> str:
        call = call.get("function", call) if isinstance(call, dict) else call
        if not isinstance(call, dict) or not isinstance(call.get("name"), str):
            raise UserError(f"{self.where}: a tool call without a name")
        arguments = call.get("arguments")
        if isinstance(arguments, str):
            try:
                arguments = parse_json(arguments)
            except ValueError:
                self.left_out["arguments of calls that are no JSON, kept as text"] += 1
        return tool_call(call["name"], arguments)


def _is_call(part: Any) -> bool:
    """Anthropic's, which stand on lines of their own."""
    return isinstance(part, dict) and part.get("type") in ("tool_use", "tool_result")


def _behind(image: Mapping[str, Any]) -> Any:
    """Of `image_url` the address, of Anthropic's `source` the data, else itself."""
    if image.get("type") == "base64":
        return f"data:{image.get('media_type')};base64,{image.get('data')}"
    return image.get("url", image)


def _as_calls(text: str) -> str:
    """Of a turn whose content is one call, or a list of them, as JSON."""
    try:
        found = parse_json(text)
    except ValueError:
        return f"<tool_call>\n{text}\n</tool_call>"
    calls = found if isinstance(found, list) else [found]
    if not all(isinstance(call, dict) and isinstance(call.get("name"), str) for call in calls):
        return f"<tool_call>\n{text}\n</tool_call>"
    return "\n".join(tool_call(call["name"], call.get("arguments")) for call in calls)


def _with_typed_marks(sides: list[tuple[str, str]], num_images: int, left_out: LeftOut) -> list[tuple[str, str]]:
    """Where the user's side has a mark for each image, those in replies are words of the agent."""
    if sum(text.count(IMAGE) for side, text in sides if side != AGENT) != num_images:
        return sides
    count = sum(IMAGE in text for side, text in sides if side == AGENT)
    if count:
        left_out.taken[f"replies in which {IMAGE} is typed, with a space"] += count
    return [(side, typed(text) if side == AGENT else text) for side, text in sides]


def _in_turn(where: str, sides: list[tuple[str, str]], left_out: LeftOut) -> tuple[list[str], int]:
    """User and assistant in turn, up to the last reply, [] where there is none; and how many marks stand behind it."""
    num_unshown = 0
    turns: list[tuple[str, str]] = []
    for side, text in sides:
        side = USER if side == SYSTEM else side
        if turns and turns[-1][0] == side:
            turns[-1] = (side, f"{turns[-1][1]}\n{text}")
        else:
            turns.append((side, text))
    if turns and turns[-1][0] == USER:
        num_unshown = turns.pop()[1].count(IMAGE)
        left_out["last turns without a reply"] += bool(turns)
    if turns and turns[0][0] == AGENT:
        turns.insert(0, (USER, ""))
    if any(IMAGE in text for side, text in turns if side == AGENT):
        raise UserError(f"{where}: an {IMAGE} mark in a reply; a sample shows images to the user's side only")
    return [text for _, text in turns], num_unshown
