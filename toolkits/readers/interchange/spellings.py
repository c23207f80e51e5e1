"""Which fields of a record say its turns, in whichever of the trainers' spellings (conversation.py lists them)."""

import contextlib
from collections.abc import Mapping
from typing import Any

from common.errors import UserError
from common.files import parse_json
from data.conversation import IMAGE
from toolkits.readers.reading.left_out import LeftOut

USER, AGENT, SYSTEM = "human", "gpt", "system"
SIDES = {
    **dict.fromkeys(("human", "user", "tool", "tool_response", "observation", "function", "function_response"), USER),
    **dict.fromkeys(("gpt", "assistant", "model", "bot", "tool_call", "function_call"), AGENT),
    **dict.fromkeys((SYSTEM, "developer"), SYSTEM),
}
ANSWERS = ("response", "output", "answer", "solution", "completion", "chosen")
NOTHING = (None, "", [], {}, ())
TURNS = ("messages", "conversations", "conversation", "prompt")
QUESTIONS = ("query", "instruction", "problem", "question")
Message = Mapping[str, Any]


def is_told(entry: Mapping[str, Any]) -> bool:
    """Whether a record has turns or an answer; else there may be a caption of its images."""
    return any(_turns(entry.get(name)) is not None for name in TURNS) or bool(_first(entry, ANSWERS))


def captioned(entry: Mapping[str, Any], num_images: int, caption: str) -> dict[str, Any]:
    """A record that is not told, whose images show what `caption` says, or what its question asks."""
    caption = typed(caption)
    if _first(entry, QUESTIONS):
        return {**entry, "response": caption}
    asked = {"role": "user", "content": IMAGE * num_images}
    return {**entry, "messages": [asked, {"role": "assistant", "content": caption}]}


def typed(text: str) -> str:
    """With a space in what would be a mark of an image and is none."""
    return text.replace(IMAGE, f"< {IMAGE[1:]}")


def role_of(message: Message) -> str:
    """In small letters, as all but a few write it."""
    return str(message["role"]).lower()


def messages_of(where: str, entry: Mapping[str, Any], used: set[str], left_out: LeftOut) -> list[Message]:
    """Each with `role` and `content`, and what stands beside them; adds to `used` which fields are said by now.

    Raises:
        UserError: there are neither turns nor a question with an answer, or they are none.
    """
    found = next(((name, turns) for name in TURNS if (turns := _turns(entry.get(name))) is not None), None)
    if found is None and isinstance(entry.get("input"), list | tuple):  # of OpenAI's responses
        found = ("input", list(entry["input"]))
    if found is None:
        return _asked(where, entry, used, left_out)
    used.add(found[0])
    messages = _named(where, found[1])
    if not messages or SIDES.get(role_of(messages[-1])) != AGENT:
        messages += _answer(where, entry, used, left_out)
    return messages


def _turns(value: Any) -> list[Any] | None:
    """A list, or the JSON of a list of objects, as columns of text hold it."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        with contextlib.suppress(ValueError):
            found = parse_json(value)
            return found if are_messages(found) else None
    return list(value) if isinstance(value, list | tuple) else None


def are_messages(found: Any) -> bool:
    """A list of objects that name whose turn it is."""
    return (
        isinstance(found, list)
        and bool(found)
        and all(isinstance(one, dict) and {"role", "from"} & one.keys() for one in found)
    )


def _named(where: str, turns: list[Any]) -> list[Message]:
    if not all(isinstance(one, dict) for one in turns):
        raise UserError(f"{where}: its turns are no objects")
    messages: list[Message] = []
    for one in turns:
        if "human" in one and "assistant" in one:  # ms-swift's rows of ShareGPT
            messages += [{"role": "user", "content": one["human"]}, {"role": "assistant", "content": one["assistant"]}]
        else:
            role, content = one.get("role", one.get("from")), one.get("content", one.get("value"))
            messages.append({**one, "role": role, "content": content})
    return messages


def _asked(where: str, entry: Mapping[str, Any], used: set[str], left_out: LeftOut) -> list[Message]:
    """Of records that name question and answer."""
    asked = [name for name in (_first(entry, QUESTIONS), "input") if entry.get(name) and isinstance(entry[name], str)]
    if not asked and isinstance(entry.get("prompt"), str):
        asked = ["prompt"]
    question = "\n".join(entry[name] for name in asked)
    used |= {*asked, "history"}
    used |= {name for name in (*QUESTIONS, *ANSWERS, "input", "prompt") if entry.get(name) in NOTHING}
    if not (asked or _first(entry, ANSWERS)) or not any(name in entry for name in (*ANSWERS, "reward_model")):
        raise UserError(f"{where}: has neither turns ({', '.join(TURNS)}) nor a question with an answer")
    answer = _answer(where, entry, used, left_out)
    if len(answer) > 1 and not asked:  # preferences that hold the whole conversation
        return answer
    messages: list[Message] = []
    for pair in entry.get("history") or []:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise UserError(f"{where}: its history is not of pairs")
        messages += [{"role": "user", "content": pair[0]}, {"role": "assistant", "content": pair[1]}]
    return [*messages, {"role": "user", "content": question}, *answer]


def _answer(where: str, entry: Mapping[str, Any], used: set[str], left_out: LeftOut) -> list[Message]:
    """What a field beside the question says; of several answers that are all right the first is learned."""
    truth = entry.get("reward_model")
    answers = {name: entry[name] for name in ("chosen", *ANSWERS) if entry.get(name) not in (None, [], {})}
    if isinstance(truth, dict) and truth.get("ground_truth") is not None:
        answers["reward_model"] = truth["ground_truth"]
    field = next(iter(answers), None)
    if field is None:
        return []
    used.add(field)
    said = answers[field]
    listed = list(said) if isinstance(said, list | tuple) else [said]
    if are_messages(listed):
        return _named(where, listed)
    if not all(isinstance(one, dict) for one in listed):  # else parts of a content
        left_out["further answers that are right, too"] += len(listed) - 1
        said = str(listed[0]) if type(listed[0]) in (int, float) else listed[0]
    elif isinstance(said, dict):
        left_out["answers that are no text"] += 1
        return []
    return [{"role": "assistant", "content": said}]


def _first(entry: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """Which of the fields says something; "" where none does."""
    return next((name for name in names if entry.get(name) not in (None, [], {})), "")


def opening(entry: Mapping[str, Any], used: set[str]) -> tuple[str, Any]:
    """(the system's prompt, the tools' definitions), where the record has fields for them."""
    system = entry.get("system")
    if isinstance(system, list) and all(isinstance(one, dict) and isinstance(one.get("text"), str) for one in system):
        system = "\n".join(one["text"] for one in system)  # as Anthropic's
    system = system if isinstance(system, str) else ""
    name = _first(entry, ("tools", "functions"))
    used |= {*(["system"] if system else []), *([name] if name else [])}
    tools = entry[name] if name else None
    if isinstance(tools, str):
        with contextlib.suppress(ValueError):
            tools = parse_json(tools)
    return system, tools
