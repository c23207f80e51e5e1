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

import contextlib
import dataclasses
from collections.abc import Mapping
from typing import Any

from common.errors import UserError
from common.files import parse_json
from data.conversation import IMAGE
from data.shards.shard import RESERVED
from toolkits.readers.interchange.image_fields import SURE, find_images, looks_like_images
from toolkits.readers.interchange.tool_calls import tool_call, tool_response, tools_text
from toolkits.readers.reading.left_out import LeftOut

_USER, _AGENT, _SYSTEM = "human", "gpt", "system"
_SIDES = {
    **dict.fromkeys(("human", "user", "tool", "tool_response", "observation", "function", "function_response"), _USER),
    **dict.fromkeys(("gpt", "assistant", "model", "bot", "tool_call", "function_call"), _AGENT),
    **dict.fromkeys((_SYSTEM, "developer"), _SYSTEM),
}
_RESULTS = ("tool", "tool_response", "observation", "function", "function_response")
_CALLS = ("tool_call", "function_call")
_TURNS = ("messages", "conversations", "conversation", "prompt")
_QUESTIONS, _ANSWERS = ("query", "instruction", "problem", "question"), ("response", "output", "answer", "solution")
_OTHER_MEDIA = {"videos": "videos", "video": "videos", "audios": "sounds", "audio": "sounds"}
_DIRECTIONS = ("system", "tools", "functions")
_TO_BE_FILLED = ("<bbox>", "<ref-object>")
"""ms-swift's marks in a text, for which `objects` holds the words."""
_NOTHING = (None, "", [], {}, ())
_NOT_LEARNED = ("weight", "loss", "train", "trainable", "loss_mask", "loss_scale")


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
    if lacks := next((what for name, what in _OTHER_MEDIA.items() if entry.get(name)), "") or _unfit(entry):
        left_out[f"samples with {lacks}"] += 1
        return None
    field, references = find_images(entry)
    used = {"id", "num_images", *(name for name in (*_OTHER_MEDIA, *_DIRECTIONS) if entry.get(name) in _NOTHING)}
    messages = _messages(where, entry, used)
    rejected = [name for name in entry if name.startswith("rejected")]
    left_out["rejected replies"] += any(entry[name] for name in rejected)
    used |= {*rejected}
    reader = _Reader(where, references, left_out)
    sides: list[tuple[str, str]] = [(_SYSTEM, text) for text in _opening(entry, used)]
    for message in messages:
        sides += reader.read(message)
    if reader.other_media:
        left_out[f"samples with {reader.other_media}"] += 1
        return None
    if entry.get("objects") and any(mark in text for _, text in sides for mark in _TO_BE_FILLED):
        left_out["samples with boxes to be filled in (objects)"] += 1
        return None
    turns = _in_turn(where, sides, left_out)
    if not turns:
        left_out["samples without a reply"] += 1
        return None
    shown = reader.taken if reader.placed else references
    if field in SURE or not references or not reader.placed:
        used.add(field)
        left_out["images that no part shows"] += len(references) * reader.placed
    num_marks = sum(turn.count(IMAGE) for turn in turns[::2])
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
    return Told(turns, shown, extra)


def is_told(entry: Mapping[str, Any]) -> bool:
    """Whether a record has turns or an answer; else there may be a caption of its images."""
    return any(isinstance(entry.get(name), list | tuple) for name in _TURNS) or bool(_first(entry, _ANSWERS))


def captioned(entry: Mapping[str, Any], num_images: int, caption: str) -> dict[str, Any]:
    """A record that is not told, whose images show what `caption` says, or what its question asks."""
    if _first(entry, _QUESTIONS):
        return {**entry, "response": caption}
    asked = {"role": "user", "content": IMAGE * num_images}
    return {**entry, "messages": [asked, {"role": "assistant", "content": caption}]}


def _unfit(entry: Mapping[str, Any]) -> str:
    return "a reply that was rated bad (label false)" if entry.get("label") is False else ""


def _opening(entry: Mapping[str, Any], used: set[str]) -> list[str]:
    texts = [entry["system"]] if isinstance(entry.get("system"), str) and entry["system"] else []
    name = _first(entry, ("tools", "functions"))
    used |= {*(["system"] if texts else []), name}
    tools = entry.get(name)
    if isinstance(tools, str):
        with contextlib.suppress(ValueError):
            tools = parse_json(tools)
    return texts + ([tools_text(tools)] if tools else [])


def _messages(where: str, entry: Mapping[str, Any], used: set[str]) -> list[Mapping[str, Any]]:
    """Each with `role` and `content`, and what stands beside them; adds to `used` which fields are said by now."""
    name = next((name for name in _TURNS if isinstance(entry.get(name), list | tuple)), None)
    if name is None:
        return _asked(where, entry, used)
    used.add(name)
    found = entry[name]
    if not all(isinstance(one, dict) for one in found):
        raise UserError(f"{where}: its turns are no objects")
    messages: list[Mapping[str, Any]] = []
    for one in found:
        if "human" in one and "assistant" in one:  # ms-swift's rows of ShareGPT
            messages += [{"role": "user", "content": one["human"]}, {"role": "assistant", "content": one["assistant"]}]
        else:
            messages.append(
                {**one, "role": one.get("role", one.get("from")), "content": one.get("content", one.get("value"))}
            )
    is_answered = bool(messages) and _SIDES.get(str(messages[-1]["role"])) == _AGENT
    truth = entry.get("reward_model")
    answers = {"chosen": entry.get("chosen"), (answer := _first(entry, _ANSWERS)): entry.get(answer)}
    answers["reward_model"] = truth.get("ground_truth") if isinstance(truth, dict) else None
    if not is_answered and (field := next((name for name, said in answers.items() if said is not None), "")):
        used.add(field)
        said = answers[field] if isinstance(answers[field], dict) else {"role": "assistant", "content": answers[field]}
        messages += _messages(where, {"messages": [said]}, set())
    return messages


def _asked(where: str, entry: Mapping[str, Any], used: set[str]) -> list[Mapping[str, Any]]:
    """Of records that name question and answer."""
    asked = [name for name in (_first(entry, _QUESTIONS), "input") if entry.get(name) and isinstance(entry[name], str)]
    if not asked and isinstance(entry.get("prompt"), str):
        asked = ["prompt"]
    question, answer = "\n".join(entry[name] for name in asked), _first(entry, _ANSWERS)
    empty = [name for name in (*_QUESTIONS, *_ANSWERS, "input", "prompt") if entry.get(name) in _NOTHING]
    used |= {*asked, answer, *empty, "history"}
    if not answer:
        raise UserError(f"{where}: has neither turns ({', '.join(_TURNS)}) nor a question with an answer")
    messages: list[Mapping[str, Any]] = []
    for pair in entry.get("history") or []:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise UserError(f"{where}: its history is not of pairs")
        messages += [{"role": "user", "content": pair[0]}, {"role": "assistant", "content": pair[1]}]
    return [*messages, {"role": "user", "content": question}, {"role": "assistant", "content": entry[answer]}]


def _first(entry: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """Which of the fields says something; "" where none does."""
    return next((name for name in names if entry.get(name) not in (None, [], {})), "")


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
        role = str(message.get("role"))
        if role not in _SIDES:
            raise UserError(f"{self.where}: a turn of {role!r:.40}, who is none of {', '.join(sorted(_SIDES))}")
        side = _SIDES[role]
        if side == _AGENT and (
            name := next((n for n in _NOT_LEARNED if message.get(n) not in (None, True, 1, 1.0, "")), "")
        ):
            raise UserError(
                f"{self.where}: {name} {message[name]!r:.40} of a turn would be lost, for every reply of a sample is "
                "learned; leave the turn or the field out"
            )
        text = self._text(message.get("content"))
        if role in _CALLS:
            text = _as_calls(text)
        elif role in _RESULTS:
            text = tool_response(text)
        thought = message.get("reasoning_content") or message.get("reasoning")
        if side == _AGENT and isinstance(thought, str):
            text = f"<think>\n{thought}\n</think>\n\n{text}"
        calls = [*(message.get("tool_calls") or []), *filter(None, [message.get("function_call")])]
        return [(side, "\n".join(filter(None, [text, *map(self._call, calls)])))]

    def _text(self, content: Any) -> str:
        if content is None or isinstance(content, str):
            return content or ""
        if not isinstance(content, list | tuple):
            raise UserError(f"{self.where}: a turn's content is neither text nor parts")
        return "".join(map(self._part, content))

    def _part(self, part: Any) -> str:
        if isinstance(part, str):
            return part
        kind = part.get("type") if isinstance(part, dict) else None
        if kind in ("text", "input_text", "output_text") or (
            kind is None and isinstance(part, dict) and "text" in part
        ):
            return str(part.get("text") or "").replace(IMAGE, f"< {IMAGE[1:]}")  # a mark would be an image
        if kind in ("image_url", "image", "input_image"):
            found = next((part[name] for name in ("image_url", "image", "url", "path") if part.get(name)), None)
            found = found.get("url") if isinstance(found, dict) and "url" in found else found
            self.placed = True
            if found is None and self.references:
                found = self.references.pop(0)
            self.taken.append(found)
            return IMAGE
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


def _in_turn(where: str, sides: list[tuple[str, str]], left_out: LeftOut) -> list[str]:
    """User and assistant in turn, up to the last reply; [] where there is none."""
    turns: list[tuple[str, str]] = []
    for side, text in sides:
        side = _USER if side == _SYSTEM else side
        if turns and turns[-1][0] == side:
            turns[-1] = (side, f"{turns[-1][1]}\n{text}")
        else:
            turns.append((side, text))
    if turns and turns[-1][0] == _USER:
        turns.pop()
        left_out["last turns without a reply"] += bool(turns)
    if turns and turns[0][0] == _AGENT:
        turns.insert(0, (_USER, ""))
    if any(IMAGE in text for side, text in turns if side == _AGENT):
        raise UserError(f"{where}: an {IMAGE} mark in a reply; a sample shows images to the user's side only")
    return [text for _, text in turns]
